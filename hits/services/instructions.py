"""Publish what workers are told, and choose which version a batch shows."""

import unicodedata

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.answers.text import TextError, clean_line
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
    Text,
)
from hits.domain.states import BatchState
from hits.kind import HitKind
from hits.markdown import photo_number, pictures, trouble
from hits.models import Batch, Image, Instructions, Project
from hits.selectors.instructions import current, own_drawings, own_text, photos_named, rows_of, text_of
from hits.services import audit
from hits.services.errors import Conflict, Refused, TooLarge

_UNSEEN = {"Cc", "Cs"}


class Overtaken(Conflict):
    """Somebody published since the editing began; ``other`` is their version."""

    def __init__(self, other: Instructions) -> None:
        super().__init__(f"version {other.version} was published since you began")
        self.other = other


def publish(
    *,
    project: Project,
    kind_name: str,
    text: Text,
    note: str,
    based_on: int,
    by: AbstractBaseUser | None,
) -> Instructions:
    """Publish a new version for a project and kind, and return it. No batch shows it before it is told to.

    ``based_on`` is the version that the editing began with, 0 for the kind's own text.

    Raises:
        Refused: an unknown kind, no note, nothing changed, or a field that cannot be shown; the message names it.
        TooLarge: a text over its limit.
        Overtaken: a newer version stands already; publish again on top of it.
    """
    kind = _kind(kind_name)
    note = _line("note", note, MAX_NOTE)
    if not note:
        raise Refused("note: say in a few words what changed, for colleagues")
    text = tidied(text, project=project, kind=kind)
    with transaction.atomic():
        # PostgreSQL: one publication at a time in a project. (SQLite: always so.)
        Project.objects.select_for_update().get(pk=project.pk)
        latest = current(project, kind.name)
        if latest is not None and latest.version != based_on:
            raise Overtaken(latest)
        if (text_of(latest) if latest is not None else own_text(kind)) == text:
            raise Refused("text: this is the present text word for word; there is nothing to publish")
        row = Instructions.objects.create(
            project=project,
            kind=kind.name,
            version=(latest.version if latest is not None else 0) + 1,
            summary=text.summary,
            body=text.body,
            examples=rows_of(text.examples),
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


def show_on_batch(
    *, batch: Batch, version: Instructions | None, by: AbstractBaseUser | None, instead_of: int | None
) -> Batch:
    """Let the batch's pages show ``version`` from now on, ``None`` being the kind's own text; return the batch.

    Pages that are open keep the text that they were opened with, and each answer names what its page showed.
    ``instead_of`` is the version that the person saw in place, so that nobody undoes another's choice unseen.

    Raises:
        Refused: the batch is closed, the version is another project's or kind's, or it is shown already.
        Conflict: somebody else chose another version meanwhile.
    """
    with transaction.atomic():
        batch = Batch.objects.select_for_update(of=("self",)).select_related("instructions").get(pk=batch.pk)
        before = batch.instructions
        if batch.state == BatchState.CLOSED:
            raise Refused("batch: it is closed, so nobody opens its pages any more")
        if version is not None and (version.project_id, version.kind) != (batch.project_id, batch.kind):
            raise Refused("version: it belongs to another project or another kind of task")
        if (before.version if before else None) != instead_of:
            raise Conflict(
                f"somebody chose {title(before)} for this batch meanwhile; look at it, then choose again"
            )
        if before == version:
            raise Refused(f"version: the batch shows {title(version)} already")
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


def title(version: Instructions | None) -> str:
    """Return what a version is called in a sentence."""
    return f"version {version.version}" if version is not None else "the task’s own text"


def tidied(text: Text, *, project: Project, kind: HitKind) -> Text:
    """Return the text as it is kept.

    Raises:
        Refused: a field that cannot be shown to workers; the message names it.
        TooLarge: a text over its limit.
    """
    summary = _line("summary", text.summary, MAX_SUMMARY)
    if not summary:
        raise Refused("summary: say in one line what there is to do")
    body = "\n".join(line.rstrip() for line in text.body.splitlines()).strip()
    if not body:
        raise Refused("body: write what workers have to know")
    if len(body) > MAX_BODY:
        raise TooLarge(f"body: it has {len(body):,} characters; use {MAX_BODY:,} or fewer")
    if body.count("\n") >= MAX_LINES:
        raise TooLarge(f"body: it has over {MAX_LINES} lines; write several sentences on one")
    if any(unicodedata.category(character) in _UNSEEN and character not in "\n\t" for character in body):
        raise Refused(
            "body: it holds control characters; remove them, or paste the text without its formatting"
        )
    _check_markdown("body", body)
    for source in pictures(body):
        if photo_number(source) is None:
            raise Refused(
                f"body: the picture “{source[:60]}” is not one of the project’s photos; "
                "write ![what it shows](photo:12) with the photo’s number"
            )
    if len(text.examples) > MAX_EXAMPLES:
        raise Refused(f"examples: there are {len(text.examples)}; use {MAX_EXAMPLES} or fewer")
    examples = [_example(number, row, kind) for number, row in enumerate(text.examples, start=1)]
    tidy = Text(summary, body, tuple(examples))
    _check_photos(tidy, project)
    return tidy


def _kind(name: str) -> HitKind:
    try:
        return registry.get(name)
    except LookupError as error:
        raise Refused(f"kind: {error}") from error


def _line(field: str, raw: str, maximum: int) -> str:
    try:
        return clean_line(raw, maximum=maximum)
    except TextError as error:
        raise Refused(f"{field}: it {error}") from error


def _check_markdown(field: str, text: str) -> None:
    found = trouble(text)
    if found:
        raise Refused(f"{field}: {found}")


def _example(number: int, example: Example, kind: HitKind) -> Example:
    field = f"example {number}"
    texts = [_line(field, text, MAX_EXAMPLE_TEXT) for text in (example.weak, example.good, example.why)]
    for text in texts:
        _check_markdown(field, text)
        if pictures(text):
            raise Refused(f"{field}: choose its photo below, not in the text")
    if not example.good.strip():
        raise Refused(f"{field}: write the answer that works")
    if example.boxes and example.image is None:
        raise Refused(f"{field}: boxes need a photo; name its number")
    if len(example.boxes) > MAX_EXAMPLE_BOXES:
        raise Refused(f"{field}: there are {len(example.boxes)} boxes; use {MAX_EXAMPLE_BOXES} or fewer")
    drawings = own_drawings(kind)
    if example.picture and example.picture not in drawings:
        raise Refused(f"{field}: this drawing does not come with the task")
    weak, good, why = texts
    return Example(
        weak=weak,
        good=good,
        why=why,
        image=example.image,
        boxes=example.boxes,
        picture=example.picture,
        alt=drawings.get(example.picture, ""),
    )


def _check_photos(text: Text, project: Project) -> None:
    rows = Image.objects.filter(pk__in=photos_named(text), project=project, withdrawn_at__isnull=True)
    images = {row.pk: row for row in rows}
    for source in pictures(text.body):
        _known(images, photo_number(source), "body")
    for number, example in enumerate(text.examples, start=1):
        if example.image is None:
            continue
        image = _known(images, example.image, f"example {number}")
        for box in example.boxes:
            try:
                parse_box(box.as_dict(), image_width=image.width, image_height=image.height)
            except BoxError as error:
                raise Refused(f"example {number}: {error}") from error


def _known(images: dict[int, Image], number: int | None, field: str) -> Image:
    if number is None or number not in images:
        raise Refused(f"{field}: photo {number} is not in this project, or was taken down")
    return images[number]
