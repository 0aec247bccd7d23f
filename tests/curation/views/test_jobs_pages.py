"""The list of a project's curation jobs, with the command lines that ask for the same."""

import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.models import ComparisonRound, ProposalRun
from curation.selectors import jobs as tasks
from curation.services.comparison import RoundOptions, request_comparison_round
from curation.services.dedup import request_deduplication
from curation.services.features import FeatureOptions, request_features
from curation.services.leakage import LeakageOptions, request_leakage_check
from curation.services.proposals import ProposalOptions, request_proposals, request_proposals_measurement
from curation.services.proposals import request_proposals_import as request_proposal_file
from curation.services.source_images import AcceptedSizes, BadImageAction, ImportOptions
from curation.services.sources import request_source_import as request_source
from curation.services.texts import (
    CaptionOptions,
    DuplicateOptions,
    TopicOptions,
    ToxicityOptions,
    request_analysis,
)
from curation.sources.records import MissingImagePolicy
from curation.sources.vcr import EntityCountRule, VcrSource
from curation.sources.visual_genome import VisualGenomeSource
from curation.views import jobs as views
from curation.views.command_lines import command_lines
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from tests.support.curation.fakes import Colours, Letters
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher_client(client: Client, researcher: User) -> Client:
    """Return a signed-in researcher's browser."""
    client.force_login(researcher)
    return client


def _job(project: Project, title: str, state: JobState, task: str = tasks.FEATURES, **more: object) -> Job:
    return Job.objects.create(task=task, title=title, project=project, state=state, **more)


def _list(project: Project) -> str:
    return reverse("curation-jobs", args=[project.slug])


def test_open_jobs_are_followed_and_ended_ones_listed_newest_first(
    researcher_client: Client, project: Project
) -> None:
    _job(project, "Old", JobState.DONE)
    _job(project, "Broken", JobState.FAILED, error="no disk")
    running = _job(project, "Under way", JobState.WAITING)
    part = _job(project, "A part of it", JobState.RUNNING, parent=running)
    _job(project, "Publish tasks", JobState.DONE, task="hits.publish_batch")
    page = squeezed(researcher_client.get(_list(project)))
    assert f'data-job-url="{reverse("api-job", args=[running.pk])}"' in page
    titles = [title for title in re.findall(r"Under way</b>|Broken</a>|Old</a>", page) if title]
    assert titles == ["Under way</b>", "Broken</a>", "Old</a>"]
    assert "no disk" in page
    assert part.title not in page, "parts stand on the page of the whole"
    assert "Publish tasks" not in page, "another section's job"


def test_a_stopped_job_can_be_resumed_from_the_list(researcher_client: Client, project: Project) -> None:
    stopped = _job(project, "Stopped", JobState.CANCELLED, resumable=True)
    _job(project, "For good", JobState.FAILED)
    page = squeezed(researcher_client.get(_list(project)))
    assert page.count("/resume") == 1
    researcher_client.post(reverse("job-resume", args=[stopped.pk]))
    stopped.refresh_from_db()
    assert stopped.state == JobState.QUEUED


def test_ended_jobs_come_by_pages(
    researcher_client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "JOBS_PER_PAGE", 2)
    for number in range(3):
        _job(project, f"Job {number}", JobState.DONE)
    rows = researcher_client.get(_list(project), {"page": "2"}).context["rows"]
    assert [job.title for job, _, _ in rows] == ["Job 0"]


def test_page_without_jobs_explains_itself(researcher_client: Client, project: Project) -> None:
    assert "No job yet" in squeezed(researcher_client.get(_list(project)))


def test_a_job_of_another_project_is_not_listed(
    researcher_client: Client, project: Project, rehearsal: Project
) -> None:
    _job(rehearsal, "Elsewhere", JobState.DONE)
    assert "Elsewhere" not in squeezed(researcher_client.get(_list(project)))


# --- the lines that ask for the same


def again(job: Job) -> Job:
    """End a job, run the line that asks for the same, and return the job that it queued."""
    job.refresh_from_db()
    (line,) = command_lines([job])
    Job.objects.update(state=JobState.DONE)
    call_command(*shlex.split(line)[1:], "--background")
    return Job.objects.filter(task=job.task).exclude(pk=job.pk).get()


