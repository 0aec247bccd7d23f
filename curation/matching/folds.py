"""Folds: triplets are matched within a fold, and no movie is in two folds.

Source: Zellers et al. 2019 §4: 11 folds, of which one each is for validation, for the test and held blind. Published
names are ``train-0``, ``val-0`` and so on.
"""

from collections import Counter
from collections.abc import Sequence

from curation.evaluation.inputs import describe_ids
from curation.even_parts import spread_evenly
from curation.records import InvalidInput

HELD_SPLITS = ("test", "blind")
"""Splits whose answers are not published."""
MIN_FOLDS = 3
MIN_FOLD_SIZE = 200
MIN_FOLDS_WITH_BLIND = 11


def fold_names(count: int) -> list[str]:
    """Return the names of folds: ``train-0`` and on, ``val-0``, ``test-0`` and, from 11 folds on, ``blind-0``.

    Raises:
        InvalidInput: fewer than three.
    """
    if count < MIN_FOLDS:
        raise InvalidInput(f"folds: {count} is too few; give at least {MIN_FOLDS}, for train, val and test")
    held = ["val-0", "test-0"] + (["blind-0"] if count >= MIN_FOLDS_WITH_BLIND else [])
    return [f"train-{number}" for number in range(count - len(held))] + held


def make_folds(movies: Sequence[str], count: int, seed: int, *, small: bool = False) -> list[str]:
    """Return the fold of each of n triplets, by movie, so that folds are about equally large.

    The largest movies come first, and each goes to the fold that has the fewest triplets. The seed orders movies of
    equal size.

    Args:
        movies: the movie of each triplet.
        count: number of folds. seed: a whole number.
        small: allow folds below 200 triplets.

    Raises:
        InvalidInput: fewer movies than folds, or a fold is too small.
    """
    names = fold_names(count)
    movie_count = len(set(movies))
    if movie_count < count:
        raise InvalidInput(
            f"movies: {movie_count} for {count} folds, and no movie may be in two; give more movies or fewer folds"
        )
    part_of = spread_evenly(movies, count, seed=seed)
    folds = [names[part_of[movie]] for movie in movies]
    check_fold_sizes(folds, small=small)
    return folds


def check_folds(movies: Sequence[str], folds: Sequence[str], *, small: bool = False) -> None:
    """Check given folds of n triplets.

    Raises:
        InvalidInput: a movie is in two folds, there are fewer than three movies or folds, or a fold is too small.
    """
    folds_of: dict[str, set[str]] = {}
    for movie, fold in zip(movies, folds, strict=True):
        folds_of.setdefault(movie, set()).add(fold)
    split = sorted(movie for movie, found in folds_of.items() if len(found) > 1)
    if split:
        found = ", ".join(sorted(folds_of[split[0]]))
        raise InvalidInput(f"movies: {describe_ids(split)} in two folds ({found}); give each movie one fold")
    if len(folds_of) < MIN_FOLDS or len(set(folds)) < MIN_FOLDS:
        raise InvalidInput(
            f"movies: {len(folds_of)} in {len(set(folds))} folds; give at least {MIN_FOLDS} movies and folds"
        )
    check_fold_sizes(folds, small=small)


def check_fold_sizes(folds: Sequence[str], *, small: bool = False) -> None:
    """Raise InvalidInput if a fold has fewer than 200 triplets, unless small folds are allowed."""
    name, size = min(Counter(folds).items(), key=lambda item: (item[1], item[0]), default=("", MIN_FOLD_SIZE))
    if size < MIN_FOLD_SIZE and not small:
        raise InvalidInput(
            f"fold {name}: {size} triplets; give fewer folds, more triplets, or --small to allow small folds"
        )
