"""Launch a localization round: people match the inferences about an image to its regions."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.crypto import salted_hmac

from hits.domain.states import UnitScope
from hits.models import Batch, Job, Project, Worker
from hits.services.errors import Refused
from hits.services.launching.eligibility import access_for
from hits.services.launching.launch import PlannedUnit, launch_batch, launched_already
from hits.services.launching.terms import Terms
from validation.domain.judging.round_material import RegionsToMatch
from validation.domain.judging.sampling import Candidate, How, Selection, SelectionError, choose
from validation.models import JudgingRound
from validation.selectors.localization import MatchableImage, Pair, matchable_images, matching
from validation.services.judging import usual_pool


def launch_localization(
    *,
    project: Project,
    n: int | None,
    seed: int,
    by: AbstractBaseUser | None,
    name: str = "",
    terms: Terms | None = None,
    again: bool = False,
    once: str = "",
) -> tuple[Batch, Job]:
    """Launch the matching of ``n`` images drawn with ``seed``; ``None`` takes all that can be matched.

    Who wrote one of an image's pairs does not get that image. ``again`` also draws from images that were sent out
    before; a worker matches one image once, whichever round asks. ``terms`` are the kind's own by default, open to
    ``usual_pool``. ``once`` names the wish to launch; a repeated one gets the first one's batch.

    Raises:
        Refused: no image has three accepted pairs, fewer than ``n`` have, or the terms are not possible.
    """
    known = launched_already(project=project, once=once)
    if known is not None:
        return known
    terms = terms or Terms(access=access_for(pool=usual_pool(project)))
    available = matchable_images(project, again=again)
    selection = _selection(n, seed, len(available), again)
    wanted = {item.id for item in choose([Candidate(str(row.image), 0) for row in available], selection)}
    chosen = [row for row in available if str(row.image) in wanted]
    authors = Worker.objects.in_bulk({pair.author for row in chosen for pair in row.pairs})
    units = [_unit(row, authors) for row in chosen]
    with transaction.atomic():
        batch, job = launch_batch(
            project=project,
            kind_name=matching().name,
            name=name or f"Matching of {len(units)} photo{'' if len(units) == 1 else 's'}",
            units=units,
            by=by,
            terms=replace(terms, unit_scope=UnitScope.PROJECT),
            provenance={"images": len(units), "seed": seed},
            once=once,
        )
        JudgingRound.objects.get_or_create(batch=batch, defaults={"selection": selection.as_row()})
    return batch, job


def _selection(n: int | None, seed: int, available: int, again: bool) -> Selection:
    if not available:
        raise Refused("images: none has three approved pairs; approve submissions first")
    if n is not None and n > available:
        raise Refused(f"images: {available} can be matched; ask for that or fewer")
    try:
        if n is None:
            return Selection(How.ALL, seed=seed, again=again)
        return Selection(How.SAMPLE, n=n, seed=seed, again=again)
    except SelectionError as error:
        raise Refused(str(error)) from error


def _unit(found: MatchableImage, authors: Mapping[int, Worker]) -> PlannedUnit:
    """Return the unit of one image. Both lists stand in the order of their hashes, which says nothing."""
    regions = {_hidden("region", pair): pair for pair in found.pairs}
    inferences = {_hidden("inference", pair): pair for pair in found.pairs}
    region_of = {pair.instance_id: key for key, pair in regions.items()}
    key = set_id(pair.instance_id for pair in found.pairs)
    source = RegionsToMatch(
        id=key,
        image_id=found.image,
        regions={one: list(regions[one].boxes) for one in sorted(regions)},
        inferences={one: inferences[one].inference for one in sorted(inferences)},
        truth={one: region_of[inferences[one].instance_id] for one in sorted(inferences)},
    )
    return PlannedUnit(
        key=key,
        payload=matching().unit(source),
        excluded=[authors[pk] for pk in sorted({pair.author for pair in found.pairs})],
    )


def set_id(instance_ids: Iterable[str]) -> str:
    """Return the name of what is matched, 32 hex digits: the same pairs have it in every round."""
    return sha256("/".join(sorted(instance_ids)).encode()).hexdigest()[:32]


def _hidden(what: str, pair: Pair) -> str:
    """Return a pair's region or inference as an id of 16 hex digits from which the other cannot be told.

    The key makes it so: a worker who knows published instance ids cannot hash them for comparison.
    """
    return salted_hmac(
        f"localization.{what}", pair.instance_id, secret=settings.WORKER_HASH_SECRET, algorithm="sha256"
    ).hexdigest()[:16]
