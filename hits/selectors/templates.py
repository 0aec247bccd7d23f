"""Uploaded task pages, and the document that a unit of one shows."""

import uuid
from dataclasses import dataclass

from django.db.models import QuerySet

from hits.domain.task_template.variables import fill_in
from hits.models import Project, TaskTemplate, Unit

KIND = "html_template"


@dataclass(frozen=True, slots=True)
class Document:
    """A page with its variables filled in, and the hosts that it may load from."""

    html: str
    hosts: tuple[str, ...]


def templates_of(project: Project) -> "QuerySet[TaskTemplate]":
    """Return a project's pages, the newest version first; their text is left out."""
    return TaskTemplate.objects.filter(project=project).defer("html").select_related("uploaded_by")


def template_in(project: Project, pk: int) -> TaskTemplate | None:
    """Return one of a project's pages, or ``None``."""
    return TaskTemplate.objects.filter(project=project, pk=pk).first()


def document_of(public_id: uuid.UUID) -> Document | None:
    """Return what the frame of a unit shows; ``None`` where no unit of this kind has that id."""
    unit = Unit.objects.select_related("batch").filter(public_id=public_id, batch__kind=KIND).first()
    if unit is None:
        return None
    template = TaskTemplate.objects.filter(pk=unit.payload["template"], project=unit.batch.project_id).first()
    if template is None:
        return None
    html = fill_in(template.html, unit.payload["values"])
    return Document(html, tuple(unit.batch.provenance.get("hosts", ())))
