"""Rows about judging: how a round was put together, its controls, what was decided, and computed reports."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.models import Batch, Project, Unit, Worker
from hits.models.base import AppendOnly
from validation.domain.judging.quality_check_types import ControlRole
from validation.domain.reports.decisions import Outcome


class JudgingRound(models.Model):
    """How a judging batch was chosen and mixed, and how its items are decided.

    ``selection`` is a ``domain.judging.sampling.Selection`` as plain data, its seed included; the rates are percent
    of the round's own units; ``rules`` maps a dimension to a ``domain.reports.decisions.Rule`` as plain data.
    Undecided items are asked about again, one judge more at a time, until they have ``most_judges`` or the rounds
    that ``follows`` this one have cost ``ask_budget_cents``.
    """

    batch = models.OneToOneField(Batch, on_delete=models.PROTECT, related_name="judging_round")
    selection = models.JSONField(default=dict)
    gold_percent = models.PositiveSmallIntegerField(default=0)
    attention_percent = models.PositiveSmallIntegerField(default=0)
    repeat_percent = models.PositiveSmallIntegerField(default=0)
    rules = models.JSONField(default=dict)
    most_judges = models.PositiveSmallIntegerField(default=0)  # 0: nobody is asked once more
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
    """A unit whose answer people of the project agreed on, kept to be mixed into rounds.

    ``payload`` is a unit as its kind's schema gives it, ``expected`` what an answer is compared with
    (``domain.judging.quality_checks``). ``author`` wrote what is judged, if anybody here did, and never gets it.
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


class ControlUnit(AppendOnly):
    """A unit that is there to be compared: with a known answer, or with the same worker's answer to ``of``.

    Nothing that a worker sees tells it from the other units. Its answers are no judgments: tallies, decisions,
    agreement and exports leave them out.
    """

    unit = models.OneToOneField(Unit, on_delete=models.PROTECT, related_name="control")
    role = models.CharField(max_length=10)
    expected = models.JSONField(default=dict)
    of = models.ForeignKey(Unit, on_delete=models.PROTECT, null=True, related_name="repeats")
    gold = models.ForeignKey(GoldItem, on_delete=models.PROTECT, null=True, related_name="units")

    class Meta(AppendOnly.Meta):
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=[r.value for r in ControlRole]), name="control_role_known"
            ),
            models.CheckConstraint(
                condition=Q(of__isnull=False) | ~Q(role=ControlRole.REPEAT.value),
                name="repeat_has_an_original",
            ),
        ]


class JudgmentImport(AppendOnly):
    """A file of judgments that were made elsewhere. ``sha256`` is the file's: the same one comes in once."""

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
    """One rater's answer to one item, made elsewhere. ``rater`` is a keyed hash; ``answer`` as the kind tidies it."""

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
    """Figures about all judgments of one kind in a project, computed by a task; the newest one is shown.

    ``data_sha256`` is the fingerprint of the judgments that went in, ``until`` when the last of them was handed in.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="judging_reports")
    kind = models.CharField(max_length=60)
    data_sha256 = models.CharField(max_length=64)
    judgments = models.PositiveIntegerField()
    ratings = models.PositiveIntegerField()
    until = models.DateTimeField(null=True)
    figures = models.JSONField(default=dict)
    seconds = models.FloatField(default=0)  # that computing took
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
    """What a report found about one worker: evidence for a person to look at. ``rank`` 1 is the most reliable."""

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
    """One deciding of all judged items of a kind, with the rules that held and the data that they saw."""

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
    """What a run decided about one item in one dimension. ``support`` from 0 to 1 is the share or probability."""

    run = models.ForeignKey(DecisionRun, on_delete=models.PROTECT, related_name="decisions")
    item = models.CharField(max_length=130)  # an item's key, or set/candidate
    dimension = models.CharField(max_length=20)
    outcome = models.CharField(max_length=10)
    judges = models.PositiveSmallIntegerField()
    support = models.FloatField(null=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "item", "dimension"], name="item_decided_once_per_run"),
            models.CheckConstraint(condition=Q(outcome__in=[o.value for o in Outcome]), name="outcome_known"),
        ]
