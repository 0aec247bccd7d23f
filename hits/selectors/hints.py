"""Live hints on unfinished work, and counts of the hints that a worker saw. Read-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from hits import registry
from hits.hints.card import ContradictionModel, Hint, HintRule, ImageSize, SimilarityModel
from hits.hints.find_hints import find_hints
from hits.hints.rules import sort_hints
from hits.kind import HitKind, Payload
from hits.models import Hit, Submission, Worker
from hits.selectors.images.images import image_facts_by_id


def enabled_rules(kind: HitKind) -> tuple[HintRule, ...]:
    """Return the kind's hint rules without those in ``HINTS_OFF``."""
    return tuple(rule for rule in kind.hint_rules if rule not in settings.HINTS_OFF)


def draft_hints(
    hit: Hit,
    draft: Mapping[str, Any],
    *,
    worker: Worker | None = None,
    encoder: SimilarityModel | None = None,
    contradiction_model: ContradictionModel | None = None,
) -> list[Hint]:
    """Return the hints on a draft of this HIT; unreadable parts of the draft get none.

    ``worker`` is its author; some kinds compare the draft with the worker's earlier answers.
    """
    unit = hit.unit
    kind = registry.get_kind(unit.batch.kind)
    rules = enabled_rules(kind)
    if not rules:
        return []
    images = image_facts_by_id(kind.image_ids(unit.payload))
    size = next((ImageSize(image.width, image.height) for image in images.values()), None)
    found = find_hints(
        kind.hint_cards(unit.payload, images, draft), size, rules, encoder, contradiction_model
    )
    earlier = _earlier_answers(hit, kind, worker) if worker is not None and kind.earlier_for_hints else []
    own = kind.own_hints(unit.payload, images, draft, earlier)
    return sort_hints([*found, *(hint for hint in own if hint.rule in rules)])


def _earlier_answers(hit: Hit, kind: HitKind, worker: Worker) -> list[tuple[Payload, Payload]]:
    """Return the units and answers of the worker's last submissions of this kind in this project, newest first."""
    rows = Submission.objects.filter(
        attempt__worker=worker,
        kind=kind.name,
        attempt__hit__unit__batch__project=hit.unit.batch.project_id,
    ).exclude(attempt__hit=hit)
    newest = rows.order_by("-received_at").values_list("attempt__hit__unit__payload", "answer")
    return list(newest[: kind.earlier_for_hints])


@dataclass(frozen=True, slots=True)
class HintCount:
    """How many hints a worker saw and how many of them they dismissed."""

    shown: int
    ignored: int


def count_hints(submission: Submission | None) -> HintCount:
    """Return the numbers for the review page."""
    rows = submission.hints if submission else []
    return HintCount(len(rows), sum(bool(row.get("dismissed")) for row in rows))
