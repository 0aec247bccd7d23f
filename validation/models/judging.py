"""Models of judging: rounds, quality checks, imported judgments, computed reports, and decisions."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Batch, Project, Unit, Worker
from hits.models.base import AppendOnly
from validation.domain.decision_rules import Outcome
from validation.domain.judging.quality_check_types import CheckRole


class JudgingRound(models.Model):
    """How the items of a judging batch were selected, which checks it has, and how its items are decided.

    ``selection`` is a ``domain.judging.sampling.Selection`` as plain data; the rates are percent of the round's own
    units; ``rules`` maps a dimension to a ``decisions.DecisionRule`` as plain data. Follow-ups (``follows``) add
    one judge at a time to undecided items, until an item has ``max_redundancy`` judges or the follow-ups have cost
    ``ask_budget_cents``.
    """

    batch = models.OneToOneField(Batch, on_delete=models.PROTECT, related_name="judging_round")
    selection = models.JSONField(default=dict)
    gold_percent = models.PositiveSmallIntegerField(default=0)
    attention_percent = models.PositiveSmallIntegerField(default=0)
    repeat_percent = models.PositiveSmallIntegerField(default=0)
    rules = models.JSONField(default=dict)
    # 0: no follow-up rounds
    max_redundancy = models.PositiveSmallIntegerField(default=0, db_column="most_judges")
    ask_budget_cents = models.PositiveBigIntegerField(default=0)
    follows = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="followers")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(gold_percent__lte=50, attention_percent__lte=50, repeat_percent__lte=50),
                name="control_rates_up_to_half",
            )
        ]

    def __str__(self) -> str:
        return f"Judging round of {self.batch}"


class GoldItem(models.Model):
    """A unit with an agreed answer, stored to be mixed into rounds.

    ``payload`` is a unit in its kind's schema; ``expected`` are the right labels, which answers are compared
    with. ``author`` is the worker who wrote the judged content, if any, and never gets the unit.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="gold_items")
    kind = models.CharField(max_length=60)
    key = models.CharField(max_length=64)
    payload = models.JSONField()
    expected = models.JSONField()
    note = models.CharField(max_length=400, blank=True)
    author = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="+")
    is_active = models.BooleanField(default=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "key"], name="gold_key_once_per_kind")
        ]

    def __str__(self) -> str:
        return f"gold {self.key}"


class QualityCheck(AppendOnly):
    """A unit whose answers are compared: with expected labels, or with the same worker's answer to ``original``.

    Nothing that a worker sees distinguishes it from other units. Its answers are not judgments: counts, decisions,
    agreement and exports leave them out.
    """

    unit = models.OneToOneField(Unit, on_delete=models.PROTECT, related_name="quality_check")
    role = models.CharField(max_length=10)
    expected = models.JSONField(default=dict)
    original = models.ForeignKey(
        Unit, on_delete=models.PROTECT, null=True, related_name="repeats", db_column="of_id"
    )
    gold_item = models.ForeignKey(
        GoldItem, on_delete=models.PROTECT, null=True, related_name="units", db_column="gold_id"
    )

    class Meta(AppendOnly.Meta):
        db_table = "validation_controlunit"
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=[r.value for r in CheckRole]), name="control_role_known"
            ),
            models.CheckConstraint(
                condition=Q(original__isnull=False) | ~Q(role=CheckRole.REPEAT.value),
                name="repeat_has_an_original",
            ),
        ]


class JudgmentImport(AppendOnly):
    """An imported file of judgments made outside Deerstalker. A file (``sha256``) is imported once per kind."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="judgment_imports")
    kind = models.CharField(max_length=60)
    name = models.CharField(max_length=120)
    sha256 = models.CharField(max_length=64)
    judgments = models.PositiveIntegerField()
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    imported_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "sha256"], name="judgments_imported_once")
        ]

    def __str__(self) -> str:
        return self.name


class ImportedJudgment(AppendOnly):
    """One imported answer of one rater to one item; ``rater`` is a keyed hash, ``answer`` in the kind's format."""

    source = models.ForeignKey(JudgmentImport, on_delete=models.PROTECT, related_name="rows")
    item = models.CharField(max_length=64)
    rater = models.CharField(max_length=32)
    answer = models.JSONField()
    active_seconds = models.FloatField(null=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["source", "item", "rater"], name="imported_judgment_once")
        ]


class JudgingReport(models.Model):
    """Figures about all judgments of one kind in a project, computed by a task; pages show the newest report.

    ``data_sha256`` is the fingerprint of the judgments, ``last_judgment_at`` the time of the last of them.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="judging_reports")
    kind = models.CharField(max_length=60)
    data_sha256 = models.CharField(max_length=64)
    judgments = models.PositiveIntegerField()
    ratings = models.PositiveIntegerField()
    last_judgment_at = models.DateTimeField(null=True, db_column="until")
    figures = models.JSONField(default=dict)
    seconds = models.FloatField(default=0)  # duration of the computation
    computed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    computed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "kind", "-id"], name="judging_report_latest")]

    def __str__(self) -> str:
        return f"{self.kind} report {self.pk}"


class WorkerQuality(models.Model):
    """A report's figures about one worker, as evidence for researchers. ``rank`` 1 is the most reliable."""

    report = models.ForeignKey(JudgingReport, on_delete=models.CASCADE, related_name="workers")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="judging_quality")
    rank = models.PositiveIntegerField()
    figures = models.JSONField(default=dict)

    class Meta:
        ordering = ["rank"]
        constraints = [
            models.UniqueConstraint(fields=["report", "worker"], name="worker_quality_once_per_report")
        ]


class DecisionRun(AppendOnly):
    """One application of decision rules to all judged items of a kind; ``data_sha256`` identifies the judgments."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="decision_runs")
    kind = models.CharField(max_length=60)
    rules = models.JSONField()
    data_sha256 = models.CharField(max_length=64)
    counts = models.JSONField(default=dict)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "kind", "-id"], name="decision_run_latest")]


class ItemDecision(AppendOnly):
    """A run's outcome for one item in one dimension; ``support``, 0 to 1, is the positive share or probability."""

    run = models.ForeignKey(DecisionRun, on_delete=models.PROTECT, related_name="decisions")
    item = models.CharField(max_length=130)  # an item's key, or set/candidate
    dimension = models.CharField(max_length=20)
    outcome = models.CharField(max_length=10)
    judge_count = models.PositiveSmallIntegerField(db_column="judges")
    support = models.FloatField(null=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "item", "dimension"], name="item_decided_once_per_run"),
            models.CheckConstraint(condition=Q(outcome__in=[o.value for o in Outcome]), name="outcome_known"),
        ]
