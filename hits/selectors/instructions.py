"""Read instructions: a kind's built-in text, a project's versions, and both rendered for pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from hits import registry
from hits.domain.images.geometry import Box
from hits.domain.images.image_facts import ImageFacts
from hits.domain.instructions import DiffLine, Example, InstructionText, diff_instructions, parse_examples
from hits.kind import HitKind
from hits.markdown import photo_number, picture_sources, to_html, to_inline_html
from hits.models import Batch, Image, Instructions, Project, Submission
from hits.selectors.images.images import image_facts


@dataclass(frozen=True, slots=True)
class RenderedExample:
    """One worked example, rendered; the texts are safe HTML."""

    weak: str
    good: str
    why: str
    photo: ImageFacts | None
    boxes: Sequence[Box]
    picture: str
    alt: str


@dataclass(frozen=True, slots=True)
class RenderedInstructions:
    """Rendered instructions. ``summary`` is empty if the kind's template has its own."""

    summary: str
    html: str
    examples: Sequence[RenderedExample]


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind in the list of instructions, with the project's newest version, if any."""

    kind: HitKind
    newest_version: Instructions | None
    version_count: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version, the batches that use it now, and the number of answers that saw it."""

    version: Instructions
    batches: Sequence[Batch]
    submission_count: int


@dataclass(frozen=True, slots=True)
class VersionSubmissionCount:
    """How many of a batch's answers saw one version; ``None`` is the built-in text."""

    version: int | None
    submission_count: int


def version_text(row: Instructions) -> InstructionText:
    """Return a version's text."""
    return InstructionText(row.summary, row.body, parse_examples(row.examples))


def built_in_text(kind: HitKind) -> InstructionText | None:
    """Return the kind's built-in instructions, or ``None`` if its template contains them."""
    body = kind.instructions_markdown()
    if body is None:
        return None
    return InstructionText(kind.description, body.strip(), parse_examples(kind.examples))


def drawing_alt_texts(kind: HitKind) -> dict[str, str]:
    """Return the alternative texts of the kind's own drawings by static path."""
    return {row["picture"]: row.get("alt", "") for row in kind.examples if row.get("picture")}


def render_instructions(
    text: InstructionText, project: Project, kind: HitKind, *, summary: bool = True
) -> RenderedInstructions:
    """Render instructions without photos of other projects, photos taken down, and missing drawings."""
    photos, drawings = _referenced_photos(text, project), drawing_alt_texts(kind)
    return RenderedInstructions(
        summary=text.summary if summary else "",
        html=to_html(text.body, {pk: image.url for pk, image in photos.items()}),
        examples=[_render_example(example, photos, drawings) for example in text.examples],
    )


def render_batch_instructions(batch: Batch) -> RenderedInstructions | None:
    """Render the batch's current instructions: its version or the kind's built-in text.

    ``None`` if the kind's template contains the text.
    """
    kind = registry.get_kind(batch.kind)
    if batch.instructions is not None:
        return render_instructions(version_text(batch.instructions), batch.project, kind)
    built_in = built_in_text(kind)
    # The kind's template has its own summary, which contains the expected time.
    return None if built_in is None else render_instructions(built_in, batch.project, kind, summary=False)


def referenced_photo_ids(text: InstructionText) -> set[int]:
    """Return the ids of all photos that the text shows."""
    body_ids = {photo_number(source) for source in picture_sources(text.body)}
    return {number for number in body_ids | {row.image for row in text.examples} if number is not None}


def newest_version(project: Project, kind: str) -> Instructions | None:
    """Return the newest version, or ``None``."""
    return kind_versions(project, kind).first()


def kind_versions(project: Project, kind: str) -> "QuerySet[Instructions]":
    """Return a project's versions for a kind, newest first."""
    return Instructions.objects.filter(project=project, kind=kind).order_by("-version")


def find_version(project: Project, kind: str, version: int) -> Instructions | None:
    """Return one version, or ``None``."""
    return kind_versions(project, kind).select_related("published_by").filter(version=version).first()


def version_rows(project: Project, kind: str) -> list[VersionRow]:
    """Return all versions with their batches and answer counts; two queries."""
    rows = (
        kind_versions(project, kind)
        .select_related("published_by")
        .annotate(submission_count=Count("submissions"))
    )
    return [
        VersionRow(row, list(row.batches.all()), row.submission_count)
        for row in rows.prefetch_related("batches")
    ]


def version_diff(row: Instructions) -> tuple[list[DiffLine], str]:
    """Return the diff between a version and the previous one, and the label of the previous one."""
    previous = find_version(row.project, row.kind, row.version - 1)
    if previous is not None:
        return diff_instructions(version_text(previous), version_text(row)), f"version {previous.version}"
    built_in = built_in_text(registry.get_kind(row.kind))
    return diff_instructions(built_in or InstructionText(), version_text(row)), "the built-in instructions"


def kind_rows(project: Project) -> list[KindRow]:
    """Return every installed kind with its newest version; one query."""
    newest: dict[str, Instructions] = {}
    counts: dict[str, int] = {}
    rows = Instructions.objects.filter(project=project).select_related("published_by").order_by("version")
    for row in rows.defer("body", "examples"):
        newest[row.kind] = row
        counts[row.kind] = counts.get(row.kind, 0) + 1
    names = registry.kind_names()
    return [KindRow(registry.get_kind(name), newest.get(name), counts.get(name, 0)) for name in names]


def count_submissions_by_version(batch: Batch) -> list[VersionSubmissionCount]:
    """Return which versions the batch's stored answers saw, newest first; one query."""
    rows = (
        Submission.objects.filter(attempt__hit__unit__batch=batch)
        .order_by()
        .values_list("instructions__version")
        .annotate(number=Count("pk"))
    )
    found = [VersionSubmissionCount(version, number) for version, number in rows]
    return sorted(found, key=lambda row: row.version or 0, reverse=True)


def _referenced_photos(text: InstructionText, project: Project) -> Mapping[int, ImageFacts]:
    photo_ids = referenced_photo_ids(text)
    if not photo_ids:
        return {}
    rows = Image.objects.filter(pk__in=photo_ids, project=project, taken_down_at__isnull=True)
    return {row.pk: image_facts(row) for row in rows}


def _render_example(
    example: Example, photos: Mapping[int, ImageFacts], drawings: Mapping[str, str]
) -> RenderedExample:
    photo = photos.get(example.image) if example.image is not None else None
    return RenderedExample(
        weak=to_inline_html(example.weak),
        good=to_inline_html(example.good),
        why=to_inline_html(example.why),
        photo=photo,
        boxes=example.boxes if photo else (),
        picture=example.picture if example.picture in drawings else "",
        alt=example.alt,
    )
