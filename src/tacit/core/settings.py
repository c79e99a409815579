"""Options with a name on the command line, which travel as a dictionary."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit._validate import known, one_of, whole
from tacit.errors import BadInput

#: How noise is drawn: exactly, in whole numbers, wherever it protects people; in double precision in simulations.
SAMPLERS = ("secure", "double")


def drawn_by(seed: object, sampler: str | None) -> tuple[int | None, str]:
    """The seed and the sampler of a learner that were asked for: by default no seed and "secure", with a seed "double".
    Doubles without a seed are refused."""
    number = None if seed is None else whole("seed", seed, low=0)
    if sampler is None:
        return number, "secure" if seed is None else "double"
    if one_of("sampler", sampler, SAMPLERS) == "double" and seed is None:
        raise BadInput(
            'Expected a seed with sampler="double", got none: numbers in double precision are for simulation only, '
            "since their last bits tell what the noise should hide. Leave sampler out for people."
        )
    return number, sampler


def option(text: str, default: Any = dataclasses.MISSING) -> Any:
    """A field of a configuration, with the sentence that documents it on the command line."""
    return dataclasses.field(default=default, metadata={"help": text})


class Declared:
    """What may be asked of every configuration of a kind, whether it is an option of it or not: a base without fields,
    whose annotated attributes say what holds where a configuration does not say otherwise.

    A dataclass takes what it finds under a field's name for the field's default, up here too. So an option that a
    configuration declares without a default is made one that must be given.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in inspect.get_annotations(cls):
            if name not in cls.__dict__ and any(name in vars(base) for base in _declaring(cls)):
                setattr(cls, name, dataclasses.field())


def _declaring(cls: type) -> list[type]:
    """The bases that declare and have no fields."""
    return [base for base in cls.__mro__[1:] if issubclass(base, Declared) and "__dataclass_fields__" not in vars(base)]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What an option takes in place of a word, together with what belongs to that word alone: a small, frozen value.

    Its fields are options of the configuration, under the same names. The configuration keeps the words, so that it has
    one form, on the command line, in a file and on a card: `Tree(horizon=1000)` is `releases="tree", horizon=1000`.
    """

    word: ClassVar[str]

    @classmethod
    def refusal(cls, name: str, option: str, value: object, owners: str) -> str:
        """Why this value does not take an option that belongs to `owners`, which are words."""
        return f'Expected {option} with {name}={owners} only, got {name}="{cls.word}". Leave it out.'

    def to_dict(self) -> dict[str, Any]:
        """The value under its word: how one that no configuration has words for travels."""
        return {self.word: dataclasses.asdict(self)}


def from_fields(kinds: Mapping[str, type], value: dict[str, Any], what: str) -> Any:
    """The value that travels as {its name: its fields}. What was given is not repeated in a refusal: over HTTP it may
    be anything."""
    ((name, fields),) = value.items()
    if name not in kinds:
        raise BadInput(f"Expected {what} of a kind that is known here, got another. Import the module that defines it.")
    try:
        return kinds[name](**fields)
    except TypeError:
        raise BadInput(f"Expected {what} with the fields of {name}, got others.") from None


def unfold(config: Settings, name: str, kinds: Sequence[type[Choice]]) -> None:
    """Where option `name` was given as a value, write what it holds into the configuration, as words. One that is not
    of these kinds has no word that anybody would know again: it stays."""
    value = getattr(config, name)
    if not isinstance(value, Choice):
        return
    own = {field.name: field for field in dataclasses.fields(config)}
    for field in dataclasses.fields(value):
        given = getattr(value, field.name)
        if given == field.default:
            continue
        if field.name not in own:
            if type(value) not in kinds:
                continue
            raise BadInput(f"Expected {name} of {config.slug} without {field.name}, got {name}={value!r}.")
        now = getattr(config, field.name)
        if now not in (own[field.name].default, given):
            raise BadInput(f"Expected {field.name} once, got {field.name}={now!r} beside {name}={value!r}.")
        object.__setattr__(config, field.name, given)
    if type(value) in kinds:
        object.__setattr__(config, name, value.word)


def fold(config: Settings, name: str, kinds: Sequence[type[Choice]]) -> Any:
    """The value that the words of a configuration stand for. What belongs to another word must not be given."""
    words = {kind.word: kind for kind in kinds}
    kind = words[one_of(name, getattr(config, name), words)]
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    own = {field.name for field in dataclasses.fields(kind)}
    for other in kinds:
        for field in dataclasses.fields(other):
            value = getattr(config, field.name)
            if field.name not in own and value != defaults[field.name]:
                takes = [one.word for one in kinds if field.name in {own.name for own in dataclasses.fields(one)}]
                raise BadInput(kind.refusal(name, field.name, value, " or ".join(f'"{word}"' for word in takes)))
    return kind(**{field: getattr(config, field) for field in own})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """An immutable, printable, serialisable configuration of something that has a slug."""

    kind: ClassVar[str]  #: what it configures: "policy" or "environment"
    slug: ClassVar[str]
    summary: ClassVar[str]

    @classmethod
    def has_option(cls, name: str) -> bool:
        """Whether there is such an option, whatever it is set to."""
        return any(field.name == name for field in dataclasses.fields(cls))

    def to_dict(self) -> dict[str, Any]:
        """The settings under their own names, with the slug under its kind: ready for JSON, and for `from_dict`."""
        return {self.kind: self.slug, **self.options()}

    def options(self) -> dict[str, Any]:
        """The settings under their own names, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in values.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name, as they are: scikit-learn's convention. Nothing lies deeper."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Itself, if nothing would change; everything else is refused, since a configuration is immutable.

        Part of scikit-learn's conventions. To return a changed copy would be no better: its estimators ignore what
        `set_params` of a part returns, and a search over `config__epsilon` would run every point with the ε there was.
        """
        names = [field.name for field in dataclasses.fields(self)]
        for name, value in params.items():
            known(f"option of {self.slug}", name, names, see=f"The options of {self.slug}: {', '.join(names)}.")
            if value is not getattr(self, name):
                raise BadInput(
                    f"Expected to leave {type(self).__name__} as it is, got another {name}: a configuration is "
                    f"immutable. Make a new one with dataclasses.replace(config, {name}=...), and search over whole "
                    "configurations."
                )
        return self

    def __sklearn_clone__(self) -> Self:
        # Nothing is ever fitted in it. The constructor would not do: some options are tidied there, which
        # scikit-learn takes for a mistake.
        return self

    def _repr_html_(self) -> str:
        from tacit.core.notebook import config_html

        return config_html(self)

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """The configuration that `to_dict` described. Unknown settings are refused by name."""
        names = [field.name for field in dataclasses.fields(cls)]
        given = {name: value for name, value in settings.items() if name != cls.kind}
        for name in given:
            known(f"option of {cls.slug}", name, names, see=f"The options of {cls.slug}: {', '.join(names)}.")
        return cls(**given)
