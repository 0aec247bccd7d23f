"""Read instructions: a kind's own text, a project's versions, and either as the pages show them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from hits import registry
from hits.domain.images.geometry import Box
from hits.domain.images.image_facts import ImageFacts
from hits.domain.instructions import Example, Line, Text, difference, examples_of
from hits.kind import HitKind
from hits.markdown import photo_number, pictures, to_html, to_inline_html
from hits.models import Batch, Image, Instructions, Project, Submission
from hits.selectors.images.images import facts


@dataclass(frozen=True, slots=True)
class ShownExample:
    """One worked example as the page draws it; the texts are safe HTML."""

    weak: str
    good: str
    why: str
    photo: ImageFacts | None
    boxes: Sequence[Box]
    picture: str
    alt: str


@dataclass(frozen=True, slots=True)
class Shown:
    """Instructions as the page draws them. ``summary`` is empty where the kind's page has its own line."""

    summary: str
    html: str
    examples: Sequence[ShownExample]


@dataclass(frozen=True, slots=True)
class KindLine:
    """One kind in the studio's list, with the newest version of the project, if there is one."""

    kind: HitKind
    current: Instructions | None
    versions: int


@dataclass(frozen=True, slots=True)
class Version:
    """One version, where it is shown now, and how many stored answers name it."""

    row: Instructions
    batches: Sequence[Batch]
    seen: int


@dataclass(frozen=True, slots=True)
class Seen:
    """How many of a batch's answers saw one version; ``None`` is the kind's own text."""

    version: int | None
    submissions: int


def text_of(row: Instructions) -> Text:
    """Return a version's text."""
    return Text(row.summary, row.body, examples_of(row.examples))


def own_text(kind: HitKind) -> Text | None:
    """Return what the kind itself tells workers, or ``None`` where its template holds that."""
    body = kind.instructions_markdown()
    return None if body is None else Text(kind.description, body.strip(), examples_of(kind.examples))


def own_drawings(kind: HitKind) -> dict[str, str]:
    """Return the descriptions of the drawings that come with the kind, by static path."""
    return {row["picture"]: row.get("alt", "") for row in kind.examples if row.get("picture")}


def shown(text: Text, project: Project, kind: HitKind, *, summary: bool = True) -> Shown:
    """Return a text as the page draws it, without photos of other projects, those taken down, and lost drawings."""
    known, drawings = _photos(text, project), own_drawings(kind)
    return Shown(
        summary=text.summary if summary else "",
        html=to_html(text.body, {pk: image.url for pk, image in known.items()}),
        examples=[_shown_example(example, known, drawings) for example in text.examples],
    )


def shown_by(batch: Batch) -> Shown | None:
    """Return what the batch's pages tell workers now: its version, or the kind's own text.

    ``None`` where the kind keeps its text in its template.
    """
    kind = registry.get(batch.kind)
    if batch.instructions is not None:
        return shown(text_of(batch.instructions), batch.project, kind)
    own = own_text(kind)
    # The kind's template has a line of its own, with the usual time in it.
    return None if own is None else shown(own, batch.project, kind, summary=False)


def photos_named(text: Text) -> set[int]:
    """Return the numbers of all photos that the text shows."""
    named = {photo_number(source) for source in pictures(text.body)}
    return {number for number in named | {row.image for row in text.examples} if number is not None}


def current(project: Project, kind: str) -> Instructions | None:
    """Return the newest version, or ``None``."""
    return of_kind(project, kind).first()


def of_kind(project: Project, kind: str) -> "QuerySet[Instructions]":
    """Return a project's versions for a kind, newest first."""
    return Instructions.objects.filter(project=project, kind=kind).order_by("-version")


def version_numbered(project: Project, kind: str, version: int) -> Instructions | None:
    """Return one version, or ``None``."""
    return of_kind(project, kind).select_related("published_by").filter(version=version).first()


def versions(project: Project, kind: str) -> list[Version]:
    """Return all versions with where they are shown and how often they were seen; two queries."""
    rows = of_kind(project, kind).select_related("published_by").annotate(seen=Count("submissions"))
    return [Version(row, list(row.batches.all()), row.seen) for row in rows.prefetch_related("batches")]


def changes(row: Instructions) -> tuple[list[Line], str]:
    """Return how a version differs from the one before it, and what that one is called."""
    before = version_numbered(row.project, row.kind, row.version - 1)
    if before is not None:
        return difference(text_of(before), text_of(row)), f"version {before.version}"
    own = own_text(registry.get(row.kind))
    return difference(own or Text(), text_of(row)), "the task’s own text"


def kinds(project: Project) -> list[KindLine]:
    """Return every installed kind with its newest version; one query."""
    newest: dict[str, Instructions] = {}
    counts: dict[str, int] = {}
    rows = Instructions.objects.filter(project=project).select_related("published_by").order_by("version")
    for row in rows.defer("body", "examples"):
        newest[row.kind] = row
        counts[row.kind] = counts.get(row.kind, 0) + 1
    names = registry.names()
    return [KindLine(registry.get(name), newest.get(name), counts.get(name, 0)) for name in names]


def seen_in(batch: Batch) -> list[Seen]:
    """Return which versions the batch's stored answers saw, newest first; one query."""
    rows = (
        Submission.objects.filter(attempt__hit__unit__batch=batch)
        .order_by()
        .values_list("instructions__version")
        .annotate(number=Count("pk"))
    )
    found = [Seen(version, number) for version, number in rows]
    return sorted(found, key=lambda row: row.version or 0, reverse=True)


def rows_of(examples: Iterable[Example]) -> list[dict[str, Any]]:
    """Return examples as they are stored."""
    return [example.as_row() for example in examples]


def _photos(text: Text, project: Project) -> Mapping[int, ImageFacts]:
    named = photos_named(text)
    if not named:
        return {}
    rows = Image.objects.filter(pk__in=named, project=project, withdrawn_at__isnull=True)
    return {row.pk: facts(row) for row in rows}


def _shown_example(
    example: Example, known: Mapping[int, ImageFacts], drawings: Mapping[str, str]
) -> ShownExample:
    photo = known.get(example.image) if example.image is not None else None
    return ShownExample(
        weak=to_inline_html(example.weak),
        good=to_inline_html(example.good),
        why=to_inline_html(example.why),
        photo=photo,
        boxes=example.boxes if photo else (),
        picture=example.picture if example.picture in drawings else "",
        alt=example.alt,
    )
