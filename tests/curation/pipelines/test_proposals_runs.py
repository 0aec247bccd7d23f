"""Runs of box proposals: made once, gone on with, measured against accepted pairs, shown, and taken along."""

import io
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from celery import current_app
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from PIL import Image as Pillow

from curation.models import ImageProposals, ProposalOverlap, ProposalRun
from curation.pipelines import proposals as pipeline
from curation.pipelines import vectors
from curation.proposals.detector import DetectedBoxes
from curation.selectors import proposals as proposal_selectors
from curation.services import proposals as services
from hits.domain.states import AssignmentStatus, JobState
from hits.models import Image, Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support import children
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
GOLD = {"left": 7, "top": 4, "width": 10, "height": 12}  # the first box of tests.support.answers


class Squares:
    """Ten boxes that depend on a picture's pixels alone."""

    name = "classical"

    def __init__(self, revision: str = "1", *, fails_after: int | None = None, dies: bool = False) -> None:
        self.revision = revision
        self.seen = 0
        self._fails_after = fails_after
        self._dies = dies

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes; the worker dies, or somebody cancels, when enough pictures were seen."""
        self.seen += len(pictures)
        if self._fails_after is not None and self.seen > self._fails_after:
            if self._dies:
                os._exit(7)
            jobs.cancel_job(job=Job.objects.get(task="curation.propose_boxes"))
        return [self._boxes(picture) for picture in pictures]

    def _boxes(self, picture: Pillow.Image) -> DetectedBoxes:
        rng = np.random.default_rng(int(np.asarray(picture).sum()))
        start = rng.integers(0, 30, (10, 2))
        corners = np.concatenate([start, start + rng.integers(5, 18, (10, 2))], axis=1)
        return DetectedBoxes(corners, np.linspace(1, 0.1, 10))


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    """Forget the detector of the test before."""
    pipeline._load_detector.cache_clear()
    yield
    pipeline._load_detector.cache_clear()


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> Callable[[Squares], Squares]:
    """Return a setter of the detector that is found by whoever loads one."""

    def use(squares: Squares) -> Squares:
        monkeypatch.setattr(pipeline, "get_detector", lambda name, **options: squares)
        return squares

    use(Squares())
    return use


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take two photos at a time."""
    monkeypatch.setattr(pipeline, "BATCH_SIZE", 2)


