"""Questions that sealed versions have published. They bind later question sets and versions of the project.

Whoever has two versions could otherwise read the labels of held questions: a film that moves from test to train takes
its right answers along, and if the same question is matched twice, only the right choice is in both versions. If only
one of two versions has a triplet, the questions that only one has are its own and those with its responses, which
tells its right choices. So a film keeps its split, a held split keeps the question set that published it, and a
question that a version left out does not return.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from django.db.models import QuerySet

from curation.matching.folds import HELD_SPLITS
from curation.models import DatasetVersion, Question, QuestionSet, Stage, VersionRow, VersionState
from hits.models import Project

_CHUNK_SIZE = 1000


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """A question set, and the splits whose questions a sealed version took from it."""

    version: str
    question_set: QuestionSet
    splits: frozenset[str]


@dataclass(frozen=True, slots=True)
class PublishedSplits:
    """The split in which a sealed version published a film, and an image, first.

    Images are known beside films, because an image's film changes if its collection is imported later.
    """

    movies: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[int, str] = field(default_factory=dict)

    def find(self, movie: str, image: int) -> str:
        """Return the split of an image's film, or else of the image; empty if neither is published."""
        return self.movies.get(movie) or self.images.get(image, "")

    def find_contradiction(self, movie: str, image: int, split: str) -> str:
        """Return the split that an image in ``split`` contradicts, or empty: held ones stay held, open ones open."""
        sealed = (self.movies.get(movie, split), self.images.get(image, split))
        return next((name for name in sealed if (name in HELD_SPLITS) != (split in HELD_SPLITS)), "")


def published_sources(project: Project) -> list[PublishedSource]:
    """Return the sources of the project's sealed versions, oldest version first; rehearsals are never published."""
    rows = QuestionSet.objects.filter(project=project).defer("figures", "audits")
    sets = {row.name: row for row in rows}
    return [
        PublishedSource(version, sets[source["name"]], frozenset(source["splits"]))
        for version, provenance in _sealed_versions(project).values_list("name", "provenance")
        for source in provenance.get("question_sets", [])
    ]


def held_sources(project: Project) -> Mapping[str, PublishedSource]:
    """Return the source that published each held split first, by split."""
    found: dict[str, PublishedSource] = {}
    for source in published_sources(project):
        for split in source.splits & set(HELD_SPLITS):
            found.setdefault(split, source)
    return found


def splits_kept_by_others(question_set: QuestionSet) -> Mapping[str, str]:
    """Return the held splits that versions take from another set, which published them first, with its name."""
    found = held_sources(question_set.project)
    others = {split: source.question_set for split, source in sorted(found.items())}
    return {split: other.name for split, other in others.items() if other.pk != question_set.pk}


def lasting_questions(project: Project, part: str) -> Mapping[str, Collection[str]]:
    """Return the ids of the held questions that no sealed version left out, by split.

    A version without any question of a split leaves none out, for it does not tell them apart.

    Args:
        part: the part of versions that has the questions.
    """
    found: dict[str, set[str]] = {}
    for version in _sealed_versions(project):
        rows = VersionRow.objects.filter(version=version, part=part)
        for split in HELD_SPLITS:
            ids = set(rows.filter(split=split).order_by().values_list("instance_id", flat=True))
            if ids:
                found[split] = found.get(split, ids) & ids
    return found


def published_splits(project: Project) -> PublishedSplits:
    """Return the splits in which sealed versions published films and their images first."""
    movies: dict[str, str] = {}
    images: dict[int, str] = {}
    seen: set[tuple[int, frozenset[str]]] = set()
    for source in published_sources(project):
        key = (source.question_set.pk, source.splits)
        if key in seen:
            continue
        seen.add(key)
        rows = Question.objects.filter(
            question_set=source.question_set, stage=Stage.ANSWER, split__in=source.splits
        )
        found = rows.order_by().values_list("movie", "triplet__image_id", "split").distinct()
        for movie, image, split in found.iterator(chunk_size=_CHUNK_SIZE):
            movies.setdefault(movie, split)
            images.setdefault(image, split)
    return PublishedSplits(movies, images)


def _sealed_versions(project: Project) -> "QuerySet[DatasetVersion]":
    """Return the versions that may have been published, oldest first."""
    rows = DatasetVersion.objects.filter(project=project, state=VersionState.SEALED, rehearsal=False)
    return rows.order_by("pk")
