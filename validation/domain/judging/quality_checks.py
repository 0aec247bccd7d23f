"""Units that are mixed into a round to be compared with something known.

*Gold* units have an answer that people of the project agreed on. *Attention checks* are made here from the round's
own units, so that whoever looks cannot get them wrong. *Repeats* are met twice: do the two answers agree?
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from validation.domain.judging.quality_check_types import (
    Checked,
    Control,
    ControlError,
    ControlRole,
    Expected,
    Gold,
    Own,
    Rates,
)
from validation.domain.judging.spec import JudgingSpec, Scale

DRAWS = 12  # units looked at for one attention check; the one that has least in common is taken
MOST_USES = 2  # of one gold item in a round: as often as a repeated unit; who meets it more often knows it
GAP = 20  # units between a repeat and its original, where the round is long enough


def labels_of(answer: Mapping[str, Any], spec: JudgingSpec) -> dict[str, Any]:
    """Return an answer's labels by what they are about: a dimension, or a part of the item."""
    return {spec.label_name(row.dimension, row.part): row.label for row in spec.labels(answer)}


def check(answer: Mapping[str, Any], expected: Expected, spec: JudgingSpec) -> Checked:
    """Return how many of the expected labels an answer gives; what is not expected may be anything."""
    given = labels_of(answer, spec)
    return Checked(sum(given.get(name) in allowed for name, allowed in expected.items()), len(expected))


def alike(first: Mapping[str, Any], second: Mapping[str, Any], spec: JudgingSpec) -> Checked:
    """Return how many labels two answers to the same thing share; free text is no label."""
    texts = {one.name for one in spec.dimensions if one.scale is Scale.TEXT}
    one, other = (
        {key: label for key, label in labels_of(answer, spec).items() if key not in texts}
        for answer in (first, second)
    )
    return Checked(sum(other.get(name) == label for name, label in one.items()), len(one))


def plan(
    own: Sequence[Own], gold: Sequence[Gold], rates: Rates, rng: np.random.Generator, spec: JudgingSpec
) -> list[Own | Control]:
    """Return the round's own units with controls at random places between them, or ``own`` where there are none.

    A marketplace hands tasks out in the order of their making, and the pairs of one photo come one after the other:
    a control between them would stand out. So own units are shuffled, too.

    Args:
        own: the round's units; their keys differ. gold: those that may be used, each taken once before any is taken
            twice, none more often. rates: how many. rng: decides everything that chance decides, keys included, so
            that two rounds must not have the same one.
        spec: decides what gold items and attention checks look like.

    Raises:
        ControlError: gold is asked for and there is none or too little, or attention checks and all units are about
            one image.
    """
    counts = rates.counts(len(own))
    if not sum(counts.values()):
        return list(own)
    controls = [
        *_golds(own, gold, counts[ControlRole.GOLD], rng, spec),
        *_attention(own, counts[ControlRole.ATTENTION], rng, spec),
        *_repeats(own, counts[ControlRole.REPEAT], rng),
    ]
    return _placed(own, controls, rng)


def _key(rng: np.random.Generator) -> str:
    """Return a key that looks like any other unit's."""
    return rng.bytes(16).hex()


def _drawn(available: int, wanted: int, rng: np.random.Generator) -> list[int]:
    """Return ``wanted`` positions, each once before any twice."""
    rounds = -(-wanted // available) if wanted else 0
    return [int(at) for _ in range(rounds) for at in rng.permutation(available)][:wanted]


def _golds(
    own: Sequence[Own], gold: Sequence[Gold], wanted: int, rng: np.random.Generator, spec: JudgingSpec
) -> Iterable[Control]:
    if not wanted:
        return
    disguise = spec.disguise([unit.payload for unit in own])
    shown = [(item, disguise(item.payload)) for item in gold]
    fits = [(item, payload) for item, payload in shown if payload is not None]
    if not fits:
        raise ControlError(
            "gold: no active gold unit is shown like the units of this round; add some on the gold desk, or use 0"
        )
    # What the round asks about anyway would be met twice.
    asked = {spec.item(unit.payload) for unit in own}
    fits = [row for row in fits if spec.item(row[0].payload) not in asked] or fits
    if wanted > MOST_USES * len(fits):
        raise ControlError(
            f"gold: {wanted} are asked for and {len(fits)} can be shown, each twice at most: add some on the gold "
            "desk, or use fewer percent"
        )
    for at in _drawn(len(fits), wanted, rng):
        item, payload = fits[at]
        # A key of its own each time: in a project where everybody does a key once, a small pool would use it up.
        yield Control(_key(rng), ControlRole.GOLD, payload, item.expected, gold=item.pk, authors=item.authors)


def _attention(
    own: Sequence[Own], wanted: int, rng: np.random.Generator, spec: JudgingSpec
) -> Iterable[Control]:
    if not wanted:
        return
    if not spec.has_attention:
        raise ControlError(f"attention checks: there are none for {spec.name}; use 0")
    subjects = {unit.key: spec.subject(unit.payload) for unit in own}
    if len(set(subjects.values())) < 2:  # noqa: PLR2004 - another one
        raise ControlError("attention checks: the round has to be about two different photos at least; use 0")
    for at in _drawn(len(own), wanted, rng):
        made = spec.attention(own[at], _others(own[at], own, subjects, rng), rng)
        key = _key(rng)
        yield Control(
            key,
            ControlRole.ATTENTION,
            made.payload | {spec.item_field: key},
            made.expected,
            of=made.of.key,
            authors=own[at].authors | made.authors,
        )


def _others(
    host: Own, own: Sequence[Own], subjects: Mapping[str, str], rng: np.random.Generator
) -> list[Own]:
    """Return a few units about other subjects, drawn at random."""
    found: dict[str, Own] = {}
    for at in rng.integers(0, len(own), 4 * DRAWS):
        unit = own[int(at)]
        if subjects[unit.key] != subjects[host.key]:
            found[unit.key] = unit
    if not found:  # nearly all units are about the host's subject
        found = {unit.key: unit for unit in own if subjects[unit.key] != subjects[host.key]}
    return list(found.values())[:DRAWS]


def _repeats(own: Sequence[Own], wanted: int, rng: np.random.Generator) -> Iterable[Control]:
    for at in _drawn(len(own), wanted, rng) if wanted else ():
        unit = own[at]
        yield Control(_key(rng), ControlRole.REPEAT, unit.payload, of=unit.key, authors=unit.authors)


def _placed(own: Sequence[Own], controls: Sequence[Control], rng: np.random.Generator) -> list[Own | Control]:
    """Return all units in an order drawn by lot, each repeat apart from its original."""
    units: list[Own | Control] = [*own, *controls]
    result = [units[int(at)] for at in rng.permutation(len(units))]
    place = {unit.key: at for at, unit in enumerate(result)}
    repeats = {
        unit.key: unit.of for unit in controls if unit.role is ControlRole.REPEAT and unit.of is not None
    }
    partner = repeats | {of: key for key, of in repeats.items()}
    gap = min(GAP, len(units) // 4)

    def is_apart(key: str, at: int) -> bool:
        return key not in partner or abs(at - place[partner[key]]) > gap

    # Who has just seen the original would know it again, so what stands too near changes places with something else.
    for key in repeats:
        here = place[key]
        if is_apart(key, here):
            continue
        for there in rng.permutation(len(units)).tolist():
            other = result[there]
            if is_apart(key, there) and is_apart(other.key, here):
                result[here], result[there] = other, result[here]
                place[key], place[other.key] = there, here
                break
    return result
