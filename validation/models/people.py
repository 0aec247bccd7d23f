"""Models of workers: grades, outcomes of qualification rounds, worker status, worker rules and their proposals."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Batch, Project, Submission, Worker
from hits.models.base import AppendOnly
from validation.domain.qualification.worker_status import Measure, ProposalState, WorkerStatus


class QualificationRound(models.Model):
    """A batch of qualification HITs with its pass rule; Hessel et al. 2022, supplement A.1, use 8 of 9 pairs."""

    batch = models.OneToOneField(Batch, on_delete=models.PROTECT, related_name="qualification_round")
    needed = models.PositiveSmallIntegerField(default=8)
    exam_needed = models.PositiveSmallIntegerField(default=0)
    graders = models.PositiveSmallIntegerField(default=1)  # 2: the second does not see the first one's grades

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(graders__in=[1, 2]), name="round_has_one_or_two_graders")
        ]

    def __str__(self) -> str:
        return f"Qualification round of {self.batch}"


class Grade(AppendOnly):
    """One grader's grade of one pair of a qualification submission; a grader's latest grade counts."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="grades")
    item = models.PositiveSmallIntegerField()  # the pair's index, from 0, in the page's order
    reasonable = models.BooleanField(null=True)  # null: the grader took their grade back
    note = models.CharField(max_length=500, blank=True)
    grader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    graded_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        indexes = [models.Index(fields=["submission", "grader", "item", "-id"], name="grade_latest")]


class GradingOutcome(AppendOnly):
    """Whether a qualification submission passed, by which rule, and the message to the worker."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="outcome")
    passed = models.BooleanField()
    reasonable = models.PositiveSmallIntegerField()
    graded = models.PositiveSmallIntegerField()
    exam_right = models.PositiveSmallIntegerField(default=0)
    exam_asked = models.PositiveSmallIntegerField(default=0)
    rule = models.JSONField(default=dict)
    reason = models.CharField(max_length=1000)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(auto_now_add=True)


class WorkerRule(models.Model):
    """A rule such as "under 80 % acceptable over the last 50 validated pairs". It only proposes a status."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="worker_rules")
    name = models.CharField(max_length=120)
    measure = models.CharField(max_length=20)
    below = models.PositiveIntegerField(help_text="Percent, or cents an hour")
    window = models.PositiveIntegerField(default=50)
    at_least = models.PositiveIntegerField(default=20)  # items that a worker needs before the rule applies
    proposes = models.CharField(max_length=12, default=WorkerStatus.PAUSED)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "validation_standingrule"
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(measure__in=[m.value for m in Measure]), name="rule_measure_known"
            ),
            models.CheckConstraint(
                condition=Q(proposes__in=[WorkerStatus.PAUSED, WorkerStatus.DEQUALIFIED]),
                name="rule_proposes_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RuleProposal(models.Model):
    """A status that a rule proposes for a worker; a person decides. ``figures`` are the rule's numbers."""

    rule = models.ForeignKey(WorkerRule, on_delete=models.PROTECT, related_name="proposals")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="proposals")
    figures = models.JSONField(default=dict)
    state = models.CharField(max_length=10, default=ProposalState.OPEN)
    created_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=1000, blank=True)

    class Meta:
        db_table = "validation_standingproposal"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "worker"],
                condition=Q(state=ProposalState.OPEN),
                name="one_open_proposal_per_rule_and_worker",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[s.value for s in ProposalState]), name="proposal_state_known"
            ),
        ]


class StatusChange(AppendOnly):
    """A decided change of a worker's status: when, why, by whom. The latest one counts."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="status_changes")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="status_changes")
    status = models.CharField(max_length=12, db_column="standing")
    reason = models.CharField(max_length=1000)
    proposal = models.ForeignKey(RuleProposal, on_delete=models.PROTECT, null=True, related_name="+")
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        db_table = "validation_standingchange"
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[s.value for s in WorkerStatus]), name="standing_known"
            )
        ]
        indexes = [models.Index(fields=["project", "worker", "-id"], name="standing_latest")]
