"""Runs that are killed between two steps of a call, or in the middle of one, and are resumed.

At most the calls in flight are lost and listed; no call whose reply is stored is sent again.
"""

import json
import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.generation.drawing import DrawingGenerator
from curation.generation.images import ImageRequest
from curation.models import (
    CallState,
    ExplanationGrade,
    GeneratedImage,
    ModelCall,
    ModelRun,
    PromptSet,
    TripletEvaluation,
    TripletPrediction,
)
from curation.pipelines.triplets.image_drawer import read_image
from curation.services.triplets.generation import EditOptions, request_edit
from hits.domain.crashpoints import EXIT_STATUS
from hits.models import Project
from hits.services.jobs import jobs
from tests.support import children
from tests.support.generation import pixels
from tests.support.model_server import Answer, ModelServer, chat_body
from tests.support.nleye_jobs import (
    CHAT_PRICES,
    CRASH_POINTS,
    IMAGE_PRICES,
    VERSION,
    SentCalls,
    call_states,
    evaluate,
    evaluate_first,
    grade,
    killed,
    leases_end,
    newest_job,
    refusal,
    run_json,
    sealed_triplets,
    set_prices,
    states,
)
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
SIZE = {"width": 64, "height": 64}
SOME_POINTS = [
    point if point == "model.after_call" else pytest.param(point, marks=pytest.mark.nightly)
    for point in CRASH_POINTS
]
"""The worst point: the reply is there, and nothing of it is stored. The code of all runs is the same."""


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SentCalls:
    """Return the calls that are sent, also by killed processes."""
    return SentCalls(tmp_path / "sent", monkeypatch)


def check_calls(sent: SentCalls, found: dict[str, Any], *, point: str, calls: int) -> None:
    """See that a run that was killed at its second call lost at most that one, and sent no other one twice."""
    is_lost = point != "model.after_result"
    assert call_states() == (states(settled=calls, lost=1) if is_lost else states(settled=calls))
    repeated = {key: count for key, count in Counter(sent.read()).items() if count > 1}
    assert (sent.count(), len(repeated)) == ((calls + 1, 1) if point == "model.after_call" else (calls, 0))
    lost = list(ModelCall.objects.filter(state=CallState.LOST).values_list("subject", flat=True))
    assert found.get("maybe_paid_twice", []) == lost
    run = ModelRun.objects.latest("pk")
    assert run.committed_micro == sum(ModelCall.objects.values_list("cost_micro", flat=True))
    assert found["committed_micro_usd"] == run.committed_micro <= run.cap_micro


def prepare_scenes(project: Project, by: User, count: int = 2) -> None:
    """Store kept scenes, and approve their prompts."""
    rows = store_scenes(nleye_project(project), count)
    keep_scenes(rows, by)
    approve_prompts(rows, by)


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_killed_while_drawing(project: Project, researcher: User, sent: SentCalls, point: str) -> None:
    prepare_scenes(project, researcher)
    set_prices(project, IMAGE_PRICES)
    options = {"project": project.slug, "candidates": 2, "unattended": True, "cap_usd": 1.0, **SIZE}
    killed("generate_images", at=f"{point}:2", **options)
    found = run_json("generate_images", resume=newest_job().pk)
    check_calls(sent, found, point=point, calls=12)
    assert (found["images"], found["refused"], found["bad_replies"]) == (12, 0, 0)
    rows = list(GeneratedImage.objects.select_related("image", "scene"))
    assert {(row.scene_id, row.role, row.number, row.seed) for row in rows} == {
        (row.scene_id, role, number, number - 1)
        for row in rows
        for role in ("premise", "a", "b")
        for number in (1, 2)
    }
    premises = {row.scene_id: read_image(row) for row in rows if (row.role, row.number) == ("premise", 1)}
    for row in rows:
        premise = None if row.role == "premise" else premises[row.scene_id]
        request = ImageRequest(row.scene.text(row.role), 64, 64, seed=row.seed, reference=premise)
        again = DrawingGenerator().generate(request).png
        assert pixels(again).tobytes() == pixels(read_image(row)).tobytes()