DEDUPLICATIONS: list[dict[str, Any]] = [
    {"fraction": 0.9},
    {"fraction": 0.55, "linkage": "ward", "keep": "largest", "seed": 4, "encoder": "clip:/our weights"},
    {"clusters": 2, "keep": "medoid"},
    {"distance": 0.0},
    {},
    {"set_aside": True},
    {"encoder": "clip:a/b", "linkage": "ward"},
]


@pytest.mark.parametrize("options", DEDUPLICATIONS)
def test_a_line_asks_for_the_same_deduplication(work: Work, options: dict[str, Any]) -> None:
    for seed in range(3):
        work.image(seed)
    job = request_deduplication(project=work.project, by=None, **options)
    assert again(job).args == job.args


FEATURES = [
    FeatureOptions(),
    FeatureOptions("regions", "hide", encoder="clip:a/b", precision="fp32", crop="pad", shard_rows=7),
    FeatureOptions("texts", text="clue"),
]


@pytest.mark.parametrize("options", FEATURES)
def test_a_line_asks_for_the_same_features(work: Work, options: FeatureOptions) -> None:
    work.observed(work.image())
    job = request_features(project=work.project, by=None, options=options)
    assert again(job).args == job.args


ROUNDS = [
    (RoundOptions(), ""),
    (RoundOptions(split="val", seed=3), "clip:openai/clip-vit-base-patch32"),
    (
        RoundOptions(
            size=4,
            min_candidates=5,
            max_verbatim=2,
            soft_share=0.625,
            diversity="max",
            weight=2.5,
            promise_weight=0.0,
            linkage="single",
            keep="medoid",
            strictness="at_least",
            same_image="forbidden",
            floor_when="start",
            order="random",
            disqualification="per_image",
            verbatim_cap="at_sampling",
            promise_length="shorter",
        ),
        "clip:/our weights",
    ),
]


@pytest.mark.parametrize(("options", "encoder"), ROUNDS)
def test_a_line_asks_for_the_same_round(work: Work, options: RoundOptions, encoder: str) -> None:
    work.observed(work.image())
    job = request_comparison_round(project=work.project, by=None, options=options, encoder=encoder)
    assert again(job).args == job.args


def test_every_rule_of_a_round_is_put_to_the_test() -> None:
    differing = {
        name
        for options, _ in ROUNDS
        for name, value in asdict(options).items()
        if value != asdict(RoundOptions())[name]
    }
    # A selection has no line: the file that it was read from is not kept.
    assert differing | {"selection"} == set(asdict(RoundOptions()))


def test_a_round_of_a_selection_offers_no_line(work: Work) -> None:
    work.observed(work.image())
    options = RoundOptions(selection={"audits": []})
    job = request_comparison_round(project=work.project, by=None, options=options)
    job.refresh_from_db()
    assert command_lines([job]) == [""]


def test_a_line_asks_for_the_same_check_of_splits(work: Work) -> None:
    for seed, split in enumerate(("train", "test")):
        Image.objects.filter(pk=work.image(seed).pk).update(split=split)
    options = LeakageOptions(threshold=0.91, limit=12, compare="copies", encoder="clip:a/b")
    job = request_leakage_check(project=work.project, options=options)
    assert again(job).args == job.args


@pytest.mark.parametrize(
    "options",
    [
        ProposalOptions(),
        ProposalOptions("hf:hustvl/yolos-tiny", limit=40, suppress_over=0.7),
    ],
)
def test_a_line_asks_for_the_same_boxes(work: Work, options: ProposalOptions) -> None:
    work.image()
    job = request_proposals(project=work.project, by=None, options=options)
    other = again(job)
    first, second = (ProposalRun.objects.get(pk=one.args["run"]) for one in (job, other))
    assert (first.detector, first.options) == (second.detector, second.options)


