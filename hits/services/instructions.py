"""Publish versions of the instructions for workers, and choose the version of a batch."""

import unicodedata
from dataclasses import replace

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.images.geometry import BoxError, parse_box
from hits.domain.instructions import (
    MAX_BODY,
    MAX_EXAMPLE_BOXES,
    MAX_EXAMPLE_TEXT,
    MAX_EXAMPLES,
    MAX_LINES,
    MAX_NOTE,
    MAX_SUMMARY,
    Example,
    InstructionText,
)
from hits.domain.states import BatchState
from hits.kind import HitKind
from hits.markdown import find_problem, photo_number, picture_sources
from hits.models import Batch, Image, Instructions, Project
from hits.selectors.instructions import (
    built_in_text,
    drawing_alt_texts,
    newest_version,
    referenced_photo_ids,
    version_text,
)
from hits.services import audit
from hits.services.errors import Conflict, ContentTooLarge, Refused
from hits.services.typed_values import clean_field, get_kind_or_refuse

_CONTROL_CATEGORIES = {"Cc", "Cs"}


class NewerVersionPublished(Conflict):
    """Another person published a version during the editing; ``other`` is that version."""

    def __init__(self, other: Instructions) -> None:
        super().__init__(f"version {other.version} was published while you edited")
        self.other = other


def publish_instructions(
    *,
    project: Project,
    kind_name: str,
    text: InstructionText,
    note: str,
    based_on: int,
    by: AbstractBaseUser | None,
) -> Instructions:
    """Publish a new version for a project and kind, and return it. A batch shows it after somebody chooses it there.

    ``based_on`` is the version at the start of the editing, 0 for the built-in text.

    Raises:
        Refused: an unknown kind, no note, no change, or an invalid field; the message names it.
        ContentTooLarge: a text over its limit.
        NewerVersionPublished: a newer version exists; publish again on top of it.
    """
    kind = get_kind_or_refuse(kind_name)
    note = clean_field("note", note, MAX_NOTE)
    if not note:
        raise Refused("note: describe the change in a few words, for colleagues")
    text = clean_instruction_text(text, project=project, kind=kind)
    with transaction.atomic():
        # PostgreSQL: one publication at a time per project. (SQLite always does so.)
        Project.objects.select_for_update().get(pk=project.pk)
        latest = newest_version(project, kind.name)
        if latest is not None and latest.version != based_on:
            raise NewerVersionPublished(latest)
        if (version_text(latest) if latest is not None else built_in_text(kind)) == text:
            raise Refused("text: it equals the current version; change it before you publish")
        row = Instructions.objects.create(
            project=project,
            kind=kind.name,
            version=(latest.version if latest is not None else 0) + 1,
            summary=text.summary,
            body=text.body,
            examples=[example.as_row() for example in text.examples],
            note=note,
            published_by_id=by.pk if by else None,
        )
        audit.record(
            project=project,
            actor=by,
            action="instructions.publish",
            subject=row.pk,
            kind=kind.name,
            version=row.version,
        )
    return row


def set_batch_instructions(
    *, batch: Batch, version: Instructions | None, by: AbstractBaseUser | None, replaces: int | None
) -> Batch:
    """Set the version that the batch's pages show from now on (``None``: the built-in text); return the batch.

    Open pages keep their text, and each answer names the version that its page showed. ``replaces`` is the version
    that the person saw, so that nobody undoes another person's choice by accident.

    Raises:
        Refused: the batch is closed, the version belongs to another project or kind, or the batch shows it already.
        Conflict: somebody else chose another version in the meantime.
    """
    with transaction.atomic():
        batch = Batch.objects.select_for_update(of=("self",)).select_related("instructions").get(pk=batch.pk)
        before = batch.instructions
        if batch.state == BatchState.CLOSED:
            raise Refused("batch: it is closed, and its pages do not open any more")
        if version is not None and (version.project_id, version.kind) != (batch.project_id, batch.kind):
            raise Refused("version: it belongs to another project or another kind of task")
        if (before.version if before else None) != replaces:
            raise Conflict(
                f"somebody chose {version_label(before)} for this batch in the meantime; check it, then choose again"
            )
        if before == version:
            raise Refused(f"version: the batch shows {version_label(version)} already")
        batch.instructions = version
        batch.save(update_fields=["instructions"])
        audit.record(
            project=batch.project,
            actor=by,
            action="batch.instructions",
            subject=batch.pk,
            before=before.version if before else None,
            after=version.version if version else None,
        )
    return batch


