"""Mix quality checks into a round: units whose answers are compared with a known answer.

*Gold* units have an answer that people of the project agreed on. *Attention checks* are made from the round's own
units; their answer is obvious to anybody who looks. *Repeats* compare two answers of one worker to the same unit.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from validation.domain.judging.quality_check_types import (
    CheckRates,
    CheckRole,
    CheckUnit,
    ExpectedLabels,
    GoldUnit,
    LabelMatch,
    QualityCheckError,
    RoundUnit,
)
from validation.domain.judging.spec import JudgingSpec, Scale

MAX_DONORS = 12  # units compared for one attention check; the kind takes the one with the least in common
MAX_GOLD_USES = 2  # of one gold item in a round, as often as a repeated unit: more uses would reveal it
MIN_REPEAT_GAP = 20  # units between a repeat and its original, if the round is long enough


def labels_by_name(answer: Mapping[str, Any], spec: JudgingSpec) -> dict[str, Any]:
    """Return an answer's labels by what they are about: a dimension, or a part of the item."""
    return {spec.label_name(row.dimension, row.part): row.label for row in spec.labels(answer)}


def compare_with_expected(
    answer: Mapping[str, Any], expected: ExpectedLabels, spec: JudgingSpec
) -> LabelMatch:
    """Count the expected labels that an answer gives; labels that are not expected do not count."""
    labels = labels_by_name(answer, spec)
    return LabelMatch(sum(labels.get(name) in allowed for name, allowed in expected.items()), len(expected))


def compare_answers(first: Mapping[str, Any], second: Mapping[str, Any], spec: JudgingSpec) -> LabelMatch:
    """Count the labels that two answers to the same unit share; free text does not count."""
    texts = {dimension.name for dimension in spec.dimensions if dimension.scale is Scale.TEXT}
    first_labels, second_labels = (
        {key: label for key, label in labels_by_name(answer, spec).items() if key not in texts}
        for answer in (first, second)
    )
    return LabelMatch(
        sum(second_labels.get(name) == label for name, label in first_labels.items()), len(first_labels)
    )


def plan_round_units(
    units: Sequence[RoundUnit],
    gold: Sequence[GoldUnit],
    rates: CheckRates,
    rng: np.random.Generator,
    spec: JudgingSpec,
    donors: Sequence[RoundUnit] = (),
) -> list[RoundUnit | CheckUnit]:
    """Return ``units`` shuffled with quality checks between them; unchanged if no check is requested.

    A marketplace offers tasks in the order of their creation, and the pairs of one photo follow one another: a check
    between them would stand out. So the round's own units are shuffled too.

    Args:
        units: the round's units, with distinct keys. gold: usable gold items; each is used once before any is used
            twice, none more often. rates: how many checks. rng: draws everything random, keys included, so two
            rounds must not share a seed.
        spec: decides what gold items and attention checks look like. donors: units outside of the round, from which
            attention checks borrow; without them, the round's own units.

    Raises:
        QualityCheckError: there are too few gold items, or all units of a round with attention checks show one image.
    """
    counts = rates.counts(len(units))
    if not sum(counts.values()):
        return list(units)
    checks = [
        *_build_gold_checks(units, gold, counts[CheckRole.GOLD], rng, spec),
        *_build_attention_checks(units, donors, counts[CheckRole.ATTENTION], rng, spec),
        *_build_repeat_checks(units, counts[CheckRole.REPEAT], rng),
    ]
    return _shuffle_with_repeats_apart(units, checks, rng)


def _random_key(rng: np.random.Generator) -> str:
    """Return a key that looks like any other unit's."""
    return rng.bytes(16).hex()


