"""Audits over a few accepted pairs, for tests."""

from typing import Any

from django.contrib.auth.models import User

from curation.audits.codebook import Codebook
from curation.audits.parsing import builtin_codebooks, parse_codebook
from curation.audits.sampling import SampleRecipe, SamplingMethod
from curation.models import AnalysisKind, Audit, Pair, PairText, TextAnalysis, TextScore
from curation.services import audits
from tests.support.judging.work import Work

SMALL = """
id = "small"
title = "A small codebook"
version = 3
[[codes]]
id = "person"
question = "Is it about a person?"
kind = "yes-no"
[[codes]]
id = "which"
question = "What about them?"
kind = "multiple"
asked_when = { code = "person", is = ["yes"] }
choices = [
  { value = "age", words = "Their age" },
  { value = "work", words = "Their work" },
  { value = "none", words = "None of these", alone = true },
]
[[published]]
code = "person"
value = "yes"
count = 54
of = 150
words = "36% of 150 clues"
"""


def small() -> Codebook:
    """Return a codebook of two questions, the second of which is asked now and then."""
    return parse_codebook(SMALL, "small.toml")


def pairs(work: Work, count: int = 6, *, split: str = "") -> list[Pair]:
    """Return so many accepted pairs, three a photo."""
    start = work.count
    found: list[Pair] = []
    for n in range(-(-count // 3)):
        image = work.image(1000 + start + n)
        if split:
            type(image).objects.filter(pk=image.pk).update(split=split)
        found += work.observed(image, worker=f"W{start + n}")
    return found[:count]


def begun(work: Work, *, by: User | None = None, n: int = 6, readers: int = 2, **more: Any) -> Audit:
    """Return an audit of a random sample of the project's accepted pairs."""
    return audits.create_audit(
        project=work.project,
        by=by,
        name=more.pop("name", "Close reading"),
        codebook=more.pop("codebook", None) or small(),
        recipe=more.pop("recipe", None) or SampleRecipe(SamplingMethod.RANDOM, n, seed=1),
        readers=readers,
    )


def scored(work: Work, observations: list[Pair], scores: list[float]) -> TextAnalysis:
    """Return an analysis of toxicity with a score for each pair's inference; the clue's is lower."""
    analysis = TextAnalysis.objects.create(
        project=work.project, kind=AnalysisKind.TOXICITY, options={"model": "made up"}, pairs=len(scores)
    )
    for pair, score in zip(observations, scores, strict=True):
        for field, value in ((PairText.CLUE, score / 2), (PairText.INFERENCE, score)):
            TextScore.objects.create(analysis=analysis, observation=pair, field=field, score=value)
    return analysis


NO = {"person": ["no"]}


def yes(*which: str) -> dict[str, list[str]]:
    """Return the answers of somebody who found a person."""
    return {"person": ["yes"], "which": list(which or ("none",))}


__all__ = ["NO", "SMALL", "begun", "builtin_codebooks", "pairs", "scored", "small", "yes"]
