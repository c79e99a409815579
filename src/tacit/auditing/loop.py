"""Many short runs of one policy on one script, in a kernel: the same verbs as a simulation and a live learner."""

from __future__ import annotations

from typing import Any

from tacit._kernel import kernel
from tacit._types import Floats, Ints
from tacit.core.round import choose_checked, learn_checked
from tacit.core.slate import lay_out, take_row
from tacit.noise import Source, fill_normals, fill_uniforms


@kernel
def play(
    params: Any,
    vault: Any,
    view: Any,
    report: Floats,
    slate: Any,
    source: Source,
    noise: Source,
    tape: bool,
    exact: bool,
    laid: Floats,
    floats: Floats,
    first_floats: Floats,
    ints: Ints,
    first_ints: Ints,
    shown: Floats,
    offers: Floats,
    rewards: Floats,
    row: Floats,
    forced: Ints,
    asked: Ints,
    watched: Ints,
    arms: Ints,
    seen: Floats,
) -> None:
    """Fill `arms` (runs, asked rounds) and `seen` (runs, watched rounds, numbers).

    `floats` and `ints` are all of vault, view and report in one piece, so that a run begins with two copies; `shown` is
    the part of them that is watched. Rounds are counted from 0; `arms` has the choice of a round, `seen` what there is
    after it; `forced` has the arm of a round in which the policy is not asked, else −1. `row` is room for one.

    `noise` is `source` itself; or, if `tape`, one that is laid out anew for every run: if `exact`, with its row of
    `laid`; if not, with normal numbers times these factors, which is how a twin is left without some of its noise.
    """
    for run in range(seen.shape[0]):
        for i in range(floats.shape[0]):
            floats[i] = first_floats[i]
        for i in range(ints.shape[0]):
            ints[i] = first_ints[i]
        if tape:
            fill_uniforms(source, noise.uniforms)
            noise.at[0] = 0
            noise.at[1] = 0
            if exact:
                for i in range(laid.shape[1]):
                    noise.normals[i] = laid[run, i]
            else:
                fill_normals(source, noise.normals)
                for i in range(laid.shape[1]):
                    noise.normals[i] *= laid[0, i]
        question, look = 0, 0
        for t in range(rewards.shape[0]):
            arm = forced[t]
            if arm >= 0:
                lay_out(slate, offers[t])
            else:
                arm = choose_checked(params, view, offers[t], slate, noise)
            if question < asked.shape[0] and asked[question] == t:
                arms[run, question] = arm
                question += 1
            take_row(slate, arm, row)
            learn_checked(params, vault, view, row, rewards[t], report, noise)
            if look < watched.shape[0] and watched[look] == t:
                for i in range(shown.shape[0]):
                    seen[run, look, i] = shown[i]
                look += 1
