"""Runs that draw images: the cap, the order of calls, provenance, prompts that nobody approved, two processes."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.generation.drawing import DrawingGenerator
from curation.generation.images import ImageReply, ImageRequest
from curation.models import (
    GeneratedImage,
    ModelCall,
    ModelRun,
    PromptVerdict,
    Scene,
    SceneReason,
    SceneVerdict,
)
from curation.selectors.triplets.images import scene_images
from curation.services.triplets.generation import GenerationOptions
from curation.services.triplets.image_estimates import estimate_images
from curation.services.triplets.images import pick_image
from curation.services.triplets.prompts import decide_prompts, plain_prompts, store_prompts
from curation.services.triplets.scenes import ReaderDecision, decide_scene
from curation.services.triplets.triplets import build_triplets
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.jobs import jobs
from hits.services.jobs.progress import Cancelled
from tests.support.nleye_jobs import (
    IMAGE_PRICES,
    call_states,
    newest_job,
    refusal,
    run_json,
    set_prices,
    states,
)
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
SIZE = {"width": 64, "height": 64}


@pytest.fixture
def scenes(project: Project, researcher: User) -> list[Scene]:
    """Return two kept scenes with approved prompts."""
    rows = store_scenes(nleye_project(project), 2)
    keep_scenes(rows, researcher)
    approve_prompts(rows, researcher)
    return rows


def draw(project: Project, **options: Any) -> dict[str, Any]:
    """Draw with the test drawings, unless the options say otherwise."""
    return run_json("generate_images", project=project.slug, **SIZE, **options)


def drawn() -> list[tuple[str, int]]:
    """Return role and number of all images in the order in which they were drawn."""
    return list(GeneratedImage.objects.order_by("pk").values_list("role", "number"))


def test_a_cap_of_ten_cents_makes_two_images_of_four_cents_and_is_reported(
    project: Project, scenes: list[Scene]
) -> None:
    set_prices(project, IMAGE_PRICES)
    found = draw(project, candidates=4, cap_usd=0.10)
    assert found["images"] == GeneratedImage.objects.count() == 2
    assert found["committed_micro_usd"] == 80_000
    assert "the next call may cost $0.040000, and $0.020000 of $0.10 are left" in found["stopped"]
    assert call_states() == states(settled=2)
    again = draw(project, candidates=4, cap_usd=0.10)
    assert (again["images"], drawn()) == (2, [("premise", number) for number in (1, 2, 3, 4)])


def test_a_cap_in_calls_counts_where_the_price_is_unknown(project: Project, scenes: list[Scene]) -> None:
    found = draw(project, candidates=2, cap_calls=3)
    assert (found["images"], found["committed_micro_usd"]) == (3, 0)
    assert found["stopped"].startswith("cap: 3 of 3 calls are made")


def test_hypotheses_wait_for_the_pick_of_their_premise_and_are_drawn_from_it(
    project: Project, scenes: list[Scene], researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ImageRequest] = []
    real = DrawingGenerator.generate

    def note(self: DrawingGenerator, request: ImageRequest) -> ImageReply:
        asked.append(request)
        return real(self, request)

    monkeypatch.setattr(DrawingGenerator, "generate", note)
    assert draw(project, candidates=2)["images"] == 4
    assert {role for role, _ in drawn()} == {"premise"}
    first = scenes[0]
    candidate = scene_images([first])[first.pk].candidates["premise"][1]
    pick_image(scene=first, role="premise", image=candidate, by=researcher)
    assert draw(project, candidates=2)["images"] == 4
    with candidate.image.file.open("rb") as file:
        premise = file.read()
    assert [request.reference for request in asked] == [None] * 4 + [premise] * 4
    assert {request.n for request in asked} == {1}
    assert [request.seed for request in asked] == [0, 1] * 4
    texts = {request.prompt for request in asked[4:]}
    assert texts == {first.text("a"), first.text("b")}
    assert not GeneratedImage.objects.filter(scene=scenes[1]).exclude(role="premise").exists()


def test_unattended_takes_the_first_premise(project: Project, scenes: list[Scene]) -> None:
    assert draw(project, candidates=1, unattended=True)["images"] == 6
    for scene in scenes:
        found = scene_images([scene])[scene.pk]
        assert (found.origins["premise"], found.picks["premise"].number) == ("first", 1)


def test_provenance_of_each_picture_is_complete(project: Project, scenes: list[Scene]) -> None:
    set_prices(project, IMAGE_PRICES)
    draw(project, candidates=1, cap_usd=1, unattended=True, seed=7, negative="people", steps=3)
    run = ModelRun.objects.get()
    images = {row.role: row for row in GeneratedImage.objects.filter(scene=scenes[0])}
    assert set(images) == {"premise", "a", "b"}
    for role, row in images.items():
        assert (row.run, row.generator, row.model) == (run, "drawing", run.model)
        assert (row.seed, row.prompt, row.negative_prompt) == (7, scenes[0].text(role), "people")
        assert row.licence == row.image.licence == run.licence != ""
        assert row.revision == run.revision != ""
        assert run.model == "test drawing"
        assert row.cost_micro == row.call.cost_micro == 40_000
        assert row.parameters["width"] == row.parameters["height"] == 64
        assert row.parameters["steps"] == 3
        assert row.call.request["prompt"] == row.prompt
        assert row.prompt_set.scene == scenes[0]
        assert row.image.alt == row.image.credit == ""
        assert not any(word in row.image.name for word in ("premise", "drawing", scenes[0].public_id))
    assert images["a"].parameters["reference"] == images["b"].parameters["reference"] != ""
    assert "reference" not in images["premise"].parameters


def test_a_repeated_run_draws_nothing(project: Project, scenes: list[Scene]) -> None:
    draw(project, candidates=1, unattended=True)
    found = draw(project, candidates=1, unattended=True)
    assert (found["images"], ModelCall.objects.count()) == (0, 6)


def test_prompts_that_nobody_approved_or_somebody_rejected_draw_nothing(
    project: Project, researcher: User
) -> None:
    rows = store_scenes(nleye_project(project), 3)
    keep_scenes(rows, researcher)
    prompts = [store_prompts(scene=row, written=plain_prompts(row), by=researcher) for row in rows]
    assert "none is approved yet" in refusal("generate_images", project=project.slug)
    decide_prompts(prompts=prompts[0], verdict=PromptVerdict.REJECTED, by=researcher)
    decide_prompts(prompts=prompts[1], verdict=PromptVerdict.APPROVED, by=researcher)
    store_prompts(scene=rows[1], written=plain_prompts(rows[1]), by=researcher)  # newer, not approved
    assert "none is approved yet" in refusal("generate_images", project=project.slug)
    decide_prompts(prompts=prompts[2], verdict=PromptVerdict.APPROVED, by=researcher)
    assert draw(project, candidates=1)["images"] == 1
    assert GeneratedImage.objects.get().scene == rows[2]


def test_scenes_and_prompts_that_are_decided_against_meanwhile_draw_nothing_more(
    project: Project, scenes: list[Scene], researcher: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = scenes
    real = DrawingGenerator.generate

    def decide(self: DrawingGenerator, request: ImageRequest) -> ImageReply:
        prompts = first.prompt_sets.get()
        decide_prompts(prompts=prompts, verdict=PromptVerdict.REJECTED, by=researcher)
        decision = ReaderDecision(SceneVerdict.DROP, [SceneReason.UNSAFE])
        decide_scene(scene=second, decision=decision, by=researcher)
        return real(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(DrawingGenerator, "generate", decide)
        found = draw(project, candidates=2, unattended=True)
    assert (found["images"], found["changed_meanwhile"]) == (1, 2)
    assert call_states() == states(settled=1)
    client.force_login(researcher)
    page = client.get(reverse("scene-image-run", args=[project.slug, ModelRun.objects.get().pk]))
    assert "2 scenes changed while the run was drawing" in page.content.decode()


def test_images_that_were_taken_down_are_drawn_again_with_new_seeds(
    project: Project, scenes: list[Scene]
) -> None:
    set_prices(project, IMAGE_PRICES)
    draw(project, candidates=2, cap_usd=1)
    gone = GeneratedImage.objects.get(scene=scenes[0], role="premise", number=1)
    Image.objects.filter(pk=gone.image_id).update(taken_down_at=timezone.now())
    options = GenerationOptions(candidates=2, cap_usd=1)
    estimate = estimate_images(project=project, options=options)
    assert (estimate.scenes, estimate.premises) == (2, 1)
    assert draw(project, candidates=2, cap_usd=0.05)["images"] == 1
    rows = GeneratedImage.objects.filter(scene=scenes[0]).order_by("pk")
    assert [(row.number, row.seed) for row in rows] == [(1, 0), (2, 1), (3, 2)]
    assert draw(project, candidates=2, cap_usd=1)["images"] == 0
    assert call_states() == states(settled=5)


def test_another_premise_has_hypotheses_drawn_beside_it_and_pages_name_those_of_the_old_one(
    project: Project, scenes: list[Scene], researcher: User, client: Client
) -> None:
    scene = scenes[0]
    draw(project, candidates=2)

    def pick(role: str, number: int) -> None:
        image = GeneratedImage.objects.get(scene=scene, role=role, number=number)
        pick_image(scene=scene, role=role, image=image, by=researcher)

    pick("premise", 1)
    assert draw(project, candidates=2)["images"] == 4
    pick("premise", 2)
    assert draw(project, candidates=2)["images"] == 4
    assert draw(project, candidates=2)["images"] == 0
    client.force_login(researcher)
    pick("a", 1)
    pick("b", 3)
    page = squeezed(client.get(reverse("scene-images", args=[project.slug, scene.pk])))
    assert page.count("Other premise") == 4
    assert "Hypothesis a was drawn beside another premise than the picked one." in page
    assert ("premise No. 1" in page, "premise No. 2" in page) == (True, True)
    (triplet,) = build_triplets(project=project, by=researcher).triplets
    page = squeezed(client.get(reverse("image-triplet", args=[project.slug, triplet.pk])))
    label = "Hypothesis 1" if triplet.first == "a" else "Hypothesis 2"
    assert f"{label} was drawn beside another premise than this one" in page


def test_cancelling_keeps_what_is_stored_and_resuming_goes_on(
    project: Project, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = DrawingGenerator.generate, []

    def cancel_in_the_third(self: DrawingGenerator, request: ImageRequest) -> ImageReply:
        count.append(request)
        if len(count) == 3:
            jobs.cancel_job(job=newest_job())
        return real(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(DrawingGenerator, "generate", cancel_in_the_third)
        message = refusal("generate_images", project=project.slug, candidates=4, **SIZE)
    job = newest_job()
    assert message == f"Draw images with drawing: cancelled; to resume: --resume {job.pk}"
    assert job.state == JobState.CANCELLED
    assert GeneratedImage.objects.count() == 3
    assert call_states() == states(settled=3)
    found = run_json("generate_images", resume=job.pk)
    assert found["images"] == GeneratedImage.objects.count() == 8
    assert call_states() == states(settled=8)


def test_a_resumed_run_gets_a_higher_cap_and_another_commands_job_does_not(
    project: Project, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_prices(project, IMAGE_PRICES)

    def cancel(*_: Any) -> None:
        raise Cancelled("cancelled")

    with monkeypatch.context() as patch:
        patch.setattr("curation.pipelines.triplets.generate_images.load_drawer", cancel)
        refusal("generate_images", project=project.slug, candidates=2, cap_usd=0.05, **SIZE)
    job = newest_job()
    assert "belongs to another command" in refusal("augment_prompts", resume=job.pk, cap_usd=9)
    assert ModelRun.objects.get().cap_micro == 50_000
    assert run_json("generate_images", resume=job.pk, cap_usd=0.16)["images"] == 4
    assert ModelRun.objects.get().cap_micro == 160_000
    assert "cannot be resumed" in refusal("generate_images", resume=job.pk, cap_usd=9)
    assert ModelRun.objects.get().cap_micro == 160_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": 0}, "candidates: 0; use 1 to 24"),
        ({"candidates": 25}, "candidates: 25; use 1 to 24"),
        ({"width": 32}, "width: 32 pixels; use 64 to 4,096"),
        ({"seed": -1}, "seed: -1; use 0 to"),
        ({"steps": 0}, "steps: "),
        ({"cap_calls": 0}, "cap_calls: "),
        ({"cap_usd": -1.0}, "cap: -1 dollars; use 0 to 1,000,000"),
        ({"cap_usd": float("nan")}, "cap: nan dollars; use 0 to 1,000,000"),
        (
            {"cap_usd": 0.039},
            "cap: one image of drawing costs $0.0400, and the cap is $0.039; raise it (--cap-usd)",
        ),
        ({"generator": "import"}, "generator: import draws nothing; use import_generated FOLDER"),
        ({"generator": "dall-e"}, "generator: 'dall-e' is not known; use drawing"),
        ({"guidance": float("nan")}, "guidance: nan; use a number from 0 on"),
    ],
)
def test_bad_options_are_one_line_and_nothing_is_stored(
    project: Project, scenes: list[Scene], options: dict[str, Any], message: str
) -> None:
    set_prices(project, IMAGE_PRICES)
    given = {"project": project.slug, "cap_usd": 1.0, **SIZE, **options}
    assert message in refusal("generate_images", **given)
    assert not any(table.objects.exists() for table in (ModelRun, ModelCall, Job, Image))
