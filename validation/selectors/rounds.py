"""Qualification and training rounds: who applied, how far grading is, what it came to."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count

from hits import registry
from hits.domain.answers.exam import GradableItem
from hits.domain.money.pay import cents_per_hour
from hits.domain.states import AssignmentStatus, Match, Purpose
from hits.models import Assignment, Batch, Project, Unit
from validation.domain.agreement.agreement import GraderAgreement, grader_agreement
from validation.domain.qualification.outcome import (
    PassRule,
    Remark,
    Score,
    has_passed,
    is_reasonable,
    needs_remark,
)
from validation.models import Grade, GradingOutcome, QualificationRound
from validation.selectors.grading import (
    GradesByPair,
    PairKey,
    confirmed_submissions,
    first_blind_grades,
    gradable_pairs,
    latest_grades,
    load_grades,
)


def qualifying_kind() -> str:
    """Return the name of the kind that applicants are asked: the first that is for qualifying."""
    return registry.kinds_with_purpose(Purpose.QUALIFYING)[0]


def training_kind() -> str:
    """Return the name of the kind that workers train with: the first that is for training."""
    return registry.kinds_with_purpose(Purpose.TRAINING)[0]


@dataclass(frozen=True, slots=True)
class Applicant:
    """One confirmed qualification submission. ``split`` are (photo, pair) that graders judge differently.

    ``state``: waiting (for grades), unexplained (would fail, and no grader has said why), ready (to be answered),
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
    def has_passed(self) -> bool:
        """Tell whether an answered submission passed."""
        return self.outcome is not None and self.outcome.passed

    @property
    def first_key(self) -> PairKey:
        """Where the desk begins with this submission: its first pair."""
        assert self.assignment.submission is not None
        return PairKey(self.assignment.submission.pk, 0)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair that its graders judge differently, with its place on the desk.

    Who said what stands here only for somebody who has graded the pair: a third person decides blind, too.
    """

    key: PairKey
    worker: str
    photo_number: int
    pair: GradableItem
    reasonable: Sequence[str]
    not_reasonable: Sequence[str]


@dataclass(frozen=True, slots=True)
class RoundOverview:
    """A round with everything that its page shows; ``graded_by`` is how many people graded."""

    row: QualificationRound
    rule: PassRule
    applicants: Sequence[Applicant]
    agreement: GraderAgreement
    disagreements: Sequence[Disagreement]
    grader_count: int
    graded_pairs: int
    pairs: int

    def in_states(self, *states: str) -> list[Applicant]:
        """Return the applicants in these states."""
        return [applicant for applicant in self.applicants if applicant.state in states]

    @property
    def borderline_count(self) -> int:
        """How many to be answered would pass if what graders judge differently counted as reasonable."""
        return sum(
            a.score.reasonable < self.rule.needed <= a.score.reasonable + len(a.contested)
            and a.score.exam.right >= self.rule.exam_needed
            for a in self.in_states("ready", "unexplained")
        )

    @property
    def score_counts(self) -> list[int]:
        """How many completely graded submissions have each number of reasonable pairs, from 0."""
        found = Counter(
            a.score.reasonable for a in self.applicants if a.score.is_complete and a.state != "rejected"
        )
        most = max([*found, *(a.score.pairs for a in self.applicants), self.rule.needed])
        return [found[score] for score in range(most + 1)]


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round in the list: applicants who handed in, who were answered, and who passed."""

    row: QualificationRound
    assignments: int
    submitted: int
    answered: int
    passed: int

    @property
    def declined(self) -> int:
        """Answered and not passed."""
        return self.answered - self.passed

    @property
    def unanswered(self) -> int:
        """Handed in and not answered."""
        return self.submitted - self.answered


def qualifying_kinds() -> list[str]:
    """Return the names of the kinds whose answers are graded."""
    return list(registry.kinds_with_purpose(Purpose.QUALIFYING))


def pass_rule(row: QualificationRound) -> PassRule:
    """Return a round's pass rule."""
    return PassRule(row.needed, row.exam_needed, row.graders)


def find_round(project: Project, pk: int) -> QualificationRound | None:
    """Return a round of the project with its batch, or ``None``."""
    rows = QualificationRound.objects.select_related("batch__project")
    return rows.filter(pk=pk, batch__project=project).first()


def list_applicants(row: QualificationRound, grades: GradesByPair) -> list[Applicant]:
    """Return who applied, oldest first; one query beside the grades that ``grades_of`` returned."""
    rule = pass_rule(row)
    return [
        _build_applicant(found, row.batch, rule, grades.get(found.submission.pk, {}))
        for found in confirmed_submissions(row)
        if found.submission is not None
    ]


