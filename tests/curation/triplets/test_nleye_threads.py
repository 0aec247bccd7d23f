"""Runs with several threads: each picture is the right one, and paid replies that came back count."""

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from curation.generation.canned import MadeUpReplies
from curation.generation.chat import ChatReply, ChatRequest
from curation.models import ModelCall, ModelRun, TripletEvaluation, TripletPrediction
from curation.pipelines.triplets import calls
from curation.pipelines.triplets.calls import run_parallel
from curation.pipelines.triplets.evaluate_triplets import _Images
from curation.selectors.triplets.evaluations import version_triplets
from curation.services.triplets.model_calls import CapReached
from hits.models import Image, Project
from tests.support.model_server import Answer, ModelServer, chat_body
from tests.support.nleye_jobs import (
    VERSION,
    call_states,
    evaluate,
    refusal,
    sealed_triplets,
    states,
)

THREADS = 4


def test_results_in_flight_come_before_the_error_and_nothing_else_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []
    barrier, failed = threading.Barrier(THREADS), threading.Event()
    # Each thread closes its connections when its item is over; the failing item's is over first.
    monkeypatch.setattr(calls, "connections", SimpleNamespace(close_all=failed.set))

    def work(number: int) -> int:
        begun.append(number)
        barrier.wait(10)
        if number == 0:
            raise CapReached("cap")
        assert failed.wait(10)
        return number

    results: list[int] = []
    with pytest.raises(CapReached):
        results.extend(run_parallel(range(20), work, threads=THREADS))
    assert sorted(begun) == list(range(THREADS))
    assert results == list(range(1, THREADS))


@pytest.mark.django_db(transaction=True)
def test_threads_read_whole_pictures_and_none_that_was_taken_down(project: Project, researcher: User) -> None:
    version = sealed_triplets(project, 1, researcher)
    images = _Images(TripletEvaluation(project=project, version=version))
    hashes = list(Image.objects.filter(project=project).values_list("sha256", flat=True))

    def read(number: int) -> bool:
        sha256 = hashes[number % 2]
        try:
            return hashlib.sha256(images.read(sha256)).hexdigest() == sha256
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(200)))
    Image.objects.filter(sha256=hashes[0]).update(taken_down_at=timezone.now())
    with pytest.raises(Exception, match="was taken down since the version was sealed"):
        images.read(hashes[0])


@pytest.mark.django_db(transaction=True)
def test_a_paid_reply_that_came_back_after_the_cap_was_reached_counts(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply about the first order cannot be read, and the cap leaves no room to ask again."""
    row = version_triplets(sealed_triplets(project, 1, researcher))[0].row
    both, stopped = threading.Barrier(2), threading.Event()
    reserve_call = calls.reserve_call

    def reserve(*args: Any, **kwargs: Any) -> ModelCall:
        try:
            return reserve_call(*args, **kwargs)
        except CapReached:
            stopped.set()
            raise

    def reply(_: MadeUpReplies, request: ChatRequest) -> ChatReply:
        both.wait(10)
        if request.images[1].sha256 == row["images"]["hypothesis1"]:
            return ChatReply("I think so.", "stop", "canned", raw={})
        assert stopped.wait(10)
        return ChatReply(json.dumps({"choice": 2}), "stop", "canned", raw={})

    monkeypatch.setattr(MadeUpReplies, "reply", reply)
    monkeypatch.setattr(calls, "reserve_call", reserve)
    found = evaluate(project, cap_calls=2, threads=2)
    assert found["stopped"].startswith("cap: 2 of 2 calls are made")
    answers = TripletPrediction.objects.values_list("presentation", "choice")
    assert list(answers) == [("swapped", "second")]
    assert found["figures"]["triplet"]["reasons"]["missing"] == 1
    assert call_states() == states(settled=2)


@pytest.mark.django_db
def test_a_call_whose_picture_cannot_be_read_costs_nothing_and_is_not_lost(
    project: Project, researcher: User, server: ModelServer
) -> None:
    row = version_triplets(sealed_triplets(project, 1, researcher))[0].row
    server.answers = [Answer(200, chat_body("1"))]
    image = Image.objects.get(sha256=row["images"]["premise"])
    Path(image.file.path).unlink()
    options: dict[str, Any] = {"version_name": VERSION, "project": project.slug, "model": "openai:tiny-1"}
    text = refusal("evaluate_triplets", price_unknown=True, **options)
    assert "its file cannot be read (No such file or directory); restore it" in text
    assert (call_states(), server.asked) == (states(failed=1), [])
    call = ModelCall.objects.get()
    assert call.cost_micro == ModelRun.objects.get().committed_micro == 0
