"""Evaluations of baselines and people, corrections, and processes and threads that ask at the same time."""

import io
import os
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from PIL import Image as Pillow

from curation.generation.canned import MadeUpReplies
from curation.models import ModelCall, TripletEvaluation, TripletPrediction
from curation.pipelines.triplets import calls
from curation.selectors.triplets.evaluations import EvaluatedTriplet, version_triplets
from curation.services.triplets.evaluations import EvaluationOptions, request_evaluation
from curation.services.triplets.generation import GenerationOptions, request_images
from curation.services.triplets.reply_corrections import ReadReply, correct_replies
from hits.models import Image, Job, Project
from hits.services.jobs import jobs
from tests.support import children
from tests.support.nleye_jobs import (
    VERSION,
    SentCalls,
    call_states,
    evaluate,
    refusal,
    run_json,
    sealed_triplets,
    states,
)
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes
from tests.support.waiting import wait_until

ORDERS = ("as_listed", "swapped")


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SentCalls:
    """Return the calls that are sent, also by other processes."""
    return SentCalls(tmp_path / "sent", monkeypatch)


def shares(found: dict[str, Any], *names: str) -> list[float]:
    """Return figures of the setup triplet in percent."""
    return [found["figures"]["triplet"][name]["value"] for name in names]


def luma(row: EvaluatedTriplet, name: str) -> int:
    """Return the brightness of an image's upper left pixel, a thousandfold."""
    with Image.objects.get(sha256=row.row["images"][name]).file.open("rb") as file:
        red, green, blue = Pillow.open(io.BytesIO(file.read())).convert("RGB").getpixel((0, 0))  # type: ignore[misc]
    return 299 * red + 587 * green + 114 * blue


@pytest.mark.django_db
def test_baselines(project: Project, researcher: User, clip_folder: Path) -> None:
    rows = version_triplets(sealed_triplets(project, 6, researcher))
    measures = ("consistency_accuracy", "gold_first_accuracy", "gold_second_accuracy", "order_gap")
    first = evaluate(project, model="baseline:always-first")
    assert shares(first, *measures, "first_position_share") == [0.0, 100.0, 0.0, 100.0, 100.0]

    sides = [[luma(row, f"hypothesis{number}") for number in (1, 2)] for row in rows]
    right = [
        pair[row.row["gold"] - 1] > pair[2 - row.row["gold"]] for row, pair in zip(rows, sides, strict=True)
    ]
    expected = 100 * sum(right) / len(right)
    pixel = evaluate(project, model="baseline:dumb-pixel")
    assert shares(pixel, *measures) == pytest.approx([expected, expected, expected, 0.0])

    _check_likeness(project, encoder=f"clip:{clip_folder}")

    assert evaluate(project, model="baseline:random") | {"evaluation": 0, "job": 0} == evaluate(
        project, model="baseline:random"
    ) | {"evaluation": 0, "job": 0}
    for name in ("always-first", "dumb-pixel"):
        text = refusal(
            "evaluate_triplets",
            version_name=VERSION,
            project=project.slug,
            model=f"baseline:{name}",
            setup="pairs",
        )
        assert f"the baseline {name} has no scores; use the setup triplet" in text
    assert not ModelCall.objects.exists()
    counts = TripletPrediction.objects.values_list("evaluation", "presentation")
    assert {presentation for _, presentation in counts} == {*ORDERS, "h1", "h2"}


def _check_likeness(project: Project, **options: Any) -> None:
    """See that nearer and farther hypotheses are each other's opposite, and blind to the order."""
    nearer, farther = (
        evaluate(project, model=f"baseline:{name}", **options) for name in ("likeness", "farther")
    )
    assert shares(nearer, "order_gap") == shares(farther, "order_gap") == [0.0]
    assert shares(nearer, "consistent") == [100.0]
    right = shares(nearer, "consistency_accuracy")[0]
    assert right + shares(farther, "consistency_accuracy")[0] == pytest.approx(100.0)
    scored = evaluate(project, model="baseline:likeness", setup="pairs", **options)["figures"]["pairs"]
    assert scored["order_faithful_accuracy"]["value"] == right


@pytest.mark.nightly
@pytest.mark.django_db
def test_baselines_with_the_built_in_encoders(project: Project, researcher: User) -> None:
    sealed_triplets(project, 6, researcher)
    _check_likeness(project)
    found = evaluate(project, model="baseline:sentences")
    assert shares(found, "order_gap", "consistent") == [0.0, 100.0]


@pytest.mark.django_db
def test_people_are_measured_one_by_one_and_by_majority(project: Project, researcher: User) -> None:
    sealed_triplets(project, 3, researcher, choices=("right", "right", "wrong"))
    figures = evaluate(project, model="people")["figures"]["people"]
    assert figures["individual_accuracy"]["value"] == pytest.approx(200 / 3)
    assert (figures["majority_accuracy"]["value"], figures["judged"]) == (100.0, 3)


