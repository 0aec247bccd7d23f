"""Pages about judging: the overview with figures, rounds and judged pairs; and a round's ratings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from hits.domain.images.image_facts import ImageFacts
from hits.models import Batch, Project, Record, Unit
from hits.selectors import records as collected
from hits.selectors.images.images import image_facts
from hits.views.access import project_page
from hits.views.pages import get_page, section_context
from validation.domain.judging.spec import JudgingSpec
from validation.registry import judging_kinds, spec_of
from validation.selectors import judging as selectors
from validation.selectors import report as reports
from validation.selectors.judging import PairJudgments, SetJudgments, comparison_spec, review_spec
from validation.selectors.judging_overview import judged_pair_ids, pair_progress, round_rows

PER_PAGE = 20


@dataclass(frozen=True, slots=True)
class PairRow:
    """One judged pair in the table: votes as (label, count) per dimension, and the verdict."""

    observation: Record
    image: ImageFacts
    cells: list[tuple[str, list[tuple[str, int]], bool | None]]
    judge_count: int


@dataclass(frozen=True, slots=True)
class SetRow:
    """One rated comparison set: its region and each candidate's text with its ratings and their mean."""

    image: ImageFacts
    boxes: Sequence[dict[str, int]]
    candidates: list[tuple[str, tuple[int, ...], float | None]]
    judge_count: int
    required: int


@require_safe
@project_page()
def judging(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the newest figures, all rounds, and one page of judged pairs; only the pairs on that page are tallied."""
    rounds = round_rows(project)
    page = get_page(request, judged_pair_ids(project), PER_PAGE)
    judges_pairs = selectors.has_or_may_collect_pairs(project)
    spec = review_spec() if judges_pairs else spec_of(reports.first_judged_kind(project, judging_kinds()))
    report = reports.newest_report(project, spec.name)
    context = section_context(project, "judging") | {
        "rounds": rounds,
        "judges_pairs": judges_pairs,
        "spec": spec,
        "pair_progress": pair_progress(project, rounds),
        "judged": sum(row.received for row in rounds),
        "report": report,
        "behind": max(0, reports.count_new_judgments(report)) if report else 0,
        "headline": _headline_shares(spec, report.figures) if report else [],
        "headings": [dimension.title for dimension in review_spec().deciding_dimensions],
        "page": page,
        "rows": _pair_rows(project, list(page)),
    }
    return render(request, "validation/judging/judging.html", context)


def _headline_shares(spec: JudgingSpec, figures: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """Return (title, share, note) of each dimension with a share in the report."""
    shares = {name: row.get("share") for name, row in figures.get("dimensions", {}).items()}
    return [
        (dimension.share_heading[0], share, dimension.share_heading[1])
        for dimension in spec.dimensions
        if dimension.share_heading and (share := shares.get(dimension.name)) and share.get("of")
    ]


def _pair_rows(project: Project, keys: Sequence[str]) -> list[PairRow]:
    tallies = selectors.pair_judgments(project=project, pairs=keys)
    found = collected.records_by_instance_id(project, keys)
    return [_pair_row(found[key], tallies[key]) for key in keys if key in found and key in tallies]


def _pair_row(pair: Record, judged: PairJudgments) -> PairRow:
    cells = [
        (
            dimension.title,
            [
                (dimension.label_text(label), count)
                for label, count in judged.tallies[dimension.name].items()
                if count
            ],
            judged.verdicts[dimension.name],
        )
        for dimension in review_spec().deciding_dimensions
    ]
    assert pair.image is not None  # a pair always has its photo
    return PairRow(pair, image_facts(pair.image), cells, judged.judge_count)


@require_safe
@project_page()
def ratings(request: HttpRequest, project: Project, batch_id: int) -> HttpResponse:
    """Show one page of a comparison round's sets with the ratings of each candidate."""
    batch = get_object_or_404(Batch, project=project, kind=comparison_spec().name, pk=batch_id)
    batch.project = project
    units = selectors.units_without_quality_checks(batch).prefetch_related("images")
    page = get_page(request, units, PER_PAGE)
    keys = [unit.key for unit in page]
    context = section_context(project, "judging") | {
        "batch": batch,
        "page": page,
        "sets": _set_rows(batch, page, selectors.likert_judgments(batch=batch, sets=keys)),
    }
    return render(request, "validation/judging/ratings.html", context)


def _set_rows(batch: Batch, units: Iterable[Unit], judged: dict[str, SetJudgments]) -> list[SetRow]:
    rows = []
    for unit in units:
        shown, item = comparison_spec().item_view(unit.payload), comparison_spec().item_id(unit.payload)
        texts, found = shown.texts, judged.get(item)
        candidates = [(texts[c.candidate], c.ratings, c.mean) for c in found.candidates] if found else []
        candidates.sort(key=lambda row: -(row[2] or 0))
        images = {image.pk: image for image in unit.images.all()}
        rows.append(
            SetRow(
                image=image_facts(images[shown.image or 0]),
                boxes=shown.groups[0]["boxes"],
                candidates=candidates,
                judge_count=found.judge_count if found else 0,
                required=batch.redundancy,
            )
        )
    return rows
