"""The real web server on a database of its own, filled for the marketplace's benchmark."""

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.core.management import call_command
from django.db import connection, transaction

from annotation_site.management.commands.serve import web_command
from hits.domain.mturk_formats.external_question import build_external_question, parse_external_question
from hits.marketplace.models import HIT, Assignment, Clock, HITType, Worker
from hits.marketplace.services import accounts, countries
from hits.marketplace.services import hits as hit_services

PAGE = "https://example.org/task?unit=1"
BACKEND = "django.contrib.auth.backends.ModelBackend"
FUNDS = 50_000_000
_WAIT_SECONDS = 30


@dataclass(frozen=True)
class Site:
    """A running server, the cookies of its signed-in workers, and the group that they take tasks of."""

    base: str
    sessions: list[str]
    hit_type_id: str


@contextmanager
def served(*, workers: int, hits: int) -> Iterator[Site]:
    """Migrate, fill and serve the configured database with the web server as ``serve`` runs it."""
    call_command("migrate", interactive=False, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    hit_type = _offer(hits)
    sessions = [_signed_in(number) for number in range(workers)]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # a database at work has statistics: PostgreSQL takes them within a minute
    process = subprocess.Popen(web_command(), env=os.environ | {"LOG_LEVEL": "ERROR"})
    try:
        _wait(settings.PUBLIC_URL)
        yield Site(settings.PUBLIC_URL, sessions, hit_type.hit_type_id)
    finally:
        process.terminate()
        process.wait(timeout=20)


def requester() -> accounts.KeyPair:
    """Return a funded requester's keys."""
    return accounts.create_key_pair(name="Load", funds_cents=FUNDS)


def fill_listing(count: int) -> accounts.KeyPair:
    """Return the keys of a requester with ``count`` HITs of one assignment each, written in bulk.

    Without their ledger entries: the listing reads none.
    """
    pair = accounts.create_key_pair(name="Many HITs")
    kind = hit_services.register_hit_type(requester=pair.requester, params=_terms(), now=Clock.now())
    now = Clock.now()
    for first in range(0, count, 5_000):
        number = min(5_000, count - first)
        with transaction.atomic():
            made = HIT.objects.bulk_create(
                HIT(
                    requester=pair.requester,
                    hit_type=kind,
                    question=build_external_question(PAGE),
                    question_url=PAGE,
                    annotation=f"v1/local/1/{first + index}/1",
                    max_assignments=1,
                    reward_cents=kind.reward_cents,
                    fee_cents=0,
                    created_at=now,
                    expires_at=now + timedelta(days=7),
                )
                for index in range(number)
            )
            Assignment.objects.bulk_create(Assignment(hit=hit) for hit in made)
    return pair


def _terms() -> hit_services.HITTypeParams:
    return hit_services.HITTypeParams(
        title="Write observations about one photo",
        description="Draw boxes and say what they hint at.",
        keywords="photo, boxes",
        reward_cents=110,
        assignment_seconds=1800,
        auto_approval_seconds=7 * 24 * 3600,
    )


def _offer(count: int) -> HITType:
    pair = requester()
    hit_type = hit_services.register_hit_type(requester=pair.requester, params=_terms(), now=Clock.now())
    xml = build_external_question(PAGE, 800)
    params = hit_services.HITParams(
        question_xml=xml,
        question=parse_external_question(xml),
        lifetime_seconds=7 * 24 * 3600,
        max_assignments=1,
        annotation=None,
    )
    with transaction.atomic():
        for _ in range(count):
            hit_services.create_hit(hit_type=hit_type, params=params, now=Clock.now())
    return hit_type


def _signed_in(number: int) -> str:
    user = get_user_model().objects.create(username=f"load-{number}")
    worker: Worker = accounts.ensure_worker(user=user)
    countries.declare_country(worker=worker, country="US", now=Clock.now())
    store: Any = import_module(settings.SESSION_ENGINE).SessionStore()
    store[SESSION_KEY], store[BACKEND_SESSION_KEY] = str(user.pk), BACKEND
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.save()
    return str(store.session_key)


def _wait(base: str) -> None:
    ends = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < ends:
        try:
            urllib.request.urlopen(f"{base}/healthz", timeout=2).read()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the server at {base} did not start")
