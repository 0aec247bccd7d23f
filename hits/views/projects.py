"""Projects, their members, consent texts and history."""

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.states import Role
from hits.forms import ConsentForm, MemberForm, ProjectForm
from hits.markdown import to_html
from hits.models import Project
from hits.selectors import console, people
from hits.selectors.roles import researcher_projects, visitor_has_role
from hits.services import projects as services
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import get_page, section_context
from hits.views.users import signed_in_user

PER_PAGE = 100


@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    """List the projects of the user."""
    projects = researcher_projects(request.user)
    if not (projects.exists() or request.user.is_superuser):
        return redirect("marketplace:work")
    return render(request, "hits/projects/projects.html", {"rows": console.project_rows(projects)})


@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    """Create a project; only superusers can."""
    if not request.user.is_superuser:
        raise PermissionDenied("Only server administrators can create projects.")
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            project = services.create_project(by=signed_in_user(request), **form.cleaned_data)
        except Refused as error:
            field, _, reason = str(error).partition(": ")
            form.add_error(field.replace(" ", "_"), reason.capitalize() + ".")
        else:
            messages.success(request, "Project created. Next: add photos.")
            return redirect("project-images", project.slug)
    return render(
        request, "hits/projects/project_new.html", {"form": form}, status=400 if form.errors else 200
    )


@require_safe
@project_page()
def project_people(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the members and their roles; workers have a separate list."""
    return _render_members(request, project, MemberForm())


@require_POST
@project_page(Role.ADMIN)
def member_add(request: HttpRequest, project: Project) -> HttpResponse:
    """Add a member by user name."""
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _render_members(request, project, form, status=400)
    role = Role(form.cleaned_data["role"])
    try:
        services.set_role(project=project, user=form.user, role=role, by=signed_in_user(request))
    except Refused as error:
        form.add_error("username", str(error))
        return _render_members(request, project, form, status=400)
    messages.success(request, f"{form.user} is now {role.value} of {project.name}.")
    return redirect("project-people", project.slug)


@require_POST
@project_page(Role.ADMIN)
def member_set_role(request: HttpRequest, project: Project, user_id: int) -> HttpResponse:
    """Change a member's role."""
    user = get_object_or_404(get_user_model(), pk=user_id, memberships__project=project)
    try:
        role = Role(request.POST.get("role", ""))
        services.set_role(project=project, user=user, role=role, by=signed_in_user(request))
    except ValueError:
        messages.error(request, "Choose researcher or admin.")
    except Refused as error:
        messages.error(request, f"Not changed: {error}.")
    else:
        messages.success(request, f"{user} is now {role.value} of {project.name}.")
    return redirect("project-people", project.slug)


def _render_members(
    request: HttpRequest, project: Project, form: MemberForm, status: int = 200
) -> HttpResponse:
    context = section_context(project, "people", "members") | {
        "members": people.project_members(project),
        "form": form,
        "admin": visitor_has_role(request, project, Role.ADMIN),
    }
    return render(request, "hits/people/people.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def project_consent(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the consent text; admins publish a new version."""
    admin = visitor_has_role(request, project, Role.ADMIN)
    if request.method == "POST" and not admin:
        raise PermissionDenied("Only a project admin can publish a consent text.")
    versions = people.consent_texts_with_agreement_counts(project)
    current = versions[0][0] if versions else None
    form = ConsentForm(request.POST or None, initial={"body": current.body if current else ""})
    if request.method == "POST" and form.is_valid():
        if current is not None and form.cleaned_data["body"].strip() == current.body.strip():
            form.add_error("body", "This text is identical to the current version.")
        else:
            text = services.publish_consent(
                project=project, body=form.cleaned_data["body"], by=signed_in_user(request)
            )
            messages.success(
                request, f"Version {text.version} is published. Workers agree before their next task."
            )
            return redirect("project-consent", project.slug)
    context = section_context(project, "people", "consent") | {
        "current": current,
        "html": to_html(current.body) if current else "",
        "versions": versions,
        "form": form,
        "admin": admin,
    }
    return render(request, "hits/people/consent.html", context, status=400 if form.errors else 200)


@require_safe
@project_page(Role.ADMIN)
def project_history(request: HttpRequest, project: Project) -> HttpResponse:
    """List the project's audit events."""
    page = get_page(request, console.project_events(project), PER_PAGE)
    context = {"project": project, "section": "people", "tab": "history", "page": page, "admin": True}
    return render(request, "hits/people/history.html", context)
