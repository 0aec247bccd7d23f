"""Helpers of curation's pages: tab context, hashes for comparing aloud, and downloads."""

from typing import Any, TypeVar

from django.http import HttpResponseBase

from hits.models import Project

Reply = TypeVar("Reply", bound=HttpResponseBase)


def tab_context(project: Project, tab: str, section: str = "curation") -> dict[str, Any]:
    """Return the context for the base template of a project's page."""
    return {"project": project, "section": section, "tab": tab}


def grouped_hash(sha256: str) -> list[str]:
    """Return a hash in groups of four digits, four groups per line, for comparing aloud."""
    groups = [sha256[i : i + 4] for i in range(0, len(sha256), 4)]
    return [" ".join(groups[i : i + 4]) for i in range(0, len(groups), 4)]


def as_download(reply: Reply, name: str) -> Reply:
    """Return a reply that browsers store as a file of this name."""
    reply["Content-Disposition"] = f'attachment; filename="{name}"'
    return reply
