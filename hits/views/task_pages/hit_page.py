"""The page inside the marketplace's frame. It uses no cookies and no session, and a GET writes nothing."""

import re
import uuid
from typing import Any
from urllib.parse import urlsplit

from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from hits import registry
from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.domain.states import BatchState
from hits.domain.units.arms import first_arm
from hits.domain.workers.countries import list_countries_by_name
from hits.domain.workers.demographics import QUESTIONS
from hits.markdown import to_html
from hits.models import Batch, Hit, Unit, Worker
from hits.selectors import pages
from hits.selectors.eligibility.attempt_proof import has_attempt_proof, is_attempt_proven, marketplace_country
from hits.selectors.eligibility.eligibility import declared_country, hit_refusals
from hits.selectors.eligibility.limits import has_lapsed
from hits.selectors.eligibility.own_work import OWN_WORK_REASON, is_excluded
from hits.selectors.hints import enabled_rules
from hits.selectors.images.images import image_facts_by_id
from hits.selectors.instructions import render_batch_instructions
from hits.selectors.listing import batch_listing
from hits.selectors.submissions import has_saved_work
from hits.services.collecting.page_keys import PageKey, issue_token
from hits.services.collecting.submit import NOT_ELIGIBLE_MESSAGE
from hits.views.pages import get_or_404
from hits.views.task_pages import language

MAX_ID_LENGTH = 64
NOT_OPEN_HERE = gettext_noop(
    "This task is not open here. Open it from your list of tasks: what you wrote is kept for you."
)
PHOTO_TAKEN_DOWN = gettext_noop("This photo was taken down, so there is nothing to do here.")
RETURN_ADVICE = gettext_noop(
    "If you had begun this task, return it: that does not count against you. What you submitted is paid as agreed."
)
_PLAIN_PATH_PATTERN = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)*/?")


