"""What counts as a model's description of an image; without one, nothing is asked about it."""

import pytest
from django.contrib.auth.models import User

from curation.generation.canned import MadeUpReplies
from curation.generation.chat import ChatReply
from curation.models import ModelCall, TripletEvaluation
from curation.selectors.triplets.evaluations import unread_predictions
from hits.models import Project
from tests.support.nleye_jobs import evaluate, sealed_triplets

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "finish", "described"),
    [
        ("", "stop", ""),
        ('{"description": "A man sits."}', "length", ""),
        ('{"description": "A man', "stop", ""),
        ('{"description": " "}', "stop", ""),
        ("A man sits.", "stop", "A man sits."),
    ],
)
def test_a_choice_is_asked_for_only_with_descriptions(
    project: Project,
    researcher: User,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    finish: str,
    described: str,
) -> None:
    sealed_triplets(project, 1, researcher)
    reply = ChatReply(text, finish, "canned", raw={"text": text})
    monkeypatch.setattr(MadeUpReplies, "reply", lambda *_: reply)
    found = evaluate(project, strategy="image-to-text")
    assert found["figures"]["triplet"]["reasons"]["unparseable"] == 2  # of two orders
    assert ModelCall.objects.filter(subject__startswith="description of image").exists()
    choices = ModelCall.objects.filter(subject="triplet 1, as_listed")
    asked = [str(call.request).count(described) for call in choices]
    assert asked == ([3] if described else [])
    unread = unread_predictions(TripletEvaluation.objects.get())
    assert unread.count() == (2 if described else 0)  # the same text is no choice