def test_a_line_imports_the_same_file_of_boxes(work: Work, tmp_path: Path) -> None:
    work.image()
    path = tmp_path / "our boxes.json"
    path.write_text("{}")
    job = request_proposal_file(project=work.project, by=None, path=path, layout="sizes", limit=7)
    (line,) = command_lines([job])
    assert line.startswith("manage.py import_proposals '")
    other = again(job)
    first, second = (ProposalRun.objects.get(pk=one.args["run"]) for one in (job, other))
    assert first.options == second.options == {"file": str(path), "layout": "sizes", "limit": 7}


def test_a_line_measures_the_same_run(work: Work) -> None:
    run = ProposalRun.objects.create(project=work.project, detector="classical", is_complete=True)
    job = request_proposals_measurement(run=run, by=None)
    assert again(job).args == job.args


TEXTS = [
    DuplicateOptions(field="clue", share=0.5, linkage="complete", cap=1, seed=2),
    DuplicateOptions(distance=0.25),
    TopicOptions(topics=4, passes=3, least_texts=1),
    ToxicityOptions(scorer="hf:some/model", label="toxic", sample=0, top=3),
    CaptionOptions(source="regions", against="image", measure="max", most=2, images=0, split=""),
]


@pytest.mark.parametrize("options", TEXTS)
def test_a_line_asks_for_the_same_analysis(work: Work, options: Any) -> None:
    work.observed(work.image())
    job = request_analysis(project=work.project, options=options, by=None)
    assert again(job).args == job.args


def test_a_line_imports_the_same_collection(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "Visual Genome"
    folder.mkdir()
    spec = VisualGenomeSource(
        folder=str(folder),
        image_data="/lists/data.json",
        regions="/lists/regions.json",
        splits={"": "/lists/all.json", "val": "/lists/val.txt"},
        rest="train",
        allowed=("/lists/a b.json", "/lists/c.json"),
        missing=MissingImagePolicy.SKIP,
        limit=9,
    )
    options = ImportOptions(
        BadImageAction.STOP, AcceptedSizes.RESIZED, licence="-- CC BY 4.0 --", dry_run=True
    )
    job = request_source(project=project, spec=spec, options=options)
    assert again(job).args == job.args


def test_a_line_imports_the_same_copy_of_vcr(project: Project, tmp_path: Path) -> None:
    spec = VcrSource(
        folder=str(tmp_path),
        annotations={"train": "/vcr/train.jsonl"},
        min_entities=1,
        count=EntityCountRule.NAMES,
    )
    job = request_source(project=project, spec=spec)
    assert again(job).args == job.args


def test_stopped_job_is_resumed_by_its_command(project: Project, tmp_path: Path) -> None:
    job = request_source(project=project, spec=VcrSource(folder=str(tmp_path)))
    job.state = JobState.FAILED
    run = ProposalRun.objects.create(project=project, detector="file:boxes.json")
    boxes = _job(project, "Boxes", JobState.CANCELLED, tasks.PROPOSALS, resumable=True, args={"run": run.pk})
    assert command_lines([job, boxes]) == [
        f"manage.py import_vcr --resume {job.pk}",
        f"manage.py import_proposals --resume {boxes.pk}",
    ]


def test_without_a_line_that_asks_for_the_same_there_is_none(project: Project) -> None:
    scores = asdict(ToxicityOptions(scorer="file", file="texts/0123", file_name="scores.csv"))
    rows = [
        _job(project, "Unheard of", JobState.DONE, task="curation.unheard_of"),
        _job(project, "Seal", JobState.DONE, task=tasks.SEAL, args={"version": 1}),
        _job(project, "Without its folder", JobState.DONE, task=tasks.IMPORT_SOURCE),
        _job(project, "Run is gone", JobState.DONE, task=tasks.PROPOSALS, args={"run": 99}),
        _job(
            project,
            "Scores of a file",
            JobState.DONE,
            task=tasks.ANALYSE_TEXTS,
            args={"kind": "toxicity", "options": scores},
        ),
        _job(
            project,
            "An option that no flag has",
            JobState.DONE,
            task=tasks.LEAKAGE,
            args={"options": {"metric": "l1"}},
        ),
    ]
    assert command_lines(rows) == [""] * len(rows)


def test_the_page_shows_the_line(researcher_client: Client, work: Work) -> None:
    work.image(1)
    work.image(2)
    request_deduplication(project=work.project, by=None, clusters=1)
    page = squeezed(researcher_client.get(_list(work.project))).replace('</span><span class="word">', " ")
    assert f"manage.py deduplicate_photos --project {work.project.slug} --clusters 1</span></code>" in page


# --- the commands


def test_photos_are_deduplicated_from_the_command_line(
    work: Work, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from curation.pipelines import deduplicate

    monkeypatch.setattr(deduplicate, "get_image_encoder", lambda name: Colours())
    images = [work.image(seed) for seed in range(4)]
    call_command("deduplicate_photos", project=work.project.slug, clusters=3, keep="first", set_aside=True)
    job = Job.objects.get(task=tasks.DEDUPLICATE)
    assert (job.state, job.result["clusters"], job.result["marked"]) == (JobState.DONE, 3, 1)
    assert job.lines.filter(text__contains="4 images in 3 clusters (dense").exists()
    assert "De-duplicate 4 photos" in capsys.readouterr().out
    assert sum(image.duplicate_of_id is not None for image in type(images[0]).objects.all()) == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--share", "2"], "share: 2 is not between 0 and 1"),
        (["--clusters", "9"], "9 is more than the 2 images"),
        (["--share", "0.5", "--distance", "0.1"], "not allowed with argument"),
        (["--project", "nowhere"], "there is no such project"),
        (["--seed", "-1"], "seed: -1 is negative"),
    ],
)
def test_invalid_command_line_gives_advice(work: Work, flags: list[str], message: str) -> None:
    work.image(1)
    work.image(2)
    with pytest.raises((CommandError, Refused), match=message):
        call_command("deduplicate_photos", "--project", work.project.slug, *flags)
    assert not Job.objects.exists()


