"""Comparison of requirements: plain data, every comparator, every bound."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.domain.workers.countries import COUNTRIES, country_name_or_code, is_country, list_countries_by_name
from hits.domain.workers.requirements import (
    COUNTRY_COMPARATORS,
    HOLDING_COMPARATORS,
    LIST_COMPARATORS,
    LOCALE,
    Comparator,
    GuardedActions,
    Requirement,
    RequirementError,
    WorkerAttributes,
    find_unmet_requirements,
    is_met,
)

NUMBERS = st.integers(-(2**31), 2**31 - 1)
PLACES = st.sampled_from(sorted(COUNTRIES))
SINGLE = sorted(set(Comparator) - HOLDING_COMPARATORS - LIST_COMPARATORS)
OPPOSITES = [
    (Comparator.LESS_THAN, Comparator.GREATER_THAN_OR_EQUAL_TO),
    (Comparator.GREATER_THAN, Comparator.LESS_THAN_OR_EQUAL_TO),
    (Comparator.EQUAL_TO, Comparator.NOT_EQUAL_TO),
]


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    """Any condition about a type T or U, or about the country."""
    guards = draw(st.sampled_from(GuardedActions))
    if draw(st.booleans()):
        comparator = draw(st.sampled_from(sorted(COUNTRY_COMPARATORS)))
        most = 30 if comparator in LIST_COMPARATORS else 1
        places = draw(st.lists(PLACES, min_size=1, max_size=most, unique=True))
        return Requirement(LOCALE, comparator, locales=tuple(places), guards=guards)
    comparator = draw(st.sampled_from(Comparator))
    low, high = (
        (0, 0) if comparator in HOLDING_COMPARATORS else (1, 15 if comparator in LIST_COMPARATORS else 1)
    )
    values = draw(st.lists(st.integers(-3, 3), min_size=low, max_size=high))
    return Requirement(draw(st.sampled_from("TU")), comparator, tuple(values), guards=guards)


HOLDINGS = st.builds(
    WorkerAttributes,
    values=st.dictionaries(st.sampled_from("TU"), st.integers(-3, 3)),
    country=st.one_of(st.just(""), PLACES),
)


@pytest.mark.rule("comparators", source="M", text="The six comparisons with one number, at their bounds.")
@pytest.mark.parametrize(
    ("comparator", "met"),
    [
        ("LessThan", [True, False, False]),
        ("LessThanOrEqualTo", [True, True, False]),
        ("EqualTo", [False, True, False]),
        ("NotEqualTo", [True, False, True]),
        ("GreaterThanOrEqualTo", [False, True, True]),
        ("GreaterThan", [False, False, True]),
    ],
)
def test_comparators_at_bounds(comparator: str, met: list[bool]) -> None:
    asked = Requirement("T", Comparator(comparator), (5,))
    assert [is_met(asked, WorkerAttributes({"T": value})) for value in (4, 5, 6)] == met


@given(NUMBERS, NUMBERS)
def test_opposite_comparators_partition_holders(value: int, expected: int) -> None:
    for one, other in OPPOSITES:
        met = [
            is_met(Requirement("T", kind, (expected,)), WorkerAttributes({"T": value}))
            for kind in (one, other)
        ]
        assert sorted(met) == [False, True]


@pytest.mark.rule("comparators-in", source="M", text="In accepts any equal value, NotIn refuses any.")
@given(NUMBERS, st.lists(NUMBERS, min_size=1, max_size=15))
def test_in_and_not_in_equal_any_and_all(value: int, expected: list[int]) -> None:
    held = WorkerAttributes({"T": value})
    equal = [is_met(Requirement("T", Comparator.EQUAL_TO, (one,)), held) for one in expected]
    assert is_met(Requirement("T", Comparator.IN, tuple(expected)), held) == any(equal)
    assert is_met(Requirement("T", Comparator.NOT_IN, tuple(expected)), held) == (not any(equal))


@pytest.mark.rule(
    "comparators-nothing-held", source="D", text="A worker without a value meets only DoesNotExist."
)
@given(st.sampled_from(SINGLE), NUMBERS)
def test_worker_without_qualification_meets_only_does_not_exist(comparator: Comparator, n: int) -> None:
    assert not is_met(Requirement("T", comparator, (n,)), WorkerAttributes({"U": n}))
    assert is_met(Requirement("T", Comparator.DOES_NOT_EXIST), WorkerAttributes({"U": n}))
    assert not is_met(Requirement("T", Comparator.EXISTS), WorkerAttributes({"U": n}))


@given(st.lists(requirements(), max_size=10), HOLDINGS)
def test_unmet_keeps_order_and_partitions_requirements(
    asked: list[Requirement], held: WorkerAttributes
) -> None:
    missing = find_unmet_requirements(asked, held)
    assert missing == [one for one in asked if not is_met(one, held)]
    assert find_unmet_requirements(missing, held) == missing
    # What is guarded decides nothing about whether a condition is met.
    assert len(
        find_unmet_requirements([replace(one, guards=GuardedActions.DISCOVER) for one in asked], held)
    ) == len(missing)


@given(st.lists(requirements(), max_size=10), HOLDINGS, st.sampled_from("VW"), NUMBERS)
def test_other_qualifications_do_not_matter(
    asked: list[Requirement], held: WorkerAttributes, other: str, n: int
) -> None:
    more = WorkerAttributes({**held.values, other: n}, held.country)
    assert find_unmet_requirements(asked, more) == find_unmet_requirements(asked, held)


@pytest.mark.rule(
    "locale-undeclared",
    source="ours",
    text="A worker without a declared country meets no Locale requirement.",
)
@given(st.sampled_from(sorted(COUNTRY_COMPARATORS)), PLACES)
def test_undeclared_country_meets_no_requirement(comparator: Comparator, place: str) -> None:
    assert not is_met(Requirement(LOCALE, comparator, locales=(place,)), WorkerAttributes())


@pytest.mark.rule(
    "locale",
    source="D",
    text="Locale requirements compare the worker's country by EqualTo, NotEqualTo, In and NotIn.",
)
@given(PLACES, st.lists(PLACES, min_size=1, max_size=30))
def test_locale_requirement_matches_country(home: str, places: list[str]) -> None:
    held = WorkerAttributes(country=home)
    assert is_met(Requirement(LOCALE, Comparator.IN, locales=tuple(places)), held) == (home in places)
    assert is_met(Requirement(LOCALE, Comparator.NOT_IN, locales=tuple(places)), held) == (home not in places)


@pytest.mark.rule(
    "requirement-counts",
    source="D",
    text="In and NotIn accept up to 15 integers or 30 locales, other comparisons one, Exists none.",
)
@pytest.mark.parametrize(
    ("type_id", "comparator", "integers", "places"),
    [
        ("T", Comparator.EQUAL_TO, (), ()),
        ("T", Comparator.EQUAL_TO, (1, 2), ()),
        ("T", Comparator.IN, (), ()),
        ("T", Comparator.IN, tuple(range(16)), ()),
        ("T", Comparator.EXISTS, (1,), ()),
        ("T", Comparator.EQUAL_TO, (1,), ("US",)),
        ("T", Comparator.EXISTS, (), ("US",)),
        (LOCALE, Comparator.EQUAL_TO, (), ()),
        (LOCALE, Comparator.EQUAL_TO, (1,), ("US",)),
        (LOCALE, Comparator.EQUAL_TO, (), ("US", "CA")),
        (LOCALE, Comparator.EXISTS, (), ()),
        (LOCALE, Comparator.GREATER_THAN, (), ("US",)),
        (LOCALE, Comparator.IN, (), tuple(sorted(COUNTRIES))[:31]),
    ],
)
def test_invalid_requirements_are_refused(
    type_id: str, comparator: Comparator, integers: tuple[int, ...], places: tuple[str, ...]
) -> None:
    with pytest.raises(RequirementError):
        Requirement(type_id, comparator, integers, places)


def test_country_list_has_249_iso_codes() -> None:
    assert len(COUNTRIES) == 249
    assert all(len(code) == 2 and code.isascii() and code.isupper() for code in COUNTRIES)
    assert len(set(COUNTRIES.values())) == 249
    assert is_country("US")
    assert not is_country("us")
    assert not is_country("XX")
    assert country_name_or_code("CI") == "Côte d’Ivoire"
    names = [name for _, name in list_countries_by_name()]
    assert names.index("Åland Islands") < names.index("Albania") < names.index("Zimbabwe")