@pytest.fixture
def small_parts(small_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give three photos to a part."""
    monkeypatch.setattr(pipeline, "PHOTOS_PER_SUBJOB", 3)


def shared_out(project: Project) -> tuple[Job, list[Job]]:
    """Return a job whose photos were handed to parts, and the parts; nobody works on them yet."""
    job = services.request_proposals(project=project, by=None, queue=False)
    current_app.tasks[job.task](job.pk)
    job.refresh_from_db()
    return job, list(job.subjobs.order_by("pk"))


def work_on(job: Job) -> Job:
    """Do what a worker does that is woken for this job."""
    current_app.tasks[job.task](job.pk)
    job.refresh_from_db()
    return job


def run_job(job: Job) -> Job:
    return jobs.run_in_process(job=job)


def proposed(project: Project, **options: Any) -> ProposalRun:
    job = services.request_proposals(
        project=project, by=None, options=services.ProposalOptions(**options), queue=False
    )
    assert run_job(job).state == JobState.DONE, job.error
    return ProposalRun.objects.get(pk=job.args["run"])


def rows(run: ProposalRun) -> list[tuple[int, Any]]:
    return list(run.image_proposals.order_by("image_id").values_list("image_id", "boxes"))


class TestRuns:
    def test_every_available_photo_has_boxes_once(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        images = [make_image(seed) for seed in range(5)]
        Image.objects.filter(pk=images[1].pk).update(taken_down_at="2026-01-01T00:00Z")
        run = proposed(project)
        assert [pk for pk, _ in rows(run)] == [images[n].pk for n in (0, 2, 3, 4)]
        assert (run.images, run.boxes, run.is_complete, run.revision) == (4, 40, True, "1")
        left, top, width, height, score = rows(run)[0][1][0]
        assert min(left, top) >= 0
        assert min(width, height) > 0
        assert score == 1.0
        job = Job.objects.get(task="curation.propose_boxes")
        assert (job.done, job.total, job.result["boxes"]) == (4, 4, 40)

    def test_detector_gets_the_limit(
        self, project: Project, make_image: Callable[..., Image], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_image(1)
        told: list[tuple[str, Any]] = []

        def choose(name: str, **options: Any) -> Squares:
            told.append((name, options))
            return Squares()

        monkeypatch.setattr(pipeline, "get_detector", choose)
        proposed(project, detector="hf:hustvl/yolos-tiny", limit=30, suppress_over=0.7)
        options = {"limit": 30, "suppress_over": 0.7, "revision": ""}
        assert told == [("hf:hustvl/yolos-tiny", options)]  # once for all parts

    def test_cancelled_and_resumed_gives_the_same_rows(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_steps: None
    ) -> None:
        for seed in range(7):
            make_image(seed)
        whole = proposed(project)
        Job.objects.all().delete()
        detector(Squares(fails_after=3))
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        run = ProposalRun.objects.get(pk=job.args["run"])
        assert (job.state, run.is_complete, run.images) == (JobState.CANCELLED, False, 4)
        make_image(99)  # came later: belongs to another run
        second = detector(Squares())
        job = run_job(jobs.resume_job(job=job, queue=False))
        run.refresh_from_db()
        assert job.state == JobState.DONE
        assert second.seen == 3
        assert rows(run) == rows(whole)
        assert (run.images, run.boxes) == (whole.images, whole.boxes)

    def test_boxes_of_other_weights_are_never_mixed(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_steps: None
    ) -> None:
        for seed in range(4):
            make_image(seed)
        detector(Squares(fails_after=1))
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        detector(Squares("2"))
        job = run_job(jobs.resume_job(job=job, queue=False))
        assert job.state == JobState.FAILED
        assert "start a new run" in job.error

    def test_broken_photo_is_named_and_found_boxes_are_kept(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_steps: None
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
        small_steps: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for seed in range(4):
            make_image(seed)
        present, fails_after = "a" * 40, 1
        asked: list[str] = []

        def hub(name: str, *, revision: str, **options: Any) -> Squares:
            asked.append(revision)
            return Squares(revision or present, fails_after=fails_after)

        monkeypatch.setattr(pipeline, "get_detector", hub)
        chosen = services.ProposalOptions("hf:someone/tiny")
        job = run_job(services.request_proposals(project=project, by=None, options=chosen, queue=False))
        assert (job.state, ProposalRun.objects.get().images) == (JobState.CANCELLED, 2)
        present, fails_after = "b" * 40, 99
        pipeline._load_detector.cache_clear()
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
        assert services.store_boxes(run=run, found={image.pk: [[1, 2, 3, 4, 0.5]]}) == 1
        assert services.store_boxes(run=run, found={image.pk: [[9, 9, 9, 9, 0.9]]}) == 0
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


class Threaded(Squares):
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
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_parts: None
    ) -> None:
        images = [make_image(seed) for seed in range(8)]
        Image.objects.filter(pk=images[1].pk).update(taken_down_at="2026-01-01T00:00Z")
        squares = detector(Squares())
        job, parts = shared_out(project)
        assert (job.state, job.done, job.total) == (JobState.WAITING, 0, 7)
        assert [(part.title, part.total) for part in parts] == [
            ("Part 1 of 3", 3),
            ("Part 2 of 3", 3),
            ("Part 3 of 3", 1),
        ]
        places = [(part.args["first"], part.args["last"]) for part in parts]
        assert places == [(images[n].pk, images[m].pk) for n, m in ((0, 3), (4, 6), (7, 7))]
        done = [work_on(part) for part in reversed(parts)]
        assert [(part.state, part.done, part.runs) for part in done] == [
            (JobState.DONE, 1, 1),
            (JobState.DONE, 3, 1),
            (JobState.DONE, 3, 1),
        ]
        job = work_on(job)
        assert (job.state, job.done, job.total, squares.seen) == (JobState.DONE, 7, 7, 7)
        run = ProposalRun.objects.get()
        assert (run.images, run.boxes, run.is_complete) == (7, 70, True)

    def test_order_of_parts_does_not_change_rows(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_steps: None
    ) -> None:
        for seed in range(7):
            make_image(seed)
        whole = proposed(project)
        assert Job.objects.filter(parent__isnull=False).count() == 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "PHOTOS_PER_SUBJOB", 2)
            assert rows(proposed(project)) == rows(whole)
        assert Job.objects.filter(parent__isnull=False).count() == 5

    def test_broken_photo_fails_the_run_after_all_others(
        self, project: Project, make_image: Callable[..., Image], detector: Any, small_parts: None
    ) -> None:
        images = [make_image(seed) for seed in range(7)]
        path = Path(images[3].file.path)
        kept = path.read_bytes()
        path.unlink()
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        assert job.state == JobState.FAILED
        assert "Part 2 of 3: photo-3.png: its file is missing" in job.error
        run = ProposalRun.objects.get()
        assert [pk for pk, _ in rows(run)] == [images[n].pk for n in (0, 1, 2, 4, 5, 6)]
        assert any("photo-3.png: its file is missing" in line.text for line in job.lines.all())
        path.write_bytes(kept)
        squares = detector(Squares())
        job = run_job(jobs.resume_job(job=job, queue=False))
        run.refresh_from_db()
        assert (job.state, job.done, job.total, squares.seen) == (JobState.DONE, 7, 7, 1)
        assert (run.images, run.is_complete) == (7, True)

    def test_broken_photos_are_counted_and_the_first_is_named(
        self,
        project: Project,
        make_image: Callable[..., Image],
        detector: Any,
        small_steps: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(pipeline, "MAX_PHOTOS_LOGGED", 3)
        images = [make_image(seed) for seed in range(9)]
        for image in images[:7]:
            Path(image.file.path).write_bytes(b"no picture")
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        assert [pk for pk, _ in rows(ProposalRun.objects.get())] == [image.pk for image in images[7:]]
        names = ", ".join(f"photo-{seed}.png" for seed in range(5))
        assert (
            f"7 photos of this sub-job cannot be read: {names} and 2 more; fix them and resume" in job.error
        )
        lines = [line.text for line in job.lines.all() if line.text.startswith("photo-")]
        assert [line.partition(":")[0] for line in lines] == ["photo-0.png", "photo-1.png", "photo-2.png"]
        squares = detector(Squares())
        job = run_job(jobs.resume_job(job=job, queue=False))
        assert (job.state, squares.seen) == (JobState.FAILED, 0)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_oversized_photo_counts_as_unreadable(
        self,
        project: Project,
        make_image: Callable[..., Image],
        detector: Any,
        small_steps: None,
        monkeypatch: pytest.MonkeyPatch,
        threads: int,
    ) -> None:
        images = [make_image(seed) for seed in range(5)]

        def opened(image: Image) -> Pillow.Image:
            if image == images[0]:
                raise Pillow.DecompressionBombError("too many pixels")
            return vectors.open_image(image)

        monkeypatch.setattr(pipeline, "open_image", opened)
        monkeypatch.setattr(pipeline, "usable_cores", lambda: threads)
        detector(Threaded())
        job = run_job(services.request_proposals(project=project, by=None, queue=False))
        assert "photo-0.png: cannot be decoded (too many pixels); restore " in job.error
        assert [pk for pk, _ in rows(ProposalRun.objects.get())] == [image.pk for image in images[1:]]

    def test_a_worker_with_other_weights_refuses_its_part(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        make_image(1)
        _, (part,) = shared_out(project)
        detector(Squares("2"))
        pipeline._load_detector.cache_clear()
        assert "this worker has classical 2, and the run is of 1" in work_on(part).error
        assert not ImageProposals.objects.exists()

    def test_replaced_weights_are_reloaded(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        make_image(1)
        assert proposed(project).revision == "1"
        detector(Squares("2"))  # this process still holds the first
        job, (part,) = shared_out(project)
        assert ProposalRun.objects.get(pk=job.args["run"]).revision == "2"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "get_detector", lambda name, **options: Squares("1"))
            pipeline._load_detector.cache_clear()
            pipeline._load_detector(
                pipeline._DetectorRequest("classical", 100, None)
            )  # so does the other worker
        assert work_on(part).state == JobState.DONE

    def test_boxes_of_a_worker_with_older_weights_are_discarded(
        self, project: Project, make_image: Callable[..., Image]
    ) -> None:
        image = make_image(1)
        run = ProposalRun.objects.create(project=project, detector="classical", revision="1")
        services.store_run_facts(run=ProposalRun.objects.get(), revision="2")  # it had no boxes, so it may
        with pytest.raises(Refused, match="its boxes are from classical 2, not 1; start a new run"):
            services.store_boxes(run=run, found={image.pk: [[1, 2, 3, 4, 0.5]]})
        assert not ImageProposals.objects.exists()

    def test_long_revision_can_be_stored_twice(
        self, project: Project, make_image: Callable[..., Image]
    ) -> None:
        image = make_image(1)
        run = ProposalRun.objects.create(project=project, detector="classical")
        services.store_run_facts(run=run, revision="r" * 200)
        services.store_boxes(run=run, found={image.pk: []})
        services.store_run_facts(run=run, revision="r" * 200)

    def test_thread_safe_detector_runs_batches_in_threads(
        self,
        project: Project,
        make_image: Callable[..., Image],
        detector: Any,
        small_steps: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for seed in range(7):
            make_image(seed)
        whole = proposed(project)
        monkeypatch.setattr(pipeline, "usable_cores", lambda: 2)
        threaded = detector(Threaded())
        assert rows(proposed(project)) == rows(whole)
        assert threaded.callers
        assert threading.current_thread().name not in threaded.callers

    def test_options_and_figures_are_stored_separately(
        self, project: Project, make_image: Callable[..., Image], detector: Any
    ) -> None:
        make_image(1)
        run = proposed(project, limit=30)
        assert run.options == asdict(services.ProposalOptions(limit=30))
        assert (run.figures["pairs"], run.figures["solvable"]) == (0, None)


@pytest.mark.django_db(transaction=True)
def test_killed_run_resumes_with_the_same_rows(
    project: Project, make_image: Callable[..., Image], detector: Any, small_steps: None
) -> None:
    for seed in range(7):
        make_image(seed)
    whole = proposed(project)
    detector(Squares(fails_after=4, dies=True))
    job, (part,) = shared_out(project)
    run = ProposalRun.objects.get(pk=job.args["run"])
    assert children.forked(lambda: current_app.tasks[part.task](part.pk)) == 7
    run.refresh_from_db()
    assert (run.images, run.is_complete) == (4, False)
    Job.objects.filter(pk=part.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    pipeline._load_detector.cache_clear()
    second = detector(Squares())
    part = work_on(part)
    assert (part.state, part.runs, part.done, second.seen) == (JobState.DONE, 2, 7, 3)
    job = work_on(job)
    run.refresh_from_db()
    assert (job.state, job.done) == (JobState.DONE, 7)
    assert rows(run) == rows(whole)
    assert (run.images, run.boxes) == (7, 70)


@pytest.mark.django_db(transaction=True)
def test_several_workers_give_the_rows_of_one(
    project: Project, make_image: Callable[..., Image], detector: Any, small_parts: None
) -> None:
    for seed in range(14):
        make_image(seed)
    whole = proposed(project)
    job, parts = shared_out(project)

    def worker() -> None:
        for part in parts:
            work_on(part)

    started = [children.start(worker) for _ in range(2)]
    assert [children.wait(child) for child in started] == [0, 0]
    assert {(part.state, part.runs) for part in job.subjobs.all()} == {(JobState.DONE, 1)}
    assert work_on(job).state == JobState.DONE
    run = ProposalRun.objects.get(pk=job.args["run"])
    assert rows(run) == rows(whole)
    assert (run.images, run.boxes) == (14, 140)


class TestOverlaps:
    def run(self, work: Work, boxes: list[list[float]]) -> ProposalRun:
        run = ProposalRun.objects.create(
            project=work.project, detector="classical", is_complete=True, options={"limit": 100}
        )
        images = Image.objects.filter(project=work.project)
        services.store_boxes(run=run, found={image.pk: boxes for image in images})
        return run

    def test_only_accepted_pairs_are_measured(self, work: Work) -> None:
        pairs = work.observed(work.image(1))
        work.observed(work.image(2), worker="W2", status=AssignmentStatus.SUBMITTED)
        run = self.run(work, [[7, 4, 10, 12, 0.9], [2, 4, 10, 12, 0.8], [2, 4, 10, 6, 0.7]])
        recall = pipeline.measure_run(run=run)
        assert {row.observation_id for row in ProposalOverlap.objects.all()} == {pair.pk for pair in pairs}
        first = ProposalOverlap.objects.get(observation=pairs[0])
        # Drawn at left 2, top 4, 10 × 12: shares 5 columns with the first, all of the second, half of the third.
        assert pairs[0].boxes == [{"left": 2, "top": 4, "width": 10, "height": 12}]
        assert first.ious == [60 / 180, 1.0, 0.5]
        assert first.best == 1.0
        assert (recall.pairs, recall.images) == (3, 1)
        run.refresh_from_db()
        assert proposal_selectors.read_recall(run) == recall

    def test_best_of_several_boxes_counts(self, work: Work) -> None:
        from tests.support.answers import observation

        answer = {"observations": [observation(n, boxes=2) for n in (1, 2, 3)]}
        (pair, *_) = work.observed(work.image(1), answer=answer)
        assert GOLD in pair.boxes
        run = self.run(work, [[7, 4, 10, 12, 0.9]])
        pipeline.measure_run(run=run)
        assert ProposalOverlap.objects.get(observation=pair).ious == [1.0]

    def test_new_pairs_are_measured_once(self, work: Work) -> None:
        image = work.image(1)
        work.observed(image)
        run = self.run(work, [[7, 4, 10, 12, 0.9]])
        pipeline.measure_run(run=run)
        before = list(ProposalOverlap.objects.values_list("pk", "ious"))
        assert proposal_selectors.count_unmeasured_pairs(run) == 0
        work.observed(image, worker="W2")
        assert proposal_selectors.count_unmeasured_pairs(run) == 3
        job = run_job(services.request_overlaps(run=run, by=None, queue=False))
        assert job.state == JobState.DONE
        assert (job.result["pairs"], proposal_selectors.count_unmeasured_pairs(run)) == (6, 0)
        assert list(ProposalOverlap.objects.values_list("pk", "ious"))[:3] == before

    def test_taken_down_photo_is_not_counted(self, work: Work) -> None:
        image = work.image(1)
        work.observed(image)
        run = self.run(work, [[7, 4, 10, 12, 0.9]])
        assert pipeline.measure_run(run=run).pairs == 3
        Image.objects.filter(pk=image.pk).update(taken_down_at="2026-01-01T00:00Z")
        assert pipeline.measure_run(run=run).pairs == 0
        assert list(proposal_selectors.proposals_by_coverage(run, proposal_selectors.WORST)) == []
        assert "".join(proposal_selectors.stream_boxes_json(run, str)) == "{}\n"

    def test_an_unfinished_run_is_not_measured(self, work: Work) -> None:
        work.image(1)
        run = ProposalRun.objects.create(project=work.project, detector="classical")
        with pytest.raises(Conflict, match="is not complete"):
            services.request_overlaps(run=run, by=None)

    def test_photos_are_sorted_by_coverage(self, work: Work) -> None:
        far, near, bare = work.image(1), work.image(2), work.image(3)
        work.observed(far)
        work.observed(near, worker="W2")
        run = ProposalRun.objects.create(
            project=work.project, detector="classical", is_complete=True, options={"limit": 100}
        )
        boxes = {far.pk: [[40, 30, 5, 5, 1]], near.pk: [[2, 5, 10, 12, 1]], bare.pk: [[0, 0, 9, 9, 1]]}
        services.store_boxes(run=run, found=boxes)
        pipeline.measure_run(run=run)
        assert [
            found.image for found in proposal_selectors.proposals_by_coverage(run, proposal_selectors.WORST)
        ] == [
            far,
            near,
            bare,
        ]
        assert [
            found.image for found in proposal_selectors.proposals_by_coverage(run, proposal_selectors.BEST)
        ] == [
            near,
            far,
            bare,
        ]


class TestImport:
    def file(self, tmp_path: Path, content: Any) -> Path:
        path = tmp_path / "image_url2auto_bboxes.json"
        path.write_text(json.dumps(content))
        return path

    def photos(self, make_image: Callable[..., Image]) -> list[Image]:
        images = [make_image(seed) for seed in range(3)]
        for image in images:
            image.source_url = f"https://example.org/{image.pk}.jpg"
            image.save()
        return images

    def test_boxes_are_imported_by_image_address(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        first, second, _ = self.photos(make_image)
        path = self.file(
            tmp_path,
            {
                first.source_url: [[1, 2, 60, 40], [10, 10, 20, 20]],
                "https://example.org/unknown.jpg": [[500, 500, 600, 600]],
                second.source_url: [[30, 30, 50, 40]],
            },
        )
        job = run_job(services.request_proposals_import(project=project, by=None, path=path, queue=False))
        assert job.state == JobState.DONE, job.error
        run = ProposalRun.objects.get()
        assert rows(run) == [
            (first.pk, [[1, 2, 59, 38, None], [10, 10, 10, 10, None]]),
            (second.pk, [[30, 30, 20, 10, None]]),
        ]
        assert (run.detector, run.options["layout"]) == ("file:image_url2auto_bboxes.json", "corners")
        assert run.revision.startswith("sha256:")
        lines = [line.text for line in job.lines.all()]
        assert "2 of 3 photos have boxes; 1 records are about other photos" in lines
        assert any("are read as corners" in line for line in lines)

    def test_download_round_trip(
        self, project: Project, make_image: Callable[..., Image], detector: Any, tmp_path: Path
    ) -> None:
        self.photos(make_image)
        run = proposed(project)
        from curation.versions.plan import image_url

        path = tmp_path / "again.json"
        path.write_text("".join(proposal_selectors.stream_boxes_json(run, image_url)))
        out = io.StringIO()
        call_command(
            "import_proposals", str(path), project=project.slug, json=True, stdout=out, stderr=io.StringIO()
        )
        result = json.loads(out.getvalue())
        assert rows(ProposalRun.objects.get(pk=result["run"])) == rows(run)

    def test_import_finds_project_photos_after_thousands_of_others(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        first = self.photos(make_image)[0]
        others = {f"https://example.org/other/{n}.jpg": [[1, 2, 30, 40]] for n in range(2500)}
        path = self.file(tmp_path, others | {first.source_url: [[10, 10, 60, 40]]})
        job = run_job(services.request_proposals_import(project=project, by=None, path=path, queue=False))
        assert (job.state, job.error) == (JobState.DONE, "")
        assert rows(ProposalRun.objects.get()) == [(first.pk, [[10, 10, 50, 30, None]])]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ({}, "names none of the project's photos"),
            ({"https://example.org/x.jpg": [[9, 9, 4, 4]]}, "names none of the project's photos"),
            ([1], "image_url2auto_bboxes.json: is not an object"),
            ({"URL": [[1, 2, 60]]}, r"record 1 \('https://example.org/\d+.jpg'\): box 1 is \[1, 2, 60\]"),
            ({"URL": [[300, 2, 310, 40]]}, "record 1 .*is not in its image of 64 × 48 pixels"),
        ],
    )
    def test_bad_files_fail_the_job_with_their_line(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path, content: Any, message: str
    ) -> None:
        first = self.photos(make_image)[0]
        if isinstance(content, dict):
            content = {key.replace("URL", first.source_url): value for key, value in content.items()}
        job = services.request_proposals_import(
            project=project, by=None, path=self.file(tmp_path, content), layout="corners", queue=False
        )
        job = run_job(job)
        assert job.state == JobState.FAILED
        assert re.search(message, job.error), job.error
        assert not ImageProposals.objects.exists()

    def test_changed_file_of_the_same_name_is_refused(
        self,
        project: Project,
        make_image: Callable[..., Image],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        first, second, _ = self.photos(make_image)
        monkeypatch.setattr(pipeline, "RECORD_CHUNK_SIZE", 1)
        path = self.file(tmp_path, {first.source_url: [[1, 2, 60, 40]], second.source_url: [[1, 2]]})
        job = run_job(
            services.request_proposals_import(
                project=project, by=None, path=path, layout="corners", queue=False
            )
        )
        assert (job.state, ImageProposals.objects.count()) == (JobState.FAILED, 1)
        self.file(tmp_path, {first.source_url: [[1, 2, 60, 40]], second.source_url: [[1, 2, 50, 40]]})
        job = run_job(jobs.resume_job(job=job, queue=False))
        assert job.state == JobState.FAILED
        assert "start a new run" in job.error


class TestCommands:
    def call(self, name: str, *args: str, **options: Any) -> dict[str, Any]:
        out = io.StringIO()
        call_command(name, *args, json=True, stdout=out, stderr=io.StringIO(), **options)
        found: dict[str, Any] = json.loads(out.getvalue())
        return found

    def test_propose_and_measure(self, work: Work, detector: Any) -> None:
        work.observed(work.image(1))
        result = self.call("propose_boxes", project=work.project.slug)
        assert (result["state"], result["images"], result["boxes"], result["pairs"]) == ("done", 1, 10, 3)
        work.observed(work.image(1), worker="W2")
        assert self.call("propose_boxes", measure=result["run"])["pairs"] == 6

    def test_bad_input_ends_with_2(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        make_image(1)
        for name, args, options, message in (
            ("propose_boxes", (), {"project": "none"}, "--project none: there is no such project"),
            ("propose_boxes", (), {"project": project.slug, "limit": 0}, "limit: 0 is not within"),
            ("propose_boxes", (), {"project": project.slug, "detector": "x"}, "detector 'x' is not known"),
            ("propose_boxes", (), {"measure": 99}, "--measure 99: there is no such run"),
            ("import_proposals", (), {"project": project.slug}, "file: name the file"),
            (
                "import_proposals",
                (str(tmp_path / "no"),),
                {"project": project.slug},
                "no: there is no such file",
            ),
        ):
            with pytest.raises(CommandError, match=message) as raised:
                self.call(name, *args, **options)
            assert raised.value.returncode == 2
        assert not ProposalRun.objects.exists()


class TestPages:
    @pytest.fixture
    def run(self, work: Work, detector: Any) -> ProposalRun:
        for seed in range(3):
            work.observed(work.image(seed), worker=f"W{seed}")
        return proposed(work.project)

    def places(self, run: ProposalRun) -> dict[str, tuple[str, str]]:
        slug = run.project.slug
        return {
            "list": ("get", reverse("curation-proposals", args=[slug])),
            "start": ("post", reverse("curation-proposals", args=[slug])),
            "run": ("get", reverse("curation-proposals-run", args=[slug, run.pk])),
            "measure": ("post", reverse("curation-proposals-measure", args=[slug, run.pk])),
            "download": ("get", reverse("curation-proposals-download", args=[slug, run.pk])),
        }

    @pytest.mark.parametrize("who", ["outsider", "annotator"])
    def test_page_is_404_for_other_users(
        self, client: Client, run: ProposalRun, who: str, request: pytest.FixtureRequest
    ) -> None:
        client.force_login(request.getfixturevalue(who))
        before = Job.objects.count()
        for name, (method, path) in self.places(run).items():
            assert getattr(client, method)(path).status_code == 404, name
        assert Job.objects.count() == before

    def test_anonymous_users_are_redirected_to_sign_in(self, client: Client, run: ProposalRun) -> None:
        for name, (method, path) in self.places(run).items():
            assert getattr(client, method)(path)["Location"].startswith("/sign-in/"), name

    def test_researcher_sees_and_starts_runs(
        self, client: Client, run: ProposalRun, researcher: User
    ) -> None:
        client.force_login(researcher)
        places = self.places(run)
        page = squeezed(client.get(places["list"][1]))
        assert f"Run {run.pk}" in page
        assert "96.2%" in page
        reply = client.post(places["start"][1], {"detector": "classical", "limit": 40})
        assert reply.status_code == 302
        newest = ProposalRun.objects.first()
        assert newest is not None
        assert (newest.options["limit"], newest.created_by) == (40, researcher)
        page = squeezed(client.get(places["list"][1]))
        assert "data-job-url" in page
        assert "Not complete" in page

    def test_post_requires_a_csrf_token(self, run: ProposalRun, researcher: User) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(researcher)
        for method, path in self.places(run).values():
            if method == "post":
                assert client.post(path, {"detector": "classical", "limit": 5}).status_code == 403

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"detector": "model", "limit": 10}, "Enter its hub id"),
            ({"detector": "model", "model": "/srv/weights", "limit": 10}, "Enter its hub id"),
            ({"detector": "model", "model": "./weights", "limit": 10}, "Enter its hub id"),
            ({"detector": "classical", "limit": 0}, "greater than or equal to 1"),
            ({"detector": "file", "limit": 10}, "not one of the available choices"),
        ],
    )
    def test_invalid_forms_explain_the_fix(
        self, client: Client, run: ProposalRun, researcher: User, given: dict[str, Any], message: str
    ) -> None:
        client.force_login(researcher)
        reply = client.post(self.places(run)["start"][1], given)
        assert reply.status_code == 400
        assert message in reply.content.decode()
        assert ProposalRun.objects.count() == 1

    def test_second_concurrent_run_is_refused(
        self, client: Client, run: ProposalRun, researcher: User
    ) -> None:
        client.force_login(researcher)
        path = self.places(run)["start"][1]
        client.post(path, {"detector": "classical", "limit": 5})
        reply = client.post(path, {"detector": "classical", "limit": 5})
        assert reply.status_code == 400
        assert "is running already" in reply.content.decode()

    def test_a_run_shows_photos_with_their_boxes_and_figures(
        self, client: Client, run: ProposalRun, researcher: User
    ) -> None:
        client.force_login(researcher)
        path = self.places(run)["run"][1]
        page = squeezed(client.get(path))
        recall = proposal_selectors.read_recall(run)
        assert recall is not None
        assert f"{100 * (recall.solvable or 0):.1f}%" in page
        worst = proposal_selectors.proposals_by_coverage(run, proposal_selectors.WORST).first()
        assert worst is not None
        left, top, width, height, _ = worst.boxes[0]
        assert f"M{left} {top}h{width}v{height}h-{width}z" in page
        assert page.index(worst.image.name) < page.index(
            proposal_selectors.proposals_by_coverage(run, proposal_selectors.BEST)[0].image.name
        )
        best = squeezed(client.get(path, {"order": "best"}))
        assert best.index(
            proposal_selectors.proposals_by_coverage(run, proposal_selectors.BEST)[0].image.name
        ) < best.index(worst.image.name)
        overlap = ProposalOverlap.objects.filter(best__gt=0).first()
        assert overlap is not None
        assert f'class="iou-text">{overlap.best:.2f}<' in page
        assert " style=" not in page
        assert "<script>" not in page

    def test_queries_do_not_grow_with_photos_or_runs(
        self, client: Client, work: Work, run: ProposalRun, researcher: User
    ) -> None:
        client.force_login(researcher)

        def count(run: ProposalRun, name: str) -> int:
            path = self.places(run)[name][1]
            with CaptureQueriesContext(connection) as queries:
                assert client.get(path).status_code == 200
            return len(queries)

        before = {name: count(run, name) for name in ("list", "run")}
        for seed in range(10, 16):
            work.observed(work.image(seed), worker=f"W{seed}")
        more = proposed(work.project)
        assert {name: count(more, name) for name in ("list", "run")} == before

    def test_new_pairs_can_be_measured_from_the_page(
        self, client: Client, work: Work, run: ProposalRun, researcher: User
    ) -> None:
        client.force_login(researcher)
        places = self.places(run)
        assert "not measured yet" not in squeezed(client.get(places["run"][1]))
        work.observed(work.image(0), worker="W9")
        assert "3 approved pairs were not measured yet" in squeezed(client.get(places["run"][1]))
        assert client.post(places["measure"][1]).status_code == 302
        job = Job.objects.get(task="curation.measure_proposals")
        assert (job.state, job.args["run"], job.created_by) == (JobState.QUEUED, run.pk, researcher)

    def test_download_has_the_published_layout(
        self, client: Client, run: ProposalRun, researcher: User
    ) -> None:
        client.force_login(researcher)
        reply = client.get(self.places(run)["download"][1])
        assert f"image_url2auto_bboxes-run{run.pk}.json" in reply["Content-Disposition"]
        content = json.loads(b"".join(reply.streaming_content))  # type: ignore[attr-defined]
        assert len(content) == 3
        found = run.image_proposals.select_related("image").first()
        assert found is not None
        left, top, width, height, score = found.boxes[0]
        assert content[str(found.image.file.name)][0] == {
            "left": left,
            "top": top,
            "width": width,
            "height": height,
            "score": score,
        }

    def test_download_of_rehearsal_data_is_marked(
        self, client: Client, rehearsal: Project, admin: User, make_image: Callable[..., Image], detector: Any
    ) -> None:
        make_image(1, into=rehearsal)
        run = proposed(rehearsal)
        client.force_login(admin)
        reply = client.get(self.places(run)["download"][1])
        assert "-rehearsal.json" in reply["Content-Disposition"]

    def test_a_run_of_another_project_is_not_found(
        self, client: Client, run: ProposalRun, rehearsal: Project, admin: User
    ) -> None:
        client.force_login(admin)
        for name in ("run", "download"):
            path = reverse(f"curation-proposals-{name}", args=[rehearsal.slug, run.pk])
            assert client.get(path).status_code == 404

    def test_empty_states(
        self, client: Client, project: Project, researcher: User, work: Work, detector: Any
    ) -> None:
        client.force_login(researcher)
        path = reverse("curation-proposals", args=[project.slug])
        assert "No photo yet" in squeezed(client.get(path))
        work.image(1)
        run = proposed(project)
        page = squeezed(client.get(reverse("curation-proposals-run", args=[project.slug, run.pk])))
        assert "Nothing to measure" in page
        assert "No approved pair measured here" in page

    def test_failed_run_shows_its_error(
        self,
        client: Client,
        project: Project,
        researcher: User,
        make_image: Callable[..., Image],
        detector: Any,
    ) -> None:
        Path(make_image(1).file.path).unlink()
        run_job(services.request_proposals(project=project, by=None, queue=False))
        client.force_login(researcher)
        page = squeezed(client.get(reverse("curation-proposals", args=[project.slug])))
        assert "its file is missing" in page
        assert "See the job</a>, where it can be resumed" in page
