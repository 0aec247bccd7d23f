"""Rows about people: grades, outcomes of qualification rounds, standing, and the rules that propose a change."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Batch, Project, Submission, Worker
from hits.models.base import AppendOnly
from validation.domain.qualification.worker_status import Measure, ProposalState, Standing


class QualificationRound(models.Model):
    """A batch of qualification HITs with its pass rule as data (paper 000 A.1: 8 of 9 pairs reasonable)."""

    batch = models.OneToOneField(Batch, on_delete=models.PROTECT, related_name="qualification_round")
    needed = models.PositiveSmallIntegerField(default=8)
    exam_needed = models.PositiveSmallIntegerField(default=0)
    graders = models.PositiveSmallIntegerField(default=1)  # 2: the second grades blind to the first

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(graders__in=[1, 2]), name="round_has_one_or_two_graders")
        ]

    def __str__(self) -> str:
        return f"Qualification round of {self.batch}"


class Grade(AppendOnly):
    """One grader's word on one pair of a qualification submission; the latest of a grader counts."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="grades")
    item = models.PositiveSmallIntegerField()  # from 0, in the order of the page
    reasonable = models.BooleanField(null=True)  # null: taken back, as if never graded by this grader
    note = models.CharField(max_length=500, blank=True)
    grader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    graded_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        indexes = [models.Index(fields=["submission", "grader", "item", "-id"], name="grade_latest")]


class GradingOutcome(AppendOnly):
    """Whether a qualification submission passed, by which rule, and what the worker is told."""

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


class StandingRule(models.Model):
    """A rule as data, for instance: under 80 % acceptable over the last 50 validated pairs. It only proposes."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="standing_rules")
    name = models.CharField(max_length=120)
    measure = models.CharField(max_length=20)
    below = models.PositiveIntegerField(help_text="Percent, or cents an hour")
    window = models.PositiveIntegerField(default=50)
    at_least = models.PositiveIntegerField(default=20)  # fewer items say nothing yet
    proposes = models.CharField(max_length=12, default=Standing.PAUSED)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(measure__in=[m.value for m in Measure]), name="rule_measure_known"
            ),
            models.CheckConstraint(
                condition=Q(proposes__in=[Standing.PAUSED, Standing.DEQUALIFIED]), name="rule_proposes_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class StandingProposal(models.Model):
    """What a rule found about a worker, waiting for a person. ``figures`` are the numbers it saw."""

    rule = models.ForeignKey(StandingRule, on_delete=models.PROTECT, related_name="proposals")
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


class StandingChange(AppendOnly):
    """A decided change of a worker's standing: from when, why, by whom. The latest one counts."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="standing_changes")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="standing_changes")
    standing = models.CharField(max_length=12)
    reason = models.CharField(max_length=1000)
    proposal = models.ForeignKey(StandingProposal, on_delete=models.PROTECT, null=True, related_name="+")
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(standing__in=[s.value for s in Standing]), name="standing_known"
            )
        ]
        indexes = [models.Index(fields=["project", "worker", "-id"], name="standing_latest")]
