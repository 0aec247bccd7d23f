"""The instruction editor: the versions of each kind's instructions."""

from typing import Any

from csp.decorators import csp_replace
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits import registry
from hits.domain.answers.text import parse_digits
from hits.domain.content_security_policy import SAME_SITE_FRAMES
from hits.domain.instructions import MAX_EXAMPLES, InstructionText, diff_instructions
from hits.forms import ExampleForms, InstructionsForm, build_example_forms
from hits.kind import HitKind
from hits.models import Batch, Instructions, Project
from hits.selectors import instructions as selectors
from hits.services import instructions as services
from hits.services.errors import Refused
from hits.views.access import batch_page, project_page
from hits.views.pages import action_messages, get_or_404, section_context
from hits.views.users import signed_in_user


@require_safe
@project_page()
def project_instructions(request: HttpRequest, project: Project) -> HttpResponse:
    """List the kinds of task with their instructions."""
    context = {"project": project, "section": "instructions", "rows": selectors.kind_rows(project)}
    return render(request, "hits/instructions/instructions.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def instructions_edit(request: HttpRequest, project: Project, kind_name: str) -> HttpResponse:
    """Edit a kind's instructions and publish a new version."""
    kind = _get_kind_or_404(kind_name)
    current = selectors.newest_version(project, kind.name)
    if request.method == "POST":
        return _publish_posted_text(request, project, kind, current)
    text = _current_or_default_text(kind, current)
    version = current.version if current is not None else 0
    form = InstructionsForm(initial={"summary": text.summary, "body": text.body, "based_on": version})
    return _render_editor(request, project, kind, form, build_example_forms(kind, text.examples))


def _publish_posted_text(
    request: HttpRequest, project: Project, kind: HitKind, current: Instructions | None
) -> HttpResponse:
    form, examples = InstructionsForm(request.POST), build_example_forms(kind, (), request.POST)
    if request.POST.get("step") == "more":
        extended = build_example_forms(kind, (), request.POST, extra=1)
        return _render_editor(
            request, project, kind, InstructionsForm(initial=form.typed_values), extended, typed=True
        )
    if not (form.is_valid() & examples.is_valid()):
        return _render_editor(request, project, kind, form, examples, typed=True, status=400)
    try:
        row = services.publish_instructions(
            project=project,
            kind_name=kind.name,
            text=form.typed_text(examples),
            note=form.cleaned_data["note"],
            based_on=form.cleaned_data["based_on"],
            by=signed_in_user(request),
        )
    except services.NewerVersionPublished as conflict:
        return _render_conflict(request, project, kind, form, examples, conflict.other)
    except Refused as error:
        form.add_refusal(str(error))
        return _render_editor(request, project, kind, form, examples, typed=True, status=400)
    messages.success(
        request, f"Version {row.version} is published. Choose it on a batch’s page to use it there."
    )
    address = reverse("instructions-version", args=[project.slug, kind.name, row.version])
    return redirect(f"{address}?published=1")


def _render_conflict(
    request: HttpRequest,
    project: Project,
    kind: HitKind,
    form: InstructionsForm,
    examples: ExampleForms,
    newer: Instructions,
) -> HttpResponse:
    """Show the newer version beside the typed text; the next publication is based on it."""
    lines = diff_instructions(selectors.version_text(newer), form.typed_text(examples))
    rebased_form = InstructionsForm(initial=form.typed_values | {"based_on": newer.version})
    context = {"other": newer, "against_other": lines}
    return _render_editor(request, project, kind, rebased_form, examples, typed=True, status=409, **context)


def _render_editor(
    request: HttpRequest,
    project: Project,
    kind: HitKind,
    form: InstructionsForm,
    examples: ExampleForms,
    *,
    typed: bool = False,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = section_context(project, "instructions") | {
        "kind": kind,
        "form": form,
        "examples": examples,
        "may_add": examples.total_form_count() < MAX_EXAMPLES,
        "versions": selectors.version_rows(project, kind.name),
        "own": selectors.built_in_text(kind) is not None,
        # The browser's older draft must not overwrite what the person typed.
        "typed": typed,
    }
    return render(request, "hits/instructions/instructions_edit.html", context | more, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@xframe_options_sameorigin
@csp_replace(SAME_SITE_FRAMES)
@project_page()
def instructions_preview(request: HttpRequest, project: Project, kind_name: str) -> HttpResponse:
    """Render a text as on the task's page; the posted text is not stored."""
    kind = _get_kind_or_404(kind_name)
    error_message = ""
    if request.method == "POST":
        form, examples = InstructionsForm(request.POST), build_example_forms(kind, (), request.POST)
        form.is_valid(), examples.is_valid()
        text = form.typed_text(examples)
        try:
            services.clean_instruction_text(text, project=project, kind=kind)
        except Refused as error:
            error_message = str(error)
    else:
        text = _requested_text(request, project, kind)
    context = {
        "kind": kind,
        "instructions": selectors.render_instructions(text, project, kind),
        "error": error_message,
        "expected_seconds": kind.expected_seconds,
    }
    return render(request, "hits/instructions/instructions_preview.html", context)


def _requested_text(request: HttpRequest, project: Project, kind: HitKind) -> InstructionText:
    number = parse_digits(request.GET.get("version", ""))
    if number:
        return selectors.version_text(_get_version_or_404(project, kind, number))
    current = selectors.newest_version(project, kind.name) if number is None else None
    return _current_or_default_text(kind, current)


@require_safe
@project_page()
def instructions_version(
    request: HttpRequest, project: Project, kind_name: str, version: int
) -> HttpResponse:
    """Show one version and its changes from the previous one."""
    kind = _get_kind_or_404(kind_name)
    row = _get_version_or_404(project, kind, version)
    lines, before = selectors.version_diff(row)
    context = section_context(project, "instructions") | {
        "kind": kind,
        "row": row,
        "lines": lines,
        "before": before,
        "added": sum(line.label == "Added" for line in lines),
        "removed": sum(line.label == "Removed" for line in lines),
        "versions": selectors.version_rows(project, kind.name),
        "shown_by": list(row.batches.all()),
        # The browser discards its draft, which is now this version.
        "just_published": "published" in request.GET and row.published_by_id == request.user.pk,
    }
    return render(request, "hits/instructions/instructions_version.html", context)


@require_POST
@batch_page()
def batch_instructions(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Change the version that a batch shows from now on."""
    number, instead_of = (parse_digits(request.POST.get(name, "")) for name in ("version", "instead_of"))
    version = selectors.find_version(batch.project, batch.kind, number) if number else None
    if number is None or (number and version is None):
        messages.error(request, "Not changed: choose a version from the list.")
        return redirect("batch-detail", batch.pk)
    done = (
        f"Pages opened from now on show {services.version_label(version)}. Pages already open do not change."
    )
    with action_messages(request, "Not changed", done):
        services.set_batch_instructions(
            batch=batch, version=version, by=signed_in_user(request), replaces=instead_of or None
        )
    return redirect(f"{reverse('batch-detail', args=[batch.pk])}#instructions")


def _current_or_default_text(kind: HitKind, current: Instructions | None) -> InstructionText:
    if current is not None:
        return selectors.version_text(current)
    return selectors.built_in_text(kind) or InstructionText(summary=kind.description)


def _get_kind_or_404(name: str) -> HitKind:
    try:
        return registry.get_kind(name)
    except LookupError as error:
        raise Http404("There is no such kind of task.") from error


def _get_version_or_404(project: Project, kind: HitKind, version: int) -> Instructions:
    return get_or_404(selectors.find_version(project, kind.name, version), "There is no such version.")