def test_a_round_is_built_from_the_command_line(
    work: Work, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from curation.pipelines import comparison

    asked: list[str] = []
    monkeypatch.setattr(comparison, "get_round_encoders", lambda name: (asked.append(name), Letters())[1])
    for seed in range(4):
        work.observed(work.image(seed), worker=f"W{seed}", salt="abc"[: seed % 3 + 1] * (seed + 1))
    flags = {"size": 3, "min_candidates": 3, "soft_share": 1.0, "encoder": "clip:some/one"}
    call_command("build_comparison_round", project=work.project.slug, **flags)
    found = ComparisonRound.objects.get()
    job = Job.objects.get(task=tasks.COMPARISON_ROUND)
    assert (job.state, job.resumable, asked) == (JobState.DONE, True, ["clip:some/one"])
    assert job.result["round"] == found.pk
    assert found.sets.count() == job.result["sets"] > 0
    assert (found.options["size"], found.options["keep"], found.options["seed"]) == (3, "random", 0)
    assert "Build comparison sets from 12 pairs: round" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "give --project, or --resume JOB"),
        (["--project", "PROJECT"], "pairs: none is approved yet"),
        (["--project", "PROJECT", "--size", "1"], "size: a set needs at least two"),
        (["--project", "PROJECT", "--seed", "-2"], "seed: -2 is negative"),
        (["--project", "PROJECT", "--order", "best"], "invalid choice: 'best'"),
        (["--project", "PROJECT", "--encoder", "efficientnet-lite0"], "encodes images only"),
    ],
)
def test_invalid_round_command_line_gives_advice(project: Project, flags: list[str], message: str) -> None:
    given = [project.slug if flag == "PROJECT" else flag for flag in flags]
    with pytest.raises(CommandError, match=message):
        call_command("build_comparison_round", *given)
    assert not Job.objects.exists()


def test_a_file_of_boxes_is_not_cut_to_none(work: Work, tmp_path: Path) -> None:
    work.image()
    path = tmp_path / "boxes.json"
    path.write_text("{}")
    with pytest.raises(CommandError, match="limit: 0 is too few"):
        call_command("import_proposals", str(path), "--project", work.project.slug, "--limit", "0")
    assert not ProposalRun.objects.exists()