def round_overview(row: QualificationRound, viewer: AbstractBaseUser) -> RoundOverview:
    """Return everything about a round as ``viewer`` may see it; two queries however many applied."""
    grades = load_grades(row)
    applicants = list_applicants(row, grades)
    counted = {a.first_key.submission for a in applicants if a.state != "rejected"}
    pair_grades = [rows for pk, items in grades.items() if pk in counted for rows in items.values()]
    return RoundOverview(
        row=row,
        rule=pass_rule(row),
        applicants=applicants,
        agreement=grader_agreement(
            [grades_of_two for rows in pair_grades if (grades_of_two := first_blind_grades(rows)) is not None]
        ),
        disagreements=_list_disagreements(applicants, grades, viewer),
        grader_count=len({grade.grader_id for rows in pair_grades for grade in rows}),
        graded_pairs=sum(a.score.graded for a in applicants if a.state != "rejected"),
        pairs=sum(a.score.pairs for a in applicants if a.state != "rejected"),
    )


def round_rows(project: Project) -> list[RoundRow]:
    """Return the project's qualification rounds, newest first, with their counts; three queries."""
    rows = list(
        QualificationRound.objects.filter(batch__project=project).select_related("batch").order_by("-pk")
    )
    launched = Unit.objects.filter(batch__qualification_round__in=rows).order_by()
    units = dict(launched.values_list("batch").annotate(Count("id")))
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    submitted = Assignment.objects.filter(hit__unit__batch__qualification_round__in=rows, match=Match.MATCHED)
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


def would_pass(applicant: Applicant, rule: PassRule) -> bool:
    """Tell whether a completely graded applicant would be told that they passed."""
    return has_passed(applicant.score, rule)


def count_unanswered(project: Project) -> int:
    """Return how many applicants of a project wait for their answer."""
    rows = Assignment.objects.filter(hit__unit__batch__project=project, match=Match.MATCHED)
    rows = rows.filter(hit__unit__batch__qualification_round__isnull=False, submission__outcome=None)
    return rows.exclude(status=AssignmentStatus.REJECTED).count()


def training_batches(project: Project) -> list[Batch]:
    """Return the project's training rounds, newest first."""
    return list(Batch.objects.filter(project=project, kind=training_kind()))


def oldest_waiting(applicants: Iterable[Applicant]) -> datetime | None:
    """Return since when the first applicant waits for an answer, or ``None``."""
    waiting = (
        a.assignment.submitted_at for a in applicants if a.state in {"waiting", "unexplained", "ready"}
    )
    return min(waiting, default=None)


def _build_applicant(
    row: Assignment, batch: Batch, rule: PassRule, grades: Mapping[int, Sequence[Grade]]
) -> Applicant:
    submission = row.submission
    assert submission is not None
    pairs = gradable_pairs(row, batch.kind)
    latest = {pair.item: latest_grades(grades.get(pair.item, ())) for pair in pairs}
    verdicts = {item: [one.reasonable for one in votes.values()] for item, votes in latest.items()}
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
            one.note for one in latest[pair.item].values() if one.note and not one.reasonable
        )
    ]
    outcome = getattr(submission, "outcome", None)
    return Applicant(
        assignment=row,
        score=score,
        remarks=remarks,
        contested=[(_photo_number(pairs, pair), pair) for pair in pairs if len(set(verdicts[pair.item])) > 1],
        state=_applicant_state(row, outcome, score, needs_remark(score, rule, remarks)),
        outcome=outcome,
        rate_cents=cents_per_hour(batch.reward_cents, submission.active_seconds),
    )


def _applicant_state(
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
    applicants: Iterable[Applicant], grades: GradesByPair, viewer: AbstractBaseUser
) -> list[Disagreement]:
    found = []
    for applicant in applicants:
        if applicant.outcome is not None or applicant.state == "rejected":
            continue
        pk = applicant.first_key.submission
        for photo, pair in applicant.contested:
            latest = latest_grades(grades[pk][pair.item])
            shown = latest.values() if viewer.pk in latest else ()
            found.append(
                Disagreement(
                    key=PairKey(pk, pair.item),
                    worker=str(applicant.assignment.worker),
                    photo_number=photo,
                    pair=pair,
                    reasonable=[one.name for one in shown if one.reasonable],
                    not_reasonable=[one.name for one in shown if not one.reasonable],
                )
            )
    return found
