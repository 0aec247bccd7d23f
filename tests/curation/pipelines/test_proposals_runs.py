"""Runs of box proposals: jobs, sub-jobs, resuming, and workers with other weights."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone
from PIL import Image as Pillow

from curation.models import ImageProposals, ProposalRun
from curation.pipelines import detectors
from curation.pipelines import proposals as pipeline
from curation.proposals.detector import DetectedBoxes
from curation.services import image_files
from curation.services import proposals as services
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support import children
from tests.support.curation.proposal_runs import (
    FixedBoxDetector,
    list_boxes,
    make_run,
    run_job,
    run_subjob,
    split_into_subjobs,
)

pytestmark = pytest.mark.django_db


class TestRuns:
    def test_every_available_photo_has_boxes_once(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        images = [make_image(seed) for seed in range(5)]
        Image.objects.filter(pk=images[1].pk).update(taken_down_at="2026-01-01T00:00Z")
        run = make_run(project)
        assert [pk for pk, _ in list_boxes(run)] == [images[n].pk for n in (0, 2, 3, 4)]
        assert (run.images, run.boxes, run.is_complete, run.revision) == (4, 40, True, "1")
        left, top, width, height, score = list_boxes(run)[0][1][0]
        assert min(left, top) >= 0
        assert min(width, height) > 0
        assert score == 1.0
        job = Job.objects.get(task="curation.propose_boxes")
        assert (job.done, job.total, job.result["boxes"]) == (4, 4, 40)

    def test_detector_gets_the_limit(
        self, project: Project, make_image: Callable[..., Image], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_image(1)
        calls: list[tuple[str, Any]] = []

        def choose(name: str, **options: Any) -> FixedBoxDetector:
            calls.append((name, options))
            return FixedBoxDetector()

        monkeypatch.setattr(detectors, "get_detector", choose)
        make_run(project, detector="hf:hustvl/yolos-tiny", limit=30, suppress_over=0.7)
        options = {"limit": 30, "suppress_over": 0.7, "revision": "", "min_score": 0.0}
        assert calls == [("hf:hustvl/yolos-tiny", options)]  # once for all parts

    def test_cancelled_and_resumed_gives_the_same_rows(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_batches: None
    ) -> None:
        for seed in range(7):
            make_image(seed)
        whole = make_run(project)
        Job.objects.all().delete()
        detector(FixedBoxDetector(fails_after=3))
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        run = ProposalRun.objects.get(pk=job.args["run"])
        assert (job.state, run.is_complete, run.images) == (JobState.CANCELLED, False, 4)
        make_image(99)  # came later: belongs to another run
        second = detector(FixedBoxDetector())
        job = run_job(jobs.resume_job(job=job, queue=False))
        run.refresh_from_db()
        assert job.state == JobState.DONE
        assert second.seen == 3
        assert list_boxes(run) == list_boxes(whole)
        assert (run.images, run.boxes) == (whole.images, whole.boxes)

    def test_boxes_of_other_weights_are_never_mixed(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_batches: None
    ) -> None:
        for seed in range(4):
            make_image(seed)
        detector(FixedBoxDetector(fails_after=1))
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        detector(FixedBoxDetector("2"))
        job = run_job(jobs.resume_job(job=job, queue=False))
        assert job.state == JobState.FAILED
        assert "start a new run" in job.error

    def test_broken_photo_is_named_and_found_boxes_are_kept(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_batches: None
    ) -> None:
        images = [make_image(seed) for seed in range(4)]
        Path(images[3].file.path).unlink()
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        assert job.state == JobState.FAILED
        assert "photo-3.png: its file is missing" in job.error
        assert ProposalRun.objects.get().images == 3

    def test_unfinished_run_keeps_its_model_commit(
        self,
        project: Project,
        make_image: Callable[..., Image],
        small_batches: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for seed in range(4):
            make_image(seed)
        present, fails_after = "a" * 40, 1
        asked: list[str] = []

        def hub(name: str, *, revision: str, **options: Any) -> FixedBoxDetector:
            asked.append(revision)
            return FixedBoxDetector(revision or present, fails_after=fails_after)

        monkeypatch.setattr(detectors, "get_detector", hub)
        chosen = services.ProposalOptions("hf:someone/tiny")
        job = run_job(services.request_proposals(project=project, by=None, options=chosen, queue=False))
        assert (job.state, ProposalRun.objects.get().images) == (JobState.CANCELLED, 2)
        present, fails_after = "b" * 40, 99
        detectors.load_detector.cache_clear()
        job = run_job(jobs.resume_job(job=job, queue=False))
        run = ProposalRun.objects.get()
        assert (job.state, job.error) == (JobState.DONE, "")
        assert (run.images, run.revision) == (4, "a" * 40)
        assert asked == ["", "a" * 40]  # loaded once for the whole and its parts
        job = run_job(services.request_proposals(project=project, by=None, options=chosen, queue=False))
        assert ProposalRun.objects.get(pk=job.args["run"]).revision == "b" * 40

    def test_storing_twice_is_idempotent(self, project: Project, make_image: Callable[..., Image]) -> None:
        image = make_image(1)
        run = ProposalRun.objects.create(project=project, detector="classical")
        assert services.store_missing_boxes(run=run, found={image.pk: [[1, 2, 3, 4, 0.5]]}) == 1
        assert services.store_missing_boxes(run=run, found={image.pk: [[9, 9, 9, 9, 0.9]]}) == 0
        run.refresh_from_db()
        assert (run.images, run.boxes) == (1, 1)
        assert run.image_proposals.get().boxes == [[1, 2, 3, 4, 0.5]]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"detector": "yolo"}, "detector 'yolo' is not known; use classical"),
            ({"limit": 0}, "limit: 0 is not within 1 to 1000"),
            ({"detector": "hf:a/b", "suppress_over": 1.5}, "suppress over: 1.5 is not between"),
            ({"suppress_over": 0.5}, "does not apply to the classical detector"),
        ],
    )
    def test_bad_options_are_refused(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(Refused, match=message):
            services.ProposalOptions(**options)

    def test_one_run_at_a_time_and_none_without_photos(
        self, project: Project, make_image: Callable[..., Image]
    ) -> None:
        with pytest.raises(Refused, match="images: there are none"):
            services.request_proposals(project=project, by=None)
        make_image(1)
        services.request_proposals(project=project, by=None)
        with pytest.raises(Conflict, match="is running already"):
            services.request_proposals(project=project, by=None)
        assert ProposalRun.objects.count() == 1


class Threaded(FixedBoxDetector):
    """One that promises that several threads may call it at once, and notes which did."""

    parallel = True

    def __init__(self) -> None:
        super().__init__()
        self.callers: set[str] = set()

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes."""
        self.callers.add(threading.current_thread().name)
        return super().propose(pictures)


