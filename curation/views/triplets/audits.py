"""Audits of a project's image triplets for shortcuts: the newest ones, and their start."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_POST, require_safe

from curation.models import ImageTriplet
from curation.selectors.jobs import AUDIT_TRIPLETS, latest_job
from curation.selectors.triplets.audits import newest_audit
from curation.selectors.triplets.triplets import available_triplets, image_triplets
from curation.selectors.versions import sealed_versions
from curation.services.triplets.audits import AuditOptions, request_triplet_audit
from curation.services.triplets.evaluations import HYPOTHESES_ONLY
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.audit_labels import (
    AGREEMENT,
    BY_COUNTRY,
    LABEL_BALANCE,
    MODEL_WITHOUT_PREMISE,
    PEOPLE_WITHOUT_PREMISE,
    read_name,
)
from curation.views.triplets.audit_plots import audit_axis, audit_plot
from curation.views.triplets.evaluation_cells import ALPHA, PERCENT, Cell, figure_cell
from curation.views.triplets.evaluation_charts import group_label
from curation.views.triplets.steps import Step, count_words
from hits.charts.chart import Chart
from hits.domain.images.image_facts import ImageFacts
from hits.models import Project
from hits.selectors.images.images import image_facts
from hits.views.pages import action_messages, job_if_failed, job_if_open
from hits.views.users import signed_in_user

TAB = "audits"
SHOWN_WORST = 4
PARTS = frozenset({LABEL_BALANCE, AGREEMENT, BY_COUNTRY})
"""Audits that are repeated for each category or country."""

IMAGE_NAMES = ("Premise", "Hypothesis 1", "Hypothesis 2")


@dataclass(frozen=True, slots=True)
class WorstTriplet:
    """A triplet that gives gold away: its three images, which one is gold, and its page."""

    name: str
    images: Sequence[tuple[str, ImageFacts, bool]]
    url: str


@dataclass(frozen=True, slots=True)
class ShownAudit:
    """An audit with its figure, plot, flag and worst triplets."""

    title: str
    about: str
    is_part: bool
    meaning: str
    cell: Cell
    unit: str
    why: str
    is_flagged: bool
    p: float | None
    plot: Chart | None
    worst: Sequence[WorstTriplet]


@require_safe
@triplet_project_page()
def triplet_audits(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the newest audit: each figure beside its limit, flagged ones first, and what could not be measured."""
    audit = newest_audit(project)
    found: Sequence[Mapping[str, Any]] = audit.figures["audits"] if audit else []
    job = latest_job(project, AUDIT_TRIPLETS)
    triplets = _triplets_by_id(project, {key for row in found for key in row["worst"][:SHOWN_WORST]})
    shown = [_shown_audit(project, row, triplets) for row in found]
    has_triplets = available_triplets(project).order_by().exists()
    context = tab_context(project, TAB, "triplets") | {
        "audit": audit,
        "has_triplets": has_triplets,
        "flagged": [row for row in shown if row.is_flagged],
        "passed": [row for row in shown if not row.is_flagged and not (row.about and row.is_part)],
        "parts": _parts(shown),
        "axis": audit_axis(),
        "missing": _missing(project, found) if audit else [],
        "steps": _steps(project, shown, is_audited=audit is not None, has_triplets=has_triplets),
        "job": job_if_open(job),
        "failed": job_if_failed(job),
    }
    return render(request, "curation/triplets/audits/audits.html", context)


def _parts(shown: Sequence[ShownAudit]) -> list[tuple[str, list[ShownAudit]]]:
    """Return the audits of categories and of countries, by their title; each is one line of a table."""
    found: dict[str, list[ShownAudit]] = {}
    for row in shown:
        if row.about and row.is_part:
            found.setdefault(row.title, []).append(row)
    return list(found.items())


def _triplets_by_id(project: Project, names: Collection[str]) -> dict[str, ImageTriplet]:
    return {row.public_id: row for row in image_triplets(project).filter(public_id__in=names)}


def _shown_audit(
    project: Project, row: Mapping[str, Any], triplets: Mapping[str, ImageTriplet]
) -> ShownAudit:
    name = read_name(row["name"])
    unit = ALPHA if row["unit"] == ALPHA else PERCENT
    figure = {"value": row["figure"], "low": row["low"], "high": row["high"]}
    worst = [triplets[key] for key in row["worst"][:SHOWN_WORST] if key in triplets]
    return ShownAudit(
        title=name.title,
        about=group_label(name.about) if name.family in PARTS else name.about,
        is_part=name.family in PARTS,
        meaning=name.label.meaning,
        cell=figure_cell(figure, row["n"], unit=unit),
        unit="α" if unit == ALPHA else "%",
        why=row["why"],
        is_flagged=row["flagged"],
        p=row.get("p"),
        plot=audit_plot(row, name.label.limits),
        worst=[_worst(project, triplet) for triplet in worst],
    )


def _worst(project: Project, triplet: ImageTriplet) -> WorstTriplet:
    rows = (triplet.premise, triplet.h1, triplet.h2)
    images = [
        (IMAGE_NAMES[position], image_facts(row.image), position == triplet.gold)
        for position, row in enumerate(rows)
        if row.image.taken_down_at is None
    ]
    return WorstTriplet(f"Triplet {triplet.pk}", images, _address("image-triplet", project.slug, triplet.pk))


def _address(name: str, *args: Any) -> str:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


def _missing(project: Project, found: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Return what the audit could not measure, and where that is mended."""
    families = {read_name(row["name"]).family for row in found}
    judging = _address("image-triplet-judging", project.slug)
    steps = []
    if PEOPLE_WITHOUT_PREMISE not in families:
        text = "No one was asked to choose without the premise"
        steps.append(Step(text, "Ask workers", f"{judging}?shape=hypotheses_only"))
    if MODEL_WITHOUT_PREMISE not in families:
        text = "No model was asked to choose without the premise"
        if sealed_versions(project):
            start = reverse("triplet-evaluation-start", args=[project.slug])
            steps.append(Step(text, "Evaluate a model", f"{start}?strategy={HYPOTHESES_ONLY}#model"))
        else:
            text += "; a version is sealed first"
            steps.append(Step(text, "Versions", reverse("versions", args=[project.slug])))
    if AGREEMENT not in families:
        steps.append(
            Step("Nobody has judged the triplets, so agreement is not known", "Ask workers", judging)
        )
    elif BY_COUNTRY not in families:
        text = "Agreement by country needs workers who declared at least two countries"
        steps.append(Step(text))
    return steps


def _steps(
    project: Project, shown: Sequence[ShownAudit], *, is_audited: bool, has_triplets: bool
) -> list[Step]:
    if not has_triplets:
        url = _address("image-triplets", project.slug)
        return [Step("There are no triplets to audit yet", "Build triplets", url)]
    flagged = sum(row.is_flagged for row in shown)
    if flagged:
        versions = reverse("versions", args=[project.slug])
        text = f"{count_words(flagged, 'audit')} raised a flag; the page of each version repeats it"
        return [Step(text, "Versions", versions)]
    if is_audited:
        text = "No audit raised a flag"
        return [Step(text, "Seal a version", reverse("versions", args=[project.slug]))]
    return []


@require_POST
@triplet_project_page()
def start_triplet_audit(request: HttpRequest, project: Project) -> HttpResponse:
    """Start the audits."""
    with action_messages(request, "Not started", "The audit is queued."):
        request_triplet_audit(project=project, options=AuditOptions(), by=signed_in_user(request))
    return redirect("triplet-audits", project.slug)
