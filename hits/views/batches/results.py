"""A batch's results in Mechanical Turk's columns: download them, and decide by uploading them."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from hits.domain.mturk_formats.results_csv import csv_lines
from hits.forms import PageForm
from hits.models import Batch
from hits.selectors.results import count_of, results_of
from hits.services import audit
from hits.services.errors import Refused
from hits.services.reviewing.results_upload import Upload, apply_upload, read_upload
from hits.views.access import batch_page
from hits.views.who import person

MAX_UPLOAD = 50_000_000
MAX_DECISIONS = 2_000_000  # they come along to the confirming page
CONFIRMED = "confirm"


class ResultsForm(PageForm):
    """The file with its columns Approve and Reject filled in."""

    results = forms.FileField(label="Results file", max_length=255)

    def clean_results(self) -> object:
        """Refuse what is too large to be read at once."""
        file = self.cleaned_data["results"]
        if file.size > MAX_UPLOAD:
            raise forms.ValidationError("Over 50 MB; keep the columns AssignmentId, Approve and Reject.")
        return file


@require_safe
@batch_page()
def batch_results(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Offer the download, and take decisions back."""
    return _page(request, batch, ResultsForm())


@require_POST
@never_cache
@batch_page()
def results_file(request: HttpRequest, batch: Batch) -> Any:
    """Hand the results out, row by row; that they were is written down, since they name workers."""
    guard = "plain" not in request.POST
    audit.record(
        project=batch.project,
        actor=person(request),
        action="results.download",
        subject=batch.pk,
        rows=count_of(batch),
    )
    lines = csv_lines(results_of(batch), guard=guard)
    response = StreamingHttpResponse(
        (line.encode() for line in lines), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="batch_{batch.pk}_results.csv"'
    return response


@require_POST
@batch_page()
def results_upload(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Check an uploaded file; then, at the confirming press, write all of its decisions."""
    if CONFIRMED in request.POST:
        return _confirm(request, batch)
    form = ResultsForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, batch, form, status=400)
    try:
        upload = read_upload(batch=batch, data=form.cleaned_data["results"].read())
    except Refused as error:
        form.add_error("results", _sentence(error))
        return _page(request, batch, form, status=400)
    if not upload.decisions:
        messages.info(request, "Every decision of this file stands already. Nothing was changed.")
        return redirect("batch-results", batch.pk)
    decisions = "".join(csv_lines(_short(upload), guard=False))
    if len(decisions.encode()) > MAX_DECISIONS:
        form.add_error("results", "Over 2 MB of decisions; split the file.")
        return _page(request, batch, form, status=400)
    context: dict[str, Any] = {"project": batch.project, "section": "batches", "batch": batch}
    context |= {"upload": upload, "decisions": decisions}
    return render(request, "hits/batches/results_confirm.html", context)


def _confirm(request: HttpRequest, batch: Batch) -> HttpResponse:
    try:
        upload = read_upload(batch=batch, data=request.POST.get("decisions", ""))
        job = apply_upload(upload=upload, by=person(request))
    except Refused as error:
        messages.error(request, f"Not decided: {_sentence(error)}")
        return redirect("batch-results", batch.pk)
    if job is None:
        messages.info(request, "Every decision stands already. Nothing was changed.")
        return redirect("batch-results", batch.pk)
    messages.success(
        request,
        f"{upload.approved} approved and {upload.rejected} rejected. They are being carried out; "
        "the batch’s page shows how far.",
    )
    return redirect("batch-detail", batch.pk)


def _page(request: HttpRequest, batch: Batch, form: ResultsForm, status: int = 200) -> HttpResponse:
    context = {
        "project": batch.project,
        "section": "batches",
        "batch": batch,
        "form": form,
        "rows": count_of(batch),
    }
    return render(request, "hits/batches/results.html", context, status=status)


def _short(upload: Upload) -> list[list[str]]:
    """Return the decisions as a small results file: what the confirming press sends is checked once more."""
    rows = [["AssignmentId", "Approve", "Reject"]]
    for _, decided in upload.decisions:
        approve = (decided.feedback or "x") if decided.is_approval else ""
        rows.append([decided.assignment_id, approve, "" if decided.is_approval else decided.feedback])
    return rows


def _sentence(error: Refused) -> str:
    text = str(error).removeprefix("results: ").rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
