"""Uploaded task pages, and the document that a unit shows."""

import uuid
from dataclasses import dataclass

from django.db.models import QuerySet

from hits.domain.task_template.variables import fill_variables
from hits.models import Project, TaskTemplate, Unit

KIND = "html_template"


@dataclass(frozen=True, slots=True)
class TemplateDocument:
    """A page with its variables filled in, and its allowed hosts."""

    html: str
    hosts: tuple[str, ...]


def list_templates(project: Project) -> "QuerySet[TaskTemplate]":
    """Return a project's pages, newest version first, without their HTML."""
    return TaskTemplate.objects.filter(project=project).defer("html").select_related("uploaded_by")


def find_template(project: Project, pk: int) -> TaskTemplate | None:
    """Return a page of the project, or ``None``."""
    return TaskTemplate.objects.filter(project=project, pk=pk).first()


def find_document(public_id: uuid.UUID) -> TemplateDocument | None:
    """Return the document for a unit's frame; ``None`` if no unit of this kind has that id."""
    unit = Unit.objects.select_related("batch").filter(public_id=public_id, batch__kind=KIND).first()
    if unit is None:
        return None
    template = TaskTemplate.objects.filter(pk=unit.payload["template"], project=unit.batch.project_id).first()
    if template is None:
        return None
    html = fill_variables(template.html, unit.payload["values"])
    return TemplateDocument(html, tuple(unit.batch.provenance.get("hosts", ())))
