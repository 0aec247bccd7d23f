"""The pages of generated images: who may see them, queue, picks, one more candidate, runs, imports, rounds."""

import re
import time
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.evaluation.image_figures import StyleScale
from curation.models import CallState, GeneratedImage, ImagePick, ModelCall, ModelRun, RunPurpose, Scene
from curation.selectors.triplets.images import scene_images
from curation.services.image_files import measure_file
from curation.services.triplets.generation import GenerationOptions, request_images
from curation.services.triplets.images import ImageOrigin, Provenance, store_generated_image
from curation.services.triplets.model_calls import (
    CallReply,
    PlannedCall,
    RunPlan,
    create_run,
    lose_calls,
    reserve_call,
    settle_call,
)
from hits.domain.states import JobState
from hits.models import Batch, Image, Job, Project
from hits.services import projects
from hits.services.jobs.jobs import run_in_process
from tests.support import nleye_stored as stored
from tests.support.market import fund
from tests.support.nleye_jobs import set_prices
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
PRICES = """[images."openai:tiny-1"]
usd_per_image = 0.04
licence = "CC0"
"""


@pytest.fixture
def console(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


@pytest.fixture
def scene(project: Project, researcher: User) -> Scene:
    """A kept scene with approved prompts and two candidates of each role."""
    (found,) = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes([found], researcher)
    stored.approve_prompts([found], researcher)
    for role in stored.ROLES:
        for seed in range(2):
            stored.store_image(found, role, seed=seed)
    return found


def url(scene: Scene, name: str, *more: Any) -> str:
    return reverse(name, args=[scene.project.slug, *more])


def candidates(scene: Scene, role: str = "premise") -> list[GeneratedImage]:
    return list(GeneratedImage.objects.filter(scene=scene, role=role).order_by("number"))


def drawn_image(scene: Scene, **more: Any) -> GeneratedImage:
    """Return a test drawing of hypothesis a with seed 3; ``more`` is provenance."""
    provenance = {"generator": "drawing", "prompt": "A ball.", "seed": 3}
    return store_generated_image(
        scene=scene,
        role="a",
        image=candidates(scene, "a")[0].image,
        provenance=Provenance(**provenance | more),
        origin=ImageOrigin(),
    )


def pick(console: Client, scene: Scene, role: str, image: Any, seen: Any = None) -> Any:
    """Send a pick as the page of the scene would; without ``seen``, that of a fresh page."""
    fresh = scene_images([scene])[scene.pk].seen if seen is None else seen
    data = {"role": role, "candidate": "" if image is None else image, "seen": fresh}
    return console.post(url(scene, "scene-image-pick", scene.pk), data, follow=True)


def a_run(scene: Scene, researcher: User) -> ModelRun:
    """A failed run with a call in each state."""
    plan = RunPlan(RunPurpose.IMAGES, "openai:tiny-1", 400_000, None, {"candidates": 4, "seed": 0})
    run = create_run(project=scene.project, plan=plan, by=researcher)
    run.job = Job.objects.create(
        project=scene.project,
        task="curation.generate_images",
        title="Draw images with openai:tiny-1",
        state=JobState.FAILED,
        error="the server answers 429 without end",
        resumable=True,
        args={"run": run.pk},
    )
    run.save()
    calls = []
    for number in range(1, 5):
        planned = PlannedCall(f"key{number}", f"image {scene.public_id} 7 premise {number}", 40_000)
        calls.append(reserve_call(run=run, planned=planned))
    settle_call(call=calls[0], reply=CallReply(seconds=2.5))
    ModelCall.objects.filter(pk=calls[1].pk).update(
        state=CallState.REFUSED.value, cost_micro=0, error="it shows a weapon"
    )
    ModelCall.objects.filter(pk=calls[2].pk).update(
        state=CallState.FAILED.value, cost_micro=40_000, error="the reply is no picture"
    )
    lose_calls(run=run)
    run.refresh_from_db()
    return run


def places(scene: Scene, researcher: User) -> dict[str, str]:
    """Every address of the pages of images, with the method that it takes."""
    image, run = candidates(scene)[0], a_run(scene, researcher)
    return {
        url(scene, "scene-image-list"): "get",
        url(scene, "scene-image-run-new"): "get",
        url(scene, "scene-image-import"): "post",
        url(scene, "scene-image-ask"): "get",
        url(scene, "scene-images", scene.pk): "get",
        url(scene, "scene-image-pick", scene.pk): "post",
        url(scene, "scene-image", image.pk): "get",
        url(scene, "scene-image-release", image.pk): "post",
        url(scene, "scene-image-run", run.pk): "get",
        url(scene, "scene-image-run-resume", run.pk): "post",
    }


def test_every_address_is_closed_to_others(
    client: Client, scene: Scene, researcher: User, outsider: User, annotator: User
) -> None:
    from curation.urls_triplets import urlpatterns

    found = places(scene, researcher)
    names = {pattern.name for pattern in urlpatterns if str(pattern.name).startswith("scene-image")}
    assert len(found) == len(names)
    for place, method in found.items():
        assert getattr(Client(), method)(place).status_code == 302, place
        for stranger in (outsider, annotator):
            client.force_login(stranger)
            assert getattr(client, method)(place).status_code == 404, place
    client.force_login(researcher)
    guarded = Client(enforce_csrf_checks=True)
    guarded.force_login(researcher)
    for place, method in found.items():
        expected = 200 if method == "get" else 405
        assert client.get(place).status_code == expected, place
        if method == "post":
            assert guarded.post(place).status_code == 403, place
    Project.objects.filter(pk=scene.project_id).update(family="sherlock")
    for place, method in found.items():
        assert getattr(client, method)(place).status_code == 404, place


def test_reading_the_pages_writes_nothing(console: Client, scene: Scene, researcher: User) -> None:
    found = [place for place, method in places(scene, researcher).items() if method == "get"]

    def counts() -> list[int]:
        tables = (GeneratedImage, ImagePick, ModelRun, ModelCall, Job, Batch, Image)
        return [table.objects.count() for table in tables]

    before = counts()
    for place in found:
        console.get(place)
    assert counts() == before


def test_queue_shows_what_each_scene_waits_for(console: Client, scene: Scene, researcher: User) -> None:
    bare, *_ = stored.store_scenes(scene.project, 1)
    stored.keep_scenes([bare], researcher)
    text = squeezed(console.get(url(scene, "scene-image-list")))
    assert "1 scene waits for the pick of a premise." in text
    assert "1 scene waits for approved prompts." in text
    assert "Pick the premise; the hypotheses are drawn after that" in text
    only = squeezed(console.get(url(scene, "scene-image-list"), {"step": "prompts"}))
    assert f"Scene {bare.pk}</b>" in only
    assert f"Scene {scene.pk}</b>" not in only


def test_empty_queue_leads_to_the_scenes(console: Client, project: Project) -> None:
    stored.nleye_project(project)
    assert "No kept scene yet" in squeezed(console.get(reverse("scene-image-list", args=[project.slug])))


def test_picks_are_stored_taken_back_and_refused_on_a_stale_page(console: Client, scene: Scene) -> None:
    first, second = candidates(scene)
    assert "Premise: picked." in squeezed(pick(console, scene, "premise", first.pk))
    stale = squeezed(pick(console, scene, "premise", second.pk, seen=0))
    assert "somebody picked an image after you opened the page; reload the page" in stale
    assert scene_images([scene])[scene.pk].picks["premise"] == first
    assert "the pick is taken back" in squeezed(pick(console, scene, "premise", None))
    assert "premise" not in scene_images([scene])[scene.pk].picks
    for bad in (candidates(scene, "a")[0].pk, 10**6, "x1"):
        assert "Not picked: image:" in squeezed(pick(console, scene, "premise", bad))
    assert "Not picked: role:" in squeezed(pick(console, scene, "c", None))
    without = console.post(
        url(scene, "scene-image-pick", scene.pk), {"role": "premise", "candidate": first.pk}
    )
    assert without.status_code == 302
    assert "premise" not in scene_images([scene])[scene.pk].picks, "a page that tells no newest pick is stale"


def test_an_image_that_was_taken_down_is_neither_shown_nor_picked(console: Client, scene: Scene) -> None:
    image = candidates(scene)[0]
    Image.objects.filter(pk=image.image_id).update(taken_down_at=timezone.now())
    assert "was taken down" in squeezed(pick(console, scene, "premise", image.pk))
    assert not ImagePick.objects.exists()
    text = squeezed(console.get(url(scene, "scene-images", scene.pk)))
    assert f'id="candidate-{image.pk}"' not in text
    assert console.get(url(scene, "scene-image", image.pk)).status_code == 404


def test_another_projects_scene_image_and_run_are_absent(scene: Scene, researcher: User, admin: User) -> None:
    run = a_run(scene, researcher)
    other = stored.nleye_project(projects.create_project(name="Other scenes", by=admin))
    keys = {
        "scene-images": scene.pk,
        "scene-image": candidates(scene)[0].pk,
        "scene-image-run": run.pk,
    }
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    for name, key in keys.items():
        assert root.get(reverse(name, args=[other.slug, key])).status_code == 404
        assert root.get(reverse(name, args=[scene.project.slug, key])).status_code == 200


def test_page_shows_where_each_candidate_comes_from(console: Client, scene: Scene) -> None:
    parent = candidates(scene, "a")[0]
    drawn_image(
        scene,
        generator="openai:tiny-1",
        model="tiny-1-2026",
        seed=None,
        revised_prompt="A red ball on grass.",
        parent=parent,
        strength=0.6,
        mask=[{"left": 0, "top": 0, "width": 9, "height": 9}],
        cost_micro=41_250,
        seconds=12.34,
    )
    text = squeezed(console.get(url(scene, "scene-images", scene.pk)))
    for fact in (
        "from No. 1",
        "tiny-1-2026",
        "A red ball on grass.",
        "1 box",
        "0.6",
        "12.3 s",
        "$0.041250",
        "seed not told",
    ):
        assert fact in text, fact


def test_flagged_image_is_hidden_until_a_person_releases_it(console: Client, scene: Scene) -> None:
    image = stored.store_image(scene, "premise", seed=5, flags=["safety checker"])
    here = url(scene, "scene-images", scene.pk)
    assert "Hidden: safety checker" in squeezed(console.get(here))
    assert "hidden until a person releases it" in squeezed(pick(console, scene, "premise", image.pk))
    assert "Hidden: safety checker" in squeezed(console.get(url(scene, "scene-image", image.pk)))
    release = url(scene, "scene-image-release", image.pk)
    assert "stays hidden" in squeezed(console.post(release, {"safe": "no"}, follow=True))
    assert "Hidden: safety checker" in squeezed(console.get(here))
    assert "The image is shown." in squeezed(
        console.post(release, {"safe": "yes", "note": "paint"}, follow=True)
    )
    assert "Hidden: safety checker" not in squeezed(console.get(here))
    assert "Premise: picked." in squeezed(pick(console, scene, "premise", image.pk))
    unflagged = url(scene, "scene-image-release", candidates(scene)[0].pk)
    assert "nothing flagged it" in squeezed(console.post(unflagged, {"safe": "yes"}, follow=True))


def test_24_candidates_a_role_load_fast_with_a_constant_number_of_queries(
    console: Client, scene: Scene, django_assert_max_num_queries: Any
) -> None:
    here = url(scene, "scene-images", scene.pk)
    with django_assert_max_num_queries(40) as found:
        console.get(here)
    before = len(found)
    for role in stored.ROLES:
        for seed in range(2, 24):
            stored.store_image(scene, role, seed=seed, size=(16, 16))
    with django_assert_max_num_queries(before):
        begin = time.process_time()
        text = squeezed(console.get(here))
        seconds = time.process_time() - begin
    assert text.count("data-candidate=") == 72
    assert seconds < 1


# One more candidate


def edited(console: Client, image: GeneratedImage, **data: Any) -> Any:
    given = {
        "way": "again",
        "prompt": image.prompt,
        "generator": image.generator,
        "cap_usd": "0",
        "strength": "0.5",
    }
    return console.post(url(image.scene, "scene-image", image.pk), given | data)


def test_a_region_is_drawn_by_a_job(console: Client, scene: Scene) -> None:
    image = drawn_image(scene)
    box = '[{"left": 4, "top": 4, "width": 20, "height": 30}]'
    reply = edited(console, image, way="region", mask=box, prompt="A red ball.")
    assert reply.status_code == 302
    run = ModelRun.objects.get()
    assert run.job is not None
    assert "Draw one image with drawing" in squeezed(console.get(url(scene, "scene-images", scene.pk)))
    assert run_in_process(job=run.job).state == JobState.DONE, run.job.error
    made = GeneratedImage.objects.latest("pk")
    assert (made.parent, made.role, made.prompt) == (image, "a", "A red ball.")
    assert made.mask == [{"left": 4, "top": 4, "width": 20, "height": 30}]


REFUSED_EDITS: list[tuple[dict[str, str], str]] = [
    ({"way": "region"}, "mark at least one box"),
    (
        {"way": "region", "mask": '[{"left": 60, "top": 0, "width": 9, "height": 9}]'},
        "reaches out of the image",
    ),
    (
        {"way": "region", "mask": "[1]"},
        "The region cannot be read (a box needs whole pixels); draw it again.",
    ),
    ({"way": "region", "mask": "{"}, "The region cannot be read"),
    ({"way": "sideways"}, "Select a valid choice"),
    ({"cap_usd": "-1"}, "greater than or equal to 0"),
    ({"strength": "2", "way": "variation"}, "less than or equal to 1"),
    (
        {"way": "variation", "generator": "openai:dall-e-3"},
        "does not support starting from an image with a strength",
    ),
    ({"generator": "openai:dall-e-3"}, "openai:dall-e-3: does not support a given seed"),
    ({"generator": "painter:1"}, "painter:1&#x27; is not known"),
    ({"generator": "openai:tiny-2"}, "the price of an image is unknown"),
    ({"generator": "openai:tiny-1", "cap_usd": "0.01"}, "costs $0.0400, and the cap is $0.01"),
]


def test_what_cannot_be_drawn_is_refused_before_it_costs(console: Client, scene: Scene) -> None:
    set_prices(scene.project, PRICES)
    image = drawn_image(scene)
    for data, message in REFUSED_EDITS:
        reply = edited(console, image, **data)
        assert reply.status_code == 400, data
        assert message in squeezed(reply), data
    assert not ModelRun.objects.exists()


# Runs


RUN = {
    "generator": "drawing",
    "candidates": "3",
    "width": "128",
    "height": "128",
    "cap_usd": "0",
    "seed": "0",
    "condition": "on",
}


def test_run_shows_its_price_and_draws_after_that(console: Client, scene: Scene) -> None:
    set_prices(scene.project, PRICES)
    here = url(scene, "scene-image-run-new")
    priced = RUN | {"generator": "openai:tiny-1", "cap_usd": "0.1", "step": "estimate"}
    shown = squeezed(console.post(here, priced))
    # Stored candidates belong to no prompts here, so 3 of each role are missing; $0.04 each.
    for fact in ("$0.04", "$0.36", '<dd class="sum num">$0.10</dd>', "The cap stops the run before", "CC0"):
        assert fact in shown, fact
    short = squeezed(console.post(here, priced | {"cap_usd": "0.03"}))
    assert "The cap is below the price of one image" in short
    assert 'value="start"' not in short
    assert not ModelRun.objects.exists()
    started = console.post(here, RUN | {"step": "start"})
    run = ModelRun.objects.get()
    assert started["Location"] == url(scene, "scene-image-run", run.pk)
    assert run.job is not None
    twice = console.post(here, RUN | {"step": "start"})
    assert twice.status_code == 400
    assert run_in_process(job=run.job).state == JobState.DONE
    text = squeezed(console.get(url(scene, "scene-image-run", run.pk)))
    assert f"Scene {scene.pk}</a>, premise, candidate 1" in text
    assert "test drawing" in text


BAD_OPTIONS: list[tuple[dict[str, str], str, str]] = [
    ({"generator": "painter:1"}, "generator", "is not known"),
    ({"generator": "import"}, "generator", "Import draws nothing"),
    ({"candidates": "25"}, "candidates", "less than or equal to 24"),
    ({"width": "10"}, "width", "greater than or equal to 64"),
    (
        {"generator": "openai:dall-e-3", "negative": "text"},
        "negative",
        "does not support a negative prompt",
    ),
    ({"generator": "openai:other"}, "", "the price of an image is unknown"),
    ({"cap_usd": "1e400"}, "cap_usd", "Enter a number"),
]


def test_bad_options_of_a_run_name_their_field(console: Client, scene: Scene) -> None:
    for data, field, message in BAD_OPTIONS:
        reply = console.post(url(scene, "scene-image-run-new"), RUN | data | {"step": "estimate"})
        assert reply.status_code == 400, data
        text = squeezed(reply)
        assert message in text, data
        assert not field or f'id="id_{field}_error"' in text, data


def test_run_without_approved_prompts_leads_to_them(console: Client, project: Project) -> None:
    stored.nleye_project(project)
    here = reverse("scene-image-run-new", args=[project.slug])
    assert "No approved prompts" in squeezed(console.get(here))


def test_run_page_lists_its_calls_and_resumes_with_a_higher_cap(
    console: Client, scene: Scene, researcher: User
) -> None:
    run = a_run(scene, researcher)
    here = url(scene, "scene-image-run", run.pk)
    text = squeezed(console.get(here))
    for fact in (
        "Refused by the provider",
        "it shows a weapon",
        "1 call ended without a reply",
        "First seed",
        "$0.40",
    ):
        assert fact in text, fact
    lost = squeezed(console.get(here, {"state": "lost"}))
    assert "candidate 4" in lost
    assert "candidate 1" not in lost
    resume = url(scene, "scene-image-run-resume", run.pk)
    low = squeezed(console.post(resume, {"cap_usd": "0.01"}, follow=True))
    assert "Not resumed: cap: $0.160000 are spent or reserved already; use a higher cap than $0.01" in low
    assert console.post(resume, {"cap_usd": "much"}).status_code == 400
    assert "goes on where it stopped" in squeezed(console.post(resume, {"cap_usd": "2.5"}, follow=True))
    run.refresh_from_db()
    assert run.job is not None
    assert (run.cap_micro, run.job.state) == (2_500_000, JobState.QUEUED)
    assert "Not resumed: run:" in squeezed(console.post(resume, {"cap_usd": "3"}, follow=True))
    again = squeezed(console.get(url(scene, "scene-image-run-new"), {"run": run.pk}))
    assert 'name="candidates" value="4"' in again


def test_queries_of_lists_do_not_grow(
    console: Client, scene: Scene, researcher: User, django_assert_max_num_queries: Any
) -> None:
    run = a_run(scene, researcher)
    here = [url(scene, "scene-image-list"), url(scene, "scene-image-run", run.pk)]
    before = []
    for place in here:
        with django_assert_max_num_queries(40) as found:
            console.get(place)
        before.append(len(found))
    more = stored.store_scenes(scene.project, 4)
    stored.keep_scenes(more, researcher)
    stored.approve_prompts(more, researcher)
    stored.pick_images(more, researcher)
    for number, other in enumerate(more):
        planned = PlannedCall(f"more{number}", f"image {other.public_id} 7 premise 1", 1)
        reserve_call(run=run, planned=planned)
    request_images(project=scene.project, options=GenerationOptions(), by=researcher, queue=False)
    for place, most in zip(here, before, strict=True):
        with django_assert_max_num_queries(most + 2):  # the open job and its progress
            console.get(place)


# Imports and rounds


def test_zip_is_imported_by_a_job(
    console: Client, scene: Scene, settings: LazySettings, tmp_path: Any
) -> None:
    settings.VAR_DIR = tmp_path
    here = url(scene, "scene-image-import")
    assert "choose a file first" in squeezed(console.post(here, follow=True))
    assert "is no zip" in squeezed(console.post(here, {"zip": _upload("a.rar")}, follow=True))
    reply = console.post(here, {"zip": _upload("ours.zip")})
    job = Job.objects.get()
    assert reply["Location"] == reverse("job-detail", args=[job.pk])
    assert (job.task, job.args["called"]) == ("curation.import_generated", "ours.zip")
    console.post(here, {"zip": _upload("ours.zip")})
    assert Job.objects.count() == 1, "one import at a time"
    assert len(list((tmp_path / "uploads").iterdir())) == 1


def _upload(name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, b"nothing")


def test_round_of_picks_is_launched_after_its_cost(console: Client, scene: Scene) -> None:
    fund()
    here = url(scene, "scene-image-ask")
    assert "1 text with at least two candidates" in squeezed(console.get(here))
    terms = {"name": "Picks", "assignments": "2", "reward": "0.32", "pool": ""}
    shown = console.post(here, terms | {"step": "estimate"})
    # 2 workers × $0.32, and the fee of 20 %.
    assert "$0.64" in squeezed(shown)
    key = re.search(r'name="idempotency_key" value="(\w+)"', shown.content.decode())
    assert key
    confirmed = terms | {"step": "launch", "idempotency_key": key[1]}
    for _ in range(2):
        assert console.post(here, confirmed).status_code == 302
    batch = Batch.objects.get()
    assert (batch.kind, batch.name, batch.redundancy) == ("image_pick", "Picks", 2)
    assert "No image to pick" in squeezed(console.get(here))


def test_hypotheses_show_how_near_they_are_to_the_picked_premise_in_style(
    console: Client, scene: Scene
) -> None:
    address = url(scene, "scene-images", scene.pk)
    assert "Style distance" not in squeezed(console.get(address)), "no premise is picked"
    premise = candidates(scene)[0]
    pick(console, scene, "premise", premise.pk)
    pick(console, scene, "a", candidates(scene, "a")[1].pk)
    rows = {row.pk: measure_file(row.image) for row in GeneratedImage.objects.filter(scene=scene)}
    scale = StyleScale.of(rows.values())
    page = console.get(address)
    shown = {row.row.pk: row.style for role in page.context["roles"] for row in role.candidates}
    for role in ("a", "b"):
        for row in candidates(scene, role):
            assert shown[row.pk].distance == pytest.approx(scale.distance(rows[premise.pk], rows[row.pk]))
    assert not any(shown[row.pk] for row in candidates(scene))
    picked = shown[candidates(scene, "a")[1].pk]
    text = squeezed(page)
    assert text.count("Style distance</span>") == 5, "four candidates, and the picked one once more on top"
    assert text.count(f'<b class="num">{picked.distance:.1f}</b>') >= 2


def test_images_that_were_not_measured_show_no_distance(console: Client, scene: Scene) -> None:
    """Those from before images were measured are shown as they were."""
    old = candidates(scene, "a")[0]
    GeneratedImage.objects.create(scene=scene, role="a", number=7, image=old.image, generator="drawing")
    pick(console, scene, "premise", candidates(scene)[0].pk)
    page = console.get(url(scene, "scene-images", scene.pk))
    shown = {row.row.number: row.style for row in page.context["roles"][1].candidates}
    assert shown[1] is not None
    assert shown[7] is None