def version_label(version: Instructions | None) -> str:
    """Return the label of a version in a sentence."""
    return f"version {version.version}" if version is not None else "the built-in instructions"


def clean_instruction_text(text: InstructionText, *, project: Project, kind: HitKind) -> InstructionText:
    """Return the cleaned text for storage.

    Raises:
        Refused: a field that pages cannot show; the message names it.
        ContentTooLarge: a text over its limit.
    """
    summary = clean_field("summary", text.summary, MAX_SUMMARY)
    if not summary:
        raise Refused("summary: describe the task in one line")
    body = "\n".join(line.rstrip() for line in text.body.splitlines()).strip()
    if not body:
        raise Refused("body: write the instructions")
    if len(body) > MAX_BODY:
        raise ContentTooLarge(f"body: it has {len(body):,} characters; use {MAX_BODY:,} or fewer")
    if body.count("\n") >= MAX_LINES:
        raise ContentTooLarge(f"body: it has over {MAX_LINES} lines; put several sentences on a line")
    if any(
        unicodedata.category(character) in _CONTROL_CATEGORIES and character not in "\n\t"
        for character in body
    ):
        raise Refused("body: it has control characters; remove them, or paste the text without formatting")
    _check_markdown("body", body)
    for source in picture_sources(body):
        if photo_number(source) is None:
            raise Refused(
                f"body: the picture “{source[:60]}” is not one of the project’s photos; "
                "write ![what it shows](photo:12) with the photo’s number"
            )
    if len(text.examples) > MAX_EXAMPLES:
        raise Refused(f"examples: there are {len(text.examples)}; use {MAX_EXAMPLES} or fewer")
    examples = [_clean_example(number, row, kind) for number, row in enumerate(text.examples, start=1)]
    cleaned = InstructionText(summary, body, tuple(examples))
    _check_photos(cleaned, project)
    return cleaned


def _check_markdown(field: str, text: str) -> None:
    problem = find_problem(text)
    if problem:
        raise Refused(f"{field}: {problem}")


def _clean_example(number: int, example: Example, kind: HitKind) -> Example:
    field = f"example {number}"
    texts = [clean_field(field, text, MAX_EXAMPLE_TEXT) for text in (example.weak, example.good, example.why)]
    for text in texts:
        _check_markdown(field, text)
        if picture_sources(text):
            raise Refused(f"{field}: choose the photo in its own field, not in the text")
    if not example.good.strip():
        raise Refused(f"{field}: write the good answer")
    if example.boxes and example.image is None:
        raise Refused(f"{field}: boxes need a photo; name its number")
    if len(example.boxes) > MAX_EXAMPLE_BOXES:
        raise Refused(f"{field}: there are {len(example.boxes)} boxes; use {MAX_EXAMPLE_BOXES} or fewer")
    drawings = drawing_alt_texts(kind)
    if example.picture and example.picture not in drawings:
        raise Refused(f"{field}: the task has no such drawing")
    weak, good, explanation = texts
    return replace(example, weak=weak, good=good, why=explanation, alt=drawings.get(example.picture, ""))


def _check_photos(text: InstructionText, project: Project) -> None:
    rows = Image.objects.filter(
        pk__in=referenced_photo_ids(text), project=project, taken_down_at__isnull=True
    )
    images = {row.pk: row for row in rows}
    for source in picture_sources(text.body):
        _get_photo(images, photo_number(source), "body")
    for number, example in enumerate(text.examples, start=1):
        if example.image is None:
            continue
        image = _get_photo(images, example.image, f"example {number}")
        for box in example.boxes:
            try:
                parse_box(box.as_dict(), image_width=image.width, image_height=image.height)
            except BoxError as error:
                raise Refused(f"example {number}: {error}") from error


def _get_photo(photos: dict[int, Image], number: int | None, field: str) -> Image:
    if number is None or number not in photos:
        raise Refused(f"{field}: photo {number} is not in this project, or was taken down")
    return photos[number]
