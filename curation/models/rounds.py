"""Comparison rounds: sets of hard candidates, chosen for people to rate."""

from django.db import models

from curation.models.pairs import Pair
from curation.models.scorers import Scorer
from hits.models import Batch, Job, Project
from hits.models.base import CreatedByModel


class ComparisonRound(CreatedByModel):
    """One run of the comparison-set builder: its options, provenance and skipped pairs.

    ``skipped`` maps a reason to ``[{"instance": id, "available": n}, …]``. ``skip_totals`` maps it to their number,
    so that lists of rounds need not load them. ``batch`` is set when the round's best sets are launched. ``job``
    built the round: if the job runs again, it finds its round here. ``scorer`` is the project's scorer that computed
    plausibility, if any.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="comparison_rounds")
    options = models.JSONField()
    encoder = models.CharField(max_length=80)
    provenance = models.JSONField()
    instances = models.PositiveIntegerField()
    inferences = models.PositiveIntegerField()
    skipped = models.JSONField(default=dict)
    skip_totals = models.JSONField(default=dict)
    batch = models.OneToOneField(
        Batch, on_delete=models.PROTECT, null=True, blank=True, related_name="comparison_round"
    )
    job = models.OneToOneField(
        Job, on_delete=models.SET_NULL, null=True, blank=True, related_name="comparison_round"
    )
    scorer = models.ForeignKey(
        Scorer, on_delete=models.PROTECT, null=True, blank=True, related_name="comparison_rounds"
    )

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"Comparison round {self.pk}"

    @property
    def skip_counts(self) -> dict[str, int]:
        """The number of instances without a set, by reason; rounds of earlier releases have no totals."""
        return self.skip_totals or {reason: len(rows) for reason, rows in self.skipped.items()}


class ComparisonSet(models.Model):
    """Inferences to be rated for one pair's image and region.

    ``chosen`` are instance ids of the inferences, in the order of selection. ``rank`` 1 has the best set score.
    ``scores`` is described at ``curation.services.comparison.BuiltSet``. ``left_out`` is a person's reason for
    excluding the set from the launch, or empty.
    """

    round = models.ForeignKey(ComparisonRound, on_delete=models.CASCADE, related_name="sets")
    observation = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="comparison_sets")
    chosen = models.JSONField()
    rank = models.PositiveIntegerField()
    scores = models.JSONField(default=dict)
    left_out = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["rank"]
        constraints = [
            models.UniqueConstraint(fields=["round", "observation"], name="one_set_per_instance_and_round"),
            models.UniqueConstraint(fields=["round", "rank"], name="set_rank_once_per_round"),
        ]

    def __str__(self) -> str:
        return f"set {self.rank} of round {self.round_id}"
