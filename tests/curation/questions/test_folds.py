"""The folds of a set: by film, and in agreement with splits that photos have already."""

from collections.abc import Iterator
from itertools import count

import pytest

from curation.pipelines.questions.folds import divide, split_of_fold
from curation.pipelines.questions.triplets import TripletKey
from curation.records import InvalidInput
from curation.selectors.published_questions import PublishedSplits
from curation.services.questions import QuestionSetOptions

NUMBERS: Iterator[int] = count(1)


def film(name: str, size: int, split: str = "") -> list[TripletKey]:
    return [TripletKey(pk, f"{pk:032x}", pk, name, split) for pk in (next(NUMBERS) for _ in range(size))]


def spread(keys: list[TripletKey], published: dict[str, str] | None = None, **options: int) -> list[str]:
    chosen = QuestionSetOptions(**({"folds": 3} | options))  # type: ignore[arg-type]
    return divide(keys, chosen, small=True, published=PublishedSplits(published or {}))


def folds_by_film(keys: list[TripletKey], *, small: bool = True, **options: int) -> dict[str, set[str]]:
    folds = divide(keys, QuestionSetOptions(**({"folds": 3} | options)), small=small)  # type: ignore[arg-type]
    found: dict[str, set[str]] = {}
    for key, fold in zip(keys, folds, strict=True):
        found.setdefault(key.movie, set()).add(fold)
    return found


def test_films_without_splits_are_spread_evenly_and_stay_whole() -> None:
    keys = [key for number in range(30) for key in film(f"film {number}", 10 + number)]
    found = folds_by_film(keys, folds=11)
    assert all(len(folds) == 1 for folds in found.values())
    names = {next(iter(folds)) for folds in found.values()}
    assert names == {*(f"train-{number}" for number in range(8)), "val-0", "test-0", "blind-0"}


def test_films_with_a_split_stay_in_its_folds_and_others_fill_up() -> None:
    sizes = [("a", 30, "train"), ("b", 20, "val"), ("c", 20, "test"), ("d", 5, ""), ("e", 25, "train")]
    keys = [key for size in sizes for key in film(*size)]
    found = {name: split_of_fold(next(iter(folds))) for name, folds in folds_by_film(keys, folds=4).items()}
    assert found | {"d": ""} == {"a": "train", "b": "val", "c": "test", "d": "", "e": "train"}
    assert folds_by_film(keys, folds=4)["a"] != folds_by_film(keys, folds=4)["e"], "two train folds"


def test_one_photo_with_a_split_decides_for_its_film() -> None:
    keys = [*film("a", 9), *film("a", 1, "val"), *film("b", 10), *film("c", 10)]
    assert folds_by_film(keys)["a"] == {"val-0"}


def test_film_with_photos_of_two_splits_is_refused() -> None:
    keys = [*film("a", 5, "train"), *film("a", 5, "test"), *film("b", 10), *film("c", 10)]
    with pytest.raises(
        InvalidInput, match="film a: has photos in train and in test, and no film may be in two"
    ):
        folds_by_film(keys)


def test_same_seed_gives_the_same_folds() -> None:
    keys = [key for number in range(12) for key in film(f"film {number}", 10)]
    assert folds_by_film(keys, seed=1) == folds_by_film(keys, seed=1)
    assert folds_by_film(keys, seed=1) != folds_by_film(keys, seed=2)


def test_published_films_keep_their_split_and_new_films_stay_out_of_published_held_splits() -> None:
    keys = [key for number in range(24) for key in film(f"film {number}", 10)]
    first = {key.movie: split_of_fold(fold) for key, fold in zip(keys, spread(keys, seed=1), strict=True)}
    more = [*keys, *(key for number in range(24, 60) for key in film(f"film {number}", 10))]
    for seed, count_ in ((2, 3), (3, 5), (4, 11)):
        folds = spread(more, published=first, seed=seed, folds=count_)
        second = {key.movie: split_of_fold(fold) for key, fold in zip(more, folds, strict=True)}
        assert {movie: second[movie] for movie in first} == first
        assert "test" not in {split for movie, split in second.items() if movie not in first}


def test_published_split_that_contradicts_photos_or_has_no_fold_is_refused() -> None:
    keys = [*film("a", 10, "train"), *film("b", 10), *film("c", 10)]
    with pytest.raises(InvalidInput, match="film a: its photos are in train, but a sealed version"):
        spread(keys, published={"a": "test"})
    with pytest.raises(InvalidInput, match="film b: a sealed version has it in blind, and 3 folds have none"):
        spread(keys, published={"b": "blind"})


def test_pinned_folds_that_are_too_few_or_too_small_are_refused() -> None:
    keys = [*film("a", 10, "train"), *film("b", 10, "train"), *film("c", 10, "val")]
    with pytest.raises(InvalidInput, match="movies: 3 in 2 folds"):
        folds_by_film(keys)
    keys += film("d", 10, "test")
    with pytest.raises(InvalidInput, match="10 triplets; give fewer folds"):
        folds_by_film(keys, small=False)