@pytest.mark.parametrize("point", [f"{point}:2" for point in CRASH_POINTS])
def test_a_killed_run_never_exceeds_its_cap(
    project: Project, researcher: User, sent: SentCalls, point: str
) -> None:
    """The cap leaves room for two of four images, also where one is lost; the third call is never sent."""
    prepare_scenes(project, researcher, 1)
    set_prices(project, IMAGE_PRICES)
    killed("generate_images", at=point, project=project.slug, candidates=4, cap_usd=0.10, **SIZE)
    assert ModelRun.objects.get().committed_micro <= 100_000
    found = run_json("generate_images", resume=newest_job().pk)
    assert "the next call may cost $0.040000, and $0.020000 of $0.10 are left" in found["stopped"]
    assert found["committed_micro_usd"] == 80_000
    lost = call_states().get(CallState.LOST, 0)
    assert (found["images"], lost) == ((2, 0) if "after_result" in point else (1, 1))
    assert sent.count() <= 2


@pytest.mark.parametrize("point", SOME_POINTS)
def test_killed_while_writing_prompts(
    project: Project, researcher: User, sent: SentCalls, point: str
) -> None:
    keep_scenes(store_scenes(nleye_project(project), 3), researcher)
    set_prices(project, CHAT_PRICES)
    killed("augment_prompts", at=f"{point}:2", project=project.slug, cap_usd=1.0)
    found = run_json("augment_prompts", resume=newest_job().pk)
    check_calls(sent, found, point=point, calls=3)
    assert (found["prompts"], found["unreadable"], found["refused"]) == (3, 0, 0)
    prompts = PromptSet.objects.select_related("call")
    assert len({row.scene_id for row in prompts}) == len(prompts) == 3
    for row in prompts:
        assert row.call is not None
        written = json.loads(row.call.text)
        assert [row.premise, row.a, row.b] == [written[role] for role in ("premise", "a", "b")]


@pytest.mark.parametrize(
    ("point", "setup"),
    [*((point, "triplet") for point in CRASH_POINTS), ("model.after_call", "pairs")],
)
def test_killed_while_evaluating(
    project: Project, researcher: User, sent: SentCalls, point: str, setup: str
) -> None:
    sealed_triplets(project, 3, researcher)
    set_prices(project, CHAT_PRICES)
    options = {"version_name": VERSION, "project": project.slug, "setup": setup, "cap_usd": 1.0}
    killed("evaluate_triplets", at=f"{point}:2", **options)
    found = run_json("evaluate_triplets", resume=newest_job().pk)
    check_calls(sent, found, point=point, calls=6)
    resumed = TripletEvaluation.objects.get()
    assert TripletPrediction.objects.filter(evaluation=resumed).count() == 6
    evaluate(project, setup=setup, cap_usd=1.0)  # all from stored replies
    assert sent.count() == (7 if point == "model.after_call" else 6)
    whole = evaluate(project, setup=setup, cap_usd=1.0, fresh="not from stored replies")
    assert whole["figures"] == found["figures"] == resumed.figures
    provenance = TripletEvaluation.objects.get(pk=whole["evaluation"]).provenance
    assert provenance == resumed.provenance
    assert provenance["models"] == ["canned"]


