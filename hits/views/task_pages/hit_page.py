"""The page inside the marketplace's frame. No cookies, no session, and a GET writes nothing."""

import re
import uuid
from typing import Any
from urllib.parse import urlsplit

from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from hits import registry
from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.domain.states import BatchState
from hits.domain.units.arms import start_arm
from hits.domain.workers.countries import by_name
from hits.domain.workers.demographics import QUESTIONS
from hits.markdown import to_html
from hits.models import Batch, Hit, Unit, Worker
from hits.selectors import pages
from hits.selectors.eligibility.attempt_proof import has_proof, is_proven, known_country
from hits.selectors.eligibility.eligibility import declared_country, why_not_this
from hits.selectors.eligibility.limits import has_ended
from hits.selectors.hints import rules_of
from hits.selectors.images.images import facts_of
from hits.selectors.instructions import shown_by
from hits.selectors.listing import listing_of
from hits.selectors.submissions import has_begun_work
from hits.services.collecting.page_keys import PageKey, issue_token
from hits.services.collecting.submit import CLOSED
from hits.views.task_pages import language

MAX_ID = 64
NOT_YOURS = gettext_noop(
    "This task is not open here. Open it from your list of tasks: what you wrote is kept for you."
)
NO_MORE = gettext_noop("This photo was taken down, so there is nothing to do here.")
HAD_BEGUN = gettext_noop(
    "If you had begun this task, return it: that does not count against you. What you submitted is paid as agreed."
)
_PLAIN_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)*/?")


