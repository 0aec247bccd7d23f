"""What a report computes, keeps and says, over judgments written by hand and by a crowd."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import Pair
from hits.domain.jobs.queues import Queue
from hits.domain.states import AssignmentStatus, JobState
from hits.models import Assignment, Hit, Image, Job, Project, Worker
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.projects import create_project
from tests.support import children
from tests.support.judging.asking import unit
from tests.support.judging.many_judgments import CAREFUL, SPAMMING, Crowd, fill
from tests.support.judging.work import Work, review
from validation import tasks
from validation.models import ImportedJudgment, JudgingReport, JudgmentImport, WorkerQuality
from validation.selectors import report as selectors
from validation.services.judging import launch_review
from validation.services.localization import launch_localization
from validation.services.report import HEAVY_JUDGMENTS, compute_report, refresh_reports, request_report

pytestmark = pytest.mark.django_db(transaction=True)
REVIEW = "observation_review"


@pytest.fixture
def image(make_image: Callable[..., Image]) -> Image:
    return make_image(1)


def reviewed(work: Work, image: Image, *answers: list[dict[str, str]]) -> list[Hit]:
    """Launch a review of as many pairs as there are lists, and let JUDGE0, JUDGE1 … answer each pair in turn."""
    pairs = work.observed(image, count=max(3, len(answers)))[: len(answers)]
    batch, _ = launch_review(project=work.project, observations=pairs, by=None)
    work.publish(batch)
    hits = list(Hit.objects.filter(unit__batch=batch).order_by("pk"))
    for hit, given in zip(hits, answers, strict=True):
        for number, answer in enumerate(given):
            work.answered(hit, f"JUDGE{number}", answer)
    return hits


def test_report_figures_match_votes(work: Work, image: Image) -> None:
    reviewed(
        work,
        image,
        [review(), review(), review("un")],
        [review("un"), review("un", "entirely_off"), review("relatively", "entirely_off", "not_at_all")],
        [review(), review("un")],
    )
    report = compute_report(project=work.project, kind=REVIEW)
    found = report.figures["dimensions"]["reasonable"]
    assert dict(found["labels"]) == {"un": 4, "relatively": 1, "highly": 3}
    assert (found["share"]["count"], found["share"]["of"], found["share"]["undecided"]) == (1, 3, 1)
    assert found["share"]["low"] < 100 / 3 < found["share"]["high"]
    assert (report.judgments, report.ratings) == (8, 24)
    assert report.figures["sentence"].startswith("33.3% of the observation pairs are acceptable with 66.7%")
    assert report.last_judgment_at == Assignment.objects.latest("submitted_at").submitted_at
    # Pairs with unequal labels, by hand: 2 of 3, 2 of 3 and 1 of 1 disagree.
    assert found["coefficients"]["percent"]["value"] == pytest.approx((1 / 3 + 1 / 3 + 0) / 3)
    hardest = found["hardest"][0]
    assert len(hardest["labels"]) == 2
    assert sum(map(sum, found["confusion"])) == pytest.approx(8)


def test_workers_are_ranked_with_figures(work: Work, image: Image) -> None:
    reviewed(work, image, *[[review(), review(), review("un", "entirely_off", "not_at_all")]] * 3)
    report = compute_report(project=work.project, kind=REVIEW)
    rows = list(report.workers.select_related("worker"))
    assert [row.rank for row in rows] == [1, 2, 3]
    assert rows[-1].worker.worker_id == "JUDGE2"
    assert rows[-1].figures["agreement"] == [0, 18]
    assert rows[0].figures["agreement"] == [9, 18]
    assert rows[0].figures["judgments"] == 3
    assert rows[0].figures["median_seconds"] == 60
    assert rows[0].figures["cents_per_hour"] == Hit.objects.latest("pk").unit.batch.reward_cents * 60


def test_the_same_judgments_give_no_new_report(work: Work, image: Image) -> None:
    hits = reviewed(work, image, [review(), review("un")])
    first = compute_report(project=work.project, kind=REVIEW)
    again = compute_report(project=work.project, kind=REVIEW)
    assert again.pk == first.pk
    assert again.figures["unchanged"]
    assert JudgingReport.objects.count() == 1
    work.answered(hits[0], "JUDGE9", review())
    assert selectors.count_new_judgments(first) == 1
    third = compute_report(project=work.project, kind=REVIEW)
    assert third.pk != first.pk
    assert third.data_sha256 != first.data_sha256
    assert "unchanged" not in third.figures


def test_the_same_judgments_give_the_same_figures(work: Work, image: Image) -> None:
    reviewed(work, image, [review(), review("un")], [review(), review()], [review("un"), review("un")])
    first = compute_report(project=work.project, kind=REVIEW).figures
    JudgingReport.objects.all().delete()
    second = compute_report(project=work.project, kind=REVIEW).figures
    first.pop("checked_at"), second.pop("checked_at")
    assert first == second


def test_a_rejection_and_another_target_make_new_figures(work: Work, image: Image) -> None:
    reviewed(work, image, [review(), review("un")])
    first = compute_report(project=work.project, kind=REVIEW)
    Assignment.objects.filter(worker__worker_id="JUDGE1").update(status=AssignmentStatus.REJECTED)
    assert selectors.count_new_judgments(first) == -1
    second = compute_report(project=work.project, kind=REVIEW)
    assert (second.judgments, second.pk != first.pk) == (1, True)
    work.project.target_cents_per_hour += 100
    work.project.save()
    assert compute_report(project=work.project, kind=REVIEW).pk != second.pk


def test_quality_checks_are_not_judgments(work: Work, image: Image) -> None:
    from validation.domain.judging.quality_check_types import CheckRole
    from validation.models import QualityCheck

    hits = reviewed(work, image, [review(), review()], [review("un"), review("un")])
    QualityCheck.objects.create(
        unit=hits[1].unit, role=CheckRole.ATTENTION, expected={"reasonable": ["highly"]}
    )
    report = compute_report(project=work.project, kind=REVIEW)
    assert (report.judgments, report.figures["controls"]) == (2, 2)
    assert report.figures["dimensions"]["reasonable"]["share"]["of"] == 1
    assert report.workers.first().figures["attention"] == [0, 1]


def test_imported_judgments_count_and_have_no_worker(work: Work, image: Image) -> None:
    source = JudgmentImport.objects.create(
        project=work.project, kind=REVIEW, name="Old", sha256="0" * 64, judgments=2
    )
    for rater in ("a" * 32, "b" * 32):
        ImportedJudgment.objects.create(source=source, item="f" * 32, rater=rater, answer=review())
    report = compute_report(project=work.project, kind=REVIEW)
    assert (report.judgments, report.figures["imported"], report.workers.count()) == (2, 2, 0)
    assert report.figures["time"] is None


def test_without_judgments_there_is_no_report(work: Work) -> None:
    with pytest.raises(Refused, match="there are no judgments yet"):
        compute_report(project=work.project, kind=REVIEW)
    with pytest.raises(Refused, match="is not a judging kind; use one of"):
        request_report(project=work.project, kind="sherlock_observation", by=None)


def test_a_job_computes_and_only_one_at_a_time(work: Work, image: Image, researcher: User) -> None:
    reviewed(work, image, [review(), review("un")])
    job = request_report(project=work.project, kind=REVIEW, by=researcher)
    with pytest.raises(Conflict):
        request_report(project=work.project, kind=REVIEW, by=researcher)
    tasks.compute_judging_report(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error, job.result["judgments"]) == (JobState.DONE, "", 2)
    assert JudgingReport.objects.get().computed_by == researcher


def test_a_cancelled_job_leaves_no_report(work: Work, image: Image) -> None:
    reviewed(work, image, [review(), review("un")])
    job = request_report(project=work.project, kind=REVIEW, by=None)
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    tasks.compute_judging_report(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not JudgingReport.objects.exists()
    assert not WorkerQuality.objects.exists()


def test_refresh_queues_outdated_reports(work: Work, image: Image) -> None:
    assert refresh_reports() == 0
    hits = reviewed(work, image, [review(), review("un")])
    assert refresh_reports() == 1
    assert refresh_reports() == 0  # one is under way
    tasks.compute_judging_report(Job.objects.get(task=selectors.COMPUTE_TASK).pk)
    assert refresh_reports() == 0
    work.answered(hits[0], "JUDGE7", review())
    assert refresh_reports() == 1


def test_exchanged_judgment_makes_the_report_outdated(
    client: Client, work: Work, image: Image, researcher: User
) -> None:
    hits = reviewed(work, image, [review(), review("un")], [review(), review()])
    report = compute_report(project=work.project, kind=REVIEW)
    client.force_login(researcher)
    address = reverse("judging-report", args=[work.project.slug])
    assert "are outdated" not in client.get(address).content.decode()
    hits[0].assignments.filter(worker__worker_id="JUDGE1").update(status=AssignmentStatus.REJECTED)
    work.answered(hits[1], "JUDGE7", review())
    assert selectors.count_new_judgments(report) == 0
    assert selectors.is_report_outdated(report)
    page = client.get(address).content.decode()
    assert "are outdated" in page
    assert "changed since" in page
    assert refresh_reports() == 1


def test_second_answer_of_one_rater_does_not_keep_the_report_outdated(work: Work, image: Image) -> None:
    [hit] = reviewed(work, image, [review(), review("un")])
    compute_report(project=work.project, kind=REVIEW)
    pair = Pair.objects.get(instance_id=hit.unit.key)
    batch, _ = launch_batch(
        project=work.project,
        kind_name=REVIEW,
        name="Under another key",
        units=[unit(pair, "other", pair.submission.attempt.worker)],
        by=None,
        terms=LaunchTerms(),
    )
    work.publish(batch)
    work.answered(Hit.objects.get(unit__batch=batch), "JUDGE0", review("un"))
    assert refresh_reports() == 1
    tasks.compute_judging_report(Job.objects.get(task=selectors.COMPUTE_TASK).pk)
    assert JudgingReport.objects.get().judgments == 2
    assert refresh_reports() == 0


def test_refresh_continues_after_a_kind_without_judgments(work: Work, image: Image) -> None:
    reviewed(work, image, [review(), review("un")])
    compute_report(project=work.project, kind=REVIEW)
    Assignment.objects.filter(hit__unit__batch__kind=REVIEW).update(status=AssignmentStatus.REJECTED)
    other = Work(create_project(name="Another", by=None))
    reviewed(other, other.image(2), [review()])
    assert refresh_reports() == 1
    assert Job.objects.get(task=selectors.COMPUTE_TASK).project == other.project


def test_parallel_computation_makes_one_report(
    work: Work, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed(work, image, [review(), review("un")])
    from validation.services import report as services

    real, inner = services._box_figures, []

    def meanwhile(regions: Any) -> Any:
        monkeypatch.setattr(services, "_box_figures", real)
        inner.append(compute_report(project=work.project, kind=REVIEW))
        return real(regions)

    monkeypatch.setattr(services, "_box_figures", meanwhile)
    outer = compute_report(project=work.project, kind=REVIEW)
    assert outer == inner[0]
    assert JudgingReport.objects.count() == 1


def test_report_is_recomputed_after_a_kill_before_saving(
    work: Work, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed(work, image, [review(), review("un")], [review(), review()])
    job = request_report(project=work.project, kind=REVIEW, by=None)
    with monkeypatch.context() as patch:
        patch.setattr(WorkerQuality.objects, "bulk_create", lambda *_, **__: children.leave(9))
        assert children.forked(lambda: tasks.compute_judging_report(job.pk)) == 9
    assert not JudgingReport.objects.exists()
    tasks.compute_judging_report(job.pk)
    assert not JudgingReport.objects.exists()  # the lease still runs
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now())
    tasks.compute_judging_report(job.pk)
    job.refresh_from_db()
    assert (job.state, JudgingReport.objects.count(), WorkerQuality.objects.count()) == (JobState.DONE, 1, 2)


def test_a_label_off_its_scale_is_refused_by_name(work: Work, image: Image) -> None:
    source = JudgmentImport.objects.create(
        project=work.project, kind=REVIEW, name="Old", sha256="0" * 64, judgments=1
    )
    ImportedJudgment.objects.create(source=source, item="f" * 32, rater="a" * 32, answer=review("fine"))
    with pytest.raises(Refused, match="'fine' is not on the scale; use un, relatively, highly"):
        compute_report(project=work.project, kind=REVIEW)


def test_a_photo_that_is_taken_down_leaves_the_baseline(
    work: Work, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in (1, 2):
        work.observed(work.image(n), worker=f"AUTHOR{n}")
    batch, _ = launch_localization(project=work.project, n=None, seed=1, by=None)
    work.publish(batch)
    for hit in Hit.objects.filter(unit__batch=batch):
        truth = hit.unit.payload["truth"]
        work.answered(hit, "JUDGE1", {"matches": [{"inference": i, "region": r} for i, r in truth.items()]})
    first = compute_report(project=work.project, kind="localization_match")
    assert first.figures["baseline"]["images"] == 2
    Image.objects.filter(pk=batch.units.first().payload["image"]).update(taken_down_at=timezone.now())
    assert selectors.is_report_outdated(first)
    assert compute_report(project=work.project, kind="localization_match").figures["baseline"]["images"] == 1
    call_command("judging_report", project=work.project.slug, kind="localization_match")
    output = capsys.readouterr().out
    assert "match: " in output
    assert "alpha" not in output  # regions of different photos are no scale


@pytest.mark.parametrize("kind", [REVIEW, "likert_comparison"])
def test_report_ranks_a_crowd_of_known_quality(project: Project, image: Image, kind: str) -> None:
    crowd = Crowd(items=150, redundancy=3, workers=20, kind=kind)
    fill(project, [image], crowd)
    report = compute_report(project=project, kind=kind)
    quality = {worker.pk: q for worker, q in zip(crowd.people, crowd.quality, strict=True)}
    order = [quality[pk] for pk in report.workers.order_by("rank").values_list("worker_id", flat=True)]
    assert order[-2:] == [SPAMMING, SPAMMING]
    assert set(order[:12]) == {CAREFUL}
    assert report.ratings == (450 * 3 if kind == REVIEW else 4500)
    json.dumps(report.figures, allow_nan=False)
    if kind == "likert_comparison":
        assert report.figures["pairwise"]["sets"] == 150
        assert "average" in report.figures["sentence"]


def test_the_command_prints_and_writes_rows(work: Work, image: Image, tmp_path: Any, capsys: Any) -> None:
    reviewed(work, image, [review(), review("un")])
    call_command("judging_report", project=work.project.slug, json=True, rows=tmp_path / "rows")
    found = json.loads(capsys.readouterr().out)
    assert found["judgments"] == 2
    assert found["rows"]["rows"] == 6
    assert sorted(path.name for path in (tmp_path / "rows").iterdir()) == [
        "manifest.json",
        "rows.csv",
        "rows.parquet",
    ]
    call_command("judging_report", project=work.project.slug)
    output = capsys.readouterr().out
    assert "unchanged since it was computed" in output
    assert not any(w.worker_id in output for w in Worker.objects.all())


def test_the_command_refuses_in_one_line(work: Work, tmp_path: Any) -> None:
    for wrong, message in (
        ({"project": "nowhere"}, "there is no such project"),
        (
            {"project": work.project.slug, "kind": "nonsense"},
            "is not a judging kind; use one of observation_review",
        ),
        ({"project": work.project.slug}, "there are no judgments yet"),
    ):
        with pytest.raises(CommandError, match=message) as error:
            call_command("judging_report", **wrong)
        assert error.value.returncode == 2
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(("judgments", "queue"), [(100, Queue.DEFAULT), (HEAVY_JUDGMENTS + 1, Queue.CPU)])
def test_large_report_runs_in_the_heavy_queue(
    project: Project, monkeypatch: pytest.MonkeyPatch, judgments: int, queue: Queue
) -> None:
    monkeypatch.setattr(selectors, "count_judgments", lambda *_: judgments)
    job = request_report(project=project, kind=REVIEW, by=None)
    assert job.queue == queue
