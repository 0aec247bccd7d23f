"""What scenes wait for on their way to three picked images, what a run would draw, and the import of a zip."""

import io
import zipfile
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.utils import timezone

from curation.models import GeneratedImage, ImageTriplet, Scene
from curation.selectors.triplets.image_queue import ImageStep, image_queue, missing_images
from curation.services.triplets.generation import GenerationOptions
from curation.services.triplets.image_estimates import edit_price, estimate_images
from curation.services.triplets.image_imports import request_image_import
from curation.services.triplets.images import pick_image, release_image
from curation.services.triplets.settings import SettingsChange, change_settings
from curation.services.triplets.triplets import build_triplets
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import BadFile, Refused
from hits.services.jobs.jobs import run_in_process
from tests.support import nleye_stored as stored
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
PRICES = """
[images."openai:some-model"]
usd_per_image = 0.04
usd_per_million_input_tokens = 10
tokens_per_image = 1000
"""


@pytest.fixture
def scene(project: Project, researcher: User) -> Scene:
    (found,) = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes([found], researcher)
    return found


def step(scene: Scene) -> ImageStep:
    return image_queue([scene])[0].step


def test_scene_goes_from_prompts_to_a_triplet(scene: Scene, researcher: User) -> None:
    assert step(scene) is ImageStep.PROMPTS
    stored.approve_prompts([scene], researcher)
    assert step(scene) is ImageStep.PREMISE_IMAGES
    premise = stored.store_image(scene, "premise")
    assert step(scene) is ImageStep.PREMISE_PICK
    pick_image(scene=scene, role="premise", image=premise, by=researcher)
    assert step(scene) is ImageStep.HYPOTHESIS_IMAGES
    a = stored.store_image(scene, "a")
    assert step(scene) is ImageStep.HYPOTHESIS_IMAGES
    b = stored.store_image(scene, "b")
    assert step(scene) is ImageStep.HYPOTHESIS_PICKS
    pick_image(scene=scene, role="a", image=a, by=researcher)
    pick_image(scene=scene, role="b", image=b, by=researcher)
    assert step(scene) is ImageStep.READY
    build_triplets(project=scene.project, by=researcher)
    assert step(scene) is ImageStep.BUILT
    other = stored.store_image(scene, "b", seed=1)
    pick_image(scene=scene, role="b", image=other, by=researcher)
    assert step(scene) is ImageStep.READY
    Image.objects.filter(pk=premise.image_id).update(taken_down_at=timezone.now())
    assert step(scene) is ImageStep.PREMISE_IMAGES
    assert ImageTriplet.objects.count() == 1


def test_flagged_images_do_not_count_until_they_are_released(scene: Scene, researcher: User) -> None:
    stored.approve_prompts([scene], researcher)
    flagged = stored.store_image(scene, "premise", flags=["safety checker"])
    (row,) = image_queue([scene])
    assert (row.step, row.hidden, row.candidates["premise"]) == (ImageStep.PREMISE_IMAGES, 1, 0)
    release_image(image=flagged, is_safe=True, by=researcher)
    (row,) = image_queue([scene])
    assert (row.step, row.hidden, row.candidates["premise"]) == (ImageStep.PREMISE_PICK, 0, 1)


def test_queries_do_not_grow_with_scenes_and_images(
    project: Project, researcher: User, django_assert_num_queries: object
) -> None:
    scenes = stored.store_scenes(stored.nleye_project(project), 2)
    stored.keep_scenes(scenes, researcher)
    stored.pick_images(scenes, researcher)
    with django_assert_num_queries(5):  # type: ignore[operator]
        image_queue(scenes)
    more = stored.store_scenes(project, 6)
    stored.pick_images(more, researcher)
    stored.store_image(more[0], "a", seed=3, flags=["safety checker"])
    with django_assert_num_queries(6):  # type: ignore[operator] - the releases of flagged images
        image_queue([*scenes, *more])


