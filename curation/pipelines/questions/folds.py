"""The folds of a question set: by film, and in agreement with the splits that images have already."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from curation.matching.folds import check_folds, fold_names, make_folds
from curation.pipelines.questions.triplets import TripletKey
from curation.records import InvalidInput
from curation.services.questions import QuestionSetOptions


def split_of_fold(fold: str) -> str:
    """Return the split of a fold: ``train`` for ``train-3``."""
    return fold.rpartition("-")[0]


def divide(keys: Sequence[TripletKey], options: QuestionSetOptions, *, small: bool) -> list[str]:
    """Return the fold of each triplet.

    A film whose images have a split stays in the folds of this split; other films go to any fold.

    Raises:
        InvalidInput: fewer than three films, a film in two folds, or a fold that is too small.
    """
    movies = [key.movie for key in keys]
    splits = _splits_of_movies(keys)
    if not any(splits.values()):
        return make_folds(movies, options.folds, options.seed, small=small)
    names = fold_names(options.folds)
    sizes = Counter(movies)
    order = sorted(sizes)
    np.random.default_rng(options.seed).shuffle(order)
    totals = dict.fromkeys(names, 0)
    fold_of: dict[str, str] = {}
    for movie in sorted(order, key=lambda item: (not splits[item], -sizes[item])):  # films with a split first
        allowed = [name for name in names if splits[movie] in {"", split_of_fold(name)}]
        fold_of[movie] = min(allowed, key=totals.__getitem__)
        totals[fold_of[movie]] += sizes[movie]
    folds = [fold_of[movie] for movie in movies]
    check_folds(movies, folds, small=small)
    return folds


def _splits_of_movies(keys: Sequence[TripletKey]) -> dict[str, str]:
    """Return the split of each film's images, or an empty text if they have none.

    Raises:
        InvalidInput: a film has images of two splits, or a split without folds.
    """
    found: dict[str, str] = {}
    for key in keys:
        known = found.setdefault(key.movie, key.split)
        if known and key.split and known != key.split:
            raise InvalidInput(
                f"film {key.movie}: has photos in {known} and in {key.split}, and no film may be in two folds; give "
                "all of its photos one split"
            )
        found[key.movie] = known or key.split
    return found
