"""Imports of published corpora: each file once, with its licence, its citation and its rows."""

from django.conf import settings
from django.db import models

from hits.models import Project, Record
from hits.models.base import AppendOnly


class Import(AppendOnly):
    """A file or folder of somebody's rows that was read into a project.

    ``format`` is what was read, such as ``scenes`` or ``nleye``; ``sha256`` is of the file's bytes, so that a file is
    imported once. ``skipped`` counts rows by the reason for which they were left out. ``options`` has what the person
    chose, such as a column map.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="imports")
    format = models.CharField(max_length=20)
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    licence = models.CharField(max_length=120, blank=True)
    citation = models.CharField(max_length=400, blank=True)
    rows = models.PositiveIntegerField()
    skipped = models.JSONField(default=dict)
    options = models.JSONField(default=dict)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "format", "sha256"], name="file_imported_once_per_format"
            )
        ]

    def __str__(self) -> str:
        return self.name


class ImportedRow(AppendOnly):
    """A row of an import: the origin of a record, a scene or a triplet that has no submission.

    ``instance_id`` is the published id, or else one made from the file and the row. ``location`` is the row's place
    in the file, such as ``scenes.csv, row 12``; ``extra`` has the columns that nothing here reads.
    """

    source = models.ForeignKey(Import, on_delete=models.PROTECT, related_name="imported_rows")
    record = models.OneToOneField(Record, on_delete=models.PROTECT, null=True, related_name="imported_row")
    instance_id = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64)
    location = models.CharField(max_length=200)
    extra = models.JSONField(default=dict)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["source", "instance_id"], name="imported_row_once_per_import")
        ]

    def __str__(self) -> str:
        return self.location
