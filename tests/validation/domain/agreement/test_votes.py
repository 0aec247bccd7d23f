"""Tallies, by hand-made votes."""

import pytest

from validation.domain.agreement.votes import Share, is_favoured, summarise_ratings, tally, verdict_share
from validation.kinds.likert_comparison.ratings import Rating
from validation.kinds.observation_review.scales import POSITIVE, SCALES, Dimension

REASONABLE = SCALES[Dimension.REASONABLE]


def test_majority_and_share() -> None:
    found = tally(["highly", "un", "highly"], REASONABLE)
    assert dict(found.counts) == {"highly": 2, "relatively": 0, "un": 1}
    assert found.majority == "highly"
    assert found.majority_share == pytest.approx(2 / 3)


@pytest.mark.parametrize("labels", [[], ["highly", "un"], ["highly", "relatively", "un"]])
def test_a_tie_has_no_majority(labels: list[str]) -> None:
    found = tally(labels, REASONABLE)
    assert found.majority is None
    assert found.majority_share is None
    assert found.votes == len(labels)


def test_a_label_off_the_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="'superb' is not on the scale"):
        tally(["superb"], REASONABLE)


def test_a_pair_is_reasonable_when_more_than_half_choose_either_degree() -> None:
    positive = POSITIVE[Dimension.REASONABLE]
    assert is_favoured(tally(["highly", "relatively", "un"], REASONABLE).counts, positive) is True
    assert is_favoured(tally(["highly", "un", "un"], REASONABLE).counts, positive) is False
    assert is_favoured(tally(["highly", "un"], REASONABLE).counts, positive) is None
    assert is_favoured(tally([], REASONABLE).counts, positive) is None


def test_shares_include_undecided_in_the_total() -> None:
    assert verdict_share([True, True, False, None]) == Share(count=2, total=4, undecided=1)
    assert verdict_share([True, True, False, None]).percent == 50
    assert verdict_share([]).percent is None


def test_rating_summary() -> None:
    found = summarise_ratings([1, 3, 3], tuple(Rating))
    assert found.counts == {1: 1, 2: 0, 3: 2}
    assert found.mean == pytest.approx(7 / 3)
    assert summarise_ratings([], tuple(Rating)).mean is None
    with pytest.raises(ValueError, match="rating 4"):
        summarise_ratings([4], tuple(Rating))
