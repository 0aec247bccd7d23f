"""Ask with a page that the project brings along: HTML with variables, as Mechanical Turk's editor took it."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.domain.task_template.form_checks import RESERVED
from hits.domain.task_template.rows import MAX_CELL, MAX_COLUMN_NAME, MAX_COLUMNS
from hits.kind import FieldError, HitKind, Schema

MAX_FIELDS = 500
MAX_FIELD_NAME = 200


class Unit(Schema):
    """One row of the CSV: which page, and what its variables are filled in with."""

    template: int = Field(ge=1)
    values: dict[
        Annotated[str, Field(min_length=1, max_length=MAX_COLUMN_NAME)],
        Annotated[str, Field(max_length=MAX_CELL)],
    ] = Field(max_length=MAX_COLUMNS)


class Answer(Schema):
    """The form as it was sent: names and values, in the order of the page. A name may stand several times."""

    fields: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(max_length=MAX_FIELDS)


class HtmlTemplate(HitKind):
    """A page of the project's own. What it asks, its fields say; what it pays, the launch says."""

    name: ClassVar[str] = "html_template"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "A page of the project’s own"
    description: ClassVar[str] = "Fill in a page. Its instructions stand on the page itself."
    keywords: ClassVar[str] = "form, survey, page"
    paper: ClassVar[str] = "No paper: pages made for Mechanical Turk's editor"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    reward_cents: ClassVar[int] = 60
    expected_seconds: ClassVar[int] = 180
    unit_word: ClassVar[tuple[str, str]] = ("row", "rows")
    duration_seconds: ClassVar[int] = 60 * 60
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return nothing: the page brings its pictures along."""
        return []

    def page_unit(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return nothing: the old page gets its values in a document of its own, inside a frame without rights."""
        return {}

    def unit_rows(self, unit: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return what the row filled in."""
        return [EvidenceRow(name, said) for name, said in unit["values"].items()]

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Return the fields as they came, without what the marketplace itself says, and names that cannot be kept."""
        assert isinstance(answer, Answer)
        errors = []
        for position, (name, _) in enumerate(answer.fields):
            if not name.strip() or len(name) > MAX_FIELD_NAME:
                said = f"the field’s name is empty or over {MAX_FIELD_NAME} characters; the page has to mend that"
                errors.append(FieldError(f"fields[{position}]", said))
        # What the marketplace says itself is no part of the answer: a worker's id belongs in no dataset.
        kept = [[name, value] for name, value in answer.fields if name.lower() not in RESERVED]
        return {"fields": kept}, errors


KIND = HtmlTemplate()
