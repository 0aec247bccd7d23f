"""Access control of every console page.

Users outside a project get 404, so that nobody learns which projects exist. Members with too low a role get 403 with
the reason.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404

from hits.domain.states import Role
from hits.models import Batch, Project
from hits.selectors.roles import is_role_at_least, visitor_role

View = Callable[..., HttpResponseBase]


def check_access(request: HttpRequest, project: Project, role: Role) -> None:
    """Raise Http404 for users outside the project (workers included) and PermissionDenied for too low a role."""
    own_role = visitor_role(request, project)
    if own_role is None or own_role is Role.ANNOTATOR:
        raise Http404("There is no such page.")
    if not is_role_at_least(own_role, role):
        raise PermissionDenied(
            f"This needs the role {role.value} in {project.name}; yours is {own_role.value}."
        )


def project_page(role: Role = Role.RESEARCHER) -> Callable[[View], View]:
    """Decorate ``view(request, project, …)`` as a view of ``<slug:slug>`` that checks the role first."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            project = get_object_or_404(Project, slug=slug)
            check_access(request, project, role)
            return view(request, project, *args, **kwargs)

        return wrapped

    return decorate


def batch_page(role: Role = Role.RESEARCHER) -> Callable[[View], View]:
    """Decorate ``view(request, batch, …)`` as a view of ``<int:batch_id>`` that checks the role first."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, batch_id: int, *args: Any, **kwargs: Any) -> HttpResponseBase:
            batch = get_object_or_404(Batch.objects.select_related("project"), pk=batch_id)
            check_access(request, batch.project, role)
            return view(request, batch, *args, **kwargs)

        return wrapped

    return decorate
