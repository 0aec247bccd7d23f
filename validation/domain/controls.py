"""Units that are mixed into a round to be compared with something known.

*Gold* units have an answer that people of the project agreed on. *Attention checks* are made here from the round's
own units, so that whoever looks cannot get them wrong. *Repeats* are met twice: do the two answers agree?
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from validation.domain.scales import SCALES, Dimension, Rating

Labels = Mapping[str, str | int]
Expected = Mapping[str, Sequence[str | int]]

MOST_PERCENT = 50
DRAWS = 12  # texts looked at for one attention check; the one that has least in common is taken
MANY_CANDIDATES = 4  # from so many on, two of a set's candidates are foreign
MOST_USES = 2  # of one gold item in a round: as often as a repeated unit; who meets it more often knows it
GAP = 20  # units between a repeat and its original, where the round is long enough
# Where a unit's payload names what is judged; a control's unit key differs from it.
ITEM_FIELDS = {"observation_review": "observation", "likert_comparison": "set", "localization_match": "set"}
_PAGE_ORDER = (Dimension.BOXES, Dimension.REASONABLE, Dimension.INTERESTING)
_WORD = re.compile(r"\w{4,}")


class ControlRole(StrEnum):
    """Why a unit is in a round although nothing is to be learned about its item."""

    GOLD = "gold"  # people of the project agreed on its answer
    ATTENTION = "attention"  # whoever looks cannot get it wrong
    REPEAT = "repeat"  # the same item once more: do a worker's two answers agree?


class ControlError(ValueError):
    """Controls that cannot be made as asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How many controls are mixed in, in percent of the round's own units, 0 to 50 each."""

    gold: int = 0
    attention: int = 0
    repeat: int = 0

    def __post_init__(self) -> None:
        """Refuse what no round may have."""
        for name, percent in (("gold", self.gold), ("attention", self.attention), ("repeat", self.repeat)):
            if not 0 <= percent <= MOST_PERCENT:
                raise ControlError(f"{name}: use 0 to {MOST_PERCENT} percent of the round")

    def counts(self, units: int) -> dict[ControlRole, int]:
        """Return how many controls of each role join ``units`` own units, rounded up: a rate above 0 has one."""
        rates = {
            ControlRole.GOLD: self.gold,
            ControlRole.ATTENTION: self.attention,
            ControlRole.REPEAT: self.repeat,
        }
        return {role: -(-units * percent // 100) for role, percent in rates.items()}

    def on_top(self, units: int) -> int:
        """Return how many controls join ``units`` own units in all."""
        return sum(self.counts(units).values())


@dataclass(frozen=True, slots=True)
class Checked:
    """So many of so many labels are as expected, or as the first time."""

    right: int
    of: int

    @property
    def passed(self) -> bool:
        """Whether all of them are."""
        return self.right == self.of


@dataclass(frozen=True, slots=True)
class Own:
    """A unit of the round itself. ``authors`` are row keys of workers who may not get it."""

    key: str
    payload: Mapping[str, Any]
    authors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold item that may be mixed in; ``pk`` is its row key."""

    pk: int
    payload: Mapping[str, Any]
    expected: Expected
    authors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Control:
    """A unit that is mixed in. ``of`` is the key of the own unit that it repeats or borrows from."""

    key: str
    role: ControlRole
    payload: Mapping[str, Any]
    expected: Expected = field(default_factory=dict)
    of: str | None = None
    gold: int | None = None
    authors: frozenset[int] = frozenset()


def labels_of(answer: Mapping[str, Any], kind: str) -> dict[str, str | int]:
    """Return an answer's labels by what they are about: a dimension, a candidate or an inference.

    Raises:
        ControlError: a kind whose answers have no labels.
    """
    if kind == "observation_review":
        return dict(answer)
    if kind == "likert_comparison":
        return {row["candidate"]: row["rating"] for row in answer["ratings"]}
    if kind == "localization_match":
        return {row["inference"]: row["region"] for row in answer["matches"]}
    raise ControlError(f"{kind}: its answers cannot be compared")


def item_of(payload: Mapping[str, Any], kind: str) -> str:
    """Return the id of what a unit is about."""
    return str(payload[ITEM_FIELDS[kind]])


def scales_of(payload: Mapping[str, Any], kind: str) -> dict[str, list[str | int]]:
    """Return every label that an answer to a unit may give, by what it is about, in the order of the page.

    Raises:
        ControlError: a kind whose answers have no labels.
    """
    if kind == "observation_review":
        return {dimension.value: [word.value for word in SCALES[dimension]] for dimension in _PAGE_ORDER}
    if kind == "likert_comparison":
        return {candidate["id"]: [int(rating) for rating in Rating] for candidate in payload["candidates"]}
    if kind == "localization_match":
        regions: list[str | int] = [region["id"] for region in payload["regions"]]
        return {inference["id"]: regions for inference in payload["inferences"]}
    raise ControlError(f"{kind}: its answers cannot be compared")


def check(answer: Mapping[str, Any], expected: Expected, kind: str) -> Checked:
    """Return how many of the expected labels an answer gives; what is not expected may be anything."""
    given = labels_of(answer, kind)
    return Checked(sum(given.get(name) in allowed for name, allowed in expected.items()), len(expected))


def alike(first: Mapping[str, Any], second: Mapping[str, Any], kind: str) -> Checked:
    """Return how many labels two answers to the same thing share."""
    one, other = labels_of(first, kind), labels_of(second, kind)
    return Checked(sum(other.get(name) == label for name, label in one.items()), len(one))


def plan(
    own: Sequence[Own], gold: Sequence[Gold], rates: Rates, rng: np.random.Generator, kind: str
) -> list[Own | Control]:
    """Return the round's own units with controls at random places between them, or ``own`` where there are none.

    A marketplace hands tasks out in the order of their making, and the pairs of one photo come one after the other:
    a control between them would stand out. So own units are shuffled, too.

    Args:
        own: the round's units; their keys differ. gold: those that may be used, each taken once before any is taken
            twice, none more often. rates: how many. rng: decides everything that chance decides, keys included, so
            that two rounds must not have the same one.
        kind: decides what an attention check looks like.

    Raises:
        ControlError: gold is asked for and there is none or too little, or attention checks and all units are about
            one image.
    """
    counts = rates.counts(len(own))
    if not sum(counts.values()):
        return list(own)
    controls = [
        *_golds(own, gold, counts[ControlRole.GOLD], rng, kind),
        *_attention(own, counts[ControlRole.ATTENTION], rng, kind),
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
    own: Sequence[Own], gold: Sequence[Gold], wanted: int, rng: np.random.Generator, kind: str
) -> Iterable[Control]:
    if not wanted:
        return
    dressed = [(item, _dressed(item.payload, own[0].payload)) for item in gold]
    lengths = {len(unit.payload.get("candidates", ())) for unit in own}
    fits = [
        (item, payload)
        for item, payload in dressed
        if payload is not None and len(payload.get("candidates", ())) in lengths
    ]
    if not fits:
        raise ControlError(
            "gold: no active gold unit is shown like the units of this round; add some on the gold desk, or use 0"
        )
    # What the round asks about anyway would be met twice.
    asked = {unit.payload.get(ITEM_FIELDS[kind]) for unit in own}
    fits = [row for row in fits if row[0].payload.get(ITEM_FIELDS[kind]) not in asked] or fits
    if wanted > MOST_USES * len(fits):
        raise ControlError(
            f"gold: {wanted} are asked for and {len(fits)} can be shown, each twice at most: add some on the gold "
            "desk, or use fewer percent"
        )
    for at in _drawn(len(fits), wanted, rng):
        item, payload = fits[at]
        # A key of its own each time: in a project where everybody does a key once, a small pool would use it up.
        yield Control(_key(rng), ControlRole.GOLD, payload, item.expected, gold=item.pk, authors=item.authors)


def _dressed(payload: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a gold unit that shows what the round's units show, or ``None`` where it lacks that.

    A round hides or shows the clue and the reference, and pages its statements: a gold unit that did otherwise would
    be told apart.
    """
    result = dict(payload)
    for name in ("clue", "reference"):
        if name not in like:
            result.pop(name, None)
        elif like[name] is None:
            result[name] = None
        elif result.get(name) is None:
            return None
    result.pop("per_page", None)
    return result | ({"per_page": like["per_page"]} if "per_page" in like else {})


def _attention(own: Sequence[Own], wanted: int, rng: np.random.Generator, kind: str) -> Iterable[Control]:
    if not wanted:
        return
    make = {"observation_review": _foreign_pair, "likert_comparison": _foreign_candidates}.get(kind)
    if make is None:
        raise ControlError(f"attention checks: there are none for {kind}; use 0")
    if len({unit.payload["image"] for unit in own}) < 2:  # noqa: PLR2004 - another one
        raise ControlError("attention checks: the round has to be about two different photos at least; use 0")
    for at in _drawn(len(own), wanted, rng):
        yield make(own[at], own, rng)


def _others(host: Own, own: Sequence[Own], rng: np.random.Generator) -> list[Own]:
    """Return a few units about other images, drawn at random."""
    found: dict[str, Own] = {}
    for at in rng.integers(0, len(own), 4 * DRAWS):
        unit = own[int(at)]
        if unit.payload["image"] != host.payload["image"]:
            found[unit.key] = unit
    if not found:  # nearly all units are about the host's image
        found = {unit.key: unit for unit in own if unit.payload["image"] != host.payload["image"]}
    return list(found.values())[:DRAWS]


def _words(*texts: str | None) -> set[str]:
    return set(_WORD.findall(" ".join(text for text in texts if text).lower()))


def _foreign_pair(host: Own, own: Sequence[Own], rng: np.random.Generator) -> Control:
    """Return the host's photo and boxes under a clue and an inference from another photo.

    Two photos may show the same sort of thing, and an unfounded thought may still be possible. So the text with the
    fewest words in common is taken, and "mostly appropriate" and "relatively reasonable" are let pass: only who calls
    the boxes appropriate, or the inference highly reasonable, has not looked.
    """
    about = _words(host.payload["clue"], host.payload["inference"])
    donor = min(
        _others(host, own, rng),
        key=lambda unit: len(about & _words(unit.payload["clue"], unit.payload["inference"])),
    )
    key = _key(rng)
    text = {name: donor.payload[name] for name in ("clue", "inference", "confidence")}
    return Control(
        key,
        ControlRole.ATTENTION,
        {**host.payload, **text, "observation": key},
        {"boxes": ["mostly", "entirely_off"], "reasonable": ["relatively", "un"]},
        of=donor.key,
        authors=host.authors | donor.authors,
    )


def _foreign_candidates(host: Own, own: Sequence[Own], rng: np.random.Generator) -> Control:
    """Return the host's set with one or two statements from sets about other photos.

    A general statement may fit any photo a little. So two are foreign where there is room, with few words in common
    with the host's own statements, and 2 is let pass: only who calls one of them good has not looked.
    """
    payload = host.payload
    candidates = list(payload["candidates"])
    wanted = 2 if len(candidates) >= MANY_CANDIDATES else 1
    known = {candidate["id"] for candidate in candidates}
    about = _words(*(candidate["inference"] for candidate in candidates))
    found: dict[str, tuple[int, dict[str, Any], Own]] = {}
    for donor in _others(host, own, rng):
        for candidate in donor.payload["candidates"]:
            if candidate["id"] not in known:
                common = len(about & _words(candidate["inference"]))
                found.setdefault(candidate["id"], (common, candidate, donor))
    if not found:
        raise ControlError("attention checks: all sets of the round have the same statements; use 0")
    order = sorted(found.values(), key=lambda row: row[0])[:wanted]
    places = rng.choice(len(candidates), len(order), replace=False)
    for at, (_, candidate, _) in zip(places, order, strict=True):
        candidates[int(at)] = dict(candidate)
    key = _key(rng)
    return Control(
        key,
        ControlRole.ATTENTION,
        {**payload, "candidates": candidates, "set": key},
        {candidate["id"]: [1, 2] for _, candidate, _ in order},
        of=order[0][2].key,
        authors=host.authors.union(*(donor.authors for _, _, donor in order)),
    )


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
