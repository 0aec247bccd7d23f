"""Authors, earlier judges and unqualified workers cannot judge, even with valid page keys."""

import json
import re
import uuid
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from curation.models import Pair
from hits import tasks
from hits.domain.states import BatchState
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.models import Assignment, Attempt, Batch, Hit, OutgoingCall, Project, Submission, Unit
from hits.mturk.boto import marketplace
from hits.selectors.submissions import is_confirmed
from hits.services.batches import extensions
from hits.services.batches.lifecycle import dispose_hits_and_close_if_done, expire_hits, request_close
from hits.services.collecting.page_keys import PageKey, issue_token
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing.publish import publish_batch
from hits.services.reconciling.reconcile import reconcile_batch
from tests.support import loop, market
from tests.support.judging.work import Work, ratings, review
from tests.support.proof import SECRET
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.domain.judging.sampling import Selection
from validation.models import QualityCheck
from validation.selectors.judging import pair_judgments
from validation.services.judging import RoundPlan, launch_comparison, launch_review
from validation.services.localization import launch_localization
from validation.services.quality_checks import add_gold_item

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("attempts_are_proven")]
AUTHORS = ("A1", "A2", "A3")
FORBIDDEN = 403


@pytest.fixture
def work(project: Project) -> Work:
    market.fund()
    return Work(project)


@pytest.fixture
def frame() -> Client:
    return Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"), raise_request_exception=False)


def try_submit(frame: Client, hit: Hit, worker: str, answer: dict[str, Any]) -> list[int]:
    """Return the status of the page, and of opening, saving and handing in with a key signed for this worker."""
    assert hit.hit_id is not None
    key = PageKey(str(hit.unit.public_id), hit.hit_id, f"3{uuid.uuid4().hex[:20]}", worker)
    query = {
        "assignmentId": key.assignment_id,
        "hitId": key.hit_id,
        "workerId": worker,
        "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{SECRET}",
    }
    page = frame.get(f"{reverse('hit-page', args=[key.unit])}?{urlencode(query)}")
    bodies: dict[str, dict[str, Any]] = {
        "open": {},
        "draft": {"content": answer, "revision": 0},
        "submission": {"client_uuid": str(uuid.uuid4()), "answer": answer, "active_seconds": 40.0},
    }
    found = [page.status_code]
    for name, body in bodies.items():
        send = frame.put if name == "draft" else frame.post
        reply = send(
            reverse(f"hit-api-{name}"),
            data=json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {issue_token(key)}"},
        )
        found.append(reply.status_code)
    return found


def judgment_count(work: Work) -> int:
    return sum(pair.judge_count for pair in pair_judgments(project=work.project).values())


