"""Questions that sealed versions have published. They bind later question sets and versions of the project.

Whoever has two versions could otherwise read the labels of held questions: a film that moves from test to train takes
its right answers along, and if the same question is matched twice, only the right choice is in both versions. So a
film keeps its split, and a held split keeps the question set that published it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from curation.matching.folds import HELD_SPLITS
from curation.models import DatasetVersion, Question, QuestionSet, Stage, VersionState
from hits.models import Project


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """A question set, and the splits whose questions a sealed version took from it."""

    version: str
    question_set: QuestionSet
    splits: frozenset[str]


def published_sources(project: Project) -> list[PublishedSource]:
    """Return the sources of the project's sealed versions, oldest version first; rehearsals are never published."""
    sealed = DatasetVersion.objects.filter(project=project, state=VersionState.SEALED, rehearsal=False)
    rows = QuestionSet.objects.filter(project=project).defer("figures", "audits")
    sets = {row.name: row for row in rows}
    return [
        PublishedSource(version, sets[source["name"]], frozenset(source["splits"]))
        for version, provenance in sealed.order_by("pk").values_list("name", "provenance")
        for source in provenance.get("question_sets", [])
    ]


def held_sources(project: Project) -> Mapping[str, PublishedSource]:
    """Return the source that published each held split first, by split."""
    found: dict[str, PublishedSource] = {}
    for source in published_sources(project):
        for split in source.splits & set(HELD_SPLITS):
            found.setdefault(split, source)
    return found


def published_splits(project: Project) -> Mapping[str, str]:
    """Return the split in which a sealed version published a film first, by film."""
    found: dict[str, str] = {}
    seen: set[tuple[int, frozenset[str]]] = set()
    for source in published_sources(project):
        key = (source.question_set.pk, source.splits)
        if key in seen:
            continue
        seen.add(key)
        rows = Question.objects.filter(
            question_set=source.question_set, stage=Stage.ANSWER, split__in=source.splits
        )
        for movie, split in rows.order_by().values_list("movie", "split").distinct():
            found.setdefault(movie, split)
    return found
