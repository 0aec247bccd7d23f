"""The localization page: access, launching in two steps, and results."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Batch, Hit, Image, Unit
from tests.support import market
from tests.support.judging.applicants import qualification
from tests.support.judging.work import Work
from tests.support.pages import squeezed
from validation.models import JudgingRound
from validation.services.judgment_imports import import_judgments
from validation.services.localization import launch_localization

pytestmark = pytest.mark.django_db
VALUES = {"name": "Baseline", "n": "2", "seed": "7", "assignments": "3", "reward": "0.50", "pool": ""}


@pytest.fixture
def url(work: Work) -> str:
    """Return the page's address."""
    return reverse("localization", args=[work.project.slug])


@pytest.fixture
def images(work: Work) -> list[Image]:
    """Return three images that can be matched."""
    found = [work.image(n) for n in range(3)]
    for image in found:
        work.observed(image, worker=f"AUTHOR{image.pk}", count=4)
    return found


def _match(work: Work, hit: Hit, worker: str, *, swap: bool) -> None:
    truth = hit.unit.payload["truth"]
    regions = list(truth.values())
    if swap:
        regions[0], regions[1] = regions[1], regions[0]
    rows = [{"inference": one, "region": region} for one, region in zip(truth, regions, strict=True)]
    work.answered(hit, worker, {"matches": rows})


@pytest.mark.parametrize(
    ("role", "status"), [("outsider", 404), ("annotator", 404), ("researcher", 200), ("admin", 200)]
)
def test_page_and_launch_are_for_researchers_only(
    client: Client, url: str, images: list[Image], role: str, status: int, request: pytest.FixtureRequest
) -> None:
    market.fund()
    client.force_login(request.getfixturevalue(role))
    assert client.get(url).status_code == status
    assert client.post(url, VALUES | {"step": "estimate"}).status_code == status
    assert client.post(url, VALUES | {"step": "launch"}).status_code == (302 if status == 200 else status)
    assert Batch.objects.filter(kind="localization_match").exists() == (status == 200)


def test_visitor_signs_in_and_post_needs_csrf_token(
    client: Client, url: str, images: list[Image], researcher: User
) -> None:
    assert client.get(url)["Location"].startswith("/sign-in/")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(researcher)
    assert strict.post(url, VALUES | {"step": "launch"}).status_code == 403
    assert not Batch.objects.filter(kind="localization_match").exists()


def test_round_is_launched_in_two_steps_and_once(
    client: Client, url: str, images: list[Image], researcher: User
) -> None:
    market.fund()
    client.force_login(researcher)
    asked = client.post(url, VALUES | {"step": "estimate"})
    assert "Launch 2 tasks, hold $3.00" in squeezed(asked)
    assert not Batch.objects.filter(kind="localization_match").exists()
    sent = VALUES | {"step": "launch", "idempotency_key": asked.context["idempotency_key"]}
    for _ in range(2):
        assert client.post(url, sent).status_code == 302
    batch = Batch.objects.get(kind="localization_match")
    assert (batch.name, batch.units.count(), batch.redundancy, batch.reward_cents) == ("Baseline", 2, 3, 50)
    assert JudgingRound.objects.get(batch=batch).selection["seed"] == 7
    page = squeezed(client.get(url))
    assert "1 photo not used yet, 3 in total" in page
    assert "random, seed 7" in page
    assert "0 of 6" in page


def test_used_photos_are_drawn_again_on_request(
    client: Client, url: str, work: Work, images: list[Image], researcher: User
) -> None:
    market.fund()
    launch_localization(project=work.project, n=None, seed=1, by=None)
    client.force_login(researcher)
    refused = client.post(url, VALUES | {"step": "launch"})
    assert refused.status_code == 400
    assert "Use 0 or fewer, the number of photos that can be matched." in squeezed(refused)
    asked = client.post(url, VALUES | {"step": "estimate", "again": "on"})
    assert '<input type="hidden" name="again" value="True">' in squeezed(asked)
    assert client.post(url, VALUES | {"step": "launch", "again": "True"}).status_code == 302


def test_refused_round_shows_reason_and_keeps_input(
    client: Client, url: str, images: list[Image], researcher: User
) -> None:
    market.fund(299)
    client.force_login(researcher)
    short = client.post(url, VALUES | {"step": "launch"})
    assert short.status_code == 400
    page = squeezed(short)
    assert "$3.00 will be held, but the account has only $2.99" in page
    for name, value in VALUES.items():
        assert f'name="{name}" value="{value}"' in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": "4"}, "Use 3 or fewer, the number of photos that can be matched."),
        ({"n": "0"}, "greater than or equal to 1"),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"reward": "free"}, "at most two decimals"),
        ({"pool": "everyone"}, "Select a valid choice"),
    ],
)
def test_invalid_value_is_named_at_its_field(
    client: Client, url: str, images: list[Image], researcher: User, change: dict[str, str], message: str
) -> None:
    client.force_login(researcher)
    reply = client.post(url, VALUES | change | {"step": "launch"})
    assert reply.status_code == 400
    assert message in squeezed(reply)


