"""Choosers: trained models that choose one of four responses."""

from django.db import models
from django.db.models import Q

from curation.models.questions import QuestionSet
from hits.models import Job, Project
from hits.models.base import CreatedByModel


class Chooser(CreatedByModel):
    """A project's model of multiple-choice questions: its training data, settings and weights.

    It is no ``Scorer``, because it does not encode regions and inferences, and so chooses no candidates.
    ``question_set`` and ``splits`` are the training data; without a set the data are a folder that ``provenance``
    describes. ``config`` is a ``curation.chooser.config.ChooserConfig``; ``environment`` describes the machine and
    libraries, by stage. ``path`` is the run's folder, relative to the media folder and never served; the weights of
    each stage are in ``<stage>/best/``. ``figures`` has the validation figures by stage, and the progress of
    training. ``weights_sha256`` is one hash over the cards of all stages. ``recipe`` names the settings
    (``curation.chooser.recipes``).
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="choosers")
    name = models.CharField(max_length=60)
    question_set = models.ForeignKey(
        QuestionSet, on_delete=models.PROTECT, null=True, related_name="choosers"
    )
    splits = models.JSONField(default=dict)
    recipe = models.CharField(max_length=40, blank=True)
    config = models.JSONField(default=dict)
    environment = models.JSONField(default=dict)
    provenance = models.JSONField(default=dict)
    figures = models.JSONField(default=dict)
    path = models.CharField(max_length=200)
    weights_sha256 = models.CharField(max_length=64, blank=True)
    is_ready = models.BooleanField(default=False)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="chooser")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="chooser_name_once_per_project"),
            models.CheckConstraint(
                condition=Q(is_ready=False) | ~Q(weights_sha256=""), name="ready_chooser_has_its_hash"
            ),
        ]

    def __str__(self) -> str:
        return self.name
