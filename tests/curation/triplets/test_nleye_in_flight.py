"""Calls that wait: for room under the cap beside calls in flight, and for their turn; none is reserved meanwhile."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.generation.canned import MadeUpReplies
from curation.generation.chat import ChatReply, ChatRequest
from curation.generation.pace import Pace
from curation.models import CallState, ModelCall, ModelRun, TripletPrediction
from curation.pipelines.triplets import calls
from curation.services.triplets.model_calls import CapReached
from hits.models import Job, Project
from tests.support.nleye_jobs import (
    CHAT_PRICES,
    VERSION,
    call_states,
    evaluate,
    refusal,
    sealed_triplets,
    set_prices,
    states,
)


@pytest.mark.django_db(transaction=True)
def test_a_call_waits_for_the_room_that_a_call_in_flight_leaves(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cap has room for one call at its full price, and for all at what they cost."""
    sealed_triplets(project, 2, researcher)
    set_prices(project, CHAT_PRICES)
    real_reserve, real_reply, is_full = calls.reserve_call, MadeUpReplies.reply, threading.Event()

    def reserve(*args: Any, **kwargs: Any) -> ModelCall:
        try:
            return real_reserve(*args, **kwargs)
        except CapReached:
            is_full.set()
            raise

    def reply(self: MadeUpReplies, request: ChatRequest) -> ChatReply:
        assert is_full.wait(10)  # another thread found no room beside this call
        found = real_reply(self, request)
        return replace(found, usage={"prompt_tokens": 1, "completion_tokens": 1})

    monkeypatch.setattr(calls, "reserve_call", reserve)
    monkeypatch.setattr(MadeUpReplies, "reply", reply)
    found = evaluate(project, cap_usd=0.01, threads=2)
    assert "stopped" not in found
    assert call_states() == states(settled=4)
    assert TripletPrediction.objects.exclude(choice="").count() == 4
    run = ModelRun.objects.get()
    assert ModelCall.objects.latest("pk").reserved_micro > run.cap_micro / 2
    assert run.committed_micro == 4 * 12


@pytest.mark.django_db
def test_a_call_that_waits_for_its_turn_is_not_reserved_yet(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is cancelled while the third call waits; it is never sent."""
    sealed_triplets(project, 2, researcher)
    sent: list[int] = []

    def wait(_: Pace) -> float:
        sent.append(ModelCall.objects.filter(state=CallState.SENT).count())
        if len(sent) == 3:
            Job.objects.update(cancel_requested=True)
        return 15.0

    monkeypatch.setattr(Pace, "wait", wait)
    text = refusal("evaluate_triplets", version_name=VERSION, project=project.slug, per_minute=4.0)
    assert "cancelled" in text
    assert sent == [0, 0, 0]
    assert call_states() == states(settled=2)
