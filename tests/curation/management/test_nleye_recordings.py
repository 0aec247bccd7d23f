"""Replies that a run records are repeated from the file: the same figures without a call to the model."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.models import Project
from tests.support.nleye_jobs import evaluate, refusal, sealed_triplets

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("strategy", ["combined", "image-to-text"])
def test_recorded_replies_give_the_same_figures(
    project: Project, researcher: User, tmp_path: Path, strategy: str
) -> None:
    sealed_triplets(project, 4, researcher)
    recording = tmp_path / "replies.jsonl"
    first = evaluate(project, strategy=strategy, record=recording)
    lines = recording.read_text().splitlines()
    assert len(lines) == first["calls"] == len(set(lines))
    again = evaluate(project, strategy=strategy, model=f"canned:{recording}")
    assert again["figures"] == first["figures"]
    assert again["calls"] == first["calls"], "another model: its replies are stored as its own"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "people", "out": Path("there")}, "--out: people see one order each"),
        ({"model": "baseline:random", "record": Path("there")}, "--record: only chat models have replies"),
    ],
)
def test_what_cannot_be_written_is_refused(
    project: Project, researcher: User, options: dict[str, Any], message: str
) -> None:
    sealed_triplets(project, 2, researcher)
    assert message in refusal("evaluate_triplets", project=project.slug, version_name="v1", **options)
