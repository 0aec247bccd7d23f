"""Review rounds unit by unit, and answers to them: what a test of decisions varies."""

from curation.models import Pair
from hits.models import Batch, Hit, Worker
from hits.services.launching.launch import PlannedUnit
from tests.support.judging.work import Work, review


def unit(pair: Pair, key: str, author: Worker) -> PlannedUnit:
    """Return a review unit of a pair under a key of its own, kept from its author."""
    payload = {
        "image": pair.image_id,
        "observation": pair.instance_id,
        "obs_index": pair.index,
        "boxes": pair.boxes,
        "clue": pair.clue,
        "inference": pair.inference,
        "confidence": pair.confidence,
    }
    return PlannedUnit(key, payload, [author])


def answer(work: Work, batch: Batch, item: str, **by: str) -> None:
    """Let workers call an item reasonable ("highly") or not ("un")."""
    hit = Hit.objects.get(unit__batch=batch, unit__key=item)
    for worker, word in by.items():
        work.answered(hit, worker, review(word))
