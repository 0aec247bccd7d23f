"""What the settings of training runs have in common: frozen dataclasses that are read from plain values. No torch.

The type of each field decides which values it takes: a truth value, a whole number, a number, a text, or one of the
values of an enumeration.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import StrEnum
from typing import Any, ClassVar, Self, get_type_hints

from curation.records import InvalidInput

_TYPE_LABELS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_ACCEPTED: dict[type, tuple[type, ...]] = {float: (int, float)}


class LoopSettings:
    """The settings of a training run; a subclass is a frozen dataclass that has these fields and more.

    batch_size: items per step over all processes. learning_rate: above 0. epochs: passes over the items.
    max_steps: limit of steps; 0 is no limit. processes: their number divides the batch. The source of the
    default rate is ``rate_source``, for messages.
    """

    __slots__ = ()
    rate_source: ClassVar[str]
    batch_size: int
    learning_rate: float
    epochs: int
    max_steps: int
    processes: int

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, as ``from_json`` reads them."""
        values = asdict(self).items()  # type: ignore[call-overload]
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in values}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """Return settings from plain values; missing ones have their defaults.

        Raises:
            InvalidInput: an unknown setting, a missing model or an invalid value; the message names it.
        """
        types = get_type_hints(cls)
        known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        unknown = sorted(set(raw) - set(known))
        if unknown:
            raise InvalidInput(f"{unknown[0]}: is not a setting of a training run; use {', '.join(known)}")
        if "model" not in raw:
            raise InvalidInput("model: is missing; give the starting weights")
        return cls(**{name: _parse_setting(name, value, types[name]) for name, value in raw.items()})

    def count_steps(self, items: int) -> int:
        """Return the updates of a run on these items, without early stopping; only full batches count."""
        steps = self.epochs * (items // self.batch_size)
        return min(steps, self.max_steps) if self.max_steps else steps

    def check_minima(self, minimum: int, *names: str) -> None:
        """Raise InvalidInput if a setting is below its minimum."""
        for name in names:
            value = getattr(self, name)
            if value < minimum:
                raise InvalidInput(f"{name}: {value} is too small; use at least {minimum}")

    def check_batch_and_rate(self) -> None:
        """Raise InvalidInput if the processes cannot share a batch, or the learning rate is out of range."""
        if self.batch_size % self.processes:
            raise InvalidInput(
                f"batch_size: {self.batch_size} cannot be divided among {self.processes} processes; use a multiple"
            )
        if not 0 < self.learning_rate < 1:
            raise InvalidInput(
                f"learning_rate: {self.learning_rate:g} is not between 0 and 1; {self.rate_source}"
            )


def _parse_setting(name: str, value: Any, expected: type) -> Any:
    if issubclass(expected, StrEnum):
        try:
            return expected(value)
        except ValueError as error:
            raise InvalidInput(f"{name}: {value!r} is not known; use {', '.join(expected)}") from error
    is_truth_value = isinstance(value, bool)
    if not isinstance(value, _ACCEPTED.get(expected, (expected,))) or is_truth_value != (expected is bool):
        raise InvalidInput(f"{name}: {value!r} is not {_TYPE_LABELS[expected]}")
    return value
