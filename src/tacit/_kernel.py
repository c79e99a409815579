"""Compiled kernels, verbs that dispatch on types, and a compiled-code cache that cannot go stale.

A *kernel* is a function compiled by numba without fast-math: run from Python or from inside another kernel, it gives
the same bits. A *verb* is a name (`choose`, `release`, …) with one implementation per type of its first argument; the
dispatch is a table lookup in Python and is resolved by the compiler inside a kernel, so the text of an algorithm
exists once and costs nothing to call.

numba's disk cache checks only the file that holds the outermost function. An edit elsewhere (say, of a noise scale)
would leave the old machine code running: in a privacy library, a silent breach. So the cache directory is named by a
hash of every source file of this package and of the versions of the compilers below it; and what is compiled for a
policy that lives outside this package, whose sources no hash of ours covers, is not kept on disk at all.

With NUMBA_DISABLE_JIT=1 in the environment every kernel runs as the Python it is written in, slowly and to the same
bits: a debugger stops in it, and a coverage report counts its lines.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
import numpy as np
import scipy
from numba import njit
from numba.core.errors import TypingError
from numba.extending import overload

Function = TypeVar("Function", bound=Callable[..., Any])

#: How every kernel is compiled. No fast-math: trajectories would part at exact ties. The numpy error model turns a
#: division by zero into an infinity (pivots are checked where it matters), without which no loop is vectorised. Kernels
#: allocate nothing, so the run-time that counts references to arrays is left out: it took up to half of a round.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}

#: Cache directories of other versions of the sources that nobody has used for this long are removed by `tidy_cache`.
_STALE_AFTER_DAYS = 30

#: A file in each of our cache directories, touched whenever it is used: nothing without it is ever removed.
_MARKER = ".tacit-cache"

#: Whether kernels run as plain Python, for debugging: NUMBA_DISABLE_JIT=1.
PLAIN = bool(numba.config.DISABLE_JIT)

_TABLES: dict[str, dict[type, Callable[..., Any]]] = {}


@cache
def source_hash() -> str:
    """A fingerprint of every source file of tacit and of what compiles it."""
    digest = hashlib.sha256()
    for part in (sys.version, platform.machine(), numba.__version__, np.__version__, scipy.__version__):
        digest.update(part.encode() + b"\0")
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def _cache_root() -> Path:
    chosen = os.environ.get("TACIT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tacit"


@cache
def cache_directory() -> Path:
    """Where compiled code of exactly these sources lives. Falls back to a private temporary directory."""
    try:
        wanted = _cache_root() / source_hash()
        wanted.mkdir(parents=True, exist_ok=True)
        (wanted / _MARKER).touch()
        return wanted
    except (OSError, RuntimeError):  # not writable, or nobody's home
        return Path(tempfile.mkdtemp(prefix="tacit-"))


def tidy_cache() -> list[Path]:
    """Remove compiled code of other source versions that has not been used for a month; return what was removed."""
    current = cache_directory()
    if current.name != source_hash():  # the temporary fallback: its neighbours are not ours
        return []
    limit = time.time() - _STALE_AFTER_DAYS * 86_400
    stale = [
        marker.parent
        for marker in current.parent.glob(f"*/{_MARKER}")
        if marker.parent != current and marker.stat().st_mtime < limit
    ]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return [path for path in stale if not path.exists()]


@contextmanager
def _our_cache() -> Iterator[None]:
    """numba reads its cache directory when a function is decorated: ours while we decorate, then the user's again."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def kernel(function: Function) -> Function:
    """Compile `function` on first use, release the GIL while it runs, and keep the machine code on disk."""
    return _compile(function, _OPTIONS)


def library_kernel(function: Function) -> Function:
    """A kernel that calls numpy routines which manage memory of their own (BLAS)."""
    return _compile(function, {**_OPTIONS, "_nrt": True})


def _compile(function: Function, options: dict[str, Any]) -> Function:
    if PLAIN:
        return _as_python(function)
    ours = _is_ours(function)
    with _our_cache():
        compiled: Any = njit(cache=ours, nogil=True, **options)(function)
    if ours:
        disk = compiled._cache
        load, save = disk.load_overload, disk.save_overload
        disk.load_overload = lambda sig, context: load(sig, context) if _all_ours(sig) else None
        disk.save_overload = lambda sig, data: save(sig, data) if _all_ours(sig) else None
    result: Function = compiled
    return result


def _as_python(function: Function) -> Function:
    """The function itself, with the arithmetic that machine code has: words wrap around, and nothing is warned of."""

    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    plain: Any = run
    plain.py_func = function
    return plain  # type: ignore[no-any-return]


def _is_ours(thing: Any) -> bool:
    return str(thing.__module__).split(".")[0] == __name__.split(".")[0]


def _all_ours(signature: Any) -> bool:
    """Whether every named tuple in a signature is a class of this package."""
    waiting = list(getattr(signature, "args", signature))
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, numba.types.BaseTuple):
            if hasattr(kind, "instance_class") and not _is_ours(kind.instance_class):
                return False
            waiting.extend(kind)
    return True