@login_not_required
@require_safe
@never_cache  # the page contains its bearer token
@xframe_options_exempt
@csp_replace({"frame-ancestors": settings.HIT_FRAME_ANCESTORS, "form-action": settings.HIT_SUBMIT_ORIGINS})  # type: ignore[arg-type]
def hit_page(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show a unit: a preview before acceptance, the task itself after it."""
    unit = get_or_404(pages.unit_by_public_id(public_id), "There is no such task.")
    assignment_id = _query_parameter(request, "assignmentId")
    preview = assignment_id in {"", NO_ASSIGNMENT}
    if preview:
        if _has_taken_down_image(unit):
            return _render_refusal(request, PHOTO_TAKEN_DOWN)
        return _render_task(request, unit, preview=True, submit_to="")
    return _task_or_refusal(request, unit, assignment_id, _query_parameter(request, "workerId"))


def _task_or_refusal(request: HttpRequest, unit: Unit, assignment_id: str, worker_id: str) -> HttpResponse:
    """Show the task to the worker who accepted it; refuse all others."""
    hit = pages.find_unit_hit(unit, _query_parameter(request, "hitId"))
    if hit is None or unit.batch.state == BatchState.CLOSED or not worker_id:
        return _render_refusal(request, "This task is not open.")
    submit_to = _submit_url_if_allowed(_query_parameter(request, "turkSubmitTo"))
    if not submit_to:
        return _render_refusal(request, "This page was opened from a marketplace that is not on our list.")
    if has_attempt_proof(unit.batch.environment) and not is_attempt_proven(
        submit_to, hit_id=str(hit.hit_id), assignment_id=assignment_id, worker_id=worker_id
    ):
        return _render_refusal(request, NOT_OPEN_HERE)
    worker = pages.find_worker(unit.batch.environment, worker_id)
    reasons = _refusal_reasons(worker, hit, assignment_id)
    if reasons:
        return _render_refusal(request, *reasons)
    return _render_task(request, unit, preview=False, submit_to=submit_to)


def _render_task(request: HttpRequest, unit: Unit, *, preview: bool, submit_to: str) -> HttpResponse:
    context = _task_context(request, unit, preview=preview, submit_to=submit_to)
    return render(request, registry.get_kind(unit.batch.kind).template, context)


def _query_parameter(request: HttpRequest, name: str) -> str:
    value = request.GET.get(name, "").strip()
    if not (value.isascii() and value.isprintable()):
        return ""  # no marketplace uses such characters, and not every database stores them
    return value if name == "turkSubmitTo" or len(value) <= MAX_ID_LENGTH else ""


def _submit_url_if_allowed(turk_submit_to: str) -> str:
    """Return the URL of the form's action, or an empty string if the origin is not allowed.

    Only the origin is compared, because the built-in marketplace puts the attempt's secret into the path. A query, a
    fragment (even an empty one) and dots are refused, because they could lead to another path.
    """
    try:
        parts = urlsplit(turk_submit_to)
    except ValueError:
        return ""  # for example an incomplete IPv6 address
    if f"{parts.scheme}://{parts.netloc}" not in settings.HIT_SUBMIT_ORIGINS:
        return ""
    if not _PLAIN_PATH_PATTERN.fullmatch(parts.path) or any(mark in turk_submit_to for mark in "?#\\"):
        return ""
    return f"{turk_submit_to.rstrip('/')}/mturk/externalSubmit"


def _refusal_reasons(worker: Worker | None, hit: Hit, assignment_id: str) -> list[str]:
    """Return why this worker may not start; a started attempt stays open. A foreign page shows no reason."""
    if _has_taken_down_image(hit.unit):
        return _take_down_messages(worker, hit.unit)
    if is_excluded(worker, hit.unit):
        reasons = [OWN_WORK_REASON]
    else:
        attempt = pages.find_attempt(worker, hit, assignment_id)
        if attempt is not None and not has_lapsed(attempt):
            return []
        reasons = hit_refusals(worker, hit)
    return reasons if has_attempt_proof(hit.environment) else [NOT_ELIGIBLE_MESSAGE][: len(reasons)]


def _has_taken_down_image(unit: Unit) -> bool:
    return unit.images.filter(taken_down_at__isnull=False).exists()


def _take_down_messages(worker: Worker | None, unit: Unit) -> list[str]:
    """Return the messages of a photo that was taken down; workers who had started get advice."""
    reasons = [PHOTO_TAKEN_DOWN]
    begun = worker is not None and unit.hits.filter(attempts__worker=worker).exists()
    if begun and has_attempt_proof(unit.batch.environment):
        reasons.append(RETURN_ADVICE)
    return reasons


def _render_refusal(request: HttpRequest, *reasons: str) -> HttpResponse:
    # Services return English; the catalogue translates messages without variable parts.
    context = {
        "reasons": [gettext(reason) for reason in reasons],
        "languages": language.language_links(request),
    }
    return render(request, "hits/task/task_refused.html", context, status=403)


def _task_context(request: HttpRequest, unit: Unit, *, preview: bool, submit_to: str) -> dict[str, Any]:
    batch = unit.batch
    kind = registry.get_kind(batch.kind)
    assignment_id = _query_parameter(request, "assignmentId")
    worker_id = _query_parameter(request, "workerId")
    unit_for_page, arm = _unit_for_page_and_arm(unit, request, preview=preview)
    consent = None if preview else _consent_config(batch, worker_id)
    pay = _pay_config(batch)
    expected_seconds = batch_listing(batch).expected_seconds
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
        "unit": unit_for_page,
        "pay": pay,
        "usual_seconds": expected_seconds,
        "instructions": batch.instructions_id,
        "hints": [rule.value for rule in enabled_rules(kind)],
    }
    if not preview:
        key = PageKey(str(unit.public_id), _query_parameter(request, "hitId"), assignment_id, worker_id, arm)
        config["token"] = issue_token(key)
    return {
        "config": config,
        "kind": kind,
        "unit": unit_for_page,
        "waits": unit_for_page is None,
        "pay": pay,
        "preview": preview,
        "consent": consent,
        "countries": list_countries_by_name() if consent and consent["ask_country"] else [],
        "about_me": QUESTIONS if consent and consent["ask_country"] else [],
        "batch": batch,
        # Our worker site has its own countdown above the frame, from the accept: two clocks would differ.
        # Its bar also has the language links.
        "host_counts_down": batch.environment == "local",
        "instructions": render_batch_instructions(batch),
        "catalog": language.script_catalog(),
        "languages": language.language_links(request),
    }


def _unit_for_page_and_arm(
    unit: Unit, request: HttpRequest, *, preview: bool
) -> tuple[dict[str, Any] | None, int | None]:
    """Return the unit for the page and its arm; ``None`` before the attempt has an arm.

    A preview shows the unit's first arm. A worker who opened the task before sees the arm of that attempt.
    """
    kind = registry.get_kind(unit.batch.kind)
    images = kind.page_images(unit.payload, image_facts_by_id(kind.image_ids(unit.payload)))
    assignment_id = _query_parameter(request, "assignmentId")
    if kind.arms == 1:
        return kind.unit_for_page(unit.payload, images, assignment_id), None
    if preview:
        return kind.unit_for_page(unit.payload, images, assignment_id, first_arm(unit.key, kind.arms)), None
    hit = pages.find_unit_hit(unit, _query_parameter(request, "hitId"))
    worker = pages.find_worker(unit.batch.environment, _query_parameter(request, "workerId"))
    attempt = pages.find_attempt(worker, hit, assignment_id) if hit is not None else None
    if attempt is None or has_lapsed(attempt) or (attempt.arm is None and not has_saved_work(attempt)):
        return None, None
    return kind.unit_for_page(unit.payload, images, assignment_id, attempt.arm), attempt.arm


def _consent_config(batch: Batch, worker_id: str) -> dict[str, Any] | None:
    worker = pages.find_worker(batch.environment, worker_id)
    has_country = not has_attempt_proof(batch.environment) or declared_country(worker, batch.project)
    if pages.has_consented(worker, batch.project) and has_country:
        return None
    text = pages.current_consent(batch.project)
    return {
        "version": text.version if text else 0,
        "html": to_html(text.body) if text else "",
        # Only a proven visitor gets the country: otherwise anyone with a worker's id could read it.
        "ask_country": not has_country,
        "country": marketplace_country(batch.environment, worker_id),
    }


def _pay_config(batch: Batch) -> dict[str, Any]:
    kind = registry.get_kind(batch.kind)
    max_bonus_cents = batch.bonus_cents * kind.max_bonus_items
    return {
        "reward_cents": batch.reward_cents,
        "bonus_cents": batch.bonus_cents,
        "reward": language.localized_dollars(batch.reward_cents),
        "bonus": language.localized_dollars(batch.bonus_cents) if batch.bonus_cents else "",
        "bonus_max": language.localized_dollars(max_bonus_cents) if max_bonus_cents else "",
    }
