"""Read the triplets of an unfinished answer for their hints; unreadable parts are left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from hits.domain.answers.triplets import LIKELIHOODS, MAX_TRIPLETS, TRIPLET_TEXTS
from hits.domain.images.objects_unit import object_share
from hits.domain.images.unit_objects import object_names
from hits.domain.tagged_text import Segment, TaggedTextError, check_segments
from hits.hints.triplets import TripletCard, TripletPage

_MAX_KEPT = 40


def read_triplet_page(
    unit: Mapping[str, Any], *, width: int, height: int, earlier_questions: Sequence[str] = ()
) -> TripletPage:
    """Return what the texts of a unit are about (``ObjectsUnit`` as JSON); sizes of its image in pixels."""
    return TripletPage(
        names=object_names(unit["objects"]),
        shares=[object_share(found, width=width, height=height) for found in unit["objects"]],
        avoided=unit["names"],
        earlier_questions=earlier_questions,
    )


def read_triplet_cards(draft: Mapping[str, Any], object_count: int) -> list[TripletCard]:
    """Return the triplets in the ``triplets`` of a draft or an answer, numbered from 1."""
    rows = draft.get("triplets")
    return [
        read_triplet_card(number, row, object_count)
        for number, row in enumerate(rows[:MAX_TRIPLETS] if isinstance(rows, list) else (), start=1)
        if isinstance(row, Mapping)
    ]


def read_triplet_card(number: int, row: Mapping[str, Any], object_count: int) -> TripletCard:
    """Return one triplet of a draft."""
    likelihood = row.get("likelihood")
    return TripletCard(
        number,
        {name: _read_text(row.get(name), object_count) for name in TRIPLET_TEXTS},
        likelihood if likelihood in LIKELIHOODS else None,
        _read_kept(row.get("kept")),
    )


def _read_text(raw: Any, object_count: int) -> list[Segment]:
    try:
        return check_segments(raw, object_count)
    except TaggedTextError:
        return []


def _read_kept(raw: Any) -> dict[str, frozenset[str]]:
    kept = raw if isinstance(raw, Mapping) else {}
    return {
        name: frozenset(item for item in kept[name][:_MAX_KEPT] if isinstance(item, str))
        for name in TRIPLET_TEXTS
        if isinstance(kept.get(name), list)
    }
