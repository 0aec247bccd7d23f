"""Live hints on unfinished work, and counts of the hints that a worker saw. Read-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from hits import registry
from hits.hints.card import ContradictionModel, Hint, HintRule, ImageSize, SimilarityModel
from hits.hints.find_hints import find_hints
from hits.kind import HitKind
from hits.models import Hit, Submission
from hits.selectors.images.images import image_facts_by_id


def enabled_rules(kind: HitKind) -> tuple[HintRule, ...]:
    """Return the kind's hint rules without those in ``HINTS_OFF``."""
    return tuple(rule for rule in kind.hint_rules if rule not in settings.HINTS_OFF)


def draft_hints(
    hit: Hit,
    draft: Mapping[str, Any],
    *,
    encoder: SimilarityModel | None = None,
    contradiction_model: ContradictionModel | None = None,
) -> list[Hint]:
    """Return the hints on a draft of this HIT; unreadable parts of the draft get none."""
    unit = hit.unit
    kind = registry.get_kind(unit.batch.kind)
    rules = enabled_rules(kind)
    if not rules:
        return []
    images = image_facts_by_id(kind.image_ids(unit.payload))
    size = next((ImageSize(image.width, image.height) for image in images.values()), None)
    return find_hints(kind.hint_cards(unit.payload, images, draft), size, rules, encoder, contradiction_model)


@dataclass(frozen=True, slots=True)
class HintCount:
    """How many hints a worker saw and how many of them they dismissed."""

    shown: int
    ignored: int


def count_hints(submission: Submission | None) -> HintCount:
    """Return the numbers for the review page."""
    rows = submission.hints if submission else []
    return HintCount(len(rows), sum(bool(row.get("dismissed")) for row in rows))
