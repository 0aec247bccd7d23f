"""The options of a planner of units, for commands and forms alike."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannerOption:
    """One number that chooses a planner's photos.

    Attributes:
        name: the key of its value, and with hyphens the flag of commands. label: on pages. help: one sentence.
        is_whole: whether it is an integer. default: ``None`` if the option is off without a value.
        low, high: the limits of its value, both allowed.
    """

    name: str
    label: str
    help: str
    is_whole: bool
    default: float | None
    low: float
    high: float

    @property
    def flag(self) -> str:
        """The option of commands."""
        return f"--{self.name.replace('_', '-')}"

    def describe(self, value: float) -> str:
        """Return the option with a value, for people."""
        return f"{self.label[0].lower()}{self.label[1:]} {value:g}"
