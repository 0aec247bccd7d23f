"""Request question sets, accept or reject them, and store what a pipeline builds."""

import secrets
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from curation.matching.folds import MIN_FOLDS
from curation.matching.options import (
    ANSWER_LAMBDA,
    DEFAULT_BUCKET_SIZE,
    RATIONALE_LAMBDA,
    MissingClassRule,
    SameImageRule,
)
from curation.models import Question, QuestionSet, QuestionSetState
from curation.relevance import names
from curation.selectors.choice_audits import launch_refusal
from curation.selectors.jobs import QUESTION_SET
from curation.selectors.questions import is_being_audited, is_built, set_triplets, versions_with_set
from curation.services.named_rows import validate_name
from curation.services.options import check_at_least, check_one_of
from curation.services.refusals import refuse_invalid_input
from curation.services.versions import lock_versions
from hits.domain.states import OPEN_JOB_STATES
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs

MIN_BUCKET_SIZE = 50
MAX_FOLDS = 1000
SAME_IMAGE = tuple(rule.value for rule in SameImageRule)
MISSING_CLASS = tuple(rule.value for rule in MissingClassRule)
SWITCH = ("on", "off")
SECRET_BYTES = 32
_CHUNK_SIZE = 1000


@dataclass(frozen=True, slots=True)
class QuestionSetOptions:
    """Settings of a question set. Defaults are those of Zellers et al. 2019 §4 and §C, or our choice of a reading.

    relevance, similarity: P_rel and P_sim (``curation.relevance.names``). lambda_answer, lambda_rationale: the weight
    of dissimilarity. folds: parts without common films. bucket_size: the most responses matched at once. same_image:
    whether a response of another question about the same image may be a wrong choice. missing_class: what happens if
    a response names a class that the image lacks: the pair is forbidden, or the tag becomes words. distinct: whether
    two objects stay two if the image has enough of their class. share: how often a tag of a wrong response becomes
    one of the question or its right choice; ``None`` is fitted per fold and stage. small: allows folds under 200
    triplets. shortlist: candidates per row and per column for models that score pairs. The others are settings of
    fine-tuning (``curation.relevance.cross_training``); ``examples`` 0 means all triplets of the other folds.
    """

    relevance: str = names.VECTORS
    similarity: str = names.VECTORS
    lambda_answer: float = ANSWER_LAMBDA
    lambda_rationale: float = RATIONALE_LAMBDA
    folds: int = 11
    bucket_size: int = DEFAULT_BUCKET_SIZE
    same_image: str = SameImageRule.ALLOWED.value
    missing_class: str = MissingClassRule.FORBIDDEN.value
    distinct: str = "on"
    share: float | None = None
    small: bool = False
    seed: int = 0
    shortlist: int = 64
    learning_rate: float = 2e-5
    batch_size: int = 32
    epochs: int = 3
    examples: int = 0

    def __post_init__(self) -> None:
        with refuse_invalid_input():
            names.parse_relevance(self.relevance)
            names.parse_similarity(self.similarity)
        for name in ("lambda_answer", "lambda_rationale"):
            if not 0 <= getattr(self, name) <= 1000:  # noqa: PLR2004 - NaN is refused too
                raise Refused(
                    f"{name}: {getattr(self, name):g} is not between 0 and 1000; use for instance 0.1"
                )
        if self.share is not None and not 0 <= self.share <= 1:
            raise Refused(f"share: {self.share:g} is not between 0 and 1; use auto, or for instance 0.5")
        if not 0 < self.learning_rate < 1:
            raise Refused(
                f"learning_rate: {self.learning_rate:g} is not between 0 and 1; use for instance 2e-5"
            )
        check_at_least("folds", self.folds, MIN_FOLDS)
        if self.folds > MAX_FOLDS:
            raise Refused(f"folds: {self.folds} is too many; use at most {MAX_FOLDS}")
        check_at_least("bucket_size", self.bucket_size, MIN_BUCKET_SIZE)
        for name in ("shortlist", "batch_size", "epochs"):
            check_at_least(name, getattr(self, name), 1)
        for name in ("seed", "examples"):
            check_at_least(name, getattr(self, name), 0)
        check_one_of("same_image", self.same_image, SAME_IMAGE)
        check_one_of("missing_class", self.missing_class, MISSING_CLASS)
        check_one_of("distinct", self.distinct, SWITCH)


def request_question_set(
    project: Project,
    name: str,
    options: QuestionSetOptions | None = None,
    by: AbstractBaseUser | None = None,
    *,
    queue: bool = True,
) -> Job:
    """Queue the building of a question set from the project's approved triplets; return its job.

    Args:
        queue: false when this process runs it (``jobs.run_in_process``).

    Raises:
        Refused: no triplet is approved, or the name is invalid or taken.
    """
    name = validate_name(name)
    count = set_triplets(project).order_by().count()
    if not count:
        raise Refused("triplets: none is approved yet; approve submissions first")
    chosen = options or QuestionSetOptions()
    try:
        with transaction.atomic():
            row = QuestionSet.objects.create(
                project=project,
                name=name,
                rehearsal=project.is_rehearsal,
                options=asdict(chosen),
                secret=secrets.token_hex(SECRET_BYTES),
                created_by_id=by.pk if by else None,
            )
            row.path = f"questions/{project.pk}/{row.pk}"
            row.job = jobs.enqueue(
                task=QUESTION_SET,
                title=f"Build the question set {name} from {count} triplets",
                project=project,
                by=by,
                exclusive_key=f"question-set:{row.pk}",
                resumable=True,
                queue=queue,
                question_set=row.pk,
            )
            row.save(update_fields=["path", "job"])
            audit.record(project=project, actor=by, action="question_set.build", subject=row.pk)
    except IntegrityError as error:
        if not QuestionSet.objects.filter(project=project, name=name).exists():
            raise
        raise Refused(f"name: there is a question set {name} already; choose another name") from error
    return row.job


