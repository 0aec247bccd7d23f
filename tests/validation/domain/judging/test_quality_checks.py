"""Quality checks: how they are planned among a round's units."""

import re
from typing import Any

import numpy as np
import pytest

from tests.support.judging.work import review
from validation.domain.judging.quality_check_types import (
    CheckRates,
    CheckRole,
    CheckUnit,
    GoldUnit,
    QualityCheckError,
    RoundUnit,
)
from validation.domain.judging.quality_checks import compare_answers, compare_with_expected, plan_round_units
from validation.registry import spec_of

REVIEW, LIKERT = "observation_review", "likert_comparison"


def pair(n: int, image: int = 0, clue: str = "", inference: str = "") -> RoundUnit:
    payload = {
        "image": image or n,
        "observation": f"{n:032x}",
        "obs_index": 1,
        "boxes": [{"left": n, "top": 1, "width": 5, "height": 5}],
        "clue": clue or f"the thing{n} there",
        "inference": inference or f"Somebody likes thing{n} a lot",
        "confidence": 1 + n % 3,
    }
    return RoundUnit(f"{n:032x}", payload, frozenset([1000 + n]))


def a_set(n: int, *, size: int = 10, clue: str | None = None) -> RoundUnit:
    payload = {
        "image": n,
        "boxes": [{"left": 1, "top": 1, "width": 5, "height": 5}],
        "clue": clue,
        "reference": None,
        "candidates": [{"id": f"{n}-{k}", "inference": f"word{n} number{k}"} for k in range(size)],
        "set": str(n),
        "per_page": 5,
    }
    return RoundUnit(str(n), payload, frozenset([1000 + n]))


def gold(n: int, **changes: Any) -> GoldUnit:
    unit = pair(500 + n)
    return GoldUnit(n, unit.payload | changes, {"reasonable": ["un"]}, frozenset([2000 + n]))


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def added(units: list[RoundUnit | CheckUnit], role: CheckRole) -> list[CheckUnit]:
    return [unit for unit in units if isinstance(unit, CheckUnit) and unit.role is role]


def test_rates_round_up_and_end_at_half() -> None:
    assert CheckRates(gold=1, repeat=10).counts(20) == {
        CheckRole.GOLD: 1,
        CheckRole.ATTENTION: 0,
        CheckRole.REPEAT: 2,
    }
    assert CheckRates(5, 5, 5).total(101) == 18
    for bad in (-1, 51):
        with pytest.raises(QualityCheckError, match="0 to 50 percent"):
            CheckRates(attention=bad)


def test_comparison_ignores_labels_that_are_not_expected() -> None:
    expected = {"boxes": ["mostly", "entirely_off"], "reasonable": ["un"]}
    assert compare_with_expected(review("un", "mostly"), expected, spec_of(REVIEW)).passed
    half = compare_with_expected(review("highly", "mostly"), expected, spec_of(REVIEW))
    assert ((half.correct, half.total), half.passed) == ((1, 2), False)
    rated = {"ratings": [{"candidate": "a", "rating": 1}, {"candidate": "b", "rating": 3}]}
    assert compare_with_expected(rated, {"a": [1, 2]}, spec_of(LIKERT)).passed
    assert not compare_with_expected(rated, {"a": [1, 2], "b": [1]}, spec_of(LIKERT)).passed
    assert not compare_with_expected(rated, {"gone": [1]}, spec_of(LIKERT)).passed
    matched = {"matches": [{"inference": "i", "region": "r"}, {"inference": "j", "region": "s"}]}
    assert compare_with_expected(matched, {"i": ["r"]}, spec_of("localization_match")).passed
    assert compare_answers(review("un"), review("highly"), spec_of(REVIEW)).correct == 2


def test_order_is_random_and_checks_have_any_position() -> None:
    own = [pair(n) for n in range(1, 201)]
    at: list[int] = []
    firsts: list[int] = []
    for seed in range(30):
        mixed = plan_round_units(
            own, [gold(n) for n in range(8)], CheckRates(5, 5, 5), rng(seed), spec_of(REVIEW)
        )
        kept = [unit for unit in mixed if isinstance(unit, RoundUnit)]
        assert sorted(kept, key=own.index) == own
        assert len(mixed) == 230
        keys = [unit.key for unit in mixed]
        assert len(set(keys)) == 230
        assert all(re.fullmatch(r"[0-9a-f]{32}", key) for key in keys)
        at.extend(n for n, unit in enumerate(mixed) if isinstance(unit, CheckUnit))
        firsts.append(own.index(kept[0]))
    # 900 places out of 30 * 230: uniform within four standard deviations in each of ten parts.
    parts = np.histogram(at, bins=10, range=(0, 230))[0]
    assert abs(parts - 90).max() < 4 * np.sqrt(90)
    assert len(set(firsts)) > 20, "own units come in any order"