@pytest.mark.django_db
def test_a_correction_counts_and_the_raw_reply_stays(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = sealed_triplets(project, 2, researcher)
    real = MadeUpReplies.reply

    def sentence(self: MadeUpReplies, request: Any) -> Any:
        reply = real(self, request)
        return type(reply)("The first one, surely.", reply.finish, reply.model, raw={"text": "as received"})

    monkeypatch.setattr(MadeUpReplies, "reply", sentence)
    found = evaluate(project)
    assert shares(found, "consistency_accuracy") == [0.0]
    row = TripletEvaluation.objects.get()
    golds = {triplet.id: triplet.row["gold"] for triplet in version_triplets(version)}
    right = {
        prediction.pk: ReadReply(
            "first"
            if (golds[prediction.instance_id] == 1) == (prediction.presentation == "as_listed")
            else "second"
        )
        for prediction in row.predictions.all()
    }
    correct_replies(evaluation=row, replies=right, by=researcher)
    row.refresh_from_db()
    assert row.figures["triplet"]["consistency_accuracy"]["value"] == 100.0
    assert (row.figures["corrections"]["replies"], row.figures["corrections"]["share"]) == (4, 100.0)
    assert row.figures["corrections"]["as_parsed"]["consistency_accuracy"]["value"] == 0.0
    assert {call.reply["text"] for call in ModelCall.objects.all()} == {"as received"}


@pytest.mark.django_db(transaction=True)
def test_threads_ask_for_each_description_once(
    project: Project, researcher: User, sent: SentCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call lasts until another thread wants the same description."""
    sealed_triplets(project, 3, researcher)
    real, first = MadeUpReplies.reply, threading.Lock()

    def slow(self: MadeUpReplies, request: Any) -> Any:
        if first.acquire(blocking=False):
            wait_until(
                lambda: any(users > 1 for _, users in calls._locks.copy().values()), 30, "nobody waits"
            )
        return real(self, request)

    with monkeypatch.context() as patch:
        patch.setattr(MadeUpReplies, "reply", slow)
        found = evaluate(project, strategy="image-to-text", threads=4)
    assert found["calls"] == sent.count() == len(set(sent.read()))
    assert ModelCall.objects.filter(subject__startswith="description of image").count() == 9
    again = evaluate(project, strategy="image-to-text", fresh="one thread")
    assert again["figures"] == found["figures"]
    assert calls._locks == {}


def _run(job: Job, starts: Path) -> None:
    """Run a job as soon as two processes are ready."""
    (starts / str(os.getpid())).touch()
    wait_until(lambda: len(list(starts.iterdir())) == 2, 30, "the other process did not start")
    jobs.run_in_process(job=job)


def run_at_once(pair: Sequence[Job], folder: Path) -> None:
    """Run two jobs, or one job twice, in two processes at the same time."""
    starts = folder / "starts"
    starts.mkdir()
    started = [children.start(partial(_run, job, starts)) for job in pair]
    assert [children.wait(child) for child in started] == [0, 0]
    for job in pair:
        job.refresh_from_db()


@pytest.mark.django_db(transaction=True)
def test_two_processes_on_one_run_ask_nothing_twice(
    project: Project, researcher: User, sent: SentCalls, tmp_path: Path
) -> None:
    version = sealed_triplets(project, 3, researcher)
    job = request_evaluation(version=version, options=EvaluationOptions(), by=None, queue=False)
    run_at_once([job, job], tmp_path)
    assert (job.state, sent.count()) == ("done", 6)
    assert call_states() == states(settled=6)


@pytest.mark.django_db(transaction=True)
def test_two_processes_on_one_run_draw_nothing_twice(
    project: Project, researcher: User, sent: SentCalls, tmp_path: Path
) -> None:
    rows = store_scenes(nleye_project(project), 3)
    keep_scenes(rows, researcher)
    approve_prompts(rows, researcher)
    options = GenerationOptions(candidates=2, width=64, height=64, unattended=True)
    job = request_images(project=project, options=options, by=None, queue=False)
    run_at_once([job, job], tmp_path)
    assert (job.state, sent.count(), job.result["images"]) == ("done", 18, 18)
    assert call_states() == states(settled=18)
    assert "cannot be resumed" in refusal("generate_images", project=project.slug, resume=job.pk)


@pytest.mark.django_db(transaction=True)
def test_two_evaluations_that_ask_the_same_at_once_pay_once(
    project: Project, researcher: User, sent: SentCalls, tmp_path: Path
) -> None:
    """One of them may meet a call of the other in flight; then it ends in one line, and resumes."""
    version = sealed_triplets(project, 3, researcher)
    pair = [
        request_evaluation(version=version, options=EvaluationOptions(), by=None, queue=False)
        for _ in range(2)
    ]
    run_at_once(pair, tmp_path)
    for job in pair:
        if job.state != "done":
            assert job.error == "call: another run sends the same one at this moment; wait for it"
            run_json("evaluate_triplets", resume=job.pk)
    assert sent.count() == len(set(sent.read())) == 6
    assert call_states() == states(settled=6)
    one, other = TripletEvaluation.objects.order_by("pk")
    assert one.figures == other.figures != {}
