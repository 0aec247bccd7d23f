"""Tallies, by hand-made votes."""

import pytest

from validation.domain.agreement.votes import Share, is_favoured, mean_rating, tally, verdict_share
from validation.kinds.likert_comparison.ratings import Rating
from validation.kinds.observation_review.scales import POSITIVE, SCALES, Dimension

REASONABLE = SCALES[Dimension.REASONABLE]


def test_every_label_of_the_scale_is_counted() -> None:
    assert tally(["highly", "un", "highly"], REASONABLE) == {"highly": 2, "relatively": 0, "un": 1}
    assert tally([], REASONABLE) == {"highly": 0, "relatively": 0, "un": 0}


def test_a_label_off_the_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="'superb' is not on the scale"):
        tally(["superb"], REASONABLE)


def test_a_pair_is_reasonable_when_more_than_half_choose_either_degree() -> None:
    positive = POSITIVE[Dimension.REASONABLE]
    assert is_favoured(tally(["highly", "relatively", "un"], REASONABLE), positive) is True
    assert is_favoured(tally(["highly", "un", "un"], REASONABLE), positive) is False
    assert is_favoured(tally(["highly", "un"], REASONABLE), positive) is None
    assert is_favoured(tally([], REASONABLE), positive) is None


def test_shares_include_undecided_in_the_total() -> None:
    assert verdict_share([True, True, False, None]) == Share(count=2, total=4, undecided=1)
    assert verdict_share([True, True, False, None]).percent == 50
    assert verdict_share([]).percent is None


def test_mean_rating() -> None:
    assert mean_rating([1, 3, 3], tuple(Rating)) == pytest.approx(7 / 3)
    assert mean_rating([], tuple(Rating)) is None
    with pytest.raises(ValueError, match="rating 4"):
        mean_rating([4], tuple(Rating))
