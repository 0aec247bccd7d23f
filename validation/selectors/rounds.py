"""Qualification and training rounds: applicants, progress of grading, and outcomes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count

from hits import registry
from hits.domain.answers.exam import GradableItem
from hits.domain.money.pay import cents_per_hour
from hits.domain.states import AssignmentStatus, Purpose, SubmissionMatch
from hits.kind import HitKind
from hits.models import Assignment, Batch, Image, Project, Unit
from hits.selectors.images.images import list_usable_images
from hits.selectors.unit_planners import planner_of
from validation.domain.agreement.cohen import GraderAgreement, grader_agreement
from validation.domain.qualification.outcome import (
    PassRule,
    Remark,
    Score,
    is_reasonable,
    needs_remark,
)
from validation.models import Grade, GradingOutcome, QualificationRound
from validation.selectors.grading import (
    GradesByPair,
    PairKey,
    confirmed_submissions,
    gradable_pairs,
    latest_grades_by_grader,
    load_grades,
    two_blind_grades,
)


def qualification_kind(project: Project) -> str:
    """Return the name of the kind that qualifies workers for a project's dataset family."""
    return _preparing_kinds(project, Purpose.QUALIFYING)[0]


def training_kind(project: Project) -> str | None:
    """Return the name of the kind that trains workers for a project's family; ``None`` if it needs no training."""
    return next(iter(_preparing_kinds(project, Purpose.TRAINING)), None)


def _preparing_kinds(project: Project, purpose: Purpose) -> list[str]:
    """Return the kinds that declare the project's family; if no kind declares it, those that declare no family."""
    preparing = registry.kinds_with_purpose(Purpose.QUALIFYING, Purpose.TRAINING)
    declares = any(project.family in registry.get_kind(name).families for name in preparing)
    required = {project.family} if declares else set()
    return [
        name
        for name in registry.kinds_with_purpose(purpose)
        if registry.get_kind(name).families >= required and bool(registry.get_kind(name).families) == declares
    ]


def images_for_kind(project: Project, kind: HitKind) -> list[Image]:
    """Return the usable images of which a kind's units can be made, oldest first."""
    planner = planner_of(kind)
    usable = planner.image_ids(project, {}) if planner is not None else None
    return [image for image in list_usable_images(project) if usable is None or image.pk in usable]


@dataclass(frozen=True, slots=True)
class GradedSubmission:
    """One confirmed qualification submission; ``contested`` are (photo, pair) that graders grade differently.

    ``state``: waiting (for grades), unexplained (would fail, without a grader's note), ready (to be answered),
    passed, declined, rejected.
    """

    assignment: Assignment
    score: Score
    remarks: Sequence[Remark]
    contested: Sequence[tuple[int, GradableItem]]
    state: str
    outcome: GradingOutcome | None
    rate_cents: int | None

    @property
    def first_key(self) -> PairKey:
        """The key of the submission's first pair."""
        assert self.assignment.submission is not None
        return PairKey(self.assignment.submission.pk, 0)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair that its graders grade differently.

    ``reasonable`` and ``not_reasonable`` are graders' names, only for a viewer who has graded the pair: a third
    grader must not know them before.
    """

    key: PairKey
    worker: str
    photo_number: int
    pair: GradableItem
    reasonable: Sequence[str]
    not_reasonable: Sequence[str]


@dataclass(frozen=True, slots=True)
class RoundOverview:
    """A round with the data of its page."""

    row: QualificationRound
    rule: PassRule
    submissions: Sequence[GradedSubmission]
    agreement: GraderAgreement
    disagreements: Sequence[Disagreement]
    grader_count: int
    graded_pairs: int
    pairs: int

    def in_states(self, *states: str) -> list[GradedSubmission]:
        """Return the applicants in these states."""
        return [submission for submission in self.submissions if submission.state in states]

    @property
    def borderline_count(self) -> int:
        """The number of graded applicants who would pass if their contested pairs counted as reasonable."""
        return sum(
            submission.score.reasonable
            < self.rule.needed
            <= submission.score.reasonable + len(submission.contested)
            and submission.score.exam.right >= self.rule.exam_needed
            for submission in self.in_states("ready", "unexplained")
        )

    @property
    def score_counts(self) -> list[int]:
        """The number of completely graded submissions by their number of reasonable pairs, from 0."""
        counts = Counter(
            submission.score.reasonable
            for submission in self.submissions
            if submission.score.is_complete and submission.state != "rejected"
        )
        max_score = max(
            [*counts, *(submission.score.pairs for submission in self.submissions), self.rule.needed]
        )
        return [counts[score] for score in range(max_score + 1)]


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round in the list, with its numbers of applicants; ``answered`` ones have a decision."""

    row: QualificationRound
    assignments: int
    submitted: int
    answered: int
    passed: int

    @property
    def declined(self) -> int:
        """The number of applicants who have a decision and did not pass."""
        return self.answered - self.passed

    @property
    def without_decision(self) -> int:
        """The number of applicants who submitted and have no decision."""
        return self.submitted - self.answered


def pass_rule(row: QualificationRound) -> PassRule:
    """Return a round's pass rule."""
    return PassRule(row.needed, row.exam_needed, row.graders)


def find_round(project: Project, pk: int) -> QualificationRound | None:
    """Return a round of the project with its batch, or ``None``."""
    rows = QualificationRound.objects.select_related("batch__project")
    return rows.filter(pk=pk, batch__project=project).first()


def list_submissions(row: QualificationRound, grades: GradesByPair) -> list[GradedSubmission]:
    """Return the applicants, oldest first; one query. ``grades`` come from ``load_grades``."""
    rule = pass_rule(row)
    return [
        _build_submission(found, row.batch, rule, grades.get(found.submission.pk, {}))
        for found in confirmed_submissions(row)
        if found.submission is not None
    ]


