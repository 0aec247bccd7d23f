"""Queries on question sets, for pages, exporters and audits."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F, Func, Q, QuerySet, TextField
from django.db.models.functions import Cast

from curation.models import DatasetVersion, Question, QuestionSet, QuestionSetState, Stage, VersionState
from curation.relevance.names import similarity_stand_in
from curation.selectors.jobs import AUDIT_CHOICES
from hits.domain.answers.text import parse_digits
from hits.domain.states import OPEN_JOB_STATES
from hits.models import Job, Project, Record
from hits.selectors.records import approved_records

TRIPLET = "triplet"
"""The type of records that question sets are made from."""
_TEXT_FIELDS = ("question", "answer", "rationale")
_ANNOT_ID_PATTERN = re.compile(r"(?P<split>[a-z]+)-(?P<number>\d{1,9})")
MAX_SEARCHED = 30_000
"""The most questions whose texts are searched at once; larger sets are searched a fold at a time."""
MAX_LISTED = 1_000
"""The most questions that a search lists; it ends with the first one more."""


def set_triplets(project: Project) -> "QuerySet[Record]":
    """Return the triplets that a new set can use: approved, on available images, and written by people.

    In a rehearsal, simulated triplets count too.
    """
    rows = approved_records(project, TRIPLET)
    return rows if project.is_rehearsal else rows.exclude(submission__simulated=True)


def count_set_triplets(project: Project, at_most: int) -> int:
    """Return the number of triplets that a new set can use, counting no more than ``at_most`` + 1."""
    return set_triplets(project).order_by()[: at_most + 1].count()


def question_sets(project: Project) -> list[QuestionSet]:
    """Return the project's question sets, newest first, without the (possibly long) figures."""
    rows = QuestionSet.objects.filter(project=project).select_related("job", "created_by")
    return list(rows.defer("figures"))


def find_question_set(project: Project, name: str) -> QuestionSet | None:
    """Return a project's question set by its name or number."""
    rows = QuestionSet.objects.filter(project=project).select_related("job", "created_by")
    number = parse_digits(name)
    return rows.filter(name=name).first() or (rows.filter(pk=number).first() if number is not None else None)


def is_being_audited(question_set: QuestionSet) -> bool:
    """Whether a job that audits a set is open."""
    return Job.objects.filter(
        task=AUDIT_CHOICES, state__in=OPEN_JOB_STATES, args__set=question_set.pk
    ).exists()


def versions_with_set(question_set: QuestionSet) -> list[str]:
    """Return the names of the sealed versions that have questions of a set, oldest first.

    A set's name is free again once it is deleted, so no set that a version names may be deleted.
    """
    sealed = DatasetVersion.objects.filter(project=question_set.project_id, state=VersionState.SEALED)
    found = sealed.order_by("pk").values_list("name", "provenance")
    return [
        name
        for name, provenance in found
        if question_set.name in {source["name"] for source in provenance.get("question_sets", [])}
    ]


def is_built(question_set: QuestionSet) -> bool:
    """Whether all of a set's questions are stored."""
    return question_set.state != QuestionSetState.BUILDING


def stand_in_of_similarity(question_set: QuestionSet) -> str:
    """Return what the set's similarity model stands in for; empty for a model of natural-language inference.

    A set with a stand-in may be launched for a pilot only, unless a person accepts the stand-in.
    """
    return similarity_stand_in(question_set.options.get("similarity", ""))


def set_folds(question_set: QuestionSet) -> list[dict[str, Any]]:
    """Return the folds: ``name``, ``split``, counts of ``movies`` and ``triplets``, ``first`` number in the split."""
    folds: list[dict[str, Any]] = question_set.figures.get("folds", [])
    return folds


