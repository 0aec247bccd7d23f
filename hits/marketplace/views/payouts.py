"""Payouts, for platform admins: list owed amounts, record payouts and correct them."""

import uuid
from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from hits.domain.money.usd import format_bare_usd, format_dollars
from hits.marketplace.selectors import statements
from hits.marketplace.services import payout_file, payouts
from hits.marketplace.services.payout_file import COLUMNS, PayoutFileError
from hits.marketplace.services.payouts import PayoutFieldError, PayoutRowError

from .access import platform_admin_required
from .csv_download import csv_response
from .payout_forms import CorrectionForm, PayoutForm

PER_PAGE = 100


@never_cache
@require_GET
@platform_admin_required
def payout_list(request: HttpRequest) -> HttpResponse:
    """List the workers with the amounts owed, highest first."""
    rows = statements.list_payees()
    context = {
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "total": statements.total_owed_cents(),
    }
    return render(request, "marketplace/requesters/payouts.html", context)


@require_GET
@platform_admin_required
def owed_csv(request: HttpRequest) -> StreamingHttpResponse:
    """Download the amounts owed in the columns of an import; the admin fills in day, method and reference."""
    return csv_response(name="owed.csv", columns=COLUMNS, rows=_owed_csv_rows())


def _owed_csv_rows() -> Iterator[tuple[str, ...]]:
    for worker in statements.list_payees().filter(owed__gt=0).iterator(chunk_size=statements.CHUNK_SIZE):
        yield worker.worker_id, format_bare_usd(worker.owed), "", "", ""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@platform_admin_required
def worker_payouts(request: HttpRequest, worker_pk: int) -> HttpResponse:
    """Show one worker's money and record a payout in two steps."""
    worker = _get_payee_or_404(worker_pk)
    form = PayoutForm(worker, worker.owed, request.POST or None)
    step = request.POST.get("step")
    if step == "record" and payouts.is_payout_recorded(idempotency_key=_idempotency_key_or_new(request)):
        return redirect("marketplace:worker-payouts", worker.pk)  # a second press of the button
    if request.method != "POST" or step == "change" or not form.is_valid():
        status = 400 if form.is_bound and form.errors else 200
        return _render_worker_page(request, worker, form, status=status)
    if step != "record":
        return _render_worker_page(request, worker, form, idempotency_key=uuid.uuid4().hex)
    try:
        payout = payouts.record_payout(
            transfer=form.transfer, idempotency_key=_idempotency_key_or_new(request), by=_acting_user(request)
        )
    except PayoutFieldError as error:
        form.add_payout_error(error)
        return _render_worker_page(request, worker, form, status=400)
    messages.success(request, f"{format_dollars(payout.amount_cents)} is recorded as paid.")
    return redirect("marketplace:worker-payouts", worker.pk)


@require_POST
@platform_admin_required
def correct_balance(request: HttpRequest, worker_pk: int) -> HttpResponse:
    """Record a correction of the amount owed to a worker."""
    worker = _get_payee_or_404(worker_pk)
    form = CorrectionForm(worker, request.POST)
    if form.is_valid():
        try:
            payouts.correct_balance(
                worker=worker,
                cents=form.signed_cents,
                reason=form.cleaned_data["reason"],
                by=_acting_user(request),
                payout=form.cleaned_data["payout"],
            )
        except PayoutFieldError as error:
            form.add_payout_error(error)
        else:
            messages.success(request, "The correction is recorded. The worker sees it under Earnings.")
            return redirect("marketplace:worker-payouts", worker.pk)
    return _render_worker_page(request, worker, PayoutForm(worker, worker.owed), correction=form, status=400)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@platform_admin_required
def import_payouts(request: HttpRequest) -> HttpResponse:
    """Import payouts from a CSV: preview them first, then record all or none."""
    if request.method != "POST":
        return _render_import_page(request)
    try:
        text = _read_upload(request)
        rows = payout_file.read_payout_rows(text)
        total = sum(row.transfer.cents for row in rows)
        if request.POST.get("step") != "record":
            upload = {"rows": rows, "total": total, "text": text, "idempotency_key": uuid.uuid4().hex}
            return _render_import_page(request, upload=upload)
        try:
            recorded = payouts.record_payouts(
                transfers=[row.transfer for row in rows],
                idempotency_key=_idempotency_key_or_new(request),
                by=_acting_user(request),
            )
        except PayoutRowError as error:
            raise payout_file.to_file_error(rows, error) from None
    except PayoutFileError as error:
        return _render_import_page(request, error=error, status=400)
    messages.success(request, f"{len(recorded)} payouts are recorded, {format_dollars(total)} in total.")
    return redirect("marketplace:payouts")


def _read_upload(request: HttpRequest) -> str:
    """Return the uploaded file, or on the second step the text that the preview showed."""
    uploaded = request.FILES.get("file")
    if uploaded is not None:
        return payout_file.decode_file(uploaded.read(payout_file.MAX_BYTES + 1))
    if request.POST.get("text"):
        return payout_file.decode_file(str(request.POST["text"]).encode())
    raise PayoutFileError(["Choose a CSV file."])


def _get_payee_or_404(pk: int) -> Any:
    """Return the worker with the sums of ``list_payees``, or raise Http404."""
    return get_object_or_404(statements.list_payees(include_all=True), pk=pk)


def _idempotency_key_or_new(request: HttpRequest) -> str:
    """Return the idempotency key that the confirmation page issued; a second press repeats it."""
    return str(request.POST.get("idempotency_key", ""))[:32] or uuid.uuid4().hex


def _acting_user(request: HttpRequest) -> AbstractBaseUser:
    assert request.user.is_authenticated
    return request.user


def _render_worker_page(
    request: HttpRequest,
    worker: Any,
    form: PayoutForm,
    *,
    correction: CorrectionForm | None = None,
    idempotency_key: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "payee": worker,
        "form": form,
        "idempotency_key": idempotency_key,
        "correction": correction or CorrectionForm(worker),
        "payouts": list(statements.list_payouts(worker)[:PER_PAGE]),
    }
    return render(request, "marketplace/earnings/worker_payouts.html", context, status=status)


def _render_import_page(
    request: HttpRequest,
    *,
    upload: dict[str, object] | None = None,
    error: PayoutFileError | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {"upload": upload, "error": error, "columns": COLUMNS, "example": payouts.today()}
    return render(request, "marketplace/requesters/payout_import.html", context, status=status)
