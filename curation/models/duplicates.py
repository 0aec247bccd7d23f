"""De-duplication runs: the results of a clustering, and whether its photos were set aside."""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from hits.models import Project
from hits.models.base import CreatedByModel


class DuplicateRunState(StrEnum):
    """PREVIEW: no photo was marked. SET_ASIDE: the duplicates are marked. UNDONE: the earlier marks were restored."""

    PREVIEW = "preview"
    SET_ASIDE = "set_aside"
    UNDONE = "undone"


class DuplicateRun(CreatedByModel):
    """The results of one de-duplication.

    ``groups`` are ``{"kept", "members", "pair", "cosine"}`` with row keys of images: ``pair`` are the two least
    similar photos of the group, and ``cosine`` is their similarity. ``compared_images`` are the photos compared.
    ``changed`` maps a photo to its marks before and after the duplicates were set aside, so that this can be undone;
    ``outcome`` has the numbers of photos that were marked.
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
