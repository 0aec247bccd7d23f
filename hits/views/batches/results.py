"""A batch's results in Mechanical Turk's columns: download, and upload of decisions."""

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
from hits.selectors.results import count_results, result_rows
from hits.services import audit
from hits.services.errors import Refused
from hits.services.reviewing.results_upload import ResultsUpload, apply_upload, read_upload
from hits.views.access import batch_page
from hits.views.pages import batch_context
from hits.views.users import signed_in_user

MAX_UPLOAD_BYTES = 50_000_000
MAX_DECISIONS_BYTES = 2_000_000  # a hidden field of the confirmation page holds them
CONFIRM_FIELD = "confirm"


class ResultsForm(PageForm):
    """The results file with its columns Approve and Reject filled in."""

    results = forms.FileField(label="Results file", max_length=255)

    def clean_results(self) -> object:
        """Refuse files that are too large to read into memory."""
        file = self.cleaned_data["results"]
        if file.size > MAX_UPLOAD_BYTES:
            raise forms.ValidationError(
                "The file is over 50 MB. Keep only the columns AssignmentId, Approve and Reject."
            )
        return file


@require_safe
@batch_page()
def batch_results(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show the download and the upload of decisions."""
    return _render_page(request, batch, ResultsForm())


@require_POST
@never_cache
@batch_page()
def results_file(request: HttpRequest, batch: Batch) -> Any:
    """Stream the results; the download is logged, because the file contains worker ids."""
    guard = "plain" not in request.POST
    audit.record(
        project=batch.project,
        actor=signed_in_user(request),
        action="results.download",
        subject=batch.pk,
        rows=count_results(batch),
    )
    lines = csv_lines(result_rows(batch), guard=guard)
    response = StreamingHttpResponse(
        (line.encode() for line in lines), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="batch_{batch.pk}_results.csv"'
    return response


@require_POST
@batch_page()
def results_upload(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Check an uploaded file; after the confirmation, store all its decisions."""
    if CONFIRM_FIELD in request.POST:
        return _apply_confirmed_decisions(request, batch)
    form = ResultsForm(request.POST, request.FILES)
    if not form.is_valid():
        return _render_page(request, batch, form, status=400)
    try:
        upload = read_upload(batch=batch, data=form.cleaned_data["results"].read())
    except Refused as error:
        form.add_error("results", _error_message(error))
        return _render_page(request, batch, form, status=400)
    if not upload.decisions:
        messages.info(request, "All decisions of this file exist already. Nothing was changed.")
        return redirect("batch-results", batch.pk)
    decisions = "".join(csv_lines(_decision_rows(upload), guard=False))
    if len(decisions.encode()) > MAX_DECISIONS_BYTES:
        form.add_error("results", "Over 2 MB of decisions; split the file.")
        return _render_page(request, batch, form, status=400)
    context = batch_context(batch) | {"upload": upload, "decisions": decisions}
    return render(request, "hits/batches/results_confirm.html", context)


def _apply_confirmed_decisions(request: HttpRequest, batch: Batch) -> HttpResponse:
    try:
        upload = read_upload(batch=batch, data=request.POST.get("decisions", ""))
        job = apply_upload(upload=upload, by=signed_in_user(request))
    except Refused as error:
        messages.error(request, f"Not decided: {_error_message(error)}")
        return redirect("batch-results", batch.pk)
    if job is None:
        messages.info(request, "All decisions exist already. Nothing was changed.")
        return redirect("batch-results", batch.pk)
    messages.success(
        request,
        f"{upload.approval_count} approved and {upload.rejection_count} rejected. "
        "The batch’s page shows the progress.",
    )
    return redirect("batch-detail", batch.pk)


def _render_page(request: HttpRequest, batch: Batch, form: ResultsForm, status: int = 200) -> HttpResponse:
    context = batch_context(batch) | {"form": form, "rows": count_results(batch)}
    return render(request, "hits/batches/results.html", context, status=status)


def _decision_rows(upload: ResultsUpload) -> list[list[str]]:
    """Return the decisions as a small results file, which is checked again after the confirmation."""
    rows = [["AssignmentId", "Approve", "Reject"]]
    for _, decided in upload.decisions:
        approve = (decided.feedback or "x") if decided.is_approval else ""
        rows.append([decided.assignment_id, approve, "" if decided.is_approval else decided.feedback])
    return rows


def _error_message(error: Refused) -> str:
    text = str(error).removeprefix("results: ").rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