def find_questions(
    question_set: QuestionSet, *, stage: str, fold: str = "", text: str = ""
) -> "QuerySet[Question]":
    """Return a set's questions of a stage, in the order of folds and match indices.

    Args:
        fold: only this fold; empty is all.
        text: a published id such as ``val-17``, or words of the question, the answer or the rationale.
    """
    rows = question_set.questions.filter(stage=stage).order_by("fold", "match_index")
    if fold:
        rows = rows.filter(fold=fold)
    if not text:
        return rows
    published = _ANNOT_ID_PATTERN.fullmatch(text)
    if published is None:
        return _filter_by_text(rows, text)
    return rows.filter(_position_filter(question_set, published["split"], int(published["number"])))


def listed_ids(rows: "QuerySet[Question]", *, is_search: bool) -> tuple[Any, bool]:
    """Return the ids to list, as a queryset or a list, and whether a search found more than ``MAX_LISTED``.

    A search reads texts, so it ends when there are enough, and is not repeated for the count.
    """
    ids = rows.values_list("pk", flat=True)
    if not is_search:
        return ids, False
    found = list(ids[: MAX_LISTED + 1])
    return found[:MAX_LISTED], len(found) > MAX_LISTED


def is_published_id(text: str) -> bool:
    """Whether a text has the form of a published id, such as ``val-17``."""
    return _ANNOT_ID_PATTERN.fullmatch(text) is not None


def _position_filter(question_set: QuestionSet, split: str, number: int) -> Q:
    """Return the filter of a published id by fold and match index, which have an index."""
    folds = [fold for fold in set_folds(question_set) if fold["split"] == split and fold["first"] <= number]
    if not folds:
        return Q(pk__in=[])
    holder = max(folds, key=lambda fold: fold["first"])
    return Q(fold=holder["name"], match_index=number - holder["first"])


class _WrittenTexts(Func):
    """Question, answer and rationale of a record's fields as one JSON text, read in one pass."""

    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of SQLite."""
        paths = ", ".join(f"'$.{name}'" for name in _TEXT_FIELDS)
        return self.as_sql(
            compiler, connection, template=f"JSON_EXTRACT(%(expressions)s, {paths})", **context
        )

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of PostgreSQL."""
        parts = ", ".join(f"%(expressions)s -> '{name}'" for name in _TEXT_FIELDS)
        return self.as_sql(compiler, connection, template=f"jsonb_build_array({parts})::text", **context)


def _filter_by_text(rows: "QuerySet[Question]", text: str) -> "QuerySet[Question]":
    """Filter questions to those whose question, answer or rationale contains ``text``.

    SQLite has letters beyond ASCII as escapes, PostgreSQL as they are. The whole record is searched first: most
    records do not contain the text at all, and this is quicker than reading their fields.
    """
    found = Q()
    for spelling in {text, json.dumps(text)[1:-1]}:
        found |= Q(record_text__icontains=spelling) & Q(written_texts__icontains=spelling)
    fields = F("triplet__fields")
    return rows.alias(record_text=Cast(fields, TextField()), written_texts=_WrittenTexts(fields)).filter(
        found
    )


def load_questions(ids: Sequence[int]) -> list[Question]:
    """Return questions with triplet and image, in the order of their ids given."""
    rows = Question.objects.select_related("triplet__image").in_bulk(ids)
    return [rows[pk] for pk in ids]


def other_stage(question: Question) -> Question | None:
    """Return the question of the same triplet in the other stage."""
    stage = Stage.RATIONALE if question.stage == Stage.ANSWER else Stage.ANSWER
    return Question.objects.filter(
        question_set=question.question_set_id,
        stage=stage,
        fold=question.fold,
        match_index=question.match_index,
    ).first()


def questions_by_match_index(question: Question, indices: Sequence[int]) -> Mapping[int, Question]:
    """Return questions of the same set, stage and fold by their match index, with triplet and image."""
    rows = Question.objects.filter(
        question_set=question.question_set_id,
        stage=question.stage,
        fold=question.fold,
        match_index__in=indices,
    )
    # Without an order: SQLite would read the whole set in the order of keys.
    return {row.match_index: row for row in rows.order_by().select_related("triplet__image")}
