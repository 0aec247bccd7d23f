"""The folds of a question set: by film, and in agreement with the splits of images and of sealed versions."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from curation.matching.folds import (
    HELD_SPLITS,
    MIN_FOLDS_WITH_BLIND,
    check_folds,
    fold_names,
    make_folds,
)
from curation.pipelines.questions.triplets import TripletKey
from curation.records import InvalidInput
from curation.selectors.published_questions import PublishedSplits
from curation.services.questions import QuestionSetOptions


def split_of_fold(fold: str) -> str:
    """Return the split of a fold: ``train`` for ``train-3``."""
    return fold.rpartition("-")[0]


def divide(
    keys: Sequence[TripletKey],
    options: QuestionSetOptions,
    *,
    small: bool,
    published: PublishedSplits | None = None,
) -> list[str]:
    """Return the fold of each triplet.

    A film that a version has published, or whose images have a split, stays in the folds of this split; other films
    go to any fold, but not to a held split that was published: later versions keep its questions as they are.

    Args:
        published: the splits of films and images in sealed versions.

    Raises:
        InvalidInput: fewer than three films, a film in two folds, a split without folds, or a fold that is too small.
    """
    published = published or PublishedSplits()
    movies = [key.movie for key in keys]
    splits = _splits_of_movies(keys, published)
    if not any(splits.values()):
        return make_folds(movies, options.folds, options.seed, small=small)
    names = fold_names(options.folds)
    sizes = Counter(movies)
    order = sorted(sizes)
    np.random.default_rng(options.seed).shuffle(order)
    totals = dict.fromkeys(names, 0)
    fold_of: dict[str, str] = {}
    closed = {split for split in published.movies.values() if split in HELD_SPLITS}
    for movie in sorted(order, key=lambda item: (not splits[item], -sizes[item])):  # films with a split first
        allowed = [name for name in names if _is_allowed(split_of_fold(name), splits[movie], closed)]
        if not allowed:
            raise InvalidInput(
                f"film {movie}: a sealed version has it in {splits[movie]}, and {options.folds} folds have none for "
                f"this split; give at least {MIN_FOLDS_WITH_BLIND} folds"
            )
        fold_of[movie] = min(allowed, key=totals.__getitem__)
        totals[fold_of[movie]] += sizes[movie]
    folds = [fold_of[movie] for movie in movies]
    check_folds(movies, folds, small=small)
    return folds


def _is_allowed(split: str, own_split: str, closed: set[str]) -> bool:
    """Whether a film may go to a fold of ``split``; ``own_split`` is the film's, or empty."""
    return split == own_split if own_split else split not in closed


def _splits_of_movies(keys: Sequence[TripletKey], published: PublishedSplits) -> dict[str, str]:
    """Return the split of each film, or an empty text if neither versions nor its images have one.

    Raises:
        InvalidInput: a film's images have two splits, or another one than a sealed version.
    """
    given: dict[str, str] = {}
    sealed: dict[str, str] = {}
    for key in keys:
        known = given.setdefault(key.movie, key.split)
        if known and key.split and known != key.split:
            raise InvalidInput(
                f"film {key.movie}: has photos in {known} and in {key.split}, and no film may be in two folds; give "
                "all of its photos one split"
            )
        given[key.movie] = known or key.split
        sealed[key.movie] = sealed.get(key.movie) or published.find(key.movie, key.image)
    for movie, split in given.items():
        if split and sealed[movie] and split != sealed[movie]:
            raise InvalidInput(
                f"film {movie}: its photos are in {split}, but a sealed version has published it in {sealed[movie]}; "
                f"give its photos the split {sealed[movie]}"
            )
    for key in keys:
        split = sealed[key.movie]
        if split and (other := published.find_contradiction(key.movie, key.image, split)):
            raise InvalidInput(
                f"film {key.movie}: sealed versions have photos of it in {split} and in {other}, because it was two "
                f"films then; take its photos of {split} or of {other} down"
            )
    return {movie: sealed[movie] or split for movie, split in given.items()}
