"""Answers become rating tables: scales from low to high, missing fields, first answers."""

import numpy as np
import pytest

from validation.domain.judging.rating_tables import build_tables, item_labels
from validation.domain.judging.ratings import JudgmentRow, RatingError, RatingTable
from validation.domain.judging.spec import Scale
from validation.kinds.observation_review.scales import POSITIVE
from validation.registry import judging_kinds, spec_of


def review(item: str, rater: str, **answer: str) -> JudgmentRow:
    return JudgmentRow(kind="observation_review", item=item, rater=rater, answer=answer)


def test_each_question_of_a_review_has_its_table_from_worst_to_best() -> None:
    found = build_tables(
        [
            review("a", "w1", boxes="appropriate", reasonable="highly", interesting="very"),
            review("a", "w2", boxes="entirely_off", reasonable="un", interesting="not_at_all"),
        ],
        spec_of("observation_review"),
    )
    assert list(found) == ["reasonable", "boxes", "interesting"]
    assert found["reasonable"].scale == ("un", "relatively", "highly")
    assert found["boxes"].scale == ("entirely_off", "mostly", "appropriate")
    assert found["interesting"].scale == ("not_at_all", "caption_like", "interesting", "very")
    assert found["interesting"].values.tolist() == [0, 1, 2, 3]
    assert found["interesting"].labels.tolist() == [3, 0]
    assert found["boxes"].item_ids == ("a",)
    assert found["boxes"].rater_ids == ("w1", "w2")


@pytest.mark.parametrize("dimension", list(POSITIVE))
def test_positive_labels_are_the_top_of_the_scale(dimension: str) -> None:
    positive = [
        word in {str(w) for w in POSITIVE[dimension]}
        for word in spec_of("observation_review").dimension(dimension).labels
    ]
    assert positive == sorted(positive)
    assert 0 < sum(positive) < len(positive)


def test_missing_field_is_a_missing_rating() -> None:
    found = build_tables(
        [review("a", "w1", boxes="mostly"), review("b", "w1", reasonable="un", boxes="mostly")],
        spec_of("observation_review"),
    )
    assert found["boxes"].item_ids == ("a", "b")
    assert found["reasonable"].item_ids == ("b",)
    assert found["interesting"].size == 0


def test_ratings_of_candidates_are_items_of_their_set() -> None:
    rows = [
        JudgmentRow(kind="likert_comparison", item="s", rater="w1", answer={"ratings": [
            {"candidate": "c1", "rating": 3}, {"candidate": "c2", "rating": 1}]}),
        JudgmentRow(kind="likert_comparison", item="s", rater="w2", answer={"ratings": [
            {"candidate": "c2", "rating": 2}]}),
    ]  # fmt: skip
    table = build_tables(rows, spec_of("likert_comparison"))["rating"]
    assert table.item_ids == (("s", "c1"), ("s", "c2"))
    assert table.scale == (1, 2, 3)
    assert table.values.tolist() == [1, 2, 3]
    assert table.label_counts().tolist() == [[0, 0, 1], [1, 1, 0]]


def test_matches_are_labelled_with_the_region_that_was_chosen() -> None:
    rows = [
        JudgmentRow(kind="localization_match", item="s", rater="w1", answer={"matches": [
            {"inference": "i1", "region": "rB"}, {"inference": "i2", "region": "rA"}]}),
        JudgmentRow(kind="localization_match", item="s", rater="w2", answer={"matches": [
            {"inference": "i1", "region": "rB"}, {"inference": "i2", "region": "rC"}]}),
    ]  # fmt: skip
    table = build_tables(rows, spec_of("localization_match"))["match"]
    assert table.scale == ("rA", "rB", "rC")
    assert table.item_ids == (("s", "i1"), ("s", "i2"))
    assert table.label_counts().tolist() == [[0, 2, 0], [1, 0, 1]]


@pytest.mark.parametrize("kind", judging_kinds())
def test_table_without_judgments_is_empty(kind: str) -> None:
    found = build_tables([], spec_of(kind))
    counted = [one.name for one in spec_of(kind).dimensions if one.scale is not Scale.TEXT]
    assert list(found) == counted
    assert all(table.size == 0 and table.item_ids == () for table in found.values())


def test_first_of_two_answers_counts() -> None:
    rows = [
        review("a", "w1", boxes="mostly"),
        review("b", "w1", boxes="mostly"),
        review("a", "w1", boxes="entirely_off"),
        review("a", "w2", boxes="entirely_off"),
    ]
    table = build_tables(rows, spec_of("observation_review"))["boxes"]
    assert table.size == 3
    assert [table.scale[at] for at in table.labels] == ["mostly", "mostly", "entirely_off"]


def test_label_off_the_scale_is_refused_by_name() -> None:
    with pytest.raises(
        RatingError, match=r"item a, rater w1: 'great' .* use entirely_off, mostly, appropriate"
    ):
        build_tables([review("a", "w1", boxes="great")], spec_of("observation_review"))


@pytest.mark.parametrize("kind", ["sherlock_observation", "typo"])
def test_only_judging_kinds_have_tables(kind: str) -> None:
    with pytest.raises(LookupError, match=r"known|is not a judging kind"):
        spec_of(kind)


def test_labels_from_units_form_the_scale() -> None:
    assert not spec_of("localization_match").dimension("match").has_fixed_labels


def test_repeated_rating_is_refused() -> None:
    with pytest.raises(RatingError, match="item a: rater r rated it twice"):
        RatingTable.from_rows([("a", "r", 1), ("b", "r", 1), ("a", "r", 2)], (1, 2))


def test_filtered_table_keeps_codes() -> None:
    table = RatingTable.from_rows([("a", "r", 1), ("b", "r", 2), ("b", "s", 1)], (1, 2), (1, 2))
    part = table.where(table.raters == 1)
    assert part.item_ids == ("a", "b")
    assert part.label_counts().tolist() == [[0, 0], [1, 0]]
    assert np.array_equal(part.values, [1, 2])


def test_item_labels_of_one_answer_match_the_table() -> None:
    rows = [
        review("a", "w1", boxes="mostly", interesting="very"),
        JudgmentRow(
            kind="localization_match",
            item="s",
            rater="w1",
            answer={"matches": [{"inference": "i", "region": "r"}]},
        ),
    ]
    assert list(item_labels(rows[0], spec_of("observation_review"))) == [
        ("boxes", "a", "mostly"),
        ("interesting", "a", "very"),
    ]
    assert list(item_labels(rows[1], spec_of("localization_match"))) == [("match", ("s", "i"), "r")]


def test_dimensions_keep_the_report_order() -> None:
    """PostgreSQL's jsonb sorts keys by their length."""
    kept = {"boxes": 2, "reasonable": 1, "interesting": 3}
    assert spec_of("observation_review").in_dimension_order(kept) == [
        ("reasonable", 1),
        ("boxes", 2),
        ("interesting", 3),
    ]
    assert spec_of("observation_review").in_dimension_order({"interesting": 3}) == [("interesting", 3)]