@transaction.atomic
def accept_question_set(*, question_set: QuestionSet, by: AbstractBaseUser | None) -> None:
    """Accept a set: later versions hold its questions. Idempotent.

    Raises:
        Conflict: it is not built yet.
        Refused: an audit is over its limit and nobody wrote why the set is used anyway.
    """
    row = _locked(question_set)
    if row.state == QuestionSetState.ACCEPTED:
        return
    check_built(row)
    refusal = launch_refusal(row)
    if refusal:
        raise Refused(refusal)
    _set_state(row, QuestionSetState.ACCEPTED, by, "question_set.accept")
    question_set.state = row.state


@transaction.atomic
def reject_question_set(*, question_set: QuestionSet, by: AbstractBaseUser | None) -> None:
    """Make an accepted set a draft again: later versions do not hold its questions. Idempotent.

    Raises:
        Conflict: it is not built yet.
    """
    row = _locked(question_set)
    check_built(row)
    if row.state == QuestionSetState.DRAFT:
        return
    _set_state(row, QuestionSetState.DRAFT, by, "question_set.reject")
    question_set.state = row.state


@transaction.atomic
def delete_question_set(*, question_set: QuestionSet, by: AbstractBaseUser | None) -> None:
    """Delete a set that nothing depends on, with its questions and files.

    Raises:
        Conflict: it is accepted, is being built or audited, or was sealed, launched, evaluated or waived.
    """
    lock_versions(question_set.project)
    row = _locked(question_set)
    if row.state == QuestionSetState.ACCEPTED:
        raise Conflict(f"set {row.name}: is accepted; reject it first")
    if row.job is not None and row.job.state in OPEN_JOB_STATES:
        raise Conflict(f"set {row.name}: is being built; cancel the job first")
    if is_being_audited(row):
        raise Conflict(f"set {row.name}: is being audited; wait for the job or cancel it")
    sealed = versions_with_set(row)
    if sealed:
        raise Conflict(f"set {row.name}: version {sealed[0]} has its questions, and needs its secret key")
    audit.record(project=row.project, actor=by, action="question_set.delete", subject=row.pk, name=row.name)
    if row.job is not None:
        Job.objects.filter(pk=row.job.pk).update(resumable=False)
    row.questions.all()._raw_delete(row.questions.db)  # a published size is 580,000 rows
    try:
        row.delete()
    except ProtectedError as error:  # nothing is deleted, the questions neither
        raise Conflict(
            f"set {row.name}: people or models have used it; it stays as their evidence"
        ) from error
    _delete_files_on_commit(question_set)


def _delete_files_on_commit(question_set: QuestionSet) -> None:
    if question_set.path:
        folder = Path(settings.MEDIA_ROOT) / question_set.path
        transaction.on_commit(lambda: shutil.rmtree(folder, ignore_errors=True))


def _locked(question_set: QuestionSet) -> QuestionSet:
    rows = QuestionSet.objects.select_for_update(of=("self",)).select_related("project", "job")
    return rows.get(pk=question_set.pk)


def check_built(question_set: QuestionSet) -> None:
    """Raise Conflict unless all of a set's questions are stored."""
    if not is_built(question_set):
        raise Conflict(f"set {question_set.name}: is not built yet; wait for its job or resume it")


def _set_state(row: QuestionSet, state: QuestionSetState, by: AbstractBaseUser | None, action: str) -> None:
    row.state = state
    row.save(update_fields=["state"])
    audit.record(project=row.project, actor=by, action=action, subject=row.pk)


def store_questions(*, questions: Sequence[Question]) -> None:
    """Store questions in chunks; those that an interrupted run stored already are left as they are."""
    for start in range(0, len(questions), _CHUNK_SIZE):
        Question.objects.bulk_create(questions[start : start + _CHUNK_SIZE], ignore_conflicts=True)


def finish_question_set(*, question_set: QuestionSet) -> None:
    """Make a built set a draft. Idempotent."""
    QuestionSet.objects.filter(pk=question_set.pk, state=QuestionSetState.BUILDING).update(
        state=QuestionSetState.DRAFT
    )
    question_set.refresh_from_db()


def discard_refused_set(*, question_set: QuestionSet) -> None:
    """Delete a set whose build was refused before any work, so that its name is free again."""
    if QuestionSet.objects.filter(pk=question_set.pk, state=QuestionSetState.BUILDING).delete()[0]:
        _delete_files_on_commit(question_set)
