"""The report's pages and API: access, content in each state, and query counts."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.domain.states import JobState
from hits.models import Hit, Image, Job, Project, Worker
from tests.support.judging.many_judgments import Crowd, fill
from tests.support.judging.work import Work, ratings, review
from tests.validation.services.test_report import reviewed
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.models import DecisionRun, ItemDecision, JudgingReport
from validation.services.judging import launch_comparison
from validation.services.localization import launch_localization
from validation.services.report import compute_report, request_report

pytestmark = pytest.mark.django_db(transaction=True)
REVIEW, LIKERT = "observation_review", "likert_comparison"


@pytest.fixture
def image(make_image: Callable[..., Image]) -> Image:
    return make_image(1)


def shown(client: Client, project: Project, kind: str = REVIEW) -> str:
    reply = client.get(reverse("judging-report", args=[project.slug]), {"kind": kind})
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_pages_open_for_researchers_only(
    client: Client,
    work: Work,
    image: Image,
    researcher: User,
    outsider: User,
    annotator: User,
) -> None:
    project = work.project
    key = reviewed(work, image, [review(), review("un")])[0].unit.key
    compute_report(project=project, kind=REVIEW)
    pages = [
        ("get", reverse("judging-report", args=[project.slug]), 200),
        ("get", reverse("judging-item", args=[project.slug, REVIEW, key]), 200),
        ("get", reverse("judging-rows-file", args=[project.slug, REVIEW, "rows.csv"]), 404),
        ("post", reverse("judging-report-compute", args=[project.slug]), 302),
        ("post", reverse("judging-rows", args=[project.slug]), 302),
        ("get", reverse("api-judging-report", args=[project.slug, REVIEW]), 200),
    ]
    for method, address, status in pages:
        send = getattr(client, method)
        client.logout()
        assert send(address, {"kind": REVIEW}).status_code == (403 if address.startswith("/api/") else 302)
        before = Job.objects.count()
        for stranger in (outsider, annotator):
            client.force_login(stranger)
            assert send(address, {"kind": REVIEW}).status_code == 404, address
        assert Job.objects.count() == before
        client.force_login(researcher)
        assert send(address, {"kind": REVIEW}).status_code == status, address
        if method == "post":
            assert client.get(address).status_code == 405
            strict = Client(enforce_csrf_checks=True)
            strict.force_login(researcher)
            assert strict.post(address, {"kind": REVIEW}).status_code == 403


def test_unknown_kind_or_item_is_not_found(client: Client, work: Work, image: Image, admin: User) -> None:
    client.force_login(admin)
    slug = work.project.slug
    reviewed(work, image, [review()])
    assert client.get(reverse("judging-report", args=[slug]), {"kind": "nonsense"}).status_code == 404
    assert client.post(reverse("judging-report-compute", args=[slug]), {"kind": "x"}).status_code == 404
    assert client.get(reverse("judging-item", args=[slug, REVIEW, "0" * 32])).status_code == 404
    assert client.get(reverse("judging-item", args=[slug, "nonsense", "0" * 32])).status_code == 404
    assert client.get(reverse("api-judging-report", args=[slug, REVIEW])).status_code == 404


def test_item_of_another_project_is_not_found(
    client: Client, work: Work, image: Image, rehearsal: Project, admin: User
) -> None:
    key = reviewed(work, image, [review()])[0].unit.key
    client.force_login(admin)
    assert client.get(reverse("judging-item", args=[work.project.slug, REVIEW, key])).status_code == 200
    assert client.get(reverse("judging-item", args=[rehearsal.slug, REVIEW, key])).status_code == 404


def test_report_page_shows_each_state(client: Client, work: Work, image: Image, researcher: User) -> None:
    client.force_login(researcher)
    project = work.project
    assert "No judgments yet" in shown(client, project)
    assert "Compute the report now" not in shown(client, project)
    hits = reviewed(work, image, [review(), review("un")])
    assert "2 judgments of this kind arrived" in shown(client, project)
    job = request_report(project=project, kind=REVIEW, by=researcher)
    page = shown(client, project)
    assert "data-job-url" in page
    assert "Compute the report now" not in page
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED, error="the disk is full")
    assert "could not be computed.</b> the disk is full" in shown(client, project)
    compute_report(project=project, kind=REVIEW)
    page = shown(client, project)
    assert "could not be computed" not in page
    assert re.search(r"Computed \d{1,2} s ago from 2 judgments", page)
    assert "are outdated" not in page
    for hours, age in ((5, "5 h ago"), (44, "2 days ago")):  # 5 hours back, and 44 more
        JudgingReport.objects.update(computed_at=F("computed_at") - timedelta(hours=hours))
        assert f"Computed {age} from 2 judgments" in shown(client, project)
    work.answered(hits[0], "JUDGE9", review())
    assert "1 arrived since" in shown(client, project)
    failing = request_report(project=project, kind=REVIEW, by=researcher)
    Job.objects.filter(pk=failing.pk).update(state=JobState.FAILED, error="no memory")
    assert "The figures below are from the previous report." in shown(client, project)


def test_compute_button_queues_one_report(client: Client, work: Work, image: Image, researcher: User) -> None:
    reviewed(work, image, [review(), review("un")])
    client.force_login(researcher)
    address = reverse("judging-report-compute", args=[work.project.slug])
    reply = client.post(address, {"kind": REVIEW}, follow=True)
    assert "Stop" in reply.content.decode()
    reply = client.post(address, {"kind": REVIEW}, follow=True)
    assert "already being computed" in reply.content.decode()
    assert Job.objects.filter(task="validation.compute_report").count() == 1


def test_report_page_shows_figures_and_links(
    client: Client, work: Work, image: Image, researcher: User
) -> None:
    hits = reviewed(work, image, [review(), review(), review("un")], [review("un", "mostly"), review()])
    compute_report(project=work.project, kind=REVIEW)
    client.force_login(researcher)
    page = shown(client, work.project)
    assert "50.0% of the observation pairs are acceptable with 100.0% accurate box placement" in page
    assert "95% interval 9.5 to 90.5" in page  # Wilson's of 1 in 2
    assert "1 undecided" in page
    worker = Worker.objects.get(worker_id="JUDGE0")
    assert reverse("worker-detail", args=[work.project.slug, worker.pk]) in page
    assert reverse("judging-item", args=[work.project.slug, REVIEW, hits[0].unit.key]) in page


def test_item_page_shows_all_judgments_with_submissions(
    client: Client, work: Work, image: Image, researcher: User
) -> None:
    hit = reviewed(work, image, [review(), review("un")])[0]
    run = DecisionRun.objects.create(project=work.project, kind=REVIEW, rules={}, data_sha256="0" * 64)
    ItemDecision.objects.create(
        run=run, item=hit.unit.key, dimension="reasonable", outcome="undecided", judge_count=2, support=0.5
    )
    client.force_login(researcher)
    page = client.get(reverse("judging-item", args=[work.project.slug, REVIEW, hit.unit.key]))
    text = page.content.decode()
    for assignment in hit.assignments.all():
        assert reverse("assignment-detail", args=[assignment.pk]) in text
        assert str(assignment.worker) in text
        assert assignment.worker.worker_id not in text
    assert "highly reasonable" in text
    assert "unreasonable" in text
    assert "Undecided" in text
    assert hit.unit.payload["inference"] in text


def test_item_page_of_comparison_set_shows_candidates(
    client: Client, work: Work, image: Image, researcher: User
) -> None:
    pairs = work.observed(image)[:2]
    candidates = [CandidateToRate(pair.instance_id, pair.inference) for pair in pairs]
    found = SetToJudge("5", pairs[0].instance_id, image.pk, pairs[0].boxes, candidates)
    batch, _ = launch_comparison(project=work.project, sets=[found], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    for worker, values in (("JUDGE1", (3, 1)), ("JUDGE2", (2, 1))):
        work.answered(hit, worker, ratings(hit, *values))
    compute_report(project=work.project, kind=LIKERT)
    client.force_login(researcher)
    text = client.get(reverse("judging-item", args=[work.project.slug, LIKERT, "5"])).content.decode()
    assert "3 good" in text
    assert "2.50" in text
    assert pairs[1].inference in text
    assert "put 100.0% of the candidate pairs in the same order" in shown(client, work.project, LIKERT)


def test_api_returns_the_report(client: Client, work: Work, image: Image, researcher: User) -> None:
    hits = reviewed(work, image, [review(), review("un")])
    report = compute_report(project=work.project, kind=REVIEW)
    work.answered(hits[0], "JUDGE5", review())
    client.force_login(researcher)
    found = client.get(reverse("api-judging-report", args=[work.project.slug, REVIEW])).json()
    assert (found["judgments"], found["since"], found["data_sha256"]) == (2, 1, report.data_sha256)
    assert found["behind"] is True
    assert found["figures"]["dimensions"]["reasonable"]["share"]["of"] == 1
    assert [row["rank"] for row in found["workers"]] == [1, 2]
    assert {row["worker"] for row in found["workers"]} == {
        str(w) for w in Worker.objects.filter(worker_id__in=("JUDGE0", "JUDGE1"))
    }


def test_query_count_is_independent_of_judgments(
    client: Client, project: Project, image: Image, researcher: User
) -> None:
    client.force_login(researcher)

    def count_queries(crowd: Crowd) -> tuple[int, int]:
        JudgingReport.objects.all().delete()
        fill(project, [image], crowd)
        compute_report(project=project, kind=REVIEW)
        key = Hit.objects.filter(unit__batch__kind=REVIEW).latest("pk").unit.key
        found = []
        for address in (
            reverse("judging-report", args=[project.slug]),
            reverse("judging-item", args=[project.slug, REVIEW, key]),
        ):
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert client.get(address).status_code == 200
            found.append(len(queries))
        return found[0], found[1]

    few = count_queries(Crowd(items=12, redundancy=2, workers=4, seed=1))
    many = count_queries(Crowd(items=160, redundancy=5, workers=40, seed=2))
    assert few == many
    assert max(many) < 30


def test_report_of_localization_shows_accuracy(
    client: Client, work: Work, image: Image, researcher: User
) -> None:
    work.observed(image, worker="AUTHOR", count=3)
    batch, _ = launch_localization(project=work.project, n=None, seed=1, by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    truth = hit.unit.payload["truth"]
    ids = list(truth)
    swapped = {**truth, ids[0]: truth[ids[1]], ids[1]: truth[ids[0]]}
    for worker, chosen in (("M1", truth), ("M2", swapped)):
        rows = [{"inference": inference, "region": region} for inference, region in chosen.items()]
        work.answered(hit, worker, {"matches": rows})
    report = compute_report(project=work.project, kind="localization_match")
    assert report.figures["baseline"]["accuracy"] == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert report.figures["dimensions"]["match"]["coefficients"]["percent"]["value"] == pytest.approx(1 / 3)
    assert [row.figures["accuracy"] for row in report.workers.all()] == [[3, 3], [1, 3]]
    client.force_login(researcher)
    assert "right region for 66.7% of the inferences" in shown(client, work.project, "localization_match")
    address = reverse("judging-item", args=[work.project.slug, "localization_match", hit.unit.key])
    text = client.get(address).content.decode()
    assert text.count(">right<") == 4
    assert len(re.findall(r">region [123]<", text)) == 2
    assert text.count('data-label="Own region"') == 3


def test_localization_page_and_report_show_the_same_interval(
    client: Client, work: Work, make_image: Callable[..., Image], researcher: User
) -> None:
    for number in range(1, 13):
        work.observed(make_image(number), worker="AUTHOR", count=3)
    batch, _ = launch_localization(project=work.project, n=None, seed=1, by=None)
    work.publish(batch)
    for number, hit in enumerate(Hit.objects.filter(unit__batch=batch).order_by("pk")):
        inferences, regions = zip(*hit.unit.payload["truth"].items(), strict=True)
        turned = regions if number % 3 == 0 else regions[1::-1] + regions[2:]
        turned = regions[1:] + regions[:1] if number % 3 == 2 else turned
        rows = [{"inference": a, "region": b} for a, b in zip(inferences, turned, strict=True)]
        work.answered(hit, "M1", {"matches": rows})
    found = compute_report(project=work.project, kind="localization_match").figures["baseline"]
    client.force_login(researcher)
    text = client.get(reverse("localization", args=[work.project.slug])).content.decode()
    assert 0 < found["low"] < found["high"] < 100
    assert f"95% interval {found['low']:.1f} to {found['high']:.1f}%" in text
