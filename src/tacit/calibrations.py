"""How much noise keeps a promise: the least, or what was published.

calibration=tacit.calibrations.Published(noise="wishart")      # or words: calibration="published", noise="wishart"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tacit._validate import above, one_of, positive
from tacit.core.settings import Choice
from tacit.errors import BadInput

__all__ = ["Exact", "Published", "Script"]

#: Noise that was published.
NOISES = ("gaussian", "wishart", "wishart-unshifted")


@dataclass(frozen=True, kw_only=True)
class Exact(Choice):
    """The least noise that keeps the promise.

    Parameters: `shift`, the regulariser c > 1 in units of the noise bound (default: the schedule's).

    >>> import tacit
    >>> wider = tacit.calibrations.Exact(shift=4)
    >>> tacit.JointLinUCB(dim=2, epsilon=1, delta=1e-6, width="theory", calibration=wider).shift_factor
    4
    """

    word: ClassVar[str] = "exact"

    shift: float | None = None

    def __post_init__(self) -> None:
        if self.shift is not None:
            above("shift", self.shift, 1)

    @classmethod
    def refusal(cls, name: str, option: str, value: object, owners: str) -> str:
        if option == "noise":
            return (
                f'Expected noise="gaussian" with calibration="exact", got noise="{value}": no exact price of Wishart '
                'noise is known. Use calibration="published", releases="tree".'
            )
        return (
            f"Expected {option} with a shifted published calibration only, got {option}={value!r}. "
            "The exact calibrations are moved by shift."
        )

    def check(self, config: Any) -> None:
        """Refuse what does not go with it: nothing."""


@dataclass(frozen=True, kw_only=True)
class Published(Choice):
    """The constants of the paper; the card says what they truly give.

    Parameters: `noise`, "gaussian", "wishart" or "wishart-unshifted"; `rho_min`, the least eigenvalue the shift leaves
    (default: the paper's).

    >>> import tacit
    >>> wishart = tacit.calibrations.Published(noise="wishart")
    >>> tacit.JointLinUCB(dim=2, epsilon=1, delta=0.1, releases="tree", horizon=100, calibration=wishart).noise
    'wishart'
    """

    word: ClassVar[str] = "published"

    noise: str = "gaussian"
    rho_min: float | None = None

    def __post_init__(self) -> None:
        one_of("noise", self.noise, NOISES)
        if self.rho_min is not None:
            positive("rho_min", self.rho_min)
            if self.noise == "wishart-unshifted":
                raise BadInput(Exact.refusal("calibration", "rho_min", self.rho_min, f'"{self.word}"'))

    @classmethod
    def refusal(cls, name: str, option: str, value: object, owners: str) -> str:
        return _not_published(option, "the paper's shift is moved by rho_min")

    def check(self, config: Any) -> None:
        """Refuse what the paper's constants are not for."""
        for name, given, meaning in (
            ('releases="tree"', config.releases == "tree", "it is the tree that was published"),
            ("no prior", config.prior is None, "the paper starts from nothing"),
            ("no ridge", config.ridge == 1.0, "the paper's regulariser is its noise and its shift"),
            ("no person_rounds", config.person_rounds is None, "the paper's constants are for one round"),
        ):
            if not given:
                raise BadInput(f'Expected {name} with calibration="published", got otherwise: {meaning}.')


@dataclass(frozen=True, kw_only=True)
class Script(Choice):
    """The noise of a public script, which nothing covers: to reproduce figures, not for people.

    >>> import tacit
    >>> script = tacit.calibrations.Script()
    >>> tacit.ShuffleLinUCB(dim=2, epsilon=1, delta=0.1, horizon=100, calibration=script).promise is None
    True
    """

    word: ClassVar[str] = "script"


def _not_published(option: str, meaning: str) -> str:
    return f'Expected no {option} with calibration="published", got otherwise: {meaning}.'