def _draw_positions(position_count: int, target: int, rng: np.random.Generator) -> list[int]:
    """Return ``target`` positions in random order, each once before any twice."""
    rounds = -(-target // position_count) if target else 0
    return [int(position) for _ in range(rounds) for position in rng.permutation(position_count)][:target]


def _build_gold_checks(
    units: Sequence[RoundUnit],
    gold: Sequence[GoldUnit],
    target: int,
    rng: np.random.Generator,
    spec: JudgingSpec,
) -> Iterable[CheckUnit]:
    if not target:
        return
    adapt = spec.gold_adapter([unit.payload for unit in units])
    adapted = [(item, adapt(item.payload)) for item in gold]
    usable = [(item, payload) for item, payload in adapted if payload is not None]
    if not usable:
        raise QualityCheckError(
            "gold: no active gold item can be adapted to the units of this round; add gold items, or use 0"
        )
    # A gold item that is also an item of the round would be shown twice.
    round_items = {spec.item_id(unit.payload) for unit in units}
    usable = [row for row in usable if spec.item_id(row[0].payload) not in round_items] or usable
    if target > MAX_GOLD_USES * len(usable):
        raise QualityCheckError(
            f"gold: {target} are needed, and each of the {len(usable)} usable gold items is used at most twice: add "
            "gold items, or lower the percentage"
        )
    for position in _draw_positions(len(usable), target, rng):
        item, payload = usable[position]
        # A new key for each use: a worker does a key once in a project, so a small pool would be used up.
        yield CheckUnit(
            _random_key(rng), CheckRole.GOLD, payload, item.expected, gold_pk=item.pk, authors=item.authors
        )


def _build_attention_checks(
    units: Sequence[RoundUnit],
    donors: Sequence[RoundUnit],
    target: int,
    rng: np.random.Generator,
    spec: JudgingSpec,
) -> Iterable[CheckUnit]:
    if not target:
        return
    if not spec.has_attention_checks:
        raise QualityCheckError(f"attention checks: there are none for {spec.name}; use 0")
    own_keys = {unit.key for unit in units}
    subjects = {unit.key: spec.subject(unit.payload) for unit in (*units, *donors)}
    if len(set(subjects.values())) < 2:  # noqa: PLR2004 - a check needs a second subject
        raise QualityCheckError(
            "attention checks: they need units about at least two different photos; use 0"
        )
    for position in _draw_positions(len(units), target, rng):
        check = spec.build_attention_check(
            units[position], _donor_candidates(units[position], donors or units, subjects, rng), rng
        )
        key = _random_key(rng)
        yield CheckUnit(
            key,
            CheckRole.ATTENTION,
            check.payload | {spec.item_field: key},
            check.expected,
            original_key=check.donor.key if check.donor.key in own_keys else None,
            authors=units[position].authors | check.authors,
        )


def _donor_candidates(
    host: RoundUnit, units: Sequence[RoundUnit], subjects: Mapping[str, str], rng: np.random.Generator
) -> list[RoundUnit]:
    """Return a few random units about other subjects than the host's, and of other topics where there are any."""
    foreign = [unit for unit in units if subjects[unit.key] != subjects[host.key]]
    distant = [unit for unit in foreign if host.topic and unit.topic and unit.topic != host.topic]
    allowed = {unit.key for unit in distant or foreign}
    donors: dict[str, RoundUnit] = {}
    for position in rng.integers(0, len(units), 4 * MAX_DONORS):
        unit = units[int(position)]
        if unit.key in allowed:
            donors[unit.key] = unit
    if not donors:  # nearly all units are about the host's subject or topic
        donors = {unit.key: unit for unit in distant or foreign}
    if not donors:
        raise QualityCheckError(
            f"attention checks: all units to borrow from are about the subject of {host.key}; use 0"
        )
    return list(donors.values())[:MAX_DONORS]


def _build_repeat_checks(
    units: Sequence[RoundUnit], target: int, rng: np.random.Generator
) -> Iterable[CheckUnit]:
    for position in _draw_positions(len(units), target, rng) if target else ():
        unit = units[position]
        yield CheckUnit(
            _random_key(rng), CheckRole.REPEAT, unit.payload, original_key=unit.key, authors=unit.authors
        )


def _shuffle_with_repeats_apart(
    round_units: Sequence[RoundUnit], checks: Sequence[CheckUnit], rng: np.random.Generator
) -> list[RoundUnit | CheckUnit]:
    """Return all units in random order, each repeat away from its original."""
    units: list[RoundUnit | CheckUnit] = [*round_units, *checks]
    result = [units[int(position)] for position in rng.permutation(len(units))]
    positions = {unit.key: position for position, unit in enumerate(result)}
    repeats = {
        unit.key: unit.original_key
        for unit in checks
        if unit.role is CheckRole.REPEAT and unit.original_key is not None
    }
    partner = repeats | {original: key for key, original in repeats.items()}
    gap = min(MIN_REPEAT_GAP, len(units) // 4)

    def is_apart(key: str, position: int) -> bool:
        return key not in partner or abs(position - positions[partner[key]]) > gap

    # A worker recognises a unit that they have just seen, so a repeat too near its original swaps positions.
    for key in repeats:
        current = positions[key]
        if is_apart(key, current):
            continue
        for candidate in rng.permutation(len(units)).tolist():
            other = result[candidate]
            if is_apart(key, candidate) and is_apart(other.key, current):
                result[current], result[candidate] = other, result[current]
                positions[key], positions[other.key] = candidate, current
                break
    return result
