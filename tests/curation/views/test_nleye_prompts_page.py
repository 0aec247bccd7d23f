"""The pages of prompts: what they changed, verdicts, prompts by hand, runs of a chat model, and many scenes."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.generation.folder_import import read_folder
from curation.models import CallState, ModelCall, ModelRun, PromptDecision, PromptSet, PromptWay, Scene
from curation.services.triplets.prompts import WrittenPrompts, plain_prompts, store_prompts
from curation.templatetags.curation_numbers import micro_usd
from hits.models import Job, Project
from hits.services.jobs.jobs import run_in_process
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes

pytestmark = pytest.mark.django_db


@pytest.fixture
def triplets(project: Project, client: Client, researcher: User) -> Project:
    """Return a project with image triplets, in which a researcher is signed in."""
    client.force_login(researcher)
    return nleye_project(project)


@pytest.fixture
def kept(triplets: Project, researcher: User) -> list[Scene]:
    """Return three kept scenes."""
    scenes = store_scenes(triplets, 3)
    keep_scenes(scenes, researcher)
    return scenes


def address(project: Project, name: str = "scene-prompts", *more: Any) -> str:
    return reverse(name, args=[project.slug, *more])


def squeezed(reply: Any) -> str:
    return " ".join(reply.content.decode().split())


def augmented(scene: Scene, premise: str) -> PromptSet:
    """Store prompts that change the premise."""
    texts = plain_prompts(scene).texts | {"premise": premise}
    written = WrittenPrompts(PromptWay.AUGMENTED, texts, ["a red lamp"], "a bright living room")
    return store_prompts(scene=scene, written=written, by=None)


def test_page_marks_lost_and_changed_content(client: Client, triplets: Project, kept: list[Scene]) -> None:
    # The premise is "A broken lamp number 0 lies on the floor."
    augmented(kept[0], "A lamp number 0 stands on the wide floor of a bright living room.")
    page = squeezed(client.get(address(triplets)))
    card = page[page.index(f'id="scene-{kept[0].pk}"') :]
    assert re.findall(r'<del class="lost">(.*?)</del>', card) == ["broken", "lies"]
    assert "“broken” is lost" in card
    assert "“lies” became “stands”" in card
    assert "<ins>wide</ins>" in card
    for text in ("a red lamp", "a bright living room", "Chat model", "Waiting for approval"):
        assert text in card


def test_plain_texts_are_used_where_none_are_and_wait_for_approval(
    client: Client, triplets: Project, kept: list[Scene]
) -> None:
    augmented(kept[0], "A lamp.")
    reply = client.post(address(triplets, "scene-prompts-plain"), follow=True)
    assert "2 scenes have the own texts as prompts. They wait for approval." in squeezed(reply)
    ways = dict(PromptSet.objects.values_list("scene", "way"))
    assert ways == {kept[0].pk: "augmented", kept[1].pk: "plain", kept[2].pk: "plain"}
    assert not PromptDecision.objects.exists()
    assert "nothing was stored" in squeezed(
        client.post(address(triplets, "scene-prompts-plain"), follow=True)
    )


def test_verdict_is_stored_and_a_stale_page_changes_nothing(
    client: Client, triplets: Project, kept: list[Scene]
) -> None:
    prompts = augmented(kept[0], "A lamp.")
    here = address(triplets, "scene-prompts-decide", kept[0].pk)
    data = {"prompts": prompts.pk, "verdict": "approved", "seen": 0, "query": "q=lamp"}
    reply = client.post(here, data)
    assert reply["Location"] == f"{address(triplets)}?q=lamp#scene-{kept[0].pk}"
    assert PromptDecision.objects.get().verdict == "approved"
    stale = squeezed(client.post(here, data | {"verdict": "rejected"}, follow=True))
    assert stale.count("somebody decided about them after you opened the page; reload the page.") == 1
    newer = augmented(kept[0], "A broken lamp.")
    stale = squeezed(client.post(here, data | {"seen": PromptDecision.objects.get().pk}, follow=True))
    assert "newer ones replaced them; reload the page." in stale
    assert PromptDecision.objects.count() == 1
    assert client.post(here, data | {"prompts": newer.pk, "verdict": "maybe"}).status_code == 404
    other = address(triplets, "scene-prompts-decide", kept[1].pk)
    assert client.post(other, data).status_code == 404  # another scene's prompts


def test_all_of_a_page_are_approved_except_those_that_changed(
    client: Client, triplets: Project, rehearsal: Project, kept: list[Scene], researcher: User
) -> None:
    for scene in kept:
        augmented(scene, "A lamp.")
    foreign = store_scenes(nleye_project(rehearsal), 1)
    keep_scenes(foreign, researcher)
    others = augmented(foreign[0], "A lamp.")
    page = squeezed(client.get(address(triplets)))
    given = re.findall(r'name="approve" value="(\d+:\d+)"', page)
    assert len(given) == 3
    newer = augmented(kept[2], "A lamp shines.")
    reply = client.post(
        address(triplets, "scene-prompts-approve"), {"approve": [*given, f"{others.pk}:0"]}, follow=True
    )
    text = squeezed(reply)
    assert "Approved: the prompts of 2 scenes." in text
    assert "Left out, as they changed after you opened the page: the prompts of 1 scene." in text
    approved = set(PromptDecision.objects.values_list("prompt_set__scene", flat=True))
    assert approved == {kept[0].pk, kept[1].pk}
    assert not newer.decisions.exists()


def test_prompts_by_hand_replace_others_and_name_wrong_fields(
    client: Client, triplets: Project, kept: list[Scene]
) -> None:
    scene = kept[0]
    here = address(triplets, "scene-prompts-write", scene.pk)
    data = {
        "premise": "A lamp in pieces on a wooden floor.",
        "plausible": "A girl with a ball.",
        "implausible": "A girl with a book.",
        "first": "a girl in a blue dress",
        "second": "",
        "environment": "a small room",
        "based_on": 0,
    }
    bad = client.post(here, data | {"plausible": " "})
    assert bad.status_code == 400
    assert '<a href="#prompts_plausible">More plausible hypothesis</a>: This field is required.' in squeezed(
        bad
    )
    assert not PromptSet.objects.exists()
    reply = client.post(here, data | {"then": "approve"})
    assert reply.status_code == 302
    row = PromptSet.objects.get()
    other = "b" if scene.plausible == "a" else "a"
    assert (row.way, row.prompt(scene.plausible), row.prompt(other)) == (
        "manual",
        "A girl with a ball.",
        "A girl with a book.",
    )
    assert (row.components, row.environment) == (["a girl in a blue dress"], "a small room")
    assert row.decisions.get().verdict == "approved"
    stale = client.post(here, data)  # based_on 0: prompts were stored since
    assert stale.status_code == 400
    assert "somebody stored others after you opened the page; reload the page." in squeezed(stale)
    assert PromptSet.objects.count() == 1


def test_dropped_scene_gets_no_prompts(client: Client, triplets: Project) -> None:
    scene = store_scenes(triplets, 1)[0]
    data = {"premise": "A", "plausible": "B", "implausible": "C", "based_on": 0}
    reply = client.post(address(triplets, "scene-prompts-write", scene.pk), data)
    assert reply.status_code == 400
    assert "only scenes that the readers keep get prompts" in squeezed(reply)


def test_run_of_a_chat_model_is_a_job_with_its_costs(
    client: Client, triplets: Project, kept: list[Scene]
) -> None:
    here = address(triplets, "scene-prompts-augment")
    data = {"model": "canned", "cap_usd": "0", "cap_calls": "2", "threads": "1"}
    assert client.post(here, data).status_code == 302
    job = Job.objects.get(task="curation.augment_prompts")
    assert f'data-job-url="/api/jobs/{job.pk}/"' in client.get(here).content.decode()
    again = client.post(here, data)
    assert again.status_code == 400  # one is waiting
    run_in_process(job=job)
    page = squeezed(client.get(here))
    assert "2 of 2" in page  # calls of the cap
    assert "2 written" in page
    assert "$0.00 of $0.00" in page
    assert PromptSet.objects.filter(way="augmented").count() == 2


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"model": "gpt"}, "Chat model", "use canned"),
        (
            {"model": "canned:/etc/passwd"},
            "Chat model",
            "Files of recorded replies can only be named in a command.",
        ),
        ({"model": "openai:m"}, "", "price"),
        ({"cap_usd": "-1"}, "Cap, US dollars", "greater than or equal to 0"),
        ({"threads": "99"}, "Calls at once", "less than or equal to 32"),
    ],
)
def test_bad_option_of_a_run_is_named_and_nothing_starts(
    client: Client, triplets: Project, kept: list[Scene], change: dict[str, str], field: str, message: str
) -> None:
    data = {"model": "canned", "cap_usd": "0", "threads": "1"} | change
    reply = client.post(address(triplets, "scene-prompts-augment"), data)
    assert reply.status_code == 400
    page = squeezed(reply)
    summary = page[page.index('role="alert"') :][:700]
    assert field in summary
    assert message in summary
    assert not ModelRun.objects.exists()
    assert not Job.objects.exists()


def test_calls_that_may_have_been_paid_twice_are_listed(
    client: Client, triplets: Project, kept: list[Scene]
) -> None:
    run = ModelRun.objects.create(
        project=triplets, purpose="prompts", generator="openai:m", cap_micro=1_000_000
    )
    for number, state in enumerate((CallState.LOST, CallState.SETTLED)):
        ModelCall.objects.create(
            project=triplets,
            run=run,
            key=str(number),
            subject=f"prompts of scene {kept[number].public_id}",
            state=state.value,
            reserved_micro=42_100,
        )
    page = squeezed(client.get(address(triplets, "scene-prompts-augment")))
    lost = page[page.index("may have been paid twice") :]
    assert f">Scene {kept[0].pk}</a>" in lost
    assert "$0.0421" in lost
    assert f"Scene {kept[1].pk}" not in lost
    assert "1 may be paid twice" in page


@pytest.mark.parametrize(
    ("micro", "text"), [(None, "–"), (0, "$0.00"), (1_250_000, "$1.25"), (4_200, "$0.0042"), (7, "$0.000007")]
)
def test_micro_dollars_are_shown_as_dollars(micro: int | None, text: str) -> None:
    assert micro_usd(micro) == text


def test_approved_prompts_are_downloaded(
    client: Client, triplets: Project, kept: list[Scene], researcher: User
) -> None:
    approve_prompts(kept[:1], researcher)
    augmented(kept[1], "A lamp.")
    reply = client.get(address(triplets, "scene-prompts-csv"))
    assert reply["Content-Disposition"] == f'attachment; filename="{triplets.slug}-prompts.csv"'
    rows = list(csv.reader(io.StringIO(reply.content.decode())))
    assert rows == [
        ["scene_id", "image", "prompt"],
        [kept[0].public_id, "premise", kept[0].premise],
        [kept[0].public_id, "hypothesis1", kept[0].hypothesis_a],
        [kept[0].public_id, "hypothesis2", kept[0].hypothesis_b],
    ]


def test_downloaded_prompts_run_no_formula_and_are_imported_as_written(
    client: Client, triplets: Project, researcher: User, tmp_path: Path
) -> None:
    texts = {"premise": '=HYPERLINK("https://a.example")', "hypothesis_a": "+1+1", "hypothesis_b": "@SUM(A1)"}
    scenes = store_scenes(triplets, 1, **texts)
    keep_scenes(scenes, researcher)
    approve_prompts(scenes, researcher)
    reply = client.get(address(triplets, "scene-prompts-csv"))
    _, *rows = csv.reader(io.StringIO(reply.content.decode()))
    assert [row[2] for row in rows] == [f"'{text}" for text in texts.values()]
    lines = [["scene_id", "image", "prompt", "model", "licence"], *([*row, "m", "CC0"] for row in rows)]
    with (tmp_path / "manifest.csv").open("w", newline="") as manifest:
        csv.writer(manifest).writerows(lines)
    (tmp_path / scenes[0].public_id).mkdir()
    for name in ("premise", "hypothesis1", "hypothesis2"):
        (tmp_path / scenes[0].public_id / f"{name}.png").write_bytes(b"read later")
    assert [image.origin.prompt for image in read_folder(tmp_path).images] == list(texts.values())


def test_queries_do_not_grow_with_scenes(client: Client, triplets: Project, researcher: User) -> None:
    def count(name: str, **query: Any) -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(address(triplets, name), query).status_code == 200
        return len(found)

    def fill(number: int) -> None:
        scenes = store_scenes(triplets, number)
        keep_scenes(scenes, researcher)
        approve_prompts(scenes[::2], researcher)

    fill(4)
    count("scene-prompts")  # the first page of a session stores it
    pages: tuple[tuple[str, dict[str, Any]], ...] = (
        ("scene-prompts", {"state": "all"}),
        ("scene-prompts", {"state": "missing"}),
        ("scene-prompts-csv", {}),
        ("scene-prompts-augment", {}),
    )
    few = [count(name, **query) for name, query in pages]
    fill(40)
    assert [count(name, **query) for name, query in pages] == few
