"""How the defaults of `LocalLinUCB` and `ShuffleLinUCB` were chosen: widths, the shift of the proved one, batches.

    python -m benchmarks.noised_reports tuned --trials 20       # on seeds from 10⁶ up
    python -m benchmarks.noised_reports published --trials 20   # next to the constants of others, on seeds from 1 up

20,000 rounds of the world `bias` with its bounds declared, d = 5, K = 100. A few minutes each on two cores.
"""

from __future__ import annotations

import argparse
from typing import Any

import tacit
from tacit.environments import Bias
from tacit.privacy.guarantee import round_up
from tacit.report.tables import number, table

ROUNDS = 20_000
PROMISES = ((0.2, 0.1), (1.0, 0.1), (10.0, 0.1), (1.0, 1e-6))


def tuned(**promise: Any) -> dict[str, tacit.Policy]:
    """Every rule at a few multiples of its width, the proved one at a few shifts, and a few batches."""
    found: dict[str, tacit.Policy] = {}
    bounds = {**Bias().bounds, **promise}
    for name, kind, shift in (("local", tacit.LocalLinUCB, 6.0), ("counts", tacit.ShuffleLinUCB, 3.0)):
        rule = "published" if name == "local" else "script"
        for factor in (0.25, 0.5, 2.0, 4.0):
            found[f"{name}, least squares × {factor:g}"] = kind(**bounds, width=factor)
        for width in ("least-squares", rule, "theory"):
            found[f"{name}, {width}"] = kind(**bounds, width=width)
        for c in (1.5, 2.0, 3.0, 4.0, 6.0):
            if c != shift:
                found[f"{name}, theory, c = {c:g}"] = kind(**bounds, width="theory", shift=c)
    for batch in (50, 100, 400, 1000):
        found[f"counts, B = {batch}"] = tacit.ShuffleLinUCB(**bounds, batch=batch)
    found["Gaussian reports, least-squares"] = tacit.ShuffleLinUCB(**bounds, protocol="amplification")
    return found


def published(**promise: Any) -> dict[str, tacit.Policy]:
    """Ours, what was published, and what a public script has, with the bounds those know."""
    declared = {**Bias().bounds, **promise}
    plain = {**promise, "noise_level": 0.5}
    shuffled: dict[str, Any] = {**plain, "protocol": "amplification"}
    return {
        "linucb": tacit.LinUCB(dim=5, noise_level=0.5, horizon=ROUNDS, width="theory"),
        "local": tacit.LocalLinUCB(**declared),
        "local, no bounds declared": tacit.LocalLinUCB(**promise),
        "local, theory": tacit.LocalLinUCB(**declared, width="theory"),
        "local, published": tacit.LocalLinUCB(**plain, calibration="published", failure=0.1),
        "counts": tacit.ShuffleLinUCB(**declared),
        "counts, no bounds declared": tacit.ShuffleLinUCB(**promise),
        "counts, theory": tacit.ShuffleLinUCB(**declared, width="theory"),
        "counts, published": tacit.ShuffleLinUCB(**plain, calibration="published"),
        "counts, script, B = 20": tacit.ShuffleLinUCB(**plain, calibration="script", batch=20),
        "Gaussian reports": tacit.ShuffleLinUCB(**declared, protocol="amplification"),
        "Gaussian reports, published, B = 380": tacit.ShuffleLinUCB(**shuffled, calibration="published", batch=380),
        "Gaussian reports, script, B = 20": tacit.ShuffleLinUCB(**shuffled, calibration="script", batch=20),
    }


PARTS = {"tuned": (tuned, 10**6, ("fresh", "fixed")), "published": (published, 1, ("fresh",))}


def main() -> None:
    """Run one part and print one table: regret ± standard error, and the accounted ε next to what was published."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args()
    policies, seed, contexts = PARTS[options.part]
    cells: dict[str, list[str]] = {}
    for context in contexts:
        for epsilon, delta in PROMISES:
            promise = {"dim": 5, "epsilon": epsilon, "delta": delta, "horizon": ROUNDS}
            for name, config in policies(**promise).items():
                result = tacit.simulate(config, Bias(contexts=context), ROUNDS, options.trials, seed)
                spent = "" if options.part == "tuned" else f" ({_epsilon(config)})"
                mean = f"{number(result.regret_mean)} ± {number(result.regret_se, 2)}{spent}"
                cells.setdefault(name, []).append(mean)
    head = ["policy", *(f"{context}, ({e:g}, {d:g})" for context in contexts for e, d in PROMISES)]
    print(f"{ROUNDS:,} rounds, {options.trials} trials, seed {seed}\n")
    print(table(head, [[name, *row] for name, row in cells.items()], right=tuple(range(1, len(head)))))


def _epsilon(config: tacit.Policy) -> str:
    epsilon = config.guarantee.epsilon
    return "none" if epsilon is None else f"ε ≤ {round_up(epsilon, 3)}"


if __name__ == "__main__":
    main()
