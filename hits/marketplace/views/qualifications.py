"""What a worker holds, and the country that they declare."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from hits.domain.workers.countries import by_name, country_name
from hits.marketplace.errors import Refused
from hits.marketplace.models import Clock, Worker
from hits.marketplace.selectors.holdings import shown_holdings
from hits.marketplace.selectors.requestable import requestables, types_on_offer
from hits.marketplace.services import countries

from .access import worker_required

PER_PAGE = 10
MAX_QUERY = 100


@never_cache
@require_GET
@worker_required
def qualifications(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Show what is held, what can be asked for, what was taken away and why, and the country."""
    return _page(request, worker)


@require_POST
@worker_required
def declare_country(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Take the country; the first time, go on to the work."""
    is_first = not worker.country
    code = request.POST.get("country", "")
    try:
        countries.declare_country(
            worker=worker, country=code, now=Clock.now(), subdivision=request.POST.get("subdivision", "")
        )
    except Refused as refusal:
        worker.refresh_from_db()
        return _page(request, worker, problem=gettext(str(refusal)), chosen=code, status=400)
    messages.success(
        request, gettext("Recorded: you work from %(country)s.") % {"country": country_name(code)}
    )
    return redirect("marketplace:work" if is_first else "marketplace:qualifications")


def _page(
    request: HttpRequest, worker: Worker, *, problem: str = "", chosen: str = "", status: int = 200
) -> HttpResponse:
    now = Clock.now()
    opens = countries.change_opens(worker)
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    page = Paginator(types_on_offer(worker, query), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "worker": worker,
        "shown": shown_holdings(worker, now),
        "now": now,
        "offers": requestables(worker, page, now),
        "page": page,
        "query": query,
        "countries": by_name(),
        "country": country_name(worker.country),
        "chosen": chosen or worker.country,
        "problem": problem,
        "opens": opens,
        "may_declare": opens is None or now >= opens,
    }
    return render(request, "marketplace/qualifications/qualifications.html", context, status=status)
