"""Who may do what. Every console page and endpoint asks here."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest

from hits.domain.states import Role
from hits.models import Membership, Project

_RANK = {Role.ANNOTATOR: 0, Role.RESEARCHER: 1, Role.ADMIN: 2}


def role_in(user: AbstractBaseUser | AnonymousUser, project: Project) -> Role | None:
    """Return the person's role in the project; a superuser is admin everywhere."""
    if not user.is_authenticated:
        return None
    if getattr(user, "is_superuser", False):
        return Role.ADMIN
    role = Membership.objects.filter(project=project, user_id=user.pk).values_list("role", flat=True).first()
    return Role(role) if role else None


def role_of_visitor(request: HttpRequest, project: Project) -> Role | None:
    """Return the role of the person who asks for a page; looked up once a request, since the page asks again."""
    known: dict[int, Role | None] = vars(request).setdefault("roles_looked_up", {})
    if project.pk not in known:
        known[project.pk] = role_in(request.user, project)
    return known[project.pk]


def visitor_may(request: HttpRequest, project: Project, at_least: Role) -> bool:
    """Tell whether the role of the person who asks for a page reaches ``at_least``; no further query on a page."""
    return reaches(role_of_visitor(request, project), at_least)


def may(user: AbstractBaseUser | AnonymousUser, project: Project, at_least: Role) -> bool:
    """Tell whether the person's role in the project reaches ``at_least``."""
    return reaches(role_in(user, project), at_least)


def reaches(role: Role | None, at_least: Role) -> bool:
    """Tell whether a role is ``at_least`` that much; nobody's role reaches nothing."""
    return role is not None and _RANK[role] >= _RANK[at_least]


def projects_of(
    user: AbstractBaseUser | AnonymousUser, at_least: Role = Role.RESEARCHER
) -> "QuerySet[Project]":
    """Return the projects in which the person has at least that role."""
    if not user.is_authenticated:
        return Project.objects.none()
    if getattr(user, "is_superuser", False):
        return Project.objects.all()
    enough = [role.value for role, rank in _RANK.items() if rank >= _RANK[at_least]]
    return Project.objects.filter(memberships__user_id=user.pk, memberships__role__in=enough)
