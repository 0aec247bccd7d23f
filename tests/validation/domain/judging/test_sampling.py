"""Choosing pairs for judges: every selection by hand, and what a seed promises."""

import random
from collections import Counter

import numpy as np
import pytest

from validation.domain.judging.sampling import (
    Allocation,
    SelectablePair,
    Selection,
    SelectionError,
    SelectionMethod,
    Stratum,
    allocate_proportionally,
    ids_by_stratum,
    select_pairs,
    source_host,
)


def pairs(count: int = 100) -> list[SelectablePair]:
    """Return pairs of three workers (70, 20, 10 in a hundred), two splits and three confidences."""
    return [
        SelectablePair(
            id=f"{n:032x}",
            worker=1 if n % 10 < 7 else 2 if n % 10 < 9 else 3,
            split="train" if n % 4 else "",
            confidence=1 + n % 3,
            source="vg.example" if n % 2 else "",
        )
        for n in range(count)
    ]


def test_all_and_by_worker() -> None:
    items = pairs()
    assert select_pairs(items, Selection()) == items
    mine = select_pairs(items, Selection(SelectionMethod.WORKERS, workers=(2, 3)))
    assert Counter(item.worker for item in mine) == {2: 20, 3: 10}


def test_a_sample_has_its_size_and_no_pair_twice() -> None:
    found = select_pairs(pairs(), Selection(SelectionMethod.SAMPLE, n=30, seed=5))
    assert len(found) == len({item.id for item in found}) == 30
    assert found == sorted(found, key=lambda item: item.id), "in the order of the pairs"
    assert len(select_pairs(pairs(7), Selection(SelectionMethod.SAMPLE, n=30))) == 7


def test_sample_depends_only_on_the_seed() -> None:
    items = pairs()
    shuffled = random.Random(1).sample(items, len(items))
    first = select_pairs(items, Selection(SelectionMethod.SAMPLE, n=30, seed=5))
    assert {item.id for item in select_pairs(shuffled, Selection(SelectionMethod.SAMPLE, n=30, seed=5))} == {
        item.id for item in first
    }
    assert select_pairs(items, Selection(SelectionMethod.SAMPLE, n=30, seed=6)) != first
    assert set(first) < set(select_pairs(items, Selection(SelectionMethod.SAMPLE, n=40, seed=5)))


def test_sample_is_uniform() -> None:
    """Over many seeds each pair is drawn about as often: 30 of 100, 2000 times, is 600 ± 5 sd of 20.5."""
    drawn = Counter(
        item.id
        for seed in range(2000)
        for item in select_pairs(pairs(), Selection(SelectionMethod.SAMPLE, n=30, seed=seed))
    )
    assert len(drawn) == 100
    assert all(abs(count - 600) < 103 for count in drawn.values())


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (Stratum.WORKER, {"W-1": 21, "W-2": 6, "W-3": 3}),
        (Stratum.SPLIT, {"no split": 7.5, "train": 22.5}),
        (Stratum.CONFIDENCE, {"1": 10.2, "2": 9.9, "3": 9.9}),
        (Stratum.SOURCE, {"no source": 15, "vg.example": 15}),
    ],
)
def test_strata_in_proportion(by: Stratum, expected: dict[str, float]) -> None:
    """Each stratum has its exact share, rounded one way or the other."""
    for seed in range(20):
        found = select_pairs(pairs(), Selection(SelectionMethod.STRATIFIED, n=30, seed=seed, stratify_by=by))
        sizes = {name: len(ids) for name, ids in ids_by_stratum(found, by).items()}
        assert sum(sizes.values()) == 30
        assert all(abs(sizes[name] - exact) < 1 for name, exact in expected.items()), (seed, sizes)


def test_the_same_number_from_each_stratum() -> None:
    chosen = Selection(
        SelectionMethod.STRATIFIED, n=15, seed=2, stratify_by=Stratum.WORKER, allocation=Allocation.EQUAL
    )
    found = select_pairs(pairs(), chosen)
    assert Counter(item.worker for item in found) == {1: 15, 2: 15, 3: 10}


def test_shares_add_up_and_stay_within_their_sizes() -> None:
    generator = random.Random(3)
    for _ in range(300):
        sizes = [generator.randrange(0, 40) for _ in range(generator.randrange(1, 9))]
        n = generator.randrange(0, 200)
        found = allocate_proportionally(sizes, n, np.random.default_rng(n))
        assert sum(found) == min(n, sum(sizes))
        for size, share in zip(sizes, found, strict=True):
            assert 0 <= share <= size
            assert abs(share - size * min(n, sum(sizes)) / max(1, sum(sizes))) < 1


def test_pairs_have_equal_chances_when_strata_outnumber_the_sample() -> None:
    """100 pairs, 20 drawn, 2000 times: 400 ± 5 sd of 17.9 each, whether its author wrote one pair or thirty."""
    sizes = [30, 10, 5, 5, *[2] * 15, *[1] * 20]
    authors = [worker for worker, size in enumerate(sizes, start=1) for _ in range(size)]
    items = [SelectablePair(f"{n:032x}", worker) for n, worker in enumerate(authors)]
    chosen = [
        select_pairs(
            items, Selection(SelectionMethod.STRATIFIED, n=20, seed=seed, stratify_by=Stratum.WORKER)
        )
        for seed in range(2000)
    ]
    assert {len(found) for found in chosen} == {20}
    drawn = Counter(item.id for found in chosen for item in found)
    assert len(drawn) == 100
    assert all(abs(count - 400) < 90 for count in drawn.values())
    assert {sum(item.worker == 1 for item in found) for found in chosen} == {6}, (
        "the exact share, where it is whole"
    )


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"method": SelectionMethod.SAMPLE}, "n"),
        ({"method": SelectionMethod.SAMPLE, "n": 0}, "n"),
        ({"method": SelectionMethod.WORKERS}, "workers"),
        ({"method": SelectionMethod.STRATIFIED, "n": 3}, "strata"),
        ({"seed": -1}, "seed"),
    ],
)
def test_invalid_selection_names_its_field(values: dict[str, object], field: str) -> None:
    with pytest.raises(SelectionError) as caught:
        Selection(**values)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_selection_survives_json() -> None:
    chosen = Selection(
        SelectionMethod.STRATIFIED, 15, 2, (), Stratum.SOURCE, Allocation.EQUAL, include_judged=True
    )
    assert Selection.from_row(chosen.as_row()) == chosen
    assert Selection.from_row({}) == Selection()
    assert chosen.description == "15 from each source, seed 2"
    assert Selection(SelectionMethod.WORKERS, workers=(4, 9)).description == "all pairs of W-4, W-9"


def test_source_of_a_photo_is_its_host() -> None:
    assert source_host("https://www.flickr.com/photos/1") == "flickr.com"
    assert source_host("") == ""
