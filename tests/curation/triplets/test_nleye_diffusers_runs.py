"""A diffusion pipeline in a folder draws and edits through whole runs, offline: a tiny one with random weights."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User

from curation.models import CallState, GeneratedImage, ModelCall, ModelRun, PromptSet, PromptWay
from curation.pipelines.triplets.image_drawer import read_image
from curation.services.triplets.generation import EditOptions, request_edit
from curation.services.triplets.prompts import WrittenPrompts, store_prompts
from hits.models import Image, Job, Project
from hits.services import projects
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.generation import STEPS, pixels, save_tiny_pipeline
from tests.support.nleye_jobs import call_states, forget_generators, refusal, run_json, states
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_image, store_scenes

pytestmark = pytest.mark.django_db
SIZE = {"width": 64, "height": 64}
BOX = {"left": 16, "top": 8, "width": 24, "height": 32}
MAX_CPU_SECONDS = 60


@pytest.fixture(scope="module")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a saved pipeline, or skip loudly without the package."""
    return save_tiny_pipeline(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def fresh_generators(one_thread: None) -> Iterator[None]:
    """Load each pipeline anew in each test, and keep none of a deleted folder."""
    forget_generators()
    yield
    forget_generators()


def prepare(project: Project, by: User, count: int = 1) -> None:
    """Store kept scenes with approved prompts."""
    rows = store_scenes(nleye_project(project), count)
    keep_scenes(rows, by)
    approve_prompts(rows, by)


def draw(project: Project, folder: Path, **options: Any) -> dict[str, Any]:
    """Draw with the pipeline of a folder."""
    given = {"generator": f"diffusers:{folder}", "steps": STEPS, **SIZE}
    return run_json("generate_images", project=project.slug, **given | options)


def edit(image: GeneratedImage, options: EditOptions, by: User) -> GeneratedImage:
    """Draw one more image from an image."""
    job = jobs.run_in_process(job=request_edit(image=image, options=options, by=by, queue=False))
    assert (job.state, job.error) == ("done", "")
    return GeneratedImage.objects.select_related("image").get(pk=job.result["image"])


def test_a_saved_pipeline_draws_and_edits_offline(
    project: Project, researcher: User, admin: User, pipeline_folder: Path
) -> None:
    started = time.process_time()
    prepare(project, researcher)
    assert draw(project, pipeline_folder, candidates=2, unattended=True)["images"] == 6
    rows = list(GeneratedImage.objects.order_by("pk").select_related("image", "call"))
    first, second = rows[:2]
    assert len({row.image.sha256 for row in rows}) == 6
    assert [(row.role, row.seed) for row in rows[:2]] == [("premise", 0), ("premise", 1)]
    run = ModelRun.objects.get()
    assert run.revision.startswith("sha256:")
    for row in rows:
        assert (row.model, row.revision, row.licence) == (pipeline_folder.name, run.revision, "unknown")
        assert row.call is not None
        assert row.call.reply["parameters"]["num_inference_steps"] == STEPS
        assert row.call.reply["scheduler"] == "DDIMScheduler"
        assert (row.cost_micro, row.flags) == (0, [])

    forget_generators()  # the same seed gives the same bytes after loading again, in another project
    other = projects.create_project(name="Other", by=admin)
    prepare(other, researcher)
    draw(other, pipeline_folder, candidates=2)
    again = GeneratedImage.objects.filter(scene__project=other).order_by("pk").select_related("image")
    assert [row.image.sha256 for row in again] == [first.image.sha256, second.image.sha256]

    assert edit(first, EditOptions("again"), researcher).image.sha256 == first.image.sha256
    varied = edit(first, EditOptions("variation", strength=0.5), researcher)
    assert (varied.strength, varied.parent, varied.seed) == (0.5, first, 0)
    assert varied.image.sha256 not in {row.image.sha256 for row in rows}
    redrawn = edit(first, EditOptions("region", mask=[BOX], prompt="A red ball."), researcher)
    assert (redrawn.mask, redrawn.prompt) == ([BOX], "A red ball.")
    before, after = (np.asarray(pixels(read_image(row))) for row in (first, redrawn))
    differs = (before != after).any(axis=2)
    inside = np.zeros_like(differs)
    inside[8:40, 16:40] = True
    assert not differs[~inside].any()
    assert differs[inside].mean() > 0.5
    assert call_states() == states(settled=11)
    assert time.process_time() - started < MAX_CPU_SECONDS


def test_what_the_model_refuses_is_one_line(
    project: Project, researcher: User, pipeline_folder: Path
) -> None:
    prepare(project, researcher, 2)
    text = refusal(
        "generate_images",
        project=project.slug,
        generator=f"diffusers:{pipeline_folder}",
        steps=STEPS,
        width=68,
        height=64,
    )
    assert "the model refuses the request (`height` and `width` have to be divisible by 8" in text
    assert call_states() == states(failed=2)
    assert ModelRun.objects.get().committed_micro == 0
    scene = PromptSet.objects.earliest("pk").scene
    long = WrittenPrompts(PromptWay.MANUAL, {"premise": "a very long word " * 30, "a": "a", "b": "b"})
    store_prompts(scene=scene, written=long, by=researcher)
    run_json("augment_prompts", project=project.slug, approve_all=True)
    text = refusal(
        "generate_images", project=project.slug, generator=f"diffusers:{pipeline_folder}", steps=STEPS, **SIZE
    )
    assert "prompt: the model reads 77 tokens, and would lose the words" in text
    assert "to go on later" not in text
    failed = ModelCall.objects.filter(state=CallState.FAILED).latest("pk")
    assert "would lose the words" in failed.error
    assert GeneratedImage.objects.count() == 4  # of the scene whose prompt can be read
    assert not ModelCall.objects.filter(state__in=(CallState.SENT, CallState.LOST)).exists()


def test_a_folder_without_a_pipeline_is_one_line_and_nothing_is_stored(
    project: Project, researcher: User, tmp_path: Path, pipeline_folder: Path
) -> None:
    prepare(project, researcher)
    empty, bare = tmp_path / "empty", tmp_path / "bare"
    empty.mkdir()
    bare.mkdir()
    (bare / "model_index.json").write_bytes((pipeline_folder / "model_index.json").read_bytes())
    for folder, message in (
        (empty, "has no model_index.json; give the folder of a diffusers pipeline with its weights"),
        (tmp_path / "missing", "has no model_index.json"),
        (bare, "is no usable text-to-image pipeline"),
    ):
        text = refusal("generate_images", project=project.slug, generator=f"diffusers:{folder}", **SIZE)
        assert message in text
    text = refusal("generate_images", project=project.slug, generator="diffusers:tiny", **SIZE)
    assert "'tiny' is neither a hub id with a revision" in text
    assert not any(table.objects.exists() for table in (ModelRun, ModelCall, Job, Image))


@pytest.mark.parametrize("package", ["diffusers", "openai"])
def test_a_missing_package_is_one_line_and_nothing_is_stored(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    prepare(project, researcher)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("IMAGES_API_URL", "http://127.0.0.1:9/v1")
    generator = {"diffusers": "diffusers:/models/sd", "openai": "openai:tiny-1"}[package]
    given = {"project": project.slug, "generator": generator, "price_unknown": True}
    text = refusal("generate_images", **given, **SIZE)
    assert text.startswith(f"the package {package} is not installed")
    assert not any(table.objects.exists() for table in (ModelRun, ModelCall, Job))


def test_an_imported_image_needs_a_named_generator_to_be_edited(project: Project, researcher: User) -> None:
    (scene,) = store_scenes(nleye_project(project), 1)
    image = store_image(scene, "premise", generator="import")
    with pytest.raises(Refused, match="generator: the image was imported, so name the generator"):
        request_edit(image=image, options=EditOptions("variation"), by=researcher, queue=False)
    with pytest.raises(Refused, match="openai:gpt-image-1: does not support starting from an image"):
        request_edit(
            image=image,
            options=EditOptions("variation", generator="openai:gpt-image-1", price_unknown=True),
            by=researcher,
            queue=False,
        )
    assert not ModelRun.objects.exists()
