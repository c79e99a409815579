"""`tacit privacy`: the card of one configuration, and what several cards cost together."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.cli.options import build, fields, print_json, read_settings, refuse_unknown
from tacit.errors import BadInput

if TYPE_CHECKING:
    from tacit.privacy.card import Card

#: What is asked for instead of a policy's card. No policy may have this name.
COMPOSE = "compose"

#: Features, or arms, of a card that is asked for without them: noise and price do not depend on them.
_CARD_DIM = 5
#: Records of the card of a learner of functions that was given no horizon.
_CARD_RECORDS = 10_000


def privacy(parsed: argparse.Namespace, rest: list[str]) -> int:
    """`tacit privacy POLICY` and `tacit privacy compose A.json B.json …`."""
    if parsed.policy == COMPOSE:
        return _compose(parsed, rest)
    card = _card(parsed, rest)
    if parsed.audit is not None:
        from tacit.privacy.audited import Audited

        card = card.with_audit(Audited.load(parsed.audit))
    if parsed.page is not None:
        from tacit.report.card_page import write_card_page

        write_card_page(parsed.page, card)
    if parsed.report is not None:
        from tacit.report.privacy import write_privacy

        report = write_privacy(card, parsed.report, parsed.command_line)[-1]
    if parsed.json:
        # A card is read back by other commands, and so it is all that is printed.
        print_json(card.to_dict())
    else:
        print(card.text())
        if parsed.page is not None:
            print(f"page  {parsed.page}")
        if parsed.report is not None:
            print(f"page  {report}")
    return 0


def _card(parsed: argparse.Namespace, rest: list[str]) -> Card:
    import numpy as np

    from tacit.environments import RKHS
    from tacit.policies.catalogue import FUNCTIONS, policy

    kind = policy(parsed.policy)
    settings = read_settings(rest, parsed.set)
    refuse_unknown(settings, kind)
    if "dim" in fields(kind):
        settings = {"dim": str(_CARD_DIM), **settings}
    config = build(kind, settings, f"`tacit policies {kind.slug}` lists the options.")
    if kind.slug in FUNCTIONS:
        # Their noise does depend on boxes, kernel and horizon: where they were not given the card is of a plain world.
        config = config.in_world(**RKHS().public(), horizon=_CARD_RECORDS)
        card: Card = config.card(sampler=parsed.sampler)
    else:
        card = config.offered(np.eye(_CARD_DIM)).card(sampler=parsed.sampler)
    assert card.settings is not None
    return replace(card, settings={**config.to_dict(), "sampler": card.settings["sampler"]})


def _compose(parsed: argparse.Namespace, rest: list[str]) -> int:
    from tacit.privacy import Card, compose_cards

    options = [word for word in rest if word.startswith("-")]
    for flag in ("audit", "page"):
        options += [f"--{flag}"] if getattr(parsed, flag) is not None else []
    options += ["--set"] if parsed.set else []
    options += ["--sampler"] if parsed.sampler is not None else []
    if options:
        raise BadInput(f"Expected files of cards after compose, got {options[0]!r}. Give options where a card is made.")
    together = compose_cards([Card.load(path) for path in rest])
    if parsed.report is not None:
        from tacit.report.privacy import write_deployments

        report = write_deployments(together, parsed.report, parsed.command_line)[-1]
    if parsed.json:
        print_json(together.to_dict())
    else:
        print(together.text())
        if parsed.report is not None:
            print(f"page  {report}")
    return 0