def round_overview(row: QualificationRound, viewer: AbstractBaseUser) -> RoundOverview:
    """Return the data of a round's page for ``viewer``; two queries."""
    grades = load_grades(row)
    submissions = list_submissions(row, grades)
    counted = {
        submission.first_key.submission for submission in submissions if submission.state != "rejected"
    }
    pair_grades = [rows for pk, items in grades.items() if pk in counted for rows in items.values()]
    return RoundOverview(
        row=row,
        rule=pass_rule(row),
        submissions=submissions,
        agreement=grader_agreement(
            [grades_of_two for rows in pair_grades if (grades_of_two := two_blind_grades(rows)) is not None]
        ),
        disagreements=_list_disagreements(submissions, grades, viewer),
        grader_count=len({grade.grader_id for rows in pair_grades for grade in rows}),
        graded_pairs=sum(
            submission.score.graded for submission in submissions if submission.state != "rejected"
        ),
        pairs=sum(submission.score.pairs for submission in submissions if submission.state != "rejected"),
    )


def round_rows(project: Project) -> list[RoundRow]:
    """Return the project's qualification rounds with their counts, newest first; three queries."""
    rows = list(
        QualificationRound.objects.filter(batch__project=project).select_related("batch").order_by("-pk")
    )
    launched = Unit.objects.filter(batch__qualification_round__in=rows).order_by()
    units = dict(launched.values_list("batch").annotate(Count("id")))
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    submitted = Assignment.objects.filter(
        hit__unit__batch__qualification_round__in=rows, match=SubmissionMatch.MATCHED
    )
    submitted = submitted.exclude(status=AssignmentStatus.REJECTED)
    for batch, passed in submitted.order_by().values_list("hit__unit__batch", "submission__outcome__passed"):
        counts[batch] += Counter(submitted=1, answered=passed is not None, passed=bool(passed))
    return [
        RoundRow(
            row,
            units.get(row.batch_id, 0) * row.batch.redundancy,
            counts[row.batch_id]["submitted"],
            counts[row.batch_id]["answered"],
            counts[row.batch_id]["passed"],
        )
        for row in rows
    ]


def count_waiting_applicants(project: Project) -> int:
    """Return the number of applicants of a project who wait for a decision."""
    rows = Assignment.objects.filter(hit__unit__batch__project=project, match=SubmissionMatch.MATCHED)
    rows = rows.filter(hit__unit__batch__qualification_round__isnull=False, submission__outcome=None)
    return rows.exclude(status=AssignmentStatus.REJECTED).count()


def training_batches(project: Project) -> list[Batch]:
    """Return the project's training rounds, newest first."""
    return list(Batch.objects.filter(project=project, kind__in=registry.kinds_with_purpose(Purpose.TRAINING)))


def _build_submission(
    row: Assignment, batch: Batch, rule: PassRule, grades: Mapping[int, Sequence[Grade]]
) -> GradedSubmission:
    submission = row.submission
    assert submission is not None
    pairs = gradable_pairs(row, batch.kind)
    latest = {pair.item: latest_grades_by_grader(grades.get(pair.item, ())) for pair in pairs}
    verdicts = {item: [grade.reasonable for grade in votes.values()] for item, votes in latest.items()}
    score = Score(
        reasonable=sum(is_reasonable(votes) for votes in verdicts.values()),
        graded=sum(len(votes) >= rule.graders for votes in verdicts.values()),
        pairs=len(pairs),
        exam=registry.get_kind(batch.kind).exam_score(row.hit.unit.payload, submission.answer),
    )
    remarks = [
        Remark(_photo_number(pairs, pair), pair.number, text)
        for pair in pairs
        if not is_reasonable(verdicts[pair.item])
        for text in dict.fromkeys(
            grade.note for grade in latest[pair.item].values() if grade.note and not grade.reasonable
        )
    ]
    outcome = getattr(submission, "outcome", None)
    return GradedSubmission(
        assignment=row,
        score=score,
        remarks=remarks,
        contested=[(_photo_number(pairs, pair), pair) for pair in pairs if len(set(verdicts[pair.item])) > 1],
        state=_submission_state(row, outcome, score, needs_remark(score, rule, remarks)),
        outcome=outcome,
        rate_cents=cents_per_hour(batch.reward_cents, submission.active_seconds),
    )


def _submission_state(
    row: Assignment, outcome: GradingOutcome | None, score: Score, lacks_remark: bool
) -> str:
    if outcome is not None:
        return "passed" if outcome.passed else "declined"
    if row.status == AssignmentStatus.REJECTED:
        return "rejected"
    if not score.is_complete:
        return "waiting"
    return "unexplained" if lacks_remark else "ready"


def _photo_number(pairs: Sequence[GradableItem], pair: GradableItem) -> int:
    return list(dict.fromkeys(other.image for other in pairs)).index(pair.image) + 1


def _list_disagreements(
    submissions: Iterable[GradedSubmission], grades: GradesByPair, viewer: AbstractBaseUser
) -> list[Disagreement]:
    disagreements = []
    for submission in submissions:
        if submission.outcome is not None or submission.state == "rejected":
            continue
        pk = submission.first_key.submission
        for photo, pair in submission.contested:
            latest = latest_grades_by_grader(grades[pk][pair.item])
            shown = latest.values() if viewer.pk in latest else ()
            disagreements.append(
                Disagreement(
                    key=PairKey(pk, pair.item),
                    worker=str(submission.assignment.worker),
                    photo_number=photo,
                    pair=pair,
                    reasonable=[grade.name for grade in shown if grade.reasonable],
                    not_reasonable=[grade.name for grade in shown if not grade.reasonable],
                )
            )
    return disagreements
