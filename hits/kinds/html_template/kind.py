"""Show a page of the project: HTML with variables, as in Mechanical Turk's editor."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.states import Purpose
from hits.domain.task_template.form_checks import RESERVED
from hits.domain.task_template.rows import MAX_CELL, MAX_COLUMN_NAME, MAX_COLUMNS
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema

MAX_FIELDS = 500
MAX_FIELD_NAME = 200


class Unit(Schema):
    """One row of the CSV: the page's id and the values of its variables."""

    template: int = Field(ge=1)
    values: dict[
        Annotated[str, Field(min_length=1, max_length=MAX_COLUMN_NAME)],
        Annotated[str, Field(max_length=MAX_CELL)],
    ] = Field(max_length=MAX_COLUMNS)


class Answer(Schema):
    """The submitted form: names and values, in the order of the page. A name may occur several times."""

    fields: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(max_length=MAX_FIELDS)


class HtmlTemplate(HitKind):
    """A page of the project. Its fields define the answer; the launch sets the reward."""

    name: ClassVar[str] = "html_template"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Page from a template"
    description: ClassVar[str] = "Fill in a page. The page has its own instructions."
    keywords: ClassVar[str] = "form, survey, page"
    paper: ClassVar[str] = "No paper: pages made for Mechanical Turk's editor"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    reward_cents: ClassVar[int] = 60
    expected_seconds: ClassVar[int] = 180
    unit_word: ClassVar[tuple[str, str]] = ("row", "rows")
    duration_seconds: ClassVar[int] = 60 * 60
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Payload) -> list[int]:
        """Return an empty list: the page has its own pictures."""
        return []

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return an empty mapping: the page gets its values in its own document, in a sandboxed frame."""
        return {}

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the values of the CSV row."""
        return [EvidenceRow(name, value) for name, value in unit["values"].items()]

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Return the fields without the marketplace's own, and errors for names that cannot be stored."""
        assert isinstance(answer, Answer)
        errors = []
        for position, (name, _) in enumerate(answer.fields):
            if not name.strip() or len(name) > MAX_FIELD_NAME:
                message = (
                    f"the field’s name is empty or over {MAX_FIELD_NAME} characters; correct it in the page"
                )
                errors.append(FieldError(f"fields[{position}]", message))
        # The marketplace's own fields are not part of the answer: a worker's id belongs in no dataset.
        fields = [[name, value] for name, value in answer.fields if name.lower() not in RESERVED]
        return {"fields": fields}, errors


KIND = HtmlTemplate()
