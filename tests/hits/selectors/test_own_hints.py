"""Hints that a kind finds itself: they read the worker's earlier answers, and rules can be switched off."""

from typing import Any

import pytest

from hits.hints.card import HintRule
from hits.models import Project, Worker
from hits.selectors.hints import draft_hints
from tests.support import market
from tests.support.mentions import SHA256, question_hit

pytestmark = pytest.mark.django_db(transaction=True)


def triplet(question: str) -> dict[str, Any]:
    return {
        "question": [question, {"objects": [0]}],
        "answer": ["They want to know."],
        "rationale": ["People look where something happens suddenly."],
        "likelihood": "likely",
    }


def answer(*questions: str) -> dict[str, Any]:
    return {
        "triplets": [triplet(question) for question in questions],
        "interest": 0,
        "objects_sha256": SHA256,
    }


def test_question_of_an_earlier_task_is_a_copy_for_its_author_alone(project: Project, settings: Any) -> None:
    earlier, hit = question_hit(project), question_hit(project)
    market.work(earlier, market.market_worker("wilma"), answer("Who looks at the door beside "))
    author = Worker.objects.get()
    draft = answer("Who looks at the door beside ")
    (hint,) = draft_hints(hit, draft, worker=author)
    assert (hint.rule, hint.card, hint.other) == (HintRule.COPIED_QUESTION, 1, None)
    assert draft_hints(hit, draft) == []
    assert draft_hints(earlier, draft, worker=author) == [], "the task's own answer is no earlier one"
    settings.HINTS_OFF = frozenset({HintRule.COPIED_QUESTION})
    assert draft_hints(hit, draft, worker=author) == []
