"""Corpus statistics and splits, by hand-counted rows."""

import pytest

from curation.families.sherlock.stats import CorpusCounter, CorpusStatistics
from curation.versions.splits import Split, UnknownSplit, parse_split


def row(url: str, boxes: int, clue: str, inference: str, confidence: float) -> dict:
    return {
        "inputs": {
            "image": {"url": url, "width": 10, "height": 10},
            "bboxes": [{"left": 0, "top": 0, "width": 1, "height": 1}] * boxes,
            "clue": clue,
            "confidence": confidence,
        },
        "targets": {"inference": inference},
    }


def statistics(*rows: dict) -> CorpusStatistics:
    counter = CorpusCounter()
    for each in rows:
        counter.add(each)
    return counter.result()


def test_statistics_by_hand() -> None:
    found = statistics(
        row("a", 1, "a wet coat", "It rained.", 3.0),
        row("a", 1, "the open door", "Somebody's just left, I think", 2.0),
        row("b", 4, "bread", "Fresh bread", 2.0),
        row("b", 2, "bread", "Old bread", 1.0),
    )
    assert (found.images, found.pairs, found.pairs_per_image) == (2, 4, 2.0)
    assert found.boxes_per_clue_mean == 2.0
    assert found.boxes_per_clue_median == 1.5
    assert found.tokens_per_clue == (3 + 3 + 1 + 1) / 4
    # "It rained." is three tokens; "Somebody's" is one, its comma another.
    assert found.tokens_per_inference == (3 + 6 + 2 + 2) / 4
    assert found.confidence == {"certain": 0.25, "likely": 0.5, "possible": 0.25}


def test_nothing_to_measure_is_none_not_zero() -> None:
    found = statistics()
    assert found.pairs == 0
    assert found.pairs_per_image is None
    assert found.confidence["likely"] is None


def test_splits_are_spelled_one_way() -> None:
    assert parse_split("Validation") is Split.VAL
    assert parse_split("train") is Split.TRAIN
    assert parse_split("") is Split.NONE
    with pytest.raises(UnknownSplit, match="'holdout'"):
        parse_split("holdout")
