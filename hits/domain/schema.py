"""The base of all schemas of units, answers and records, the box that they share, and problems of their fields."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True, slots=True)
class FieldError:
    """One problem of an input: the path of its field (``observations[1].clue``) and what to do."""

    field: str
    message: str


class Schema(BaseModel):
    """Base of input and answer schemas: unknown fields are refused, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class UnitBox(Schema):
    """A box that a unit shows or a record has, in pixels of the natural image."""

    left: int = Field(ge=0)
    top: int = Field(ge=0)
    width: int = Field(ge=1)
    height: int = Field(ge=1)
