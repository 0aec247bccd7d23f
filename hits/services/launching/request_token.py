"""The request token of each CreateHIT call, and the row of a HIT that waits for it."""

from hits.domain.hashing import request_token
from hits.models import Batch, Hit, Unit


def planned_hit(batch: Batch, unit: Unit, part: int, slots: int) -> Hit:
    """Return the row of one of a unit's HITs, not saved yet, with its first token and annotation."""
    return Hit(
        unit=unit,
        environment=batch.environment,
        part=part,
        token=create_token(batch, unit, part, 1),
        annotation=annotation(batch, unit, part, 1),
        max_assignments=slots,
    )


def create_token(batch: Batch, unit: Unit, part: int, generation: int) -> str:
    """Return the token under which a HIT is made; a new generation has another one."""
    return request_token(batch.environment, batch.pk, unit.public_id, "create", *_place(part, generation))


def annotation(batch: Batch, unit: Unit, part: int, generation: int) -> str:
    """Return what names the HIT on the marketplace: ``v1/<environment>/<batch>/<unit>/<[part.]generation>``."""
    place = ".".join(str(number) for number in _place(part, generation))
    return f"v1/{batch.environment}/{batch.pk}/{unit.public_id}/{place}"


def _place(part: int, generation: int) -> tuple[int, ...]:
    return (generation,) if part == 1 else (part, generation)
