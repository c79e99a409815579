"""The command line: parse, call, print.

`tacit --help` must answer at once, so everything that needs numpy or the compiler is imported where it is used.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence

from tacit.cli.parser import parser
from tacit.errors import BadInput, Interrupted, TacitError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (2: bad input or a refusal; 130: interrupted)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed, rest = parser().parse_known_args(given)
        if parsed.command is None:
            parser().print_help()
            return 0
        if rest and not parsed.takes_options:
            raise BadInput(f"There is no option {rest[0]!r} here. See `tacit {parsed.command} --help`.")
        parsed.command_line = "tacit " + shlex.join(given)
        action: Callable[[argparse.Namespace, list[str]], int] = parsed.action
        return action(parsed, rest)
    except Interrupted as stopped:
        print(f"tacit: {stopped}", file=sys.stderr)
        return 130
    except TacitError as problem:
        print(f"tacit: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tacit: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader went away (`tacit policies | head`): not an error of ours, and nobody is left to tell.
        sys.stderr.close()
        return 0
    except OSError as problem:
        print(f"tacit: {problem}", file=sys.stderr)
        return 2
