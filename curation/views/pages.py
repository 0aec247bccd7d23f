"""Helpers of curation's pages: tab context, hashes for comparing aloud, and downloads."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.http import Http404, HttpRequest, HttpResponseBase

from hits.domain.states import Role
from hits.models import Project
from hits.views.access import View, project_page

Reply = TypeVar("Reply", bound=HttpResponseBase)
TRIPLET_FAMILY = "nleye"


def tab_context(project: Project, tab: str, section: str = "curation") -> dict[str, Any]:
    """Return the context for the base template of a project's page."""
    return {"project": project, "section": section, "tab": tab}


def triplet_project_page(role: Role = Role.RESEARCHER) -> Callable[[View], View]:
    """Decorate a view like ``project_page``; projects whose versions hold no image triplets have no such page."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, project: Project, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if project.family != TRIPLET_FAMILY:
                raise Http404("There is no such page.")
            return view(request, project, *args, **kwargs)

        return project_page(role)(wrapped)

    return decorate


def grouped_hash(sha256: str) -> list[str]:
    """Return a hash in groups of four digits, four groups per line, for comparing aloud."""
    groups = [sha256[i : i + 4] for i in range(0, len(sha256), 4)]
    return [" ".join(groups[i : i + 4]) for i in range(0, len(groups), 4)]


def as_download(reply: Reply, name: str) -> Reply:
    """Return a reply that browsers store as a file of this name."""
    reply["Content-Disposition"] = f'attachment; filename="{name}"'
    return reply
