"""Recall, import, commands and pages of runs of box proposals."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.models import ImageProposals, ProposalOverlap, ProposalRun
from curation.pipelines import proposals as pipeline
from curation.selectors import proposals as proposal_selectors
from curation.services import proposals as services
from hits.domain.states import AssignmentStatus, JobState
from hits.models import Image, Job, Project
from hits.services.errors import Conflict
from hits.services.jobs import jobs
from tests.support.curation.proposal_runs import list_boxes, make_run, run_job
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
GOLD = {"left": 7, "top": 4, "width": 10, "height": 12}  # the first box of tests.support.answers


class TestOverlaps:
    def run(self, work: Work, boxes: list[list[float]]) -> ProposalRun:
        run = ProposalRun.objects.create(
            project=work.project, detector="classical", is_complete=True, options={"limit": 100}
        )
        images = Image.objects.filter(project=work.project)
        services.store_missing_boxes(run=run, found={image.pk: boxes for image in images})
        return run

    def test_only_accepted_pairs_are_measured(self, work: Work) -> None:
        pairs = work.observed(work.image(1))
        work.observed(work.image(2), worker="W2", status=AssignmentStatus.SUBMITTED)
        run = self.run(work, [[7, 4, 10, 12, 0.9], [2, 4, 10, 12, 0.8], [2, 4, 10, 6, 0.7]])
        recall = pipeline.measure_run_recall(run=run)
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
        pipeline.measure_run_recall(run=run)
        assert ProposalOverlap.objects.get(observation=pair).ious == [1.0]

    def test_new_pairs_are_measured_once(self, work: Work) -> None:
        image = work.image(1)
        work.observed(image)
        run = self.run(work, [[7, 4, 10, 12, 0.9]])
        pipeline.measure_run_recall(run=run)
        before = list(ProposalOverlap.objects.values_list("pk", "ious"))
        assert proposal_selectors.count_unmeasured_pairs(run) == 0
        work.observed(image, worker="W2")
        assert proposal_selectors.count_unmeasured_pairs(run) == 3
        job = run_job(services.request_proposals_measurement(run=run, by=None, queue=False))
        assert job.state == JobState.DONE
        assert (job.result["pairs"], proposal_selectors.count_unmeasured_pairs(run)) == (6, 0)
        assert list(ProposalOverlap.objects.values_list("pk", "ious"))[:3] == before

    def test_taken_down_photo_is_not_counted(self, work: Work) -> None:
        image = work.image(1)
        work.observed(image)
        run = self.run(work, [[7, 4, 10, 12, 0.9]])
        assert pipeline.measure_run_recall(run=run).pairs == 3
        Image.objects.filter(pk=image.pk).update(taken_down_at="2026-01-01T00:00Z")
        assert pipeline.measure_run_recall(run=run).pairs == 0
        assert list(proposal_selectors.proposals_by_coverage(run, proposal_selectors.WORST)) == []
        assert "".join(proposal_selectors.stream_boxes_json(run, str)) == "{}\n"

    def test_an_unfinished_run_is_not_measured(self, work: Work) -> None:
        work.image(1)
        run = ProposalRun.objects.create(project=work.project, detector="classical")
        with pytest.raises(Conflict, match="is not complete"):
            services.request_proposals_measurement(run=run, by=None)

    def test_photos_are_sorted_by_coverage(self, work: Work) -> None:
        far, near, bare = work.image(1), work.image(2), work.image(3)
        work.observed(far)
        work.observed(near, worker="W2")
        run = ProposalRun.objects.create(
            project=work.project, detector="classical", is_complete=True, options={"limit": 100}
        )
        boxes = {far.pk: [[40, 30, 5, 5, 1]], near.pk: [[2, 5, 10, 12, 1]], bare.pk: [[0, 0, 9, 9, 1]]}
        services.store_missing_boxes(run=run, found=boxes)
        pipeline.measure_run_recall(run=run)
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
        assert list_boxes(run) == [
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
        run = make_run(project)
        from curation.versions.plan import image_url

        path = tmp_path / "again.json"
        path.write_text("".join(proposal_selectors.stream_boxes_json(run, image_url)))
        out = io.StringIO()
        call_command(
            "import_proposals", str(path), project=project.slug, json=True, stdout=out, stderr=io.StringIO()
        )
        result = json.loads(out.getvalue())
        assert list_boxes(ProposalRun.objects.get(pk=result["run"])) == list_boxes(run)

    def test_import_finds_project_photos_after_thousands_of_others(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        first = self.photos(make_image)[0]
        others = {f"https://example.org/other/{n}.jpg": [[1, 2, 30, 40]] for n in range(2500)}
        path = self.file(tmp_path, others | {first.source_url: [[10, 10, 60, 40]]})
        job = run_job(services.request_proposals_import(project=project, by=None, path=path, queue=False))
        assert (job.state, job.error) == (JobState.DONE, "")
        assert list_boxes(ProposalRun.objects.get()) == [(first.pk, [[10, 10, 50, 30, None]])]

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
            ("import_proposals", (), {"project": project.slug}, "file: give the file"),
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
        return make_run(work.project)

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
            ({"detector": "model", "limit": 10}, "Enter the model’s hub id"),
            ({"detector": "model", "model": "/srv/weights", "limit": 10}, "Enter the model’s hub id"),
            ({"detector": "model", "model": "./weights", "limit": 10}, "Enter the model’s hub id"),
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
        number = 1 + [found.pk for found in overlap.proposals.overlaps.all()].index(overlap.pk)
        assert f'class="pair-number">{number}<' in page
        assert f"{overlap.best:.2f}" in page
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
        more = make_run(work.project)
        assert {name: count(more, name) for name in ("list", "run")} == before

    def test_new_pairs_can_be_measured_from_the_page(
        self, client: Client, work: Work, run: ProposalRun, researcher: User
    ) -> None:
        client.force_login(researcher)
        places = self.places(run)
        assert "not been measured yet" not in squeezed(client.get(places["run"][1]))
        work.observed(work.image(0), worker="W9")
        assert "3 approved pairs have not been measured yet" in squeezed(client.get(places["run"][1]))
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
        run = make_run(rehearsal)
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
        run = make_run(project)
        page = squeezed(client.get(reverse("curation-proposals-run", args=[project.slug, run.pk])))
        assert "Nothing to measure" in page
        assert "No approved pair is measured on this photo" in page

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
        assert "You can resume the job on" in page