def launch_with_quality_checks(work: Work) -> Batch:
    """Return a live review round by three authors with all sorts of checks."""
    rows = [row for n, worker in enumerate(AUTHORS) for row in work.observed(work.image(n), worker=worker)]
    first, _ = launch_review(project=work.project, observations=rows[:1], by=None)
    add_gold_item(unit=first.units.get(), expected={"reasonable": ["un"]}, by=None)
    batch, _ = launch_review(
        project=work.project,
        observations=rows[1:],
        by=None,
        terms=LaunchTerms(redundancy=2),
        plan=RoundPlan(Selection(seed=3), CheckRates(gold=10, attention=50, repeat=50)),
    )
    publish_batch(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    return batch


def authors_of(unit: Unit) -> set[str]:
    """Return whose text or boxes the unit shows, read from the pairs themselves."""
    payload = unit.payload
    found = set()
    for row in Submission.objects.filter(kind="sherlock_observation").prefetch_related("records"):
        for pair in Pair.objects.filter(submission=row):
            mine = (payload["image"] == pair.image_id and payload["boxes"] == pair.boxes) or (
                payload["inference"] == pair.inference and payload["clue"] == pair.clue
            )
            if mine:
                found.add(row.attempt.worker.worker_id)
    return found


def test_author_never_gets_unit_with_own_work(work: Work, frame: Client) -> None:
    batch = launch_with_quality_checks(work)
    roles = set()
    extend_by(batch, 1)
    for hit in Hit.objects.filter(unit__batch=batch).select_related("unit__batch"):
        check = QualityCheck.objects.filter(unit=hit.unit).first()
        roles.add(check.role if check else "")
        authors = authors_of(hit.unit)
        assert authors
        for author in authors:
            assert try_submit(frame, hit, author, review()) == [FORBIDDEN] * 4, (check, author)
    assert roles == {"", "gold", "attention", "repeat"}
    assert not Attempt.objects.filter(hit__unit__batch=batch).exists()
    consented = work.observed(work.image(8), worker="STRANGER")
    assert consented
    assert try_submit(frame, hit, "STRANGER", review()) == [200, 200, 200, 201], "the doors open for others"


def extend_by(batch: Batch, more: int) -> None:
    _, job = extensions.extend_batch(batch=batch, more_redundancy=more, by=None)
    tasks.extend_batch(job.pk)


def test_worker_gets_item_once_across_rounds(work: Work, frame: Client) -> None:
    rows = work.observed(work.image(1), worker="A1")
    batches = [launch_review(project=work.project, observations=rows, by=None)[0] for _ in range(2)]
    for batch in batches:
        publish_batch(batch=batch, marketplace=marketplace())
    hits = [Hit.objects.get(unit__batch=batch, unit__key=rows[0].instance_id) for batch in batches]
    judge = market.market_worker("judge")
    market.work(hits[0], judge, review())
    with pytest.raises(MarketRefused, match="You have already accepted this item"):
        market.accept(hits[1], judge)
    loop.collected(batches[0])
    with pytest.raises(MarketRefused, match="You have already worked on this item"):
        market.accept(hits[1], judge)
    other = market.market_worker("other")
    market.work(hits[1], other, review("un"))
    for batch in batches:
        loop.collected(batch)
    assert judgment_count(work) == 2


def test_unqualified_worker_is_refused_everywhere(work: Work, frame: Client) -> None:
    rows = work.observed(work.image(1), worker="A1")
    batch, _ = launch_review(
        project=work.project,
        observations=rows,
        by=None,
        terms=LaunchTerms(eligibility=build_eligibility(pool=Pool.QUALIFIED)),
    )
    publish_batch(batch=batch, marketplace=marketplace())
    hit = Hit.objects.filter(unit__batch=batch).first()
    assert hit is not None
    una = market.market_worker("una")
    assert work.observed(work.image(2), worker=una.worker_id), "una has agreed to the consent text"
    with pytest.raises(Exception, match=r"qualif|allowed|requirement"):
        market.accept(hit, una)
    assert try_submit(frame, hit, una.worker_id, review()) == [FORBIDDEN] * 4


def test_author_of_candidate_or_matched_pair_is_refused(work: Work, frame: Client) -> None:
    rows = [work.observed(work.image(n), worker=worker)[0] for n, worker in enumerate(AUTHORS)]
    texts = [CandidateToRate(row.instance_id, row.inference) for row in rows[1:]]
    set_to_judge = SetToJudge("set-1", rows[0].instance_id, rows[0].image_id, rows[0].boxes, texts)
    batch, _ = launch_comparison(project=work.project, sets=[set_to_judge], by=None)
    publish_batch(batch=batch, marketplace=marketplace())
    hit = Hit.objects.get(unit__batch=batch)
    for author in AUTHORS:
        assert try_submit(frame, hit, author, ratings(hit, 1, 2)) == [FORBIDDEN] * 4
    matching, _ = launch_localization(project=work.project, n=None, seed=1, by=None)
    publish_batch(batch=matching, marketplace=marketplace())
    for hit in Hit.objects.filter(unit__batch=matching).select_related("unit"):
        (author,) = hit.unit.excluded_workers.all()
        assert try_submit(frame, hit, author.worker_id, {"matches": []}) == [FORBIDDEN] * 4


def test_preview_gives_no_page_key_and_no_worker_data(work: Work, frame: Client) -> None:
    batch = launch_with_quality_checks(work)
    for unit in batch.units.all():
        address = reverse("hit-page", args=[unit.public_id])
        shown = frame.get(address, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
        config = re.search(r'<script[^>]*id="hit-config"[^>]*>(.*?)</script>', shown.text, re.DOTALL)
        assert config is not None
        assert "token" not in json.loads(config[1])
        for author in authors_of(unit):  # an id in the URL must not reveal the author of the judged unit
            page = frame.get(address, {"workerId": author})
            assert (page.status_code, page.text) == (200, shown.text)


@pytest.mark.long
def test_round_with_quality_checks_can_be_extended_reconciled_and_closed(work: Work) -> None:
    batch = launch_with_quality_checks(work)
    judges = [market.market_worker(name) for name in ("j1", "j2", "j3")]
    hits = list(Hit.objects.filter(unit__batch=batch).select_related("unit"))
    for judge in judges[:2]:
        for hit in hits:
            market.work(hit, judge, review())
    loop.collected(batch)
    assert all(is_confirmed(row) for row in Submission.objects.filter(kind="observation_review"))
    own = batch.units.filter(quality_check=None).count()
    assert judgment_count(work) == 2 * own
    extend_by(batch, 1)
    for hit in hits:
        hit.refresh_from_db()
        market.work(hit, judges[2], review("un"))
    loop.collected(batch)
    assert judgment_count(work) == 3 * own
    found = reconcile_batch(batch=batch, marketplace=marketplace())
    assert not found.findings
    for row in Assignment.objects.filter(hit__unit__batch=batch):
        loop.approve(row)
    batch.refresh_from_db()
    request_close(batch=batch, by=None)
    expire_hits(batch=batch, marketplace=marketplace())
    dispose_hits_and_close_if_done(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED
    assert not OutgoingCall.objects.exclude(state="done").exists()
