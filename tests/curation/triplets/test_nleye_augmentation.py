"""A chat model writes prompts: what is stored, what cannot be used, and what nobody approved."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from curation.generation.canned import MadeUpReplies
from curation.generation.chat import ChatReply, ChatRequest
from curation.generation.errors import ContentRefused
from curation.models import ModelCall, ModelRun, PromptSet, PromptVerdict, PromptWay, Scene, SceneVerdict
from curation.models.scenes import SceneReason
from curation.selectors.triplets.prompts import approved_prompts, prompt_states
from curation.services.triplets.prompts import WrittenPrompts, decide_prompts, store_prompts
from curation.services.triplets.scenes import ReaderDecision, decide_scene
from hits.models import Job, Project
from tests.support.nleye_jobs import call_states, refusal, run_json, states
from tests.support.nleye_stored import keep_scenes, nleye_project, store_scenes
from tests.support.undone import undone

pytestmark = pytest.mark.django_db
GOOD = {
    "components": ["a boy of six in a red shirt"],
    "environment": "A living room in the evening.",
    "premise": "A boy of six in a red shirt.",
    "a": "A ball.",
    "b": "A book.",
}


@pytest.fixture
def scenes(project: Project, researcher: User) -> list[Scene]:
    """Return three kept scenes."""
    rows = store_scenes(nleye_project(project), 3)
    keep_scenes(rows, researcher)
    return rows


class Replies:
    """Answers the requests of a test with its own texts, the last one again and again; keeps the requests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[Any] = []
        self.asked: list[ChatRequest] = []
        monkeypatch.setattr(MadeUpReplies, "reply", lambda _, request: self.answer(request))

    def answer(self, request: ChatRequest) -> ChatReply:
        """Return the next reply, or raise it."""
        self.asked.append(request)
        found = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        if isinstance(found, Exception):
            raise found
        text, finish = found if isinstance(found, tuple) else (found, "stop")
        return ChatReply(text, finish, "canned", raw={"text": text})


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> Replies:
    """Return the replies that a test writes."""
    return Replies(monkeypatch)


def write(project: Project, **options: Any) -> dict[str, Any]:
    """Let the model write prompts."""
    return run_json("augment_prompts", project=project.slug, **options)


def test_prompts_are_stored_with_their_call_and_wait_for_approval(
    project: Project, scenes: list[Scene], replies: Replies
) -> None:
    replies.texts = [f"Here you are:\n{json.dumps(GOOD)}\nGood luck!"]
    found = write(project)
    assert (found["prompts"], found["calls"]) == (3, 3)
    for row in PromptSet.objects.select_related("call"):
        assert [row.premise, row.a, row.b] == [GOOD["premise"], GOOD["a"], GOOD["b"]]
        assert (row.way, row.components, row.environment) == (
            "augmented",
            GOOD["components"],
            GOOD["environment"],
        )
        assert (row.template, len(row.template_sha256)) == ("augment/1", 64)
        assert row.call is not None
        assert row.call.reply == {"text": row.call.text}
    assert approved_prompts(project) == {}
    questions = [request.messages[1].text for request in replies.asked]
    for scene, text in zip(scenes, questions, strict=True):
        assert all(scene.text(role) in text for role in ("premise", "a", "b"))
        assert scene.why not in text
        assert not any(word in text.lower() for word in ("plausible", "gold"))
    assert "every kept scene has prompts" in refusal("augment_prompts", project=project.slug)


UNUSABLE = [
    ("no JSON", "unreadable", 2),
    (json.dumps({**GOOD, "a": ""}), "unreadable", 2),
    (json.dumps({**GOOD, "a": 3}), "unreadable", 2),
    (json.dumps({**GOOD, "components": "one"}), "unreadable", 2),
    (json.dumps({**GOOD, "a": "x" * 4001}), "unreadable", 1),
    (json.dumps({**GOOD, "a": "bell \x07"}), "unreadable", 1),
    ((json.dumps(GOOD)[:40], "length"), "unreadable", 2),
    (("I cannot help.", "content_filter"), "refused", 1),
    (ContentRefused("not this", raw={"error": "not this"}), "refused", 1),
]


def test_what_cannot_be_used_is_counted_and_the_others_are_written(
    project: Project, scenes: list[Scene], replies: Replies
) -> None:
    for text, outcome, calls in UNUSABLE:
        replies.texts = [text] * calls + [json.dumps(GOOD)]
        with undone():
            found = write(project)
            assert (found["prompts"], found[outcome]) == (2, 1), text
            assert found["calls"] == calls + 2, text
            assert not PromptSet.objects.filter(scene=scenes[0]).exists()
            asked = len(replies.asked)
            again = write(project)
            assert (again["prompts"], again[outcome], len(replies.asked)) == (0, 1, asked), text


def test_more_than_two_components_are_cut_and_lines_are_joined(
    project: Project, scenes: list[Scene], replies: Replies
) -> None:
    replies.texts = [json.dumps({**GOOD, "components": ["one", "two", "three"], "a": "A ball\nrolls."})]
    write(project)
    row = PromptSet.objects.first()
    assert row is not None
    assert (row.components, row.a) == (["one", "two"], "A ball rolls.")


