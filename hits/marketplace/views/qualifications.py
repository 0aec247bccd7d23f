"""The worker's Qualifications page, and the country declaration."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from hits.domain.workers.countries import country_name_or_code, list_countries_by_name
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Clock, Worker
from hits.marketplace.selectors.qualification_overview import load_qualification_overview
from hits.marketplace.selectors.requestable import list_type_availabilities, search_types_to_request
from hits.marketplace.services import countries

from .access import worker_required

PER_PAGE = 10
MAX_QUERY_LENGTH = 100


@never_cache
@require_GET
@worker_required
def qualifications(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Show held, requestable and revoked qualifications, and the country."""
    return _render_page(request, worker)


@require_POST
@worker_required
def declare_country(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Record the country; after the first declaration redirect to the work list."""
    is_first = not worker.country
    code = request.POST.get("country", "")
    try:
        countries.declare_country(
            worker=worker, country=code, now=Clock.now(), subdivision=request.POST.get("subdivision", "")
        )
    except ActionRefused as error:
        worker.refresh_from_db()
        return _render_page(request, worker, problem=gettext(str(error)), selected_country=code, status=400)
    messages.success(
        request, gettext("Recorded: you work from %(country)s.") % {"country": country_name_or_code(code)}
    )
    return redirect("marketplace:work" if is_first else "marketplace:qualifications")


def _render_page(
    request: HttpRequest, worker: Worker, *, problem: str = "", selected_country: str = "", status: int = 200
) -> HttpResponse:
    now = Clock.now()
    changeable_at = countries.next_country_change_at(worker)
    query = request.GET.get("q", "").strip()[:MAX_QUERY_LENGTH]
    page = Paginator(search_types_to_request(worker, query), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "worker": worker,
        "overview": load_qualification_overview(worker, now),
        "now": now,
        "offers": list_type_availabilities(worker, page, now),
        "page": page,
        "query": query,
        "countries": list_countries_by_name(),
        "country": country_name_or_code(worker.country),
        "selected_country": selected_country or worker.country,
        "problem": problem,
        "changeable_at": changeable_at,
        "may_declare": changeable_at is None or now >= changeable_at,
    }
    return render(request, "marketplace/qualifications/qualifications.html", context, status=status)
