"""Agreement with people's ratings of candidate inferences, as on the Sherlock leaderboard.

The measure is pairwise accuracy, rescaled so that chance is 0 and perfect order is 100, and averaged over instances.
To break ties, the published scorer adds a tiny random vector to the ranking scores, from a generator that is seeded
with 1 for each instance. This module draws the same vector, for any number of candidates.
Source: Hessel et al. 2022, section 5.1, doi:10.1007/978-3-031-20059-5_32.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import Scores, order_scores
from curation.records import InvalidInput
from validation.domain.agreement.pairwise import (
    GeneratorFactory,
    draw_like_published_scorer,
    pairwise_agreement,
    published_generator,
    tie_break_noise,
)


@dataclass(frozen=True, slots=True)
class ComparisonScores:
    """Percentages (chance 0, perfect 100) over a number of images; None without images.

    human: one annotator's ratings predict the other's order, both ways averaged. model, random, oracle: the model's
    scores, random scores, or the mean ratings predict both annotators' orders.
    """

    human: float | None
    model: float | None
    random: float | None
    oracle: float | None
    images: int


@dataclass(frozen=True, slots=True)
class RatedInstance:
    """One image and region with n rated candidates. first, second: the two annotators' ratings, (n,)."""

    instance: str
    test_ids: tuple[str, ...]
    first: NDArray[np.float64]
    second: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ComparisonKey:
    """The answer key of comparison. test_ids: all ids that need a score."""

    test_ids: tuple[str, ...]
    instances: tuple[RatedInstance, ...]


def parse_comparison_key(raw: Mapping[str, Any]) -> ComparisonKey:
    """Read {"test_id_map": {id: {Input_iid, candidate}}, "annotations": [{Input_iid, candidates: [...]}]}.

    Raises InvalidInput that names a malformed or repeated entry, or a candidate without a test id.
    """
    test_id_map, annotations = raw.get("test_id_map"), raw.get("annotations")
    if not isinstance(test_id_map, dict) or not isinstance(annotations, list):
        raise InvalidInput("answer key: must have test_id_map (an object) and annotations (a list)")
    test_ids: dict[tuple[str, str], str] = {}
    for test_id, entry in test_id_map.items():
        pair = _parse_candidate_key(test_id, entry)
        if pair in test_ids:
            raise InvalidInput(f"answer key: {test_ids[pair]!r} and {test_id!r} are one candidate; keep one")
        test_ids[pair] = test_id
    instances = tuple(_read_instance(index, entry, test_ids) for index, entry in enumerate(annotations))
    return ComparisonKey(test_ids=tuple(test_id_map), instances=instances)


def score_comparison(
    scores: Scores, key: ComparisonKey, *, generator: GeneratorFactory = published_generator
) -> ComparisonScores:
    """Compare a model's scores with people's ratings.

    generator: returns a new generator; called once per instance, so the order of instances does not matter. Raises
    InvalidInput for missing, unknown or non-finite scores.
    """
    rows = instance_agreements(scores, key, generator=generator)
    if not len(rows):
        return ComparisonScores(human=None, model=None, random=None, oracle=None, images=0)
    human, model, random, oracle = (float(value) for value in rows.mean(axis=0))
    return ComparisonScores(human=human, model=model, random=random, oracle=oracle, images=len(rows))


def instance_agreements(
    scores: Scores, key: ComparisonKey, *, generator: GeneratorFactory = published_generator
) -> NDArray[np.float64]:
    """Return each instance's figures, (n, 4): human, model, random, oracle, in percent as in ``ComparisonScores``.

    Raises InvalidInput for missing, unknown or non-finite scores.
    """
    values = dict(zip(key.test_ids, order_scores(scores, key.test_ids).tolist(), strict=True))
    rows = [_score_instance(values, instance, generator()) for instance in key.instances]
    return 100 * np.array(rows, dtype=np.float64).reshape(-1, 4)


def _score_instance(
    scores: Mapping[str, float], instance: RatedInstance, generator: np.random.RandomState
) -> tuple[float, float, float, float]:
    """Return (human, model, random, oracle) of one instance, each from -1 to 1."""
    n = len(instance.test_ids)
    noise = tie_break_noise(generator, n)
    chance = draw_like_published_scorer(generator, n)
    model = np.array([scores[test_id] for test_id in instance.test_ids], dtype=np.float64)
    labels = (instance.first, instance.second)
    human = [
        pairwise_agreement(instance.first, instance.second + noise),
        pairwise_agreement(instance.second, instance.first + noise),
    ]
    return (
        _mean(human),
        _mean(pairwise_agreement(label, model + noise) for label in labels),
        _mean(pairwise_agreement(label, chance) for label in labels),
        _mean(pairwise_agreement(label, (instance.first + instance.second) / 2 + noise) for label in labels),
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _parse_candidate_key(test_id: str, entry: object) -> tuple[str, str]:
    if isinstance(entry, dict):
        instance, candidate = entry.get("Input_iid"), entry.get("candidate")
        if isinstance(instance, str) and isinstance(candidate, str):
            return instance, candidate
    raise InvalidInput(f"answer key: test_id_map[{test_id!r}] needs Input_iid and candidate, both strings")


def _read_instance(index: int, entry: object, test_ids: Mapping[tuple[str, str], str]) -> RatedInstance:
    where = f"answer key: annotations[{index}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("Input_iid"), str):
        raise InvalidInput(f"{where} needs Input_iid, a string")
    instance, candidates = entry["Input_iid"], entry.get("candidates")
    if not isinstance(candidates, list):
        raise InvalidInput(f"{where} ({instance!r}) needs candidates, a list")
    located = ((f"{where}.candidates[{i}]", item) for i, item in enumerate(candidates))
    rows = [_read_candidate(location, instance, item, test_ids) for location, item in located]
    if len({test_id for test_id, _, _ in rows}) != len(rows):
        raise InvalidInput(f"{where} ({instance!r}) lists a candidate twice; list each once")
    return RatedInstance(
        instance=instance,
        test_ids=tuple(test_id for test_id, _, _ in rows),
        first=np.array([first for _, first, _ in rows], dtype=np.float64),
        second=np.array([second for _, _, second in rows], dtype=np.float64),
    )


def _read_candidate(
    where: str, instance: str, item: object, test_ids: Mapping[tuple[str, str], str]
) -> tuple[str, float, float]:
    if not isinstance(item, dict) or not isinstance(item.get("source_iid"), str):
        raise InvalidInput(f"{where} needs source_iid, a string")
    test_id = test_ids.get((instance, item["source_iid"]))
    if test_id is None:
        raise InvalidInput(f"{where}: {item['source_iid']!r} of {instance!r} is not in test_id_map; add it")
    return test_id, _rating(where, item, "annot1"), _rating(where, item, "annot2")


def _rating(where: str, item: Mapping[str, Any], name: str) -> float:
    try:
        rating = float(item[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        rating = math.nan
    if not math.isfinite(rating):
        raise InvalidInput(f"{where} needs {name}, a number")
    return rating