def test_a_scene_that_is_dropped_meanwhile_gets_no_prompts(
    project: Project, scenes: list[Scene], researcher: User, replies: Replies, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies.texts = [json.dumps(GOOD)]
    answer = replies.answer

    def drop(_: Any, request: ChatRequest) -> ChatReply:
        if len(replies.asked) == 1:
            decision = ReaderDecision(SceneVerdict.DROP, reasons=[SceneReason.UNCLEAR])
            decide_scene(scene=scenes[1], decision=decision, by=researcher)
        return answer(request)

    monkeypatch.setattr(MadeUpReplies, "reply", drop)
    found = write(project)
    assert (found["prompts"], found["unreadable"]) == (2, 1)


def test_prompts_that_a_person_writes_meanwhile_stay(
    project: Project, scenes: list[Scene], researcher: User, replies: Replies, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies.texts = [json.dumps(GOOD)]
    answer = replies.answer
    manual = WrittenPrompts(PromptWay.MANUAL, {"premise": "p", "a": "a", "b": "b"})

    changing = scenes[:2]

    def write_too(_: Any, request: ChatRequest) -> ChatReply:
        while changing:  # the first call is in flight, and the next one is not sent yet
            store_prompts(scene=changing.pop(), written=manual, by=researcher)
        return answer(request)

    def ways() -> list[str]:
        return [state.prompts.way for state in prompt_states(scenes).values() if state.prompts]

    monkeypatch.setattr(MadeUpReplies, "reply", write_too)
    found = write(project)
    assert (found["prompts"], found["changed_meanwhile"], len(replies.asked)) == (1, 2, 2)
    assert ways() == ["manual", "manual", "augmented"]
    changing = scenes[1:2]
    found = write(project, again=True)  # the first scene has a reply already, which is paid and used now
    assert (found["prompts"], found["changed_meanwhile"], len(replies.asked)) == (2, 1, 4)
    assert ways() == ["augmented", "manual", "augmented"]


def test_writing_again_asks_another_question_and_keeps_what_a_person_wrote_since(
    project: Project, scenes: list[Scene], researcher: User, replies: Replies
) -> None:
    replies.texts = [json.dumps(GOOD)]
    write(project)
    state = prompt_states(scenes)[scenes[0].pk]
    assert state.prompts is not None
    decide_prompts(prompts=state.prompts, verdict=PromptVerdict.REJECTED, by=researcher)
    replies.texts = [json.dumps({**GOOD, "a": "A red ball."})]
    found = write(project, again=True)
    assert (found["prompts"], found["calls"]) == (3, 3)
    assert {request.seed for request in replies.asked[:3]} == {0}
    assert {request.seed for request in replies.asked[3:]} == {1}
    newest = prompt_states(scenes)[scenes[0].pk].prompts
    assert newest is not None
    assert newest.a == "A red ball."
    manual = WrittenPrompts(PromptWay.MANUAL, {"premise": "p", "a": "a", "b": "b"})
    store_prompts(scene=scenes[0], written=manual, by=researcher)
    assert PromptSet.objects.count() == 7


def test_plain_prompts_and_approval_by_command(project: Project, scenes: list[Scene], tmp_path: Any) -> None:
    assert run_json("augment_prompts", project=project.slug, way="plain") == {"prompts": 3}
    assert run_json("augment_prompts", project=project.slug, approve_all=True) == {"approved": 3}
    path = tmp_path / "prompts.csv"
    assert run_json("augment_prompts", project=project.slug, out=path) == {"prompts": 9}
    assert path.read_text().splitlines()[0] == "scene_id,image,prompt"
    assert not ModelCall.objects.exists()
    out = io.StringIO()
    call_command("augment_prompts", project=project.slug, approve_all=True, stdout=out)
    assert out.getvalue() == "0 prompts are approved\n"


def test_a_cap_in_calls_stops_and_the_next_run_goes_on(
    project: Project, scenes: list[Scene], replies: Replies
) -> None:
    replies.texts = [json.dumps(GOOD)]
    found = write(project, cap_calls=2)
    assert found["stopped"].startswith("cap: 2 of 2 calls are made")
    assert found["prompts"] == 2
    assert write(project)["prompts"] == 1
    assert call_states() == states(settled=3)


def test_bad_options_are_one_line_and_nothing_is_stored(project: Project, scenes: list[Scene]) -> None:
    for options, message in (
        ({"model": "gpt"}, "chat model: 'gpt' is not known"),
        ({"cap_usd": -1.0}, "cap: -1 dollars; use 0 to 1,000,000"),
        ({"threads": 0}, "threads: 0; use 1 to 32"),
        ({"prompts": "/nowhere/p.toml"}, "p.toml: is no readable TOML file"),
        ({"project": "nowhere"}, "nowhere"),
    ):
        assert message in refusal("augment_prompts", **{"project": project.slug} | options)
    assert not any(table.objects.exists() for table in (ModelRun, ModelCall, Job, PromptSet))
