"""Launch units of any kind from a file, or of a judging kind from photos: choose them, show the cost, launch."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from hits.domain.images.image_selection import ImageSelection, ImageSelectionError, SelectionMethod
from hits.domain.states import Purpose
from hits.domain.units.unit_files import MAX_BYTES
from hits.domain.workers.qualification_pools import Pool
from hits.forms import BatchTermsForm, read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.kind import HitKind
from hits.models import Project, UnitFile
from hits.selectors.images.image_selection import select_photos
from hits.selectors.instructions import kind_versions
from hits.selectors.unit_planners import planner_of
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
from validation.services.units import ParsedUnits, launch_from_file, plan_photo_units, read_unit_file

CHECK_LABELS = {"gold": "Gold items, %", "attention": "Attention checks, %", "repeat": "Repeated items, %"}

_NOT_FROM_FILES = "Tasks of this kind cannot be launched from a file."
_FILE_ID_PATTERN = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class ChosenUnits:
    """The units to launch: from an uploaded file (``file``), or from a sample of photos.

    ``label`` names their origin on pages, and ``source`` is stored with the batch.
    """

    units: ParsedUnits
    label: str
    source: Mapping[str, Any]
    file: UnitFile | None = None


class UnitsForm(BatchTermsForm):
    """A file of units or a number of photos, and a batch's terms; for judging kinds also quality checks."""

    file = forms.FileField(required=False, label="Units", allow_empty_file=True)
    drawn = forms.IntegerField(
        min_value=1,
        required=False,
        label="Random photos",
        help_text="Their number. Empty: take the units of a file.",
    )
    seed = forms.IntegerField(min_value=0, required=False, initial=1, label="Seed")

    def __init__(self, kind: HitKind, *args: Any, pool: Pool | None = None, **kwargs: Any) -> None:
        kwargs["initial"] = {"pool": pool.value if pool else ""}
        super().__init__(kind, *args, **kwargs)
        if kind.purpose is not Purpose.JUDGING or planner_of(kind) is None:
            del self.fields["drawn"], self.fields["seed"]
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
    def selection(self) -> ImageSelection | None:
        """The sample of photos, or ``None`` if the units come from a file; requires a valid form."""
        drawn = self.cleaned_data.get("drawn")
        if not drawn:
            return None
        return ImageSelection(how=SelectionMethod.RANDOM, n=drawn, seed=self.cleaned_data.get("seed"))

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
    """Launch the units of a file or of photos in two steps; nothing is published before the confirmation."""
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
        chosen = _choose_units(request, project, kind, form) if form.is_valid() else None
        step = request.POST.get("step")
        if chosen is None:
            status = 400
        elif step == "change":
            context["sent"] = chosen.file
        else:
            refusal = launch_if_confirmed(
                request, partial(_launch_units, request, project, kind, form, chosen)
            )
            if isinstance(refusal, HttpResponse):
                return refusal
            status = 400 if refusal else 200
            key = read_idempotency_key(request.POST) or uuid.uuid4().hex
            counts = form.rates.counts(len(chosen.units))
            total = len(chosen.units) + sum(counts.values())
            context |= launch_context(project, kind, form, total)
            context |= {
                "idempotency_key": key,
                "chosen": chosen,
                "check_count": sum(counts.values()),
            } | refusal
            return render(request, "validation/judging/units_confirm.html", context, status=status)
    return render(request, "validation/judging/units_new.html", context, status=status)


def _choose_units(
    request: HttpRequest, project: Project, kind: HitKind, form: UnitsForm
) -> ChosenUnits | None:
    """Return the units of the photos or of the file; ``None`` after adding errors to the form."""
    selection = form.selection
    if selection is None:
        return _read_units(request, project, kind, form)
    if request.FILES.get("file") is not None:
        form.add_error("drawn", "Choose a file or a number of photos, not both.")
        return None
    try:
        photos = select_photos(project, kind.name, selection)
    except ImageSelectionError as error:
        form.add_error("seed" if error.field == "seed" else "drawn", str(error))
        return None
    units = plan_photo_units(project=project, kind=kind, photos=photos)
    label = f"{len(photos)} random photos, drawn with seed {selection.seed}"
    return ChosenUnits(units, label, {"photos": selection.as_row()})


def _read_units(request: HttpRequest, project: Project, kind: HitKind, form: UnitsForm) -> ChosenUnits | None:
    """Return the units of the uploaded or saved file; ``None`` after adding errors to the form."""
    upload = request.FILES.get("file")
    try:
        if upload is not None:
            return _chosen_file(*_save_upload(request, project, kind, upload))
        file_id = request.POST.get("kept", "")
        row = find_unit_file(
            project=project, kind=kind, pk=int(file_id) if _FILE_ID_PATTERN.fullmatch(file_id) else 0
        )
        if row is None:
            form.add_error("file", "Choose a file. An uploaded file is saved for one day.")
            return None
        return _chosen_file(
            row, read_unit_file(project=project, kind=kind, file=open_content(row), name=row.name)
        )
    except BadUnitFile as error:
        for problem in error.problems:
            form.add_error("file", f"{problem}.")
    return None


def _chosen_file(row: UnitFile, units: ParsedUnits) -> ChosenUnits:
    return ChosenUnits(units, row.name, {"name": row.name, "sha256": row.sha256}, row)


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


def _launch_units(
    request: HttpRequest, project: Project, kind: HitKind, form: UnitsForm, chosen: ChosenUnits
) -> str:
    """Launch the units, and return the batch's URL."""
    batch, _ = launch_from_file(
        project=project,
        kind=kind,
        units=chosen.units,
        by=signed_in_user(request),
        name=form.cleaned_data["name"],
        terms=add_balance_to_terms(form.terms),
        rates=form.rates,
        source=chosen.source,
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
