"""The instructions studio: what workers of a kind are told, version by version."""

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
from hits.domain.answers.text import row_number
from hits.domain.content_security_policy import SAME_SITE_FRAMES
from hits.domain.instructions import MAX_EXAMPLES, Text, difference
from hits.forms import ExampleForms, InstructionsForm, example_forms
from hits.kind import HitKind
from hits.models import Batch, Instructions, Project
from hits.selectors import instructions as selectors
from hits.services import instructions as services
from hits.services.errors import Refused
from hits.views.access import batch_page, project_page
from hits.views.who import person


@require_safe
@project_page()
def project_instructions(request: HttpRequest, project: Project) -> HttpResponse:
    """List the kinds of task with what their workers are told."""
    context = {"project": project, "section": "instructions", "lines": selectors.kinds(project)}
    return render(request, "hits/instructions/instructions.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def instructions_edit(request: HttpRequest, project: Project, kind_name: str) -> HttpResponse:
    """Edit what a kind's workers are told, and publish it as a new version."""
    kind = _kind(kind_name)
    current = selectors.current(project, kind.name)
    if request.method == "POST":
        return _posted(request, project, kind, current)
    text = _starting_text(kind, current)
    version = current.version if current is not None else 0
    form = InstructionsForm(initial={"summary": text.summary, "body": text.body, "based_on": version})
    return _editor(request, project, kind, form, example_forms(kind, text.examples))


def _posted(
    request: HttpRequest, project: Project, kind: HitKind, current: Instructions | None
) -> HttpResponse:
    form, examples = InstructionsForm(request.POST), example_forms(kind, (), request.POST)
    if request.POST.get("step") == "more":
        more = example_forms(kind, (), request.POST, more=1)
        return _editor(request, project, kind, InstructionsForm(initial=form.typed), more, typed=True)
    if not (form.is_valid() & examples.is_valid()):
        return _editor(request, project, kind, form, examples, typed=True, status=400)
    try:
        row = services.publish(
            project=project,
            kind_name=kind.name,
            text=form.text(examples),
            note=form.cleaned_data["note"],
            based_on=form.cleaned_data["based_on"],
            by=person(request),
        )
    except services.Overtaken as conflict:
        return _overtaken(request, project, kind, form, examples, conflict.other)
    except Refused as error:
        form.refuse(str(error))
        return _editor(request, project, kind, form, examples, typed=True, status=400)
    messages.success(
        request, f"Version {row.version} is published. Batches show it once you choose it on their page."
    )
    address = reverse("instructions-version", args=[project.slug, kind.name, row.version])
    return redirect(f"{address}?published=1")


def _overtaken(
    request: HttpRequest,
    project: Project,
    kind: HitKind,
    form: InstructionsForm,
    examples: ExampleForms,
    other: Instructions,
) -> HttpResponse:
    """Show the other's version beside what was typed; publishing again stands on top of theirs."""
    lines = difference(selectors.text_of(other), form.text(examples))
    again = InstructionsForm(initial=form.typed | {"based_on": other.version})
    more = {"other": other, "against_other": lines}
    return _editor(request, project, kind, again, examples, typed=True, status=409, **more)


def _editor(
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
    context = {
        "project": project,
        "section": "instructions",
        "kind": kind,
        "form": form,
        "examples": examples,
        "may_add": examples.total_form_count() < MAX_EXAMPLES,
        "versions": selectors.versions(project, kind.name),
        "own": selectors.own_text(kind) is not None,
        # A page that holds what somebody typed is not overwritten by an older draft of the browser's.
        "typed": typed,
    }
    return render(request, "hits/instructions/instructions_edit.html", context | more, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@xframe_options_sameorigin
@csp_replace(SAME_SITE_FRAMES)
@project_page()
def instructions_preview(request: HttpRequest, project: Project, kind_name: str) -> HttpResponse:
    """Show a text as the task's page will; what is posted is not kept."""
    kind = _kind(kind_name)
    trouble = ""
    if request.method == "POST":
        form, examples = InstructionsForm(request.POST), example_forms(kind, (), request.POST)
        form.is_valid(), examples.is_valid()
        text = form.text(examples)
        try:
            services.tidied(text, project=project, kind=kind)
        except Refused as error:
            trouble = str(error)
    else:
        text = _chosen(request, project, kind)
    context = {
        "kind": kind,
        "instructions": selectors.shown(text, project, kind),
        "trouble": trouble,
        "usual_seconds": kind.usual_seconds,
    }
    return render(request, "hits/instructions/instructions_preview.html", context)


def _chosen(request: HttpRequest, project: Project, kind: HitKind) -> Text:
    number = row_number(request.GET.get("version", ""))
    if number:
        return selectors.text_of(_version(project, kind, number))
    current = selectors.current(project, kind.name) if number is None else None
    return _starting_text(kind, current)


@require_safe
@project_page()
def instructions_version(
    request: HttpRequest, project: Project, kind_name: str, version: int
) -> HttpResponse:
    """Show one version, and what changed from the one before."""
    kind = _kind(kind_name)
    row = _version(project, kind, version)
    lines, before = selectors.changes(row)
    context = {
        "project": project,
        "section": "instructions",
        "kind": kind,
        "row": row,
        "lines": lines,
        "before": before,
        "added": sum(line.word == "Added" for line in lines),
        "removed": sum(line.word == "Removed" for line in lines),
        "versions": selectors.versions(project, kind.name),
        "shown_by": list(row.batches.all()),
        # The browser lets go of its draft, which is this version now.
        "just_published": "published" in request.GET and row.published_by_id == request.user.pk,
    }
    return render(request, "hits/instructions/instructions_version.html", context)


@require_POST
@batch_page()
def batch_instructions(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Let a batch show another version from now on."""
    chosen, instead_of = (row_number(request.POST.get(name, "")) for name in ("version", "instead_of"))
    version = selectors.version_numbered(batch.project, batch.kind, chosen) if chosen else None
    if chosen is None or (chosen and version is None):
        messages.error(request, "Not changed: choose a version from the list.")
        return redirect("batch-detail", batch.pk)
    try:
        services.show_on_batch(
            batch=batch, version=version, by=person(request), instead_of=instead_of or None
        )
    except Refused as error:
        messages.error(request, f"Not changed: {error}.")
    else:
        messages.success(
            request,
            f"Pages opened from now on show {services.title(version)}. Open ones keep what they show.",
        )
    return redirect(f"{reverse('batch-detail', args=[batch.pk])}#told")


def _starting_text(kind: HitKind, current: Instructions | None) -> Text:
    if current is not None:
        return selectors.text_of(current)
    return selectors.own_text(kind) or Text(summary=kind.description)


def _kind(name: str) -> HitKind:
    try:
        return registry.get(name)
    except LookupError as error:
        raise Http404("There is no such kind of task.") from error


def _version(project: Project, kind: HitKind, version: int) -> Instructions:
    row = selectors.version_numbered(project, kind.name, version)
    if row is None:
        raise Http404("There is no such version.")
    return row
