"""Records: the rows of a project's dataset, from confirmed answers or from imports."""

from django.db import models
from django.db.models import Q

from hits.models.base import AppendOnly
from hits.models.images import Image
from hits.models.projects import Project
from hits.models.submissions import Submission

SUBMISSION_ORIGIN, IMPORT_ORIGIN = "submission", "import"


class Record(AppendOnly):
    """One record with its published id. The kind's schema of its ``type`` defines ``fields``.

    ``origin`` is a submission or an import; an imported record has no submission. ``index`` is unique in a
    submission over all types. ``image`` is the first image, or none; a record of several images has all of them as
    ``RecordImage`` too.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="records")
    type = models.CharField(max_length=40)
    instance_id = models.CharField(max_length=64, unique=True)
    origin = models.CharField(max_length=10, default=SUBMISSION_ORIGIN)
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="records")
    index = models.PositiveSmallIntegerField()
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, related_name="records")
    fields = models.JSONField(default=dict)
    bonus = models.BooleanField(default=False)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "index"], name="record_index_once"),
            models.CheckConstraint(
                condition=Q(origin=SUBMISSION_ORIGIN, submission__isnull=False)
                | Q(origin=IMPORT_ORIGIN, submission__isnull=True),
                name="record_has_its_origin",
            ),
        ]
        indexes = [models.Index(fields=["project", "type"], name="record_project_type")]


class RecordImage(AppendOnly):
    """One of several images of a record; positions count from 0."""

    record = models.ForeignKey(Record, on_delete=models.PROTECT, related_name="record_images")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()

    class Meta(AppendOnly.Meta):
        ordering = ["record", "position"]
        constraints = [
            models.UniqueConstraint(fields=["record", "position"], name="record_image_position_once")
        ]