class TestParts:
    def test_photos_are_split_into_parts_done_once(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_subjobs: None
    ) -> None:
        images = [make_image(seed) for seed in range(8)]
        Image.objects.filter(pk=images[1].pk).update(taken_down_at="2026-01-01T00:00Z")
        squares = detector(FixedBoxDetector())
        job, parts = split_into_subjobs(project)
        assert (job.state, job.done, job.total) == (JobState.WAITING, 0, 7)
        assert [(part.title, part.total) for part in parts] == [
            ("Sub-job 1 of 3", 3),
            ("Sub-job 2 of 3", 3),
            ("Sub-job 3 of 3", 1),
        ]
        places = [(part.args["first"], part.args["last"]) for part in parts]
        assert places == [(images[n].pk, images[m].pk) for n, m in ((0, 3), (4, 6), (7, 7))]
        done = [run_subjob(part) for part in reversed(parts)]
        assert [(part.state, part.done, part.runs) for part in done] == [
            (JobState.DONE, 1, 1),
            (JobState.DONE, 3, 1),
            (JobState.DONE, 3, 1),
        ]
        job = run_subjob(job)
        assert (job.state, job.done, job.total, squares.seen) == (JobState.DONE, 7, 7, 7)
        run = ProposalRun.objects.get()
        assert (run.images, run.boxes, run.is_complete) == (7, 70, True)

    def test_order_of_parts_does_not_change_rows(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_batches: None
    ) -> None:
        for seed in range(7):
            make_image(seed)
        whole = make_run(project)
        assert Job.objects.filter(parent__isnull=False).count() == 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "PHOTOS_PER_SUBJOB", 2)
            assert list_boxes(make_run(project)) == list_boxes(whole)
        assert Job.objects.filter(parent__isnull=False).count() == 5

    def test_broken_photo_fails_the_run_after_all_others(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_subjobs: None
    ) -> None:
        images = [make_image(seed) for seed in range(7)]
        path = Path(images[3].file.path)
        kept = path.read_bytes()
        path.unlink()
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        assert job.state == JobState.FAILED
        assert "Sub-job 2 of 3: photo-3.png: its file is missing" in job.error
        run = ProposalRun.objects.get()
        assert [pk for pk, _ in list_boxes(run)] == [images[n].pk for n in (0, 1, 2, 4, 5, 6)]
        assert any("photo-3.png: its file is missing" in line.text for line in job.lines.all())
        path.write_bytes(kept)
        squares = detector(FixedBoxDetector())
        job = run_job(jobs.resume_job(job=job, queue=False))
        run.refresh_from_db()
        assert (job.state, job.done, job.total, squares.seen) == (JobState.DONE, 7, 7, 1)
        assert (run.images, run.is_complete) == (7, True)

    def test_broken_photos_are_counted_and_the_first_is_named(
        self,
        project: Project,
        make_image: Callable[..., Image],
        detector: Any,
        small_batches: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(detectors, "MAX_PHOTOS_LOGGED", 3)
        images = [make_image(seed) for seed in range(9)]
        for image in images[:7]:
            Path(image.file.path).write_bytes(b"no picture")
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        assert [pk for pk, _ in list_boxes(ProposalRun.objects.get())] == [image.pk for image in images[7:]]
        names = ", ".join(f"photo-{seed}.png" for seed in range(5))
        assert f"7 photos of this job cannot be read: {names} and 2 more; fix them and resume" in job.error
        lines = [line.text for line in job.lines.all() if line.text.startswith("photo-")]
        assert [line.partition(":")[0] for line in lines] == ["photo-0.png", "photo-1.png", "photo-2.png"]
        squares = detector(FixedBoxDetector())
        job = run_job(jobs.resume_job(job=job, queue=False))
        assert (job.state, squares.seen) == (JobState.FAILED, 0)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_oversized_photo_counts_as_unreadable(
        self,
        project: Project,
        make_image: Callable[..., Image],
        detector: Any,
        small_batches: None,
        monkeypatch: pytest.MonkeyPatch,
        threads: int,
    ) -> None:
        images = [make_image(seed) for seed in range(5)]

        def opened(image: Image) -> Pillow.Image:
            if image == images[0]:
                raise Pillow.DecompressionBombError("too many pixels")
            return image_files.open_image(image)

        monkeypatch.setattr(detectors, "open_image", opened)
        monkeypatch.setattr(detectors, "usable_cores", lambda: threads)
        detector(Threaded())
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        assert "photo-0.png: cannot be decoded (too many pixels); restore " in job.error
        assert [pk for pk, _ in list_boxes(ProposalRun.objects.get())] == [image.pk for image in images[1:]]

    def test_a_worker_with_other_weights_refuses_its_part(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        make_image(1)
        _, (part,) = split_into_subjobs(project)
        detector(FixedBoxDetector("2"))
        detectors.load_detector.cache_clear()
        assert "this worker process has classical 2, but the run started with 1" in run_subjob(part).error
        assert not ImageProposals.objects.exists()

    def test_replaced_weights_are_reloaded(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        make_image(1)
        assert make_run(project).revision == "1"
        detector(FixedBoxDetector("2"))  # this process still holds the first
        job, (part,) = split_into_subjobs(project)
        assert ProposalRun.objects.get(pk=job.args["run"]).revision == "2"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(detectors, "get_detector", lambda name, **options: FixedBoxDetector("1"))
            detectors.load_detector.cache_clear()
            detectors.load_detector(
                detectors.DetectorRequest("classical", 100, None)
            )  # so does the other worker
        assert run_subjob(part).state == JobState.DONE

    def test_boxes_of_a_worker_with_older_weights_are_discarded(
        self, project: Project, make_image: Callable[..., Image]
    ) -> None:
        image = make_image(1)
        run = ProposalRun.objects.create(project=project, detector="classical", revision="1")
        services.store_run_facts(run=ProposalRun.objects.get(), revision="2")  # it had no boxes, so it may
        with pytest.raises(Refused, match="its boxes are from classical 2, not 1; start a new run"):
            services.store_missing_boxes(run=run, found={image.pk: [[1, 2, 3, 4, 0.5]]})
        assert not ImageProposals.objects.exists()

    def test_long_revision_can_be_stored_twice(
        self, project: Project, make_image: Callable[..., Image]
    ) -> None:
        image = make_image(1)
        run = ProposalRun.objects.create(project=project, detector="classical")
        services.store_run_facts(run=run, revision="r" * 200)
        services.store_missing_boxes(run=run, found={image.pk: []})
        services.store_run_facts(run=run, revision="r" * 200)

    def test_thread_safe_detector_runs_batches_in_threads(
        self,
        project: Project,
        make_image: Callable[..., Image],
        detector: Any,
        small_batches: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for seed in range(7):
            make_image(seed)
        whole = make_run(project)
        monkeypatch.setattr(detectors, "usable_cores", lambda: 2)
        threaded = detector(Threaded())
        assert list_boxes(make_run(project)) == list_boxes(whole)
        assert threaded.callers
        assert threading.current_thread().name not in threaded.callers

    def test_options_and_figures_are_stored_separately(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        make_image(1)
        run = make_run(project, limit=30)
        assert run.options == asdict(services.ProposalOptions(limit=30))
        assert (run.figures["pairs"], run.figures["solvable"]) == (0, None)


@pytest.mark.django_db(transaction=True)
def test_killed_run_resumes_with_the_same_rows(
    project: Project, make_image: Callable[..., Image], detector: Any, small_batches: None
) -> None:
    for seed in range(7):
        make_image(seed)
    whole = make_run(project)
    detector(FixedBoxDetector(fails_after=4, dies=True))
    job, (part,) = split_into_subjobs(project)
    run = ProposalRun.objects.get(pk=job.args["run"])
    assert children.forked(lambda: current_app.tasks[part.task](part.pk)) == 7
    run.refresh_from_db()
    assert (run.images, run.is_complete) == (4, False)
    Job.objects.filter(pk=part.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    detectors.load_detector.cache_clear()
    second = detector(FixedBoxDetector())
    part = run_subjob(part)
    assert (part.state, part.runs, part.done, second.seen) == (JobState.DONE, 2, 7, 3)
    job = run_subjob(job)
    run.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, 7)
    assert list_boxes(run) == list_boxes(whole)
    assert (run.images, run.boxes) == (7, 70)


@pytest.mark.django_db(transaction=True)
def test_several_workers_give_the_rows_of_one(
    project: Project, make_image: Callable[..., Image], detector: Any, small_subjobs: None
) -> None:
    for seed in range(14):
        make_image(seed)
    whole = make_run(project)
    job, parts = split_into_subjobs(project)

    def worker() -> None:
        for part in parts:
            run_subjob(part)

    started = [children.start(worker) for _ in range(2)]
    assert [children.wait(child) for child in started] == [0, 0]
    assert {(part.state, part.runs) for part in job.subjobs.all()} == {(JobState.DONE, 1)}
    assert run_subjob(job).state == JobState.DONE
    run = ProposalRun.objects.get(pk=job.args["run"])
    assert list_boxes(run) == list_boxes(whole)
    assert (run.images, run.boxes) == (14, 140)
