"""Access to the judging pages, in one table for all of them."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import Pair
from hits.models import AuditEvent, Batch, Job, Project
from tests.support.judging.work import Work
from tests.support.undone import undone
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.models import JudgingRound
from validation.services.judging import launch_comparison
from validation.services.quality_checks import add_gold_item
from validation.urls import urlpatterns

pytestmark = pytest.mark.django_db
OK, MOVED, BAD, FORBIDDEN, ABSENT = 200, 302, 400, 403, 404
SOME_KEY = "0123456789abcdef" * 2


@dataclass(frozen=True)
class Page:
    """A URL of a project with the status for a researcher; others get 404, visitors are redirected to the sign-in.

    ``args`` follow the project's slug. ``post``: the data of a URL that accepts POST only.
    """

    name: str
    args: tuple[Any, ...] = ()
    post: dict[str, str] | None = None
    researcher: int = OK
    query: str = ""
    signed_out: int = MOVED
    from_work: str = field(default="")  # which row of the fixture's work is the one argument


PAGES = [
    Page("units-new"),
    Page("units-new", query="?kind=likert_comparison"),
    Page("units-example", query="?kind=observation_review"),
    Page("units-example", query="?kind=compensation", researcher=ABSENT),
    Page("judging"),
    Page("localization"),
    Page("review-new"),
    Page("judging-ratings", from_work="comparison"),
    Page("judging-ratings", (987654,), researcher=ABSENT),
    Page("decisions"),
    Page("decisions", query="?kind=likert_comparison"),
    Page("decisions", query="?kind=localization_match", researcher=ABSENT),
    Page("decision-file", (987654,), researcher=ABSENT),
    Page("follow-up", from_work="round"),
    Page("planner"),
    Page("work-review"),
    Page("reviewer-set", post={"worker": "W-1", "reason": "Clear.", "on": "yes"}, researcher=MOVED),
    Page("work-digests"),
    Page("work-digests", query="?window=999999", researcher=ABSENT),
    Page("work-digests", query="?window=x", researcher=ABSENT),
    Page("digest-send", (987654, 1), post={"text": "Thank you."}, researcher=ABSENT),
    Page("judging-report"),
    Page("judging-report", query="?kind=nonsense", researcher=ABSENT),
    Page("judging-report-compute", post={"kind": "observation_review"}, researcher=MOVED),
    Page("judging-texts", ("observation_review", "reasonable"), researcher=ABSENT),
    Page("judging-item", ("observation_review", SOME_KEY), researcher=ABSENT),
    Page("judging-rows", post={"kind": "observation_review"}, researcher=MOVED),
    Page("judging-rows-file", ("observation_review", "rows.csv"), researcher=ABSENT),
    Page("gold"),
    Page("gold", query="?kind=likert_comparison"),
    Page("gold", query="?kind=localization_match", researcher=ABSENT),
    Page("gold-choose"),
    Page("gold-new", researcher=ABSENT),
    Page("gold-new", query="?kind=observation_review&unit=987654", researcher=ABSENT),
    Page("gold-edit", (987654,), researcher=ABSENT),
    Page("gold-edit", from_work="gold"),
    Page("gold-switch", (987654,), post={"on": "no"}, researcher=ABSENT),
    Page("gold-switch", from_work="gold", post={"on": "no"}, researcher=MOVED),
    Page("api-judging-report", ("observation_review",), researcher=ABSENT, signed_out=FORBIDDEN),
]


@pytest.fixture
def rows(work: Work) -> dict[str, Any]:
    """Return the row keys that the URLs contain."""
    mine = work.observed(work.image(1), worker="AUTHOR")
    others = work.observed(work.image(2), worker="OTHER")
    set_to_judge = SetToJudge(
        id="1",
        own_pair_id=mine[0].instance_id,
        image_id=mine[0].image_id,
        boxes=mine[0].boxes,
        candidates=[CandidateToRate(o.instance_id, o.inference) for o in others],
    )
    batch, _ = launch_comparison(project=work.project, sets=[set_to_judge], by=None)
    return {
        "comparison": batch.pk,
        "round": JudgingRound.objects.get(batch=batch).pk,
        "pair": mine[0].instance_id,
        "gold": add_gold_item(unit=batch.units.get(), expected={others[0].instance_id: [1]}, by=None).pk,
    }


def url(page: Page, project: Project, rows: dict[str, Any]) -> str:
    args = (rows[page.from_work], *page.args) if page.from_work else page.args
    return reverse(page.name, args=[project.slug, *args]) + page.query


def call(client: Client, page: Page, address: str) -> int:
    reply = client.get(address) if page.post is None else client.post(address, page.post)
    return int(reply.status_code)


def traces() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (AuditEvent, Job, Batch, Pair))


def test_pages_open_for_researchers_only(
    subtests: pytest.Subtests,
    project: Project,
    rows: dict[str, Any],
    annotator: User,
    outsider: User,
    researcher: User,
) -> None:
    before = traces()
    for page in PAGES:
        with subtests.test(page.name, query=page.query), undone():
            client, address = Client(), url(page, project, rows)
            assert call(client, page, address) == page.signed_out
            for stranger in (annotator, outsider):
                client.force_login(stranger)
                assert call(client, page, address) == ABSENT
            assert traces() == before
            client.force_login(researcher)
            assert call(client, page, address) == page.researcher
            if page.post is not None:
                assert client.get(address).status_code == 405


def test_post_without_csrf_token_is_refused(
    subtests: pytest.Subtests, project: Project, rows: dict[str, Any], researcher: User
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(researcher)
    before = traces()
    for page in PAGES:
        if page.name != "judging-ratings":
            with subtests.test(page.name, query=page.query), undone():
                reply = client.post(url(page, project, rows), page.post or {"step": "launch"})
                assert reply.status_code in {FORBIDDEN, 405}
                assert traces() == before


def test_every_judging_url_is_in_the_table() -> None:
    about = {
        str(pattern.name)
        for pattern in urlpatterns
        if re.search(r"/(judging|gold|launch)/", f"/{pattern.pattern}")
    }
    assert about == {page.name for page in PAGES}
