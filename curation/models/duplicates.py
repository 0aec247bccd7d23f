"""De-duplication runs: what a clustering found, and whether its photos were set aside."""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from hits.models import Project
from hits.models.base import CreatedByModel


class DuplicateRunState(StrEnum):
    """PREVIEW: no photo was touched. SET_ASIDE: the duplicates are marked. UNDONE: the marks were taken back."""

    PREVIEW = "preview"
    SET_ASIDE = "set_aside"
    UNDONE = "undone"


class DuplicateRun(CreatedByModel):
    """What one de-duplication found.

    ``groups`` are ``{"kept", "members", "pair", "cosine"}`` in row keys of images: ``pair`` are the two photos of the
    group that are least alike, ``cosine`` is theirs. ``compared_images`` are the photos that were compared. ``changed``
    maps a photo to its mark before and after the photos were set aside, so that this can be undone; ``outcome`` is
    what that act counted.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="duplicate_runs")
    state = models.CharField(max_length=10, default=DuplicateRunState.PREVIEW)
    options = models.JSONField(default=dict)
    encoder = models.CharField(max_length=200)
    clusters = models.PositiveIntegerField()
    groups = models.JSONField(default=list)
    compared_images = models.JSONField(default=list, db_column="looked_at")
    changed = models.JSONField(default=dict)
    outcome = models.JSONField(default=dict)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in DuplicateRunState]),
                name="duplicate_run_state_known",
            ),
        ]

    def __str__(self) -> str:
        return f"De-duplication {self.pk}"
