"""Read what people answered about image triplets: choices, certainty, ratings, explanations and ticks."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from curation.image_triplets.judged_items import JudgedItem, parse_item
from hits.models import Assignment, Project
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import JudgingSpec, Material
from validation.domain.judging.triplet_shapes import Shape
from validation.registry import spec_for_material
from validation.selectors.ratings import read_judgments

PAPER_ANSWERS = 3  # workers per triplet (Ventura et al. 2025, table 10)


def plausibility_spec() -> JudgingSpec:
    """Return the spec of the kind that judges plausibility."""
    return spec_for_material(Material.TRIPLETS)


def selection_spec() -> JudgingSpec:
    """Return the spec of the kind that selects valid explanations."""
    return spec_for_material(Material.EXPLANATIONS)


def pick_spec() -> JudgingSpec:
    """Return the spec of the kind that picks images."""
    return spec_for_material(Material.CANDIDATES)


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """One person's answer about a triplet in one shape.

    ``choice`` is h1, h2 or equal, empty in the shape ``pair``; ``ratings`` map hypotheses to 1 to 5. ``assignment``
    and ``worker`` are keys, ``None`` for imported judgments. ``first_shown`` is the hypothesis that stood first;
    ``at`` is when it came in here.
    """

    item: JudgedItem
    choice: str
    certainty: str
    ratings: Mapping[str, int]
    why: str
    worker: int | None
    assignment: int | None
    seconds: float | None
    simulated: bool
    first_shown: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Votes:
    """How many people ticked an explanation as valid, and how many were asked."""

    valid: int = 0
    voters: int = 0


def people_answers(
    project: Project, shapes: Collection[Shape] | None = None
) -> dict[str, list[PersonAnswer]]:
    """Return people's answers by the triplet's public id, in the order of submission; quality checks never count.

    ``shapes`` limits them, by default to the shape ``triplet``.
    """
    chosen = {Shape.TRIPLET} if shapes is None else set(shapes)
    found: dict[str, list[PersonAnswer]] = defaultdict(list)
    kind = plausibility_spec().name
    pages = _submitted_pages(project, kind)
    for row in read_judgments(project=project, kind=kind):
        answer = _person_answer(row, *pages.get(row.assignment or 0, ("", row.at)))
        if answer.item.shape in chosen:
            found[answer.item.triplet].append(answer)
    return dict(found)


def _submitted_pages(project: Project, kind: str) -> dict[int, tuple[str, datetime | None]]:
    """Return which hypothesis stood first on each submitted page, and when it came in, by its assignment; one query.

    The time is of our own clock, as that of decisions is.
    """
    rows = Assignment.objects.filter(
        hit__unit__batch__project=project, hit__unit__batch__kind=kind, submission__isnull=False
    )
    shown = rows.values_list("pk", "submission__shown", "submission__received_at")
    return {
        pk: (((given or {}).get("order") or [""])[0], at) for pk, given, at in shown.iterator(chunk_size=2000)
    }


def _person_answer(row: JudgmentRow, first_shown: str, at: datetime | None) -> PersonAnswer:
    answer = row.answer
    return PersonAnswer(
        item=parse_item(row.item),
        choice=answer.get("choice") or "",
        certainty=answer.get("certainty") or "",
        ratings={name: value for name, value in (answer.get("ratings") or {}).items() if value is not None},
        why=answer.get("why") or "",
        worker=row.worker,
        assignment=row.assignment,
        seconds=row.seconds,
        simulated=bool(row.simulated),
        first_shown=first_shown,
        at=at,
    )


def majority(choices: Collection[str]) -> str:
    """Return the choice with the most votes; empty without votes and if several have the most."""
    ranked = Counter(choices).most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return ""
    return ranked[0][0]


def explanation_votes(project: Project) -> dict[str, Votes]:
    """Return the votes of each judged explanation by its public id; decoys are left out of no count here."""
    spec = selection_spec()
    valid: Counter[str] = Counter()
    voters: Counter[str] = Counter()
    for row in read_judgments(project=project, kind=spec.name):
        for label in spec.labels(row.answer):
            if label.part:
                voters[label.part] += 1
                valid[label.part] += label.label == "yes"
    return {key: Votes(valid[key], voters[key]) for key in voters}
