"""The request token of each CreateHIT call, and the row of a HIT that waits for it."""

from hits.domain.hashing import request_token
from hits.models import Batch, Hit, Unit


def build_planned_hit(batch: Batch, unit: Unit, hit_slice: int, max_assignments: int) -> Hit:
    """Return the unsaved row of one HIT of a unit, with its first token and annotation."""
    return Hit(
        unit=unit,
        environment=batch.environment,
        slice=hit_slice,
        token=build_token(batch, unit, hit_slice, 1),
        annotation=build_requester_annotation(batch, unit, hit_slice, 1),
        max_assignments=max_assignments,
    )


def build_token(batch: Batch, unit: Unit, hit_slice: int, generation: int) -> str:
    """Return the request token of a HIT; each generation has its own."""
    return request_token(
        batch.environment, batch.pk, unit.public_id, "create", *_slice_path(hit_slice, generation)
    )


def build_requester_annotation(batch: Batch, unit: Unit, hit_slice: int, generation: int) -> str:
    """Return the HIT's annotation: ``v1/<environment>/<batch>/<unit>/<[slice.]generation>``."""
    suffix = ".".join(str(number) for number in _slice_path(hit_slice, generation))
    return f"v1/{batch.environment}/{batch.pk}/{unit.public_id}/{suffix}"


def _slice_path(hit_slice: int, generation: int) -> tuple[int, ...]:
    return (generation,) if hit_slice == 1 else (hit_slice, generation)