def test_check_does_not_interrupt_the_pairs_of_one_photo() -> None:
    """The marketplace hands tasks out in this order: where photos come in runs, a check would end one."""
    own = [pair(n, image=1 + n // 5) for n in range(200)]
    breaks: dict[bool, list[bool]] = {True: [], False: []}
    for seed in range(30):
        mixed = plan_round_units(
            own, [gold(n) for n in range(8)], CheckRates(5, 5, 5), rng(seed), spec_of(REVIEW)
        )
        images = [unit.payload["image"] for unit in mixed]
        for n, unit in enumerate(mixed[1:], start=1):
            breaks[isinstance(unit, CheckUnit)].append(images[n] != images[n - 1])
    shares = {check: np.mean(found) for check, found in breaks.items()}
    assert shares[False] > 0.9
    assert abs(shares[True] - shares[False]) < 0.05


def test_order_is_unchanged_without_checks() -> None:
    own = [pair(n) for n in range(1, 41)]
    assert plan_round_units(own, [], CheckRates(), rng(), spec_of(REVIEW)) == own


def test_the_same_seed_plans_the_same_and_another_does_not() -> None:
    own = [pair(n) for n in range(1, 41)]
    one, again, other = (
        plan_round_units(own, [gold(1), gold(2)], CheckRates(10, 10, 10), rng(s), spec_of(REVIEW))
        for s in (3, 3, 4)
    )
    assert one == again
    assert one != other


def test_gold_is_used_evenly_and_not_with_its_own_item() -> None:
    own = [pair(n) for n in range(1, 21)]
    items = [gold(n) for n in range(7)]
    mixed = added(plan_round_units(own, items, CheckRates(gold=50), rng(), spec_of(REVIEW)), CheckRole.GOLD)
    counts = [sum(unit.gold_pk == item.pk for unit in mixed) for item in items]
    assert sorted(counts) == [1, 1, 1, 1, 2, 2, 2]
    assert len({unit.key for unit in mixed}) == 10
    assert all(unit.authors == {2000 + unit.gold_pk} for unit in mixed if unit.gold_pk is not None)
    asked = GoldUnit(9, own[0].payload, {"reasonable": ["un"]})
    mixed = added(
        plan_round_units(own, [asked, items[0]], CheckRates(gold=10), rng(), spec_of(REVIEW)), CheckRole.GOLD
    )
    assert {unit.gold_pk for unit in mixed} == {0}


def test_third_use_of_a_gold_item_is_refused() -> None:
    own = [pair(n) for n in range(1, 21)]
    assert (
        len(
            added(
                plan_round_units(own, [gold(1)], CheckRates(gold=10), rng(), spec_of(REVIEW)), CheckRole.GOLD
            )
        )
        == 2
    )
    with pytest.raises(
        QualityCheckError, match="3 are needed, and each of the 1 usable gold items is used at most twice"
    ):
        plan_round_units(own, [gold(1)], CheckRates(gold=15), rng(), spec_of(REVIEW))


def test_gold_without_items_is_refused_with_advice() -> None:
    with pytest.raises(QualityCheckError, match="add gold items"):
        plan_round_units([pair(1)], [], CheckRates(gold=5), rng(), spec_of(REVIEW))


def test_gold_is_adapted_to_the_round_or_left_out() -> None:
    shown = a_set(9, clue="a cup").payload | {"reference": "tea"}
    item = GoldUnit(1, shown, {"9-0": [3]})
    (hidden,) = added(
        plan_round_units([a_set(1)], [item], CheckRates(gold=1), rng(), spec_of(LIKERT)), CheckRole.GOLD
    )
    assert (hidden.payload["clue"], hidden.payload["reference"], hidden.payload["per_page"]) == (
        None,
        None,
        5,
    )
    bare = GoldUnit(2, a_set(8).payload, {"8-0": [3]})
    for own, fitting in ((a_set(1, clue="a hat"), 1), (a_set(1), 2)):
        mixed = added(
            plan_round_units([own], [item, bare], CheckRates(gold=50), rng(), spec_of(LIKERT)), CheckRole.GOLD
        )
        assert fitting in {unit.gold_pk for unit in mixed} or len(mixed) == 1
    with pytest.raises(QualityCheckError, match="no active gold item"):
        plan_round_units([a_set(1, clue="a hat")], [bare], CheckRates(gold=1), rng(), spec_of(LIKERT))
    with pytest.raises(QualityCheckError, match="no active gold item"):
        plan_round_units([a_set(1, size=6)], [bare], CheckRates(gold=1), rng(), spec_of(LIKERT))


def test_an_attention_check_is_another_photos_text_over_these_boxes() -> None:
    own = [pair(n) for n in range(1, 31)]
    by_key = {unit.key: unit for unit in own}
    for check in added(
        plan_round_units(own, [], CheckRates(attention=50), rng(), spec_of(REVIEW)), CheckRole.ATTENTION
    ):
        donor = by_key[check.original_key or ""]
        host = next(unit for unit in own if unit.payload["boxes"] == check.payload["boxes"])
        assert donor.payload["image"] != host.payload["image"] == check.payload["image"]
        assert check.payload["clue"] == donor.payload["clue"]
        assert check.payload["observation"] == check.key
        assert check.authors == host.authors | donor.authors
        assert check.payload.keys() == host.payload.keys()
        assert not compare_with_expected(
            review("highly", "appropriate"), check.expected, spec_of(REVIEW)
        ).passed
        assert compare_with_expected(
            review("relatively", "entirely_off"), check.expected, spec_of(REVIEW)
        ).passed


def test_an_attention_check_takes_the_text_with_least_in_common() -> None:
    near = [pair(n, clue="the wooden table", inference="Somebody eats at the table") for n in range(1, 9)]
    far = pair(99, clue="a parked lorry", inference="Goods were delivered")
    for seed in range(10):
        mixed = added(
            plan_round_units([*near, far], [], CheckRates(attention=50), rng(seed), spec_of(REVIEW)),
            CheckRole.ATTENTION,
        )
        assert all(unit.original_key == far.key for unit in mixed if unit.payload["image"] != 99)


def test_an_attention_check_of_a_set_has_two_foreign_statements() -> None:
    own = [a_set(n) for n in range(1, 9)]
    for check in added(
        plan_round_units(own, [], CheckRates(attention=50), rng(), spec_of(LIKERT)), CheckRole.ATTENTION
    ):
        ids = [candidate["id"] for candidate in check.payload["candidates"]]
        foreign = [key for key in ids if not key.startswith(f"{check.payload['image']}-")]
        assert len(ids) == len(set(ids)) == 10
        assert sorted(foreign) == sorted(check.expected)
        assert len(foreign) == 2
        assert set(map(tuple, check.expected.values())) == {(1, 2)}
        assert check.payload["set"] == check.key


@pytest.mark.parametrize(
    ("own", "kind", "words"),
    [
        ([pair(1, image=7), pair(2, image=7)], REVIEW, "two different photos"),
        ([pair(1)], "localization_match", "there are none for localization_match"),
    ],
)
def test_impossible_attention_checks_are_refused(own: list[RoundUnit], kind: str, words: str) -> None:
    with pytest.raises(QualityCheckError, match=words):
        plan_round_units(own, [], CheckRates(attention=5), rng(), spec_of(kind))


def test_repeat_has_the_same_payload_and_a_distance() -> None:
    own = [pair(n) for n in range(1, 201)]
    by_key = {unit.key: unit for unit in own}
    for seed in range(20):
        mixed = plan_round_units(own, [], CheckRates(repeat=30), rng(seed), spec_of(REVIEW))
        at = {unit.key: n for n, unit in enumerate(mixed)}
        assert len(at) == 260
        repeats = added(mixed, CheckRole.REPEAT)
        assert len({unit.original_key for unit in repeats}) == len(repeats) == 60
        for unit in repeats:
            original = by_key[unit.original_key or ""]
            assert (unit.payload, unit.authors) == (original.payload, original.authors)
            assert abs(at[unit.key] - at[original.key]) > 20


# -- with rows
