"""Read explanations of triplets with their votes. Equal texts about one triplet share their votes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from curation.models import ExplanationSource, TripletExplanation
from curation.selectors.triplets.answers import Votes, explanation_votes, selection_spec
from curation.selectors.triplets.launched import launched_units
from hits.models import Project


@dataclass(frozen=True, slots=True)
class JudgedExplanation:
    """An explanation with the votes of the page that showed its text."""

    row: TripletExplanation
    votes: Votes


def text_key(text: str) -> str:
    """Return what equal explanations share: their words, whatever their case, spaces and final full stop."""
    return " ".join(text.split()).casefold().rstrip(".")


def explanations(project: Project) -> "QuerySet[TripletExplanation]":
    """Return the explanations of a project's triplets, oldest first."""
    rows = TripletExplanation.objects.filter(triplet__project=project)
    return rows.select_related("triplet", "prediction__evaluation").order_by("pk")


def judged_explanations(project: Project) -> list[JudgedExplanation]:
    """Return all explanations with their votes."""
    rows = list(explanations(project))
    votes = explanation_votes(project)
    by_text: dict[tuple[int, str], Votes] = {}
    for row in rows:
        if row.public_id in votes:
            by_text[row.triplet_id, text_key(row.text)] = votes[row.public_id]
    return [
        JudgedExplanation(row, by_text.get((row.triplet_id, text_key(row.text)), Votes())) for row in rows
    ]


def unlaunched_explanations(project: Project) -> dict[int, list[TripletExplanation]]:
    """Return the explanations that no page has shown, by the key of their triplet; one for each different text.

    Gold explanations are not judged: they are what others are compared with.
    """
    launched = _launched_ids(project)
    by_triplet: dict[int, dict[str, TripletExplanation]] = defaultdict(dict)
    asked: dict[int, set[str]] = defaultdict(set)
    for row in explanations(project).exclude(source=ExplanationSource.GOLD):
        if row.public_id in launched:
            asked[row.triplet_id].add(text_key(row.text))
        else:
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
