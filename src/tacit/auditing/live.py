"""The live program, attacked as a user holds it: started without a seed, and asked by its public methods alone.

The other attacks play a policy in a kernel, from a seed, thousands of times a second. The program that protects people
draws from the operating system and keeps books of its own. It plays the same scripts a few hundred times, and what it
shows is scored as theirs is. It must be found to have their law, but for one chance in 10⁹: so few runs show gross
breakage at once, such as no noise, or half of it. Reports have an id beside their numbers, all of whose bits must be
fair coins.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from tacit._types import Bools, Floats, Ints
from tacit.auditing.attack import BATCH, REPORT, Attack, Claim
from tacit.auditing.attacks import functions, joint
from tacit.auditing.attacks.one_record import Draws, Functions, Solved, reward_of
from tacit.auditing.engine import Finding, Work, run_with
from tacit.auditing.low_bits import certain
from tacit.auditing.rooms import rooms_of
from tacit.auditing.script import Script, Scripted, Seen
from tacit.core.functions import FunctionPolicy
from tacit.core.round import ROWS
from tacit.core.session import Session
from tacit.policies.joint_linucb import JointLinUCB
from tacit.policies.kernel_baselines import FeatureLinUCB

#: How often each check of a live program rejects a right one: no seed can make it pass again.
LEVEL = 1e-9
#: Runs per neighbour: at most; and at least, of programs that take long. Half the noise is off by 13 deviations, or 8.
RUNS, FEWEST = 400, 150
#: Runs in a kernel that live ones are compared with, and those of them that say where to cut.
_REFERENCE, _CUTS = 10_000, 2000
#: Rows that live programs learn at most, in all runs; and what other things take as long as.
_ROWS, _START, _REPORT, _RECORD, _TRIALS = 1_500_000, 300, 50, 20, 300
#: Numbers of a run whose laws are compared one by one, beside the score's; values that are few.
_COLUMNS, _FEW = 16, 16
#: Reports of the one device that reports for everybody: more than it makes.
_MOST_REPORTS = 10**9
#: Runs per neighbour whose last bits are looked at: a program that noises in doubles is found out in the first.
_BITS_RUNS = 50
#: Bits of an id.
_BITS = 128


@dataclass(frozen=True)
class Ran:
    """What live programs showed: numbers as a kernel's, and the ids of the reports they sent."""

    numbers: Floats  #: (runs, numbers)
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Live:
    """The live program behind an attack that is otherwise played in a kernel."""

    attack: Attack
    face: str  #: by which it was asked
    rounds: int  #: rows that take as long as a run
    once: Callable[[int, int | None], Ran]  #: one run, on the first (0) or the second (1) input; a seed to simulate
    seeded: bool = False  #: of noise that can only be simulated
    bits: Live | None = None  #: the same program behind the attack on last bits, if it shows what that looks at

    @property
    def runs(self) -> int:
        """How many are affordable, per neighbour; 0 if too few are to say anything."""
        count = min(RUNS, _ROWS // (2 * max(1, self.rounds)))
        return count if count >= FEWEST else 0

    def play(self, world: int, runs: int, seed: int) -> Ran:
        """So many runs."""
        seeds: list[int | None] = [None] * runs
        if self.seeded:
            states = np.random.SeedSequence(seed, spawn_key=(world,)).generate_state(runs)
            seeds = [int(state) for state in states]
        found = [self.once(world, one) for one in seeds]
        return Ran(np.concatenate([one.numbers for one in found]), tuple(name for one in found for name in one.ids))


@dataclass(frozen=True)
class LiveFinding:
    """What live programs showed: bounds like those of any attack, and whether their law is the one that was planned."""

    face: str
    finding: Finding
    law: float  #: the chance that the law of a kernel's runs shows so much of a difference, corrected for all looks
    ids: float | None  #: the same for bits of ids that are fair; None where nothing has an id
    seeded: bool = False
    certain: int | None = None  #: runs whose last bits ruled the other input out; None where they were not looked at

    @property
    def wrong(self) -> tuple[str, ...]:
        """What has not the law it should have."""
        checks = (("its noise has not the law of its plan", self.law), ("its ids are no fair coins", self.ids))
        found = [said for said, chance in checks if chance is not None and chance < LEVEL]
        return (*found, "its last bits tell") if self.certain else tuple(found)

    @property
    def refuted(self) -> bool:
        """Whether the live program is not what was promised."""
        return bool(self.wrong) or self.finding.refuted

    @property
    def name(self) -> str:
        """For a line of a table."""
        return f"live program, {self.finding.runs:,} runs"

    @property
    def verdict(self) -> str:
        """What was found, in a line."""
        how = f"{self.face}{', seeded' if self.seeded else ''}, {self.finding.observed}"
        return f"{how}: {'; '.join(self.wrong) or 'its law is that of the plan'}"


def live_of(config: Any, attacks: tuple[Attack, ...], sampler: str, bits: Attack | None = None) -> Live | None:
    """The live program behind the first of these attacks that one can be asked for; None if it takes too long. `bits`
    is the attack on last bits, for which it is asked as well."""
    for attack in attacks:
        found = _behind(config, attack, sampler)
        if found is not None and found.runs:
            return found if bits is None else replace(found, bits=_bare(config, attacks[0], bits, sampler))
    return None


def run_live(
    work: Work, live: Live, claim: Claim, seed: int, path: tuple[int, ...], miss: float = LEVEL
) -> LiveFinding:
    """Score is fitted and thresholds are chosen on runs in a kernel; counted are the live ones. Every single bound
    fails with probability `miss` at most."""
    runs = live.runs
    first, second = (live.play(world, runs, seed) for world in (0, 1))
    shown = first.numbers, second.numbers
    finding, score = run_with(work, live.attack, claim, runs, seed, (*path, 0), miss, shown=shown)
    kernel = work.gather(live.attack, _REFERENCE, seed, (*path, 1), lambda seen: seen)
    chances = [
        chance
        for ours, theirs in zip(shown, kernel, strict=True)
        for one, other in _columns(ours, theirs, score)
        for chance in _same_law(one, other)
    ]
    ids = [fair(one.ids) for one in (first, second)] if first.ids else []
    return LiveFinding(
        live.face,
        finding,
        _least(chances),
        _least([*np.concatenate(ids)]) if ids else None,
        seeded=live.seeded,
        certain=None if live.bits is None else _certain(live.bits, seed),
    )


def _certain(live: Live, seed: int) -> int:
    """In how many of a few runs the last bits rule the other input out."""
    bits: Any = live.attack.sampler
    first, second = (bits.told(live.play(world, min(_BITS_RUNS, live.runs), seed).numbers) for world in (0, 1))
    return certain(first, second)


# Laws -----------------------------------------------------------------------------------------------------------------


def _columns(ours: Floats, theirs: Floats, score: Callable[[Floats], Floats]) -> Iterator[tuple[Floats, Floats]]:
    """The score, and each of the first numbers by itself."""
    yield score(ours), score(theirs)
    for place in range(min(_COLUMNS, ours.shape[1])):
        yield ours[:, place], theirs[:, place]


def _same_law(live: Floats, kernel: Floats) -> list[float]:
    """How probable such shares are if both have one law, each by Fisher's exact test: of every value where there are
    few; else of the middle half, which tells spreads apart, and of the upper half, which tells places."""
    # What is computed in another order is equal but for rounding.
    cuts, rest = kernel[:_CUTS], kernel[_CUTS:]
    size = float(np.abs(cuts).max()) or 1.0
    live, cuts, rest = (np.round(part / size, 9) for part in (live, cuts, rest))
    values = np.unique(cuts)
    if len(values) <= _FEW:
        shares: list[Callable[[Floats], Bools]] = [lambda part, value=value: part == value for value in values]  # type: ignore[misc]
    else:
        low, middle, high = np.quantile(cuts, (0.25, 0.5, 0.75))
        shares = [lambda part: (part > low) & (part < high), lambda part: part > middle]
    return [_fisher(int(share(live).sum()), len(live), int(share(rest).sum()), len(rest)) for share in shares]


def _fisher(hits: int, runs: int, others: int, other_runs: int) -> float:
    law = stats.hypergeom(runs + other_runs, hits + others, runs)
    return min(1.0, 2 * float(min(law.cdf(hits), law.sf(hits - 1))))


def fair(ids: tuple[str, ...]) -> Floats:
    """How probable each bit of these ids is if it is a fair coin, and 0 if two of them are equal."""
    numbers = [int(one, 16) for one in ids]
    ones = np.array([sum(number >> bit & 1 for number in numbers) for bit in range(_BITS)])
    law = stats.binom(len(ids), 0.5)
    alike = 0.0 if len(set(ids)) < len(ids) else 1.0
    return np.append(np.minimum(1.0, 2 * np.minimum(law.cdf(ones), law.sf(ones - 1))), alike)


def _least(chances: list[float]) -> float:
    """One chance for several looks, whatever their dependence."""
    return min(1.0, len(chances) * min(chances))


# Programs -------------------------------------------------------------------------------------------------------------


def _bare(config: Any, attack: Attack, bits: Attack, sampler: str) -> Live | None:
    """The program behind the attack on last bits, which looks at the same face as this one, at numbers as released."""
    told: Any = bits.sampler
    if isinstance(config, FunctionPolicy):
        return None  # a learner of functions shows what it has solved for
    played = replace(attack, sampler=told.played.scripted)
    found = _behind(config, played, sampler, bare=True)
    return None if found is None or not found.runs else replace(found, attack=bits)


def _behind(config: Any, attack: Attack, sampler: str, bare: bool = False) -> Live | None:
    """The program behind an attack, if it has one in public that shows what the attack looks at; `bare`: or has
    released what it looks at."""
    seeded = sampler != "secure"
    if getattr(config, "strict", False):
        config = replace(config, strict=False)  # rows beyond the bounds are clipped, and not refused
    played = attack.sampler
    if isinstance(config, FunctionPolicy):
        if isinstance(played, Scripted) and isinstance(config, FeatureLinUCB):
            attack = functions.values_attack(config, sampler)
            rounds = _START + _RECORD * _rounds(attack)
            return Live(attack, "learner", rounds, _Values(config, attack, sampler), seeded)
        if isinstance(played, Functions | Solved | Draws):
            return Live(attack, "learner", 2 * _START, _Asked(config, played, sampler), seeded)
        return None
    if not isinstance(played, Scripted):
        return None
    if attack.observed in (REPORT, BATCH):
        shuffled = attack.observed == BATCH
        if seeded:
            return None  # devices have exact noise, and a report of another learner is not shown
        face = "device and shuffler" if shuffled else "device"
        # A device lays out many numbers at once, and ones take the longer the more trials they have.
        each = _REPORT + getattr(played.plan.law, "trials", 0) // _TRIALS
        return Live(attack, face, each * _rounds(attack), _Reports(config, played, shuffled))
    if (isinstance(config, JointLinUCB) or played.plan.arms is not None) and not bare:
        # What a counter publishes is not shown by itself: a learner shows what is made of it.
        attack = joint.viewed(config, sampler)
        shown: Any = attack.sampler
        played = shown
    return Live(attack, "learner", _START + _rounds(attack), _Learns(config, played, sampler), seeded)


def _rounds(attack: Attack) -> int:
    played: Any = attack.sampler
    return len(played.scripts[0].rewards) + int(played.plan.vault().counters[ROWS])


def _started(config: Any, sampler: str, seed: int | None) -> Any:
    return config.start() if seed is None else config.start(seed=seed, sampler=sampler)


class _Learns:
    """`start`, then `choose` and `learn` by the script, and `view` where it is looked at."""

    def __init__(self, config: Any, played: Scripted, sampler: str) -> None:
        self._config, self._played, self._sampler = config, played, sampler
        rooms = rooms_of(Session(played.plan, config.dim, seed=0))
        self._places, self._size = rooms.places, len(rooms.shown)
        self._before = list(_before(config, played.plan))
        one, two = played.scripts
        changed = (one.rewards != two.rewards) | (one.offers != two.offers).any(axis=(1, 2))
        self._theirs = set(np.flatnonzero(changed).tolist())

    def __call__(self, world: int, seed: int | None) -> Ran:
        played, config = self._played, self._config
        script, learner = played.scripts[world], _started(config, self._sampler, seed)
        counts_people, listed = config.person_rounds is not None, config.fixed_actions
        others, shared = 0, played.plan.arms

        def learn(x: Any, reward: float, whose: str) -> None:
            named = {"person": whose} if counts_people else {}
            if shared is not None:
                # What comes with no arm is a row without a context: it adds nothing, whatever is protected.
                (*context, which), features = x[: config.dim + 1].tolist(), x[config.dim + 1 :]
                more = {} if config.shared is None else {"features": features}
                arm = int(which)
                if arm >= shared:
                    context = [math.nan] * config.dim
                learner.learn(context, arm % shared, reward, **named, **more)
                return
            row = x if listed is None else int(np.argmax((listed == x).all(axis=1)))
            learner.learn(row, reward, **named)

        for x, reward, times in self._before:
            for _ in range(times):
                others += 1
                learn(x, reward, f"before {others}")
        asked, watched = set(played.asked.tolist()), set(played.watched.tolist())
        arms, looks = [], []
        for t, reward in enumerate(script.rewards.tolist()):
            offers = script.offers[t]
            if script.forced is not None and script.forced[t] >= 0:
                arm = int(script.forced[t])
            else:
                arm = _chosen(learner, config, shared, offers)
            if t in asked:
                arms.append(arm)
            row = offers[arm] if shared is None else config.taken(offers, arm)
            learn(row, reward, "the one" if t in self._theirs else f"other {t}")
            if t in watched:
                looks.append(self._look(learner))
        numbers = np.array(looks).reshape(1, len(looks), self._size)
        return Ran(played.see(Seen(np.array([arms], dtype=np.int64), numbers, self._places)))

    def _look(self, learner: Any) -> Floats:
        found, view = np.zeros(self._size), learner.view
        for name, (place, shape) in self._places.items():
            if name == "published":
                # What all of a view is made of, as it was released: of this alone nobody is shown the numbers.
                found[place] = learner._session.vault.memory[-1] if shape[0] else 0.0
            elif name != "report":
                found[place] = getattr(view, name).ravel()
        return found


def _chosen(learner: Any, config: Any, shared: int | None, offers: Floats) -> int:
    """What a learner chooses of what is offered."""
    if config.fixed_actions is not None:
        return int(learner.choose())
    if shared is None:
        return int(learner.choose(offers))
    features = offers[0, config.dim + shared :].reshape(shared, -1)
    return int(learner.choose(offers[0, : config.dim], **({} if config.shared is None else {"features": features})))


def _before(config: Any, plan: Any) -> Iterator[tuple[Floats, float, int]]:
    """Rows that have come before a run in a kernel begins, as its vault has them: of zeros, or of each arm's level."""
    vault, rows = plan.vault(), int(plan.vault().counters[ROWS])
    if plan.arms is not None:
        yield config.taken(np.zeros((1, config.dim)), plan.arms), 0.0, rows
        return
    if not hasattr(vault, "sizes"):
        yield np.zeros(config.dim), 0.0, rows
        return
    params = plan.params
    for arm, size in enumerate(vault.sizes.astype(int).tolist()):
        level = vault.sums[arm] / max(size, 1)
        reward = level if params.step == 0.0 else params.reward_low + params.step * level
        yield np.asarray(params.actions)[arm], float(reward), size


class _Reports:
    """`device`, `see` and `report`; and where reports are mixed, a `shuffler` for a batch of devices."""

    def __init__(self, config: Any, played: Scripted, shuffled: bool) -> None:
        self._config, self._played, self._shuffled = config, played, shuffled
        # Further noise is asked for by a view: a server that wants to know asks for none.
        view = config.server().view()
        if "perturbation" in view["arrays"]:
            view["arrays"]["perturbation"] = [0.0]
        # One device reports for everybody: making it takes longer than all its reports of a run.
        self._device = config.device(limit=_MOST_REPORTS)
        self._device.see(view)

    def __call__(self, world: int, seed: int | None) -> Ran:
        script = self._played.scripts[world]
        rows = zip(script.offers[:, 0], script.rewards.tolist(), strict=True)
        messages = [self._device.report(*row) for row in (rows if script.forced is None else self._of_arms(script))]
        return self._ran(messages, self._mixed(messages) if self._shuffled else None)

    def _of_arms(self, script: Script) -> Iterator[tuple[Floats, int, float]]:
        """Rows where arms share a context: what comes with no arm is a row without a reward."""
        dim, arms = self._config.dim, self._played.plan.arms
        assert arms is not None
        assert script.forced is not None
        for offers, arm, reward in zip(script.offers, script.forced.tolist(), script.rewards.tolist(), strict=True):
            yield offers[0, :dim], arm % arms, reward if arm < arms else math.nan

    def _mixed(self, messages: list[dict[str, Any]]) -> list[list[float]]:
        """What leaves the shuffler, less what those who are not honest have sent, which is nothing."""
        shuffler, nothing = self._config.shuffler(), [0] * len(messages[0]["values"])
        for message in messages:
            shuffler.add(message)
        while not shuffler.ready:
            shuffler.add({**messages[0], "id": secrets.token_hex(16), "values": nothing})
        batch = shuffler.batch()
        return [batch["ones"]] if "ones" in batch else [row for row in batch["values"] if any(row)]

    def _ran(self, messages: list[dict[str, Any]], values: list[list[float]] | None = None) -> Ran:
        rows = [message["values"] for message in messages] if values is None else values
        numbers = np.array([rows], dtype=np.float64)
        size = int(numbers.shape[2])
        places: dict[str, tuple[slice, tuple[int, ...]]] = {"report": (slice(0, size), (size,))}
        seen = Seen(np.zeros((1, 0), np.int64), numbers, places)
        return Ran(self._played.see(seen), tuple(message["id"] for message in messages))


class _Asked:
    """`start`, `learn`, and one passage through a door: `release_function` or `predict_once`."""

    def __init__(self, config: Any, played: Functions | Solved | Draws, sampler: str) -> None:
        self._config, self._played, self._sampler = config, played, sampler

    def __call__(self, world: int, seed: int | None) -> Ran:
        config, played = self._config, self._played
        learner, point = _started(config, self._sampler, seed), played.case.point
        _record(learner, config, point, config.middle + reward_of(config, world))
        if isinstance(played, Draws):
            choice, others = played.choice, played.candidates - 1
            candidates = np.array([choice.here] + [choice.there] * others)
            found = learner.predict_once(choice.context, config.epsilon, candidates)
            return Ran(np.array([[0.0 if np.array_equal(found, choice.here) else 1.0]]))
        function = learner.release_function()
        return Ran(np.atleast_2d(function.features.psi(point[None, :]) @ function.coefficients))


class _Values:
    """`start`, `learn`, and `release_function` after each view: of a learner of functions with views."""

    def __init__(self, config: FeatureLinUCB, attack: Attack, sampler: str) -> None:
        played: Any = attack.sampler
        self._config, self._sampler = config, sampler
        self._point, self._rounds = functions.longest(config).point, len(played.scripts[0].rewards)
        self._watched: Ints = played.watched

    def __call__(self, world: int, seed: int | None) -> Ran:
        config, found = self._config, []
        learner, watched = _started(config, self._sampler, seed), set(self._watched.tolist())
        row = functions.longest_row(config)
        for t in range(self._rounds):
            reward = reward_of(config, world) if t == 0 else 0.0
            _record(learner, config, self._point, config.middle + reward)
            if t in watched:
                function = learner.release_function()
                found.append(float(function.coefficients @ row) / config.bounds.reach)
        return Ran(np.array([found]))


def _record(learner: Any, config: Any, point: Floats, reward: float) -> None:
    dim = config.actions.dim
    learner.learn(point[:dim], reward, None if config.context_box is None else point[dim:])