def test_round_can_be_limited_to_qualified_workers(
    client: Client, url: str, images: list[Image], researcher: User
) -> None:
    market.fund()
    client.force_login(researcher)
    assert client.post(url, VALUES | {"step": "launch", "pool": "qualified"}).status_code == 302
    batch = Batch.objects.get(kind="localization_match")
    slugs = {row.qualification.slug for row in batch.requirements.all() if row.qualification}
    assert slugs == {Pool.QUALIFIED.value, Pool.EXCLUDED.value}


def test_form_without_pool_uses_qualified_workers_in_both_steps(
    client: Client, url: str, work: Work, images: list[Image], researcher: User
) -> None:
    market.fund()
    qualification(work.project, [work.image(n) for n in range(3)], 5)
    client.force_login(researcher)
    old = {name: value for name, value in VALUES.items() if name != "pool"}
    page = client.post(url, old | {"step": "estimate"}).content.decode()
    carried = dict(re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"', page))
    assert carried["n"] == "2"
    assert client.post(url, carried | {"step": "launch"}).status_code == 302
    batch = Batch.objects.get(kind="localization_match")
    assert ("qualified", "Exists") in batch.requirements.values_list("qualification__slug", "comparator")


def test_page_without_photos_explains_next_step(client: Client, url: str, researcher: User) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(url))
    assert "No photos for matching yet" in page
    assert "No matchings yet" in page


class TestResults:
    def test_page_shows_accuracy_and_errors(
        self, client: Client, url: str, work: Work, images: list[Image], researcher: User
    ) -> None:
        batch, _ = launch_localization(project=work.project, n=2, seed=1, by=None)
        work.publish(batch)
        first, second = Hit.objects.filter(unit__batch=batch).order_by("pk")
        _match(work, first, "JUDGE1", swap=False)
        _match(work, first, "JUDGE2", swap=False)
        _match(work, second, "JUDGE1", swap=True)
        client.force_login(researcher)
        page = squeezed(client.get(url))
        assert "75.0% <small>mean of 2 photos</small>" in page
        assert "ten photos whose accuracies are not all equal" in page
        assert "25.0%" in page  # by chance, of four
        assert "1 <small>of 2</small>" in page
        assert page.index("2 of 4 correct") < page.index("8 of 8 correct"), "most errors first"
        row = Assignment.objects.get(hit=second)
        link = reverse("assignment-detail", args=[row.pk])
        assert page.count(f'<a class="num" href="{link}">W-{row.worker_id}</a>') == 2
        review_page = squeezed(client.get(link))
        texts = {row["id"]: row["text"] for row in second.unit.payload["inferences"]}
        for match in row.submission.answer["matches"]:
            number = [region["id"] for region in second.unit.payload["regions"]].index(match["region"]) + 1
            row_html = f'<td>{texts[match["inference"]]}</td><td class="given"><b>Region {number}</b></td>'
            assert row_html in review_page, "the review page shows the answer as text"
        assert review_page.count("Region ") >= 8, "and the regions on the photo"
        assert "JUDGE1" not in page, "the marketplace's worker id is not shown"

    def test_the_page_has_no_inline_style_or_script(
        self, client: Client, url: str, work: Work, images: list[Image], researcher: User
    ) -> None:
        client.force_login(researcher)
        batch, _ = launch_localization(project=work.project, n=1, seed=1, by=None)
        work.publish(batch)
        _match(work, Hit.objects.get(unit__batch=batch), "JUDGE1", swap=True)
        page = client.get(url).content.decode()
        assert " style=" not in page
        assert not re.search(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)", page)
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert sorted(ids) == sorted(set(ids))

    def test_query_count_is_independent_of_photos_and_matchings(
        self, client: Client, url: str, work: Work, images: list[Image], researcher: User
    ) -> None:
        client.force_login(researcher)

        def more(n: int, *workers: str) -> None:
            batch, _ = launch_localization(project=work.project, n=n, seed=1, by=None)
            work.publish(batch)
            for hit in Hit.objects.filter(unit__batch=batch):
                for worker in workers:
                    _match(work, hit, worker, swap=True)

        more(1, "JUDGE1")
        client.get(url)
        before = _queries(client, url)
        more(2, "JUDGE1", "JUDGE2")
        assert _queries(client, url) == before


def _queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as caught:
        client.get(url)
    return len(caught)


def test_imported_partial_matching_is_shown(
    client: Client, url: str, work: Work, images: list[Image], researcher: User, tmp_path: Path
) -> None:
    batch, _ = launch_localization(project=work.project, n=1, seed=1, by=None)
    unit = Unit.objects.get(batch=batch)
    first = next(iter(unit.payload["truth"]))
    path = tmp_path / "rows.csv"
    path.write_text(
        f"item,dimension,label,rater\n{unit.payload['set']}/{first},match,another region than any,R\n"
    )
    import_judgments(project=work.project, kind="localization_match", path=path)
    client.force_login(researcher)
    page = squeezed(client.get(url))
    assert '<span class="dot obs obs-0">–</span>' in page