@login_not_required
@require_safe
@never_cache  # the page carries its bearer token
@xframe_options_exempt
@csp_replace({"frame-ancestors": settings.HIT_FRAME_ANCESTORS, "form-action": settings.HIT_SUBMIT_ORIGINS})  # type: ignore[arg-type]
def hit_page(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show a unit: a preview before acceptance, the task itself after it."""
    unit = pages.unit_by_public_id(public_id)
    if unit is None:
        raise Http404("There is no such task.")
    assignment_id = _parameter(request, "assignmentId")
    preview = assignment_id in {"", NO_ASSIGNMENT}
    if preview:
        if _is_taken_down(unit):
            return _refused(request, NO_MORE)
        return _shown(request, unit, preview=True, submit_to="")
    return _accepted(request, unit, assignment_id, _parameter(request, "workerId"))


def _accepted(request: HttpRequest, unit: Unit, assignment_id: str, worker_id: str) -> HttpResponse:
    """Show the task to the worker who accepted it; to whoever else asks, that it is not open here."""
    hit = pages.hit_of(unit, _parameter(request, "hitId"))
    if hit is None or unit.batch.state == BatchState.CLOSED or not worker_id:
        return _refused(request, "This task is not open.")
    submit_to = _submit_url(_parameter(request, "turkSubmitTo"))
    if not submit_to:
        return _refused(request, "This page was opened from a marketplace that is not on our list.")
    if has_proof(unit.batch.environment) and not is_proven(
        submit_to, hit_id=str(hit.hit_id), assignment_id=assignment_id, worker_id=worker_id
    ):
        return _refused(request, NOT_YOURS)
    worker = pages.known_worker(unit.batch.environment, worker_id)
    reasons = _closed_to(worker, hit, assignment_id)
    if reasons:
        return _refused(request, *reasons)
    return _shown(request, unit, preview=False, submit_to=submit_to)


def _shown(request: HttpRequest, unit: Unit, *, preview: bool, submit_to: str) -> HttpResponse:
    context = _context(request, unit, preview=preview, submit_to=submit_to)
    return render(request, registry.get(unit.batch.kind).template, context)


def _parameter(request: HttpRequest, name: str) -> str:
    value = request.GET.get(name, "").strip()
    if not (value.isascii() and value.isprintable()):
        return ""  # no marketplace's id or address has such characters, and not every database keeps them
    return value if name == "turkSubmitTo" or len(value) <= MAX_ID else ""


def _submit_url(turk_submit_to: str) -> str:
    """Return where the form goes, or nothing when the origin is not allowed.

    Only the origin is compared: the built-in marketplace carries the attempt's secret in the path. What
    would lead to another path of that origin is refused: a query, a fragment (empty ones too), dots.
    """
    try:
        parts = urlsplit(turk_submit_to)
    except ValueError:
        return ""  # for instance half an IPv6 address
    if f"{parts.scheme}://{parts.netloc}" not in settings.HIT_SUBMIT_ORIGINS:
        return ""
    if not _PLAIN_PATH.fullmatch(parts.path) or any(mark in turk_submit_to for mark in "?#\\"):
        return ""
    return f"{turk_submit_to.rstrip('/')}/mturk/externalSubmit"


def _closed_to(worker: Worker | None, hit: Hit, assignment_id: str) -> list[str]:
    """Return why this worker may not begin; work that was begun is never held up. A foreign page tells no reason."""
    if _is_taken_down(hit.unit):
        return _taken_down(worker, hit.unit)
    if pages.is_excluded(worker, hit.unit):
        reasons = [pages.OWN_WORK]
    else:
        known = pages.attempt_at(worker, hit, assignment_id)
        if known is not None and not has_ended(known):
            return []
        reasons = why_not_this(worker, hit)
    return reasons if has_proof(hit.environment) else [CLOSED][: len(reasons)]


def _is_taken_down(unit: Unit) -> bool:
    return unit.images.filter(withdrawn_at__isnull=False).exists()


def _taken_down(worker: Worker | None, unit: Unit) -> list[str]:
    """Why there is nothing to do here; who had begun reads what becomes of it."""
    reasons = [NO_MORE]
    begun = worker is not None and unit.hits.filter(attempts__worker=worker).exists()
    if begun and has_proof(unit.batch.environment):
        reasons.append(HAD_BEGUN)
    return reasons


def _refused(request: HttpRequest, *reasons: str) -> HttpResponse:
    # The services speak English; sentences that are always the same are known to the translation.
    context = {
        "reasons": [gettext(reason) for reason in reasons],
        "languages": language.language_links(request),
    }
    return render(request, "hits/task/task_refused.html", context, status=403)


def _context(request: HttpRequest, unit: Unit, *, preview: bool, submit_to: str) -> dict[str, Any]:
    batch = unit.batch
    kind = registry.get(batch.kind)
    assignment_id = _parameter(request, "assignmentId")
    worker_id = _parameter(request, "workerId")
    page_unit, arm = _page_unit(unit, request, preview=preview)
    consent = None if preview else _consent(batch, worker_id)
    pay = _pay(batch)
    usual_seconds = listing_of(batch).usual_seconds
    config: dict[str, Any] = {
        "mode": "preview" if preview else "work",
        "consent": consent,
        "api": {
            name: reverse(f"hit-api-{name}") for name in ("open", "draft", "submission", "consent", "hints")
        },
        "submitTo": submit_to,
        "assignmentId": "" if preview else assignment_id,
        "kind": kind.name,
        "kindVersion": batch.kind_version,
        "unit": page_unit,
        "pay": pay,
        "usual_seconds": usual_seconds,
        "instructions": batch.instructions_id,
        "hints": [rule.value for rule in rules_of(kind)],
    }
    if not preview:
        key = PageKey(str(unit.public_id), _parameter(request, "hitId"), assignment_id, worker_id, arm)
        config["token"] = issue_token(key)
    return {
        "config": config,
        "kind": kind,
        "unit": page_unit,
        "waits": page_unit is None,
        "pay": pay,
        "preview": preview,
        "consent": consent,
        "countries": by_name() if consent and consent["ask_country"] else [],
        "about_me": QUESTIONS if consent and consent["ask_country"] else [],
        "batch": batch,
        # Our worker site counts down above the frame, from the accept itself: two clocks would differ.
        # And it has the languages in its own bar, for all tasks at once.
        "host_counts_down": batch.environment == "local",
        "usual_minutes": max(1, round(usual_seconds / 60)),
        "instructions": shown_by(batch),
        "catalog": language.catalog(),
        "languages": language.language_links(request),
    }


def _page_unit(
    unit: Unit, request: HttpRequest, *, preview: bool
) -> tuple[dict[str, Any] | None, int | None]:
    """Return what the page shows of its unit, and the arm; nothing while nobody was given an arm of it.

    A preview shows the arm that the unit begins with. Whoever opened the task before sees the arm of that attempt.
    """
    kind = registry.get(unit.batch.kind)
    images = kind.page_images(unit.payload, facts_of(kind.image_ids(unit.payload)))
    assignment_id = _parameter(request, "assignmentId")
    if kind.arms == 1:
        return kind.page_unit(unit.payload, images, assignment_id), None
    if preview:
        return kind.page_unit(unit.payload, images, assignment_id, start_arm(unit.key, kind.arms)), None
    hit = pages.hit_of(unit, _parameter(request, "hitId"))
    worker = pages.known_worker(unit.batch.environment, _parameter(request, "workerId"))
    attempt = pages.attempt_at(worker, hit, assignment_id) if hit is not None else None
    if attempt is None or has_ended(attempt) or (attempt.arm is None and not has_begun_work(attempt)):
        return None, None
    return kind.page_unit(unit.payload, images, assignment_id, attempt.arm), attempt.arm


def _consent(batch: Batch, worker_id: str) -> dict[str, Any] | None:
    worker = pages.known_worker(batch.environment, worker_id)
    known = not has_proof(batch.environment) or declared_country(worker, batch.project)
    if pages.agreed(worker, batch.project) and known:
        return None
    text = pages.current_consent(batch.project)
    return {
        "version": text.version if text else 0,
        "html": to_html(text.body) if text else "",
        # On the page alone: who asks for it with somebody else's id must not learn where they live.
        "ask_country": not known,
        "country": known_country(batch.environment, worker_id),
    }


def _pay(batch: Batch) -> dict[str, Any]:
    kind = registry.get(batch.kind)
    most = batch.bonus_cents * kind.max_bonus_items
    return {
        "reward_cents": batch.reward_cents,
        "bonus_cents": batch.bonus_cents,
        "reward": language.dollars(batch.reward_cents),
        "bonus": language.dollars(batch.bonus_cents) if batch.bonus_cents else "",
        "bonus_max": language.dollars(most) if most else "",
    }
