"""Launch units of any kind from a file: upload it, show the cost, launch."""

import re
import uuid
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from hits.domain.states import Purpose
from hits.domain.units.unit_files import MAX_BYTES
from hits.domain.workers.qualification_pools import Pool
from hits.forms import BatchTermsForm, read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.kind import HitKind
from hits.models import Project, UnitFile
from hits.selectors.instructions import kind_versions
from hits.services.launching.unit_files import (
    BadUnitFile,
    build_example_file,
    find_unit_file,
    kinds_launched_from_files,
    open_content,
    save_unit_file,
)
from hits.views.access import project_page
from hits.views.batches.launch import find_repeated_launch, launch_context, report_launch
from hits.views.costs import add_balance_to_terms, launch_if_confirmed
from hits.views.pages import get_or_404, section_context
from hits.views.users import signed_in_user
from validation.domain.judging.quality_check_types import MAX_PERCENT, CheckRates
from validation.registry import spec_of
from validation.services.judging import default_pool
from validation.services.units import ParsedUnits, launch_from_file, read_unit_file

CHECK_LABELS = {"gold": "Gold items, %", "attention": "Attention checks, %", "repeat": "Repeated items, %"}

_NOT_FROM_FILES = "Tasks of this kind cannot be launched from a file."
_FILE_ID_PATTERN = re.compile(r"[0-9]{1,9}")


class UnitsForm(BatchTermsForm):
    """A file of units, and a batch's terms; for judging kinds also quality checks."""

    file = forms.FileField(required=False, label="Units", allow_empty_file=True)

    def __init__(self, kind: HitKind, *args: Any, pool: Pool | None = None, **kwargs: Any) -> None:
        kwargs["initial"] = {"pool": pool.value if pool else ""}
        super().__init__(kind, *args, **kwargs)
        self.check_fields = _available_checks(kind)
        for name in self.check_fields:
            field = forms.IntegerField(
                min_value=0, max_value=MAX_PERCENT, required=False, initial=0, label=CHECK_LABELS[name]
            )
            field.widget.attrs["class"] = "input"
            self.fields[name] = field
        if kind.purpose is Purpose.JUDGING:
            del self.fields["unit_scope"]  # a judge judges an item at most once in all rounds

    @property
    def rates(self) -> CheckRates:
        """The rates of quality checks; requires a valid form."""
        return CheckRates(*(self.cleaned_data.get(name) or 0 for name in CHECK_LABELS))


def _available_checks(kind: HitKind) -> tuple[str, ...]:
    """Return the quality checks that a kind's rounds can contain."""
    if kind.purpose is not Purpose.JUDGING:
        return ()
    spec = spec_of(kind.name)
    if spec.has_truth:
        return ()  # units contain the right answer, so no checks are needed
    gold, attention = ["gold"] if spec.can_be_gold else [], ["attention"] if spec.has_attention_checks else []
    return (*gold, *attention, "repeat")


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def units_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Launch the units of a file in two steps; nothing is published before the confirmation."""
    kinds = kinds_launched_from_files()
    kind_name = request.GET.get("kind")
    kind = get_or_404(next((k for k in kinds if kind_name in (k.name, None)), None), _NOT_FROM_FILES)
    earlier_batch = find_repeated_launch(request, project)
    if earlier_batch is not None:
        return redirect("batch-detail", earlier_batch.pk)
    form = UnitsForm(
        kind,
        list(kind_versions(project, kind.name).defer("body", "examples")),
        request.POST or None,
        request.FILES or None,
        pool=default_pool(project) if kind.purpose is Purpose.JUDGING else None,
    )
    suggest_reward(form, project=project, kind=kind)
    context: dict[str, Any] = section_context(project, "batches") | {
        "kinds": kinds,
        "kind": kind,
        "form": form,
        "example": build_example_file(project=project, kind=kind),
    }
    status = 200
    if request.method == "POST":
        file_and_units = _read_units(request, project, kind, form) if form.is_valid() else None
        step = request.POST.get("step")
        if file_and_units is None:
            status = 400
        elif step == "change":
            context["sent"] = file_and_units[0]
        else:
            row, units = file_and_units
            refusal = launch_if_confirmed(
                request, partial(_launch_file_units, request, project, kind, form, row, units)
            )
            if isinstance(refusal, HttpResponse):
                return refusal
            status = 400 if refusal else 200
            key = read_idempotency_key(request.POST) or uuid.uuid4().hex
            counts = form.rates.counts(len(units))
            total = len(units) + sum(counts.values())
            context |= launch_context(project, kind, form, total)
            context |= {"idempotency_key": key, "sent": row, "check_count": sum(counts.values())} | refusal
            return render(request, "validation/judging/units_confirm.html", context, status=status)
    return render(request, "validation/judging/units_new.html", context, status=status)


def _read_units(
    request: HttpRequest, project: Project, kind: HitKind, form: UnitsForm
) -> tuple[UnitFile, ParsedUnits] | None:
    """Return the uploaded or saved file with its units; ``None`` after adding errors to the form."""
    upload = request.FILES.get("file")
    try:
        if upload is not None:
            return _save_upload(request, project, kind, upload)
        file_id = request.POST.get("kept", "")
        row = find_unit_file(
            project=project, kind=kind, pk=int(file_id) if _FILE_ID_PATTERN.fullmatch(file_id) else 0
        )
        if row is None:
            form.add_error("file", "Choose a file. An uploaded file is saved for one day.")
            return None
        return row, read_unit_file(project=project, kind=kind, file=open_content(row), name=row.name)
    except BadUnitFile as error:
        for problem in error.problems:
            form.add_error("file", f"{problem}.")
    return None


def _save_upload(
    request: HttpRequest, project: Project, kind: HitKind, upload: Any
) -> tuple[UnitFile, ParsedUnits]:
    data = upload.read(MAX_BYTES + 1)
    upload.seek(0)
    units = read_unit_file(project=project, kind=kind, file=upload.file, name=upload.name)
    row = save_unit_file(
        project=project, kind=kind, name=upload.name, data=data, units=len(units), by=signed_in_user(request)
    )
    return row, units


def _launch_file_units(
    request: HttpRequest, project: Project, kind: HitKind, form: UnitsForm, row: UnitFile, units: ParsedUnits
) -> str:
    """Launch the units, and return the batch's URL."""
    batch, _ = launch_from_file(
        project=project,
        kind=kind,
        units=units,
        by=signed_in_user(request),
        name=form.cleaned_data["name"],
        terms=add_balance_to_terms(form.terms),
        rates=form.rates,
        source={"name": row.name, "sha256": row.sha256},
        idempotency_key=read_idempotency_key(request.POST),
    )
    report_launch(request, batch)
    return reverse("batch-detail", args=[batch.pk])


@require_safe
@project_page()
def units_example(request: HttpRequest, project: Project) -> HttpResponse:
    """Download an example file of units of a kind."""
    kind_name = request.GET.get("kind")
    kind = get_or_404(
        next((k for k in kinds_launched_from_files() if k.name == kind_name), None), _NOT_FROM_FILES
    )
    reply = HttpResponse(
        build_example_file(project=project, kind=kind), content_type="application/jsonl; charset=utf-8"
    )
    reply["Content-Disposition"] = f'attachment; filename="{kind.name}.jsonl"'
    return reply