def entry(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of exactly these types, called without looking at types again.

    numba's dispatcher works out the type of every array of every NamedTuple on each call: 6 of the 7 µs of a call from
    Python. Whoever calls this owes it the types: C-contiguous, aligned float64 arrays and plain floats.
    """
    if PLAIN:
        return function
    dispatcher: Any = function
    signature = tuple(numba.typeof(argument) for argument in arguments)
    try:
        dispatcher.compile(signature)
    except TypingError as problem:
        unknown = _UNKNOWN.search(str(problem))
        if unknown is None:
            raise
        field, owner = unknown.groups()
        raise TypeError(
            f"Expected a field that {owner} has, got `{field}`, on the way from {_name(function)}."
        ) from None
    machine_code: Callable[..., Any] = dispatcher.overloads[signature].entry_point
    return machine_code


#: How the compiler says that a value has no such field, among ninety other lines.
_UNKNOWN = re.compile(r"Unknown attribute '(\w+)' of type (\w+)")


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}"


def verb(stub: Function) -> Function:
    """Turn `stub` into a verb: calls are dispatched on the type of the first argument, in Python and in kernels."""
    name = stub.__name__
    table = _TABLES.setdefault(name, {})
    arguments = ", ".join(stub.__code__.co_varnames[: stub.__code__.co_argcount])
    first = arguments.split(",")[0]
    scope: dict[str, Any] = {"table": _Table(name, table), "plain": _without_annotations}
    # numba matches an overload by the names of its arguments, so both functions are written out with the stub's own.
    source = (
        f"def {name}({arguments}): return table[type({first})]({arguments})\n"
        f"def pick({arguments}): return plain(table[getattr({first}, 'instance_class', {first})])\n"
    )
    exec(compile(source, f"<verb {name}>", "exec"), scope)
    overload(scope[name], jit_options=_OPTIONS)(scope["pick"])
    dispatched: Function = scope[name]
    dispatched.__doc__ = stub.__doc__
    dispatched.__module__ = stub.__module__
    return dispatched


class _Table:
    """The implementations of one verb, with an error for a type that has none."""

    def __init__(self, name: str, found: dict[type, Callable[..., Any]]) -> None:
        self.name, self.found = name, found

    def __getitem__(self, kind: Any) -> Callable[..., Any]:
        try:
            return self.found[kind]
        except (KeyError, TypeError):
            known = ", ".join(sorted(one.__name__ for one in self.found)) or "none yet"
            label = getattr(kind, "__name__", kind)
            raise TypeError(
                f"Expected the first argument of `{self.name}` to be of a type that implements it ({known}), got "
                f"{label}. Register one with `implements({self.name}, {label})`."
            ) from None


@cache
def _without_annotations(function: Any) -> FunctionType:
    """The Python text of a kernel as numba wants it for an overload: with the stub's signature, to the letter."""
    plain = getattr(function, "py_func", function)
    return FunctionType(plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__)


def implements(action: Callable[..., Any], *kinds: type) -> Callable[[Function], Function]:
    """Register the decorated kernel as what `action` does for params of these types, once and for all.

    A second implementation is refused, and so is one from outside for a type of this package: the machine code of our
    types is kept on disk under a hash of our sources, and would carry the stranger into other processes. So is one
    whose arguments are not the verb's, by which the compiler matches them, or that reads a field its types do not have.
    """

    def register(function: Function) -> Function:
        plain = getattr(function, "py_func", function)
        wanted, given = list(inspect.signature(action).parameters), list(inspect.signature(plain).parameters)
        if given != wanted:
            raise TypeError(
                f"Expected `{action.__name__}({', '.join(wanted)})`, got {_name(plain)}({', '.join(given)}): an "
                "implementation has the arguments of its verb, under their names."
            )
        for kind in kinds:
            if kind in _TABLES[action.__name__] or (_is_ours(kind) and not _is_ours(function)):
                raise TypeError(
                    f"Expected a params type of your own for `{action.__name__}`, got {kind.__name__}, which is "
                    "tacit's or has an implementation already. Define a NamedTuple of your own."
                )
            _refuse_unknown_fields(plain, kind)
            _TABLES[action.__name__][kind] = function
        return function

    return register


def implementation(action: Callable[..., Any], kind: type) -> Callable[..., Any] | None:
    """The kernel registered for `kind`, or None."""
    return _TABLES[action.__name__].get(kind)


def implemented(action: Callable[..., Any]) -> tuple[type, ...]:
    """Every type that has a kernel for this verb."""
    return tuple(_TABLES[action.__name__])


def _refuse_unknown_fields(function: Any, kind: type) -> None:
    """Unless every field that is read of the params, and of arguments declared as NamedTuples, is there."""
    first, *rest = inspect.signature(function).parameters
    known = {first: kind}
    for name in rest:
        declared = function.__annotations__.get(name)
        found = function.__globals__.get(declared) if isinstance(declared, str) else declared
        if isinstance(found, type) and hasattr(found, "_fields"):
            known[name] = found
    for argument, field in _fields_read(function):
        owner = known.get(argument)
        if owner is not None and hasattr(owner, "_fields") and not hasattr(owner, field):
            raise TypeError(
                f"Expected {_name(function)} to read fields of {owner.__name__} ({', '.join(owner._fields)}), got "
                f"`{argument}.{field}`."
            )


def _fields_read(function: Any) -> Iterator[tuple[str, str]]:
    """Every `argument.field` in the text of a function."""
    latest = None
    for step in dis.get_instructions(function):
        if step.opname.startswith("LOAD_FAST"):
            latest = step.argval[-1] if isinstance(step.argval, tuple) else step.argval
        else:
            if step.opname == "LOAD_ATTR" and latest is not None:
                yield latest, step.argval
            latest = None