@pytest.mark.parametrize("point", SOME_POINTS)
def test_killed_while_grading(project: Project, researcher: User, sent: SentCalls, point: str) -> None:
    sealed_triplets(project, 3, researcher)
    evaluate_first(project)
    before, earlier = sent.count(), ModelCall.objects.count()
    set_prices(project, CHAT_PRICES)
    options = {"version_name": VERSION, "project": project.slug, "repeats": 2, "cap_usd": 1.0}
    killed("judge_explanations", at=f"{point}:2", **options)
    found = run_json("judge_explanations", resume=newest_job().pk)
    resumed = TripletEvaluation.objects.latest("pk")
    tasks = found["grades"]
    assert ExplanationGrade.objects.filter(evaluation=resumed).count() == tasks == 2 * (3 + 3)
    own = ModelCall.objects.filter(run=resumed.run)
    is_lost = point != "model.after_result"
    assert own.filter(state=CallState.SETTLED).count() == tasks
    assert len(found.get("maybe_paid_twice", [])) == own.filter(state=CallState.LOST).count() == is_lost
    assert sent.count() - before == tasks + (point == "model.after_call")
    assert ModelCall.objects.count() - earlier == tasks + is_lost
    whole = grade(project, repeats=2, cap_usd=1.0, fresh="not from stored replies")
    assert whole["figures"] == found["figures"] == resumed.figures


@pytest.mark.parametrize("point", SOME_POINTS)
def test_killed_while_drawing_one_more(
    project: Project, researcher: User, sent: SentCalls, point: str
) -> None:
    prepare_scenes(project, researcher, 1)
    run_json("generate_images", project=project.slug, candidates=1, **SIZE)
    image, before = GeneratedImage.objects.get(), sent.count()
    job = request_edit(image=image, options=EditOptions("variation"), by=researcher, queue=False)
    run = partial(jobs.run_in_process, job=job)
    assert children.forked(run, crash_at=point) == EXIT_STATUS
    leases_end()
    ended = jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    assert (ended.state, ended.error) == ("done", "")
    edited = GeneratedImage.objects.exclude(pk=image.pk).get()
    assert (edited.parent, edited.strength, ended.result["image"]) == (image, 0.5, edited.pk)
    assert sent.count() - before == (2 if point == "model.after_call" else 1)
    assert len(ended.result.get("maybe_paid_twice", [])) == (point != "model.after_result")


def test_sigkill_in_the_middle_of_a_call(project: Project, researcher: User, server: ModelServer) -> None:
    """A real SIGKILL while the server has the third question; the first two replies are not asked for again."""
    sealed_triplets(project, 2, researcher)
    reply = chat_body('{"choice": 1, "explanation": "It broke."}')
    server.answers = [Answer(200, reply), Answer(200, reply), Answer(200, reply, delay=30)]
    options = {"model": "openai:tiny-1", "price_unknown": True}
    child = children.start(partial(evaluate, project, **options))
    wait_until(lambda: len(server.asked) == 3, 30, "the third question was not asked")
    os.kill(child, signal.SIGKILL)
    assert children.wait(child) == -signal.SIGKILL
    assert call_states() == states(settled=2, sent=1)
    server.answers = [Answer(200, reply)]
    message = refusal("evaluate_triplets", resume=newest_job().pk)
    assert "a process is working on it" in message  # its lease has not run out
    leases_end()
    found = run_json("evaluate_triplets", resume=newest_job().pk)
    assert len(server.asked) == 5  # two stored, the lost one twice, the last one once
    assert [server.asked[2].json, server.asked[3].json].count(server.asked[2].json) == 2
    assert found["maybe_paid_twice"] == ["triplet 2, as_listed"]
    assert found["figures"]["triplet"]["consistency_accuracy"]["value"] == 0.0
    assert call_states() == states(settled=4, lost=1)


def test_a_run_that_nobody_resumed_blocks_no_other_one(
    project: Project, researcher: User, sent: SentCalls
) -> None:
    sealed_triplets(project, 2, researcher)
    options = {"version_name": VERSION, "project": project.slug}
    killed("evaluate_triplets", at="model.after_call:2", **options)
    found = evaluate(project)
    assert found["calls"] == 3
    assert call_states() == states(settled=4, lost=1)
    assert run_json("evaluate_triplets", resume=newest_job().pk - 1)["figures"] == found["figures"]
    assert sent.count() == 5
