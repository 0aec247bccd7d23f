"""Boxes that a detector proposes, and how well they cover the boxes that people drew."""

from django.db import models

from curation.models.pairs import Pair
from hits.models import Image, Project
from hits.models.base import CreatedByModel


class ProposalRun(CreatedByModel):
    """One run of a detector over a project's images, or one imported file of proposals.

    ``options`` are the requested options. ``figures`` has the run's recall, so that its page need not compute it.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="proposal_runs")
    detector = models.CharField(max_length=120)
    revision = models.CharField(max_length=120, blank=True)
    options = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    images = models.PositiveIntegerField(default=0)
    boxes = models.PositiveIntegerField(default=0)
    is_complete = models.BooleanField(default=False)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.detector} ({self.pk})"


class ImageProposals(models.Model):
    """A detector's boxes in one image: ``[[left, top, width, height, score], …]``, best first, in pixels."""

    run = models.ForeignKey(ProposalRun, on_delete=models.CASCADE, related_name="image_proposals")
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="proposals")
    boxes = models.JSONField(default=list)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["run", "image"], name="proposals_once_per_image")]


class ProposalOverlap(models.Model):
    """How well an image's proposals cover one pair's boxes.

    ``ious`` has one number per proposal: its greatest IoU with any of the pair's boxes; ``best`` is their maximum.
    """

    proposals = models.ForeignKey(ImageProposals, on_delete=models.CASCADE, related_name="overlaps")
    observation = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="proposal_overlaps")
    ious = models.JSONField(default=list)
    best = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["proposals", "observation"], name="overlap_once_per_pair"),
        ]
