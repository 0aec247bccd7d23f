"""Roles and permissions. Every console page and endpoint checks them here."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest

from hits.domain.states import Role
from hits.models import Membership, Project

_RANK = {Role.ANNOTATOR: 0, Role.RESEARCHER: 1, Role.ADMIN: 2}


def user_role(user: AbstractBaseUser | AnonymousUser, project: Project) -> Role | None:
    """Return the user's role in the project; a superuser is admin everywhere."""
    if not user.is_authenticated:
        return None
    if getattr(user, "is_superuser", False):
        return Role.ADMIN
    role = Membership.objects.filter(project=project, user_id=user.pk).values_list("role", flat=True).first()
    return Role(role) if role else None


def visitor_role(request: HttpRequest, project: Project) -> Role | None:
    """Return the role of the request's user; cached on the request, because a page checks it several times."""
    roles: dict[int, Role | None] = vars(request).setdefault("roles_looked_up", {})
    if project.pk not in roles:
        roles[project.pk] = user_role(request.user, project)
    return roles[project.pk]


def visitor_has_role(request: HttpRequest, project: Project, at_least: Role) -> bool:
    """Return whether the request's user has at least that role; cached on the request."""
    return is_role_at_least(visitor_role(request, project), at_least)


def has_role(user: AbstractBaseUser | AnonymousUser, project: Project, at_least: Role) -> bool:
    """Return whether the user has at least that role in the project."""
    return is_role_at_least(user_role(user, project), at_least)


def is_role_at_least(role: Role | None, at_least: Role) -> bool:
    """Return whether a role is at least ``at_least``; false without a role."""
    return role is not None and _RANK[role] >= _RANK[at_least]


def researcher_projects(user: AbstractBaseUser | AnonymousUser) -> "QuerySet[Project]":
    """Return the projects in which the user is at least a researcher."""
    if not user.is_authenticated:
        return Project.objects.none()
    if getattr(user, "is_superuser", False):
        return Project.objects.all()
    roles = [role.value for role, rank in _RANK.items() if rank >= _RANK[Role.RESEARCHER]]
    return Project.objects.filter(memberships__user_id=user.pk, memberships__role__in=roles)
