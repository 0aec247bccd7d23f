"""Live hints on unfinished work, and what became of those that were shown. Reads; writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from hits import registry
from hits.hints.card import ContradictionModel, Encoder, Hint, Rule, Size
from hits.hints.checking import check
from hits.kind import HitKind
from hits.models import Hit, Submission
from hits.selectors.images.images import facts_of


def rules_of(kind: HitKind) -> tuple[Rule, ...]:
    """Return the rules that the kind offers and this installation has not switched off."""
    return tuple(rule for rule in kind.hint_rules if rule not in settings.HINTS_OFF)


def hints_on(
    hit: Hit,
    draft: Mapping[str, Any],
    *,
    encoder: Encoder | None = None,
    model: ContradictionModel | None = None,
) -> list[Hint]:
    """Return the hints on a draft of this HIT; what of it cannot be read gets none."""
    unit = hit.unit
    kind = registry.get(unit.batch.kind)
    rules = rules_of(kind)
    if not rules:
        return []
    images = facts_of(kind.image_ids(unit.payload))
    size = next((Size(image.width, image.height) for image in images.values()), None)
    return check(kind.hint_cards(unit.payload, images, draft), size, rules, encoder, model)


@dataclass(frozen=True, slots=True)
class HintCount:
    """How many hints a worker saw, and how many of them they waved away."""

    shown: int
    ignored: int


def count_of(submission: Submission | None) -> HintCount:
    """Return the numbers that the review desk shows."""
    rows = submission.hints if submission else []
    return HintCount(len(rows), sum(bool(row.get("dismissed")) for row in rows))