def test_estimate_counts_what_is_missing_and_prices_references(scene: Scene, researcher: User) -> None:
    project = scene.project
    change_settings(project=project, change=SettingsChange(prices=PRICES), by=researcher)
    (prompts,) = stored.approve_prompts([scene], researcher)
    premise = stored.store_image(scene, "premise")  # of no prompts, so it does not count
    options = GenerationOptions("openai:some-model", candidates=3, cap_usd=1)
    found = estimate_images(project=project, options=options)
    assert (found.scenes, found.premises, found.hypotheses, found.waiting) == (1, 3, 6, 6)
    # A byte counts as a token, and a message as 32; a reference image as 1,000 tokens. $10 a million tokens.
    sizes = {role: len(f"{prompts.prompt(role)}\n".encode()) + 32 for role in ("premise", "a", "b")}
    tokens = [3 * sizes["premise"], 3 * (sizes["a"] + 1000), 3 * (sizes["b"] + 1000)]
    assert found.total == 9 * 40_000 + 10 * sum(tokens)
    assert found.price == 40_000 + 10 * (max(sizes["a"], sizes["b"]) + 1000)
    pick_image(scene=scene, role="premise", image=premise, by=researcher)
    assert estimate_images(project=project, options=options).waiting == 0
    assert missing_images(project, 1)[0][1] == {"premise": 1, "a": 1, "b": 1}


def test_unknown_price_is_refused_or_accepted_as_unknown(scene: Scene, researcher: User) -> None:
    stored.approve_prompts([scene], researcher)
    with pytest.raises(Refused, match="the price of an image is unknown"):
        estimate_images(project=scene.project, options=GenerationOptions("openai:other"))
    options = GenerationOptions("openai:other", price_unknown=True)
    assert estimate_images(project=scene.project, options=options).total is None
    assert estimate_images(project=scene.project, options=GenerationOptions()).total == 0
    image = stored.store_image(scene, "premise", generator="openai:other")
    assert edit_price(image, "again") is None
    assert edit_price(image, "again", "drawing") == 0


def zipped(scene: Scene, manifest: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mine/manifest.csv", manifest)
        for number, name in enumerate(("premise", "hypothesis1")):
            archive.writestr(f"mine/{scene.public_id}/{name}.png", picture(64, 64, seed=number))
    return buffer.getvalue()


def imported(scene: Scene, data: bytes) -> Job:
    job = request_image_import(project=scene.project, by=None, called="ours.zip", blocks=[data], queue=False)
    return run_in_process(job=job)


def test_uploaded_zip_is_imported_by_a_job_and_deleted(
    scene: Scene, settings: LazySettings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    header = "scene_id,model,licence,prompt,seed\n"
    job = imported(scene, zipped(scene, f"{header}{scene.public_id},Midjourney 7,unknown,a lamp,7\n"))
    assert (job.state, job.result["new"], job.total) == (JobState.DONE, 2, 4)
    rows = GeneratedImage.objects.filter(scene=scene).order_by("pk")
    assert [(row.role, row.model, row.licence, row.seed) for row in rows] == [
        ("premise", "Midjourney 7", "unknown", 7),
        ("a", "Midjourney 7", "unknown", 7),
    ]
    assert not list((tmp_path / "uploads").iterdir())


def test_bad_zip_is_named_as_it_was_called(scene: Scene, settings: LazySettings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    header = "scene_id,model,licence\n"
    job = imported(scene, zipped(scene, f"{header}{scene.public_id},Midjourney 7,\n"))
    assert job.state == JobState.FAILED
    assert "manifest.csv, line 2, column licence: is empty" in job.error
    assert "ours.zip: is not a complete zip" in imported(scene, b"no zip").error
    assert not GeneratedImage.objects.exists()
    assert not list((tmp_path / "uploads").iterdir())
    with pytest.raises(BadFile, match=r"ours\.rar: is no zip"):
        request_image_import(project=scene.project, by=None, called="ours.rar", blocks=[])
