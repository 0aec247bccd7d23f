"""Read explanations of triplets with their votes. Equal texts about one triplet share their votes."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from curation.models import ExplanationSource, TripletExplanation
from curation.selectors.triplets.answers import Votes, explanation_votes, selection_spec
from curation.selectors.triplets.launched import launched_units
from hits.models import Project
from validation.selectors.ratings import counted_assignment_filter


@dataclass(frozen=True, slots=True)
class JudgedExplanation:
    """An explanation with the votes of the page that showed its text."""

    row: TripletExplanation
    votes: Votes


def text_key(text: str) -> str:
    """Return what equal explanations share: their words, whatever their case, spaces and final full stop."""
    return " ".join(text.split()).casefold().rstrip(".")


def explanations(project: Project) -> "QuerySet[TripletExplanation]":
    """Return all explanations of a project's triplets, oldest first; some no longer count."""
    rows = TripletExplanation.objects.filter(triplet__project=project)
    return rows.select_related("triplet", "prediction__evaluation").order_by("pk")


def current_explanations(project: Project) -> "QuerySet[TripletExplanation]":
    """Return the explanations that count, oldest first: none of rejected work, and no gold one but the newest."""
    is_confirmed = Q(submission=None) | counted_assignment_filter("submission__assignment__")
    return explanations(project).filter(is_confirmed, _is_current())


def current_gold(triplets: Collection[int]) -> dict[int, TripletExplanation]:
    """Return the gold explanation that counts, the newest, by the key of its triplet."""
    rows = TripletExplanation.objects.filter(triplet__in=triplets, source=ExplanationSource.GOLD)
    return {row.triplet_id: row for row in rows.filter(_is_current())}


def _is_current() -> Q:
    """Return the condition that no newer gold explanation takes the place of one."""
    gold = TripletExplanation.objects.filter(source=ExplanationSource.GOLD, triplet=OuterRef("triplet"))
    return ~Q(source=ExplanationSource.GOLD) | ~Q(Exists(gold.filter(pk__gt=OuterRef("pk"))))


def judged_explanations(project: Project) -> list[JudgedExplanation]:
    """Return the explanations that count, with their votes, also those of equal texts that no longer count."""
    rows = list(explanations(project))
    current = set(current_explanations(project).values_list("pk", flat=True))
    votes = explanation_votes(project)
    by_text: dict[tuple[int, str], Votes] = {}
    for row in rows:
        if row.public_id in votes:
            by_text[row.triplet_id, text_key(row.text)] = votes[row.public_id]
    return [
        JudgedExplanation(row, by_text.get((row.triplet_id, text_key(row.text)), Votes()))
        for row in rows
        if row.pk in current
    ]


def unlaunched_explanations(project: Project) -> dict[int, list[TripletExplanation]]:
    """Return the explanations that no page has shown, by the key of their triplet; one for each different text.

    Gold explanations are not judged: they are what others are compared with.
    """
    launched = _launched_ids(project)
    current = set(current_explanations(project).values_list("pk", flat=True))
    by_triplet: dict[int, dict[str, TripletExplanation]] = defaultdict(dict)
    asked: dict[int, set[str]] = defaultdict(set)
    for row in explanations(project).exclude(source=ExplanationSource.GOLD):
        if row.public_id in launched:
            asked[row.triplet_id].add(text_key(row.text))
        elif row.pk in current:
            by_triplet[row.triplet_id].setdefault(text_key(row.text), row)
    return {
        triplet: found
        for triplet, texts in by_triplet.items()
        if (found := [row for key, row in texts.items() if key not in asked[triplet]])
    }


def writers_by_text(rows: Iterable[TripletExplanation]) -> dict[tuple[int, str], list[int]]:
    """Return the workers who wrote each text about a triplet."""
    found: dict[tuple[int, str], list[int]] = defaultdict(list)
    for row in rows:
        if row.worker_id is not None:
            found[row.triplet_id, text_key(row.text)].append(row.worker_id)
    return found


def _launched_ids(project: Project) -> set[str]:
    units = launched_units(project, selection_spec().name)
    return {
        row["id"] for payload in units.values_list("payload", flat=True) for row in payload["explanations"]
    }


def split_into_pages(rows: Sequence[TripletExplanation], most: int) -> list[list[TripletExplanation]]:
    """Return explanations in as few pages as possible, of nearly equal size."""
    pages = -(-len(rows) // most)
    return [list(rows[number::pages]) for number in range(pages)]
