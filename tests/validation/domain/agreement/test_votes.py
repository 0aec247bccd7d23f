"""Tallies, by hand-made votes."""

import pytest

from validation.domain.agreement.votes import Share, is_favoured, mean_rating, tally, verdict_share
from validation.kinds.likert_comparison.ratings import Rating
from validation.kinds.observation_review.scales import POSITIVE, SCALES, Dimension

REASONABLE = SCALES[Dimension.REASONABLE]


def test_majority_and_share() -> None:
    found = tally(["highly", "un", "highly"], REASONABLE)
    assert found == {"highly": 2, "relatively": 0, "un": 1}
    majority = max(found, key=found.__getitem__)
    assert majority == "highly"
    assert found[majority] / sum(found.values()) == pytest.approx(2 / 3)


@pytest.mark.parametrize("labels", [[], ["highly", "un"], ["highly", "relatively", "un"]])
def test_a_tie_has_no_majority(labels: list[str]) -> None:
    found = tally(labels, REASONABLE)
    assert list(found.values()).count(max(found.values())) > 1
    assert sum(found.values()) == len(labels)


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
    assert tally(["1", "3", "3"], [str(int(rating)) for rating in Rating]) == {"1": 1, "2": 0, "3": 2}
    assert mean_rating([1, 3, 3], tuple(Rating)) == pytest.approx(7 / 3)
    assert mean_rating([], tuple(Rating)) is None
    with pytest.raises(ValueError, match="rating 4"):
        mean_rating([4], tuple(Rating))
