"""Launch a localization round: workers match the inferences about an image to its regions."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.utils.crypto import salted_hmac

from hits.models import Batch, Job, Project, Worker
from hits.services.errors import Refused
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.launch import PlannedUnit, find_launched_batch_and_job
from hits.services.launching.terms import LaunchTerms
from validation.domain.judging.round_material import RegionsToMatch
from validation.domain.judging.sampling import (
    SelectablePair,
    Selection,
    SelectionError,
    SelectionMethod,
    select_pairs,
)
from validation.selectors.localization import MatchableImage, MatchablePair, matchable_images, matching_spec
from validation.services.judging import RoundPlan, default_pool, launch_judging_units


def launch_localization(
    *,
    project: Project,
    n: int | None,
    seed: int,
    by: AbstractBaseUser | None,
    name: str = "",
    terms: LaunchTerms | None = None,
    include_judged: bool = False,
    idempotency_key: str = "",
) -> tuple[Batch, Job]:
    """Launch a matching round of ``n`` images drawn with ``seed``; ``None`` takes all images that can be matched.

    Authors of an image's pairs do not get that image. ``include_judged`` also draws from images that earlier rounds
    used; a worker matches an image once, in any round. ``terms`` are by default the kind's own, open to
    ``default_pool``. A repeated request with the same ``idempotency_key`` returns the first batch.

    Raises:
        Refused: no image has three accepted pairs, fewer than ``n`` have, or the terms are not possible.
    """
    existing = find_launched_batch_and_job(project=project, idempotency_key=idempotency_key)
    if existing is not None:
        return existing
    terms = terms or LaunchTerms(eligibility=build_eligibility(pool=default_pool(project)))
    available = matchable_images(project, include_sent=include_judged)
    selection = _selection(n, seed, len(available), include_judged)
    selected_ids = {
        item.id for item in select_pairs([SelectablePair(str(row.image), 0) for row in available], selection)
    }
    selected = [row for row in available if str(row.image) in selected_ids]
    authors = Worker.objects.in_bulk({pair.author for row in selected for pair in row.pairs})
    units = [_planned_unit(row, authors) for row in selected]
    return launch_judging_units(
        project=project,
        kind=matching_spec().name,
        units=units,
        plan=RoundPlan(selection=selection, rules={}),  # nothing is decided about matchings
        name=name or f"Matching of {len(units)} photo{'' if len(units) == 1 else 's'}",
        by=by,
        terms=terms,
        provenance={"images": len(units), "seed": seed},
        idempotency_key=idempotency_key,
    )


def _selection(n: int | None, seed: int, available: int, include_judged: bool) -> Selection:
    if not available:
        raise Refused("images: none has three approved pairs; approve submissions first")
    if n is not None and n > available:
        raise Refused(f"images: {available} can be matched; use that number or fewer")
    try:
        if n is None:
            return Selection(SelectionMethod.ALL, seed=seed, include_judged=include_judged)
        return Selection(SelectionMethod.SAMPLE, n=n, seed=seed, include_judged=include_judged)
    except SelectionError as error:
        raise Refused(str(error)) from error


def _planned_unit(image: MatchableImage, authors: Mapping[int, Worker]) -> PlannedUnit:
    """Return the unit of one image. Both lists are ordered by their hashes, so the order reveals nothing."""
    regions = {_opaque_id("region", pair): pair for pair in image.pairs}
    inferences = {_opaque_id("inference", pair): pair for pair in image.pairs}
    region_of = {pair.instance_id: key for key, pair in regions.items()}
    key = matching_set_id(pair.instance_id for pair in image.pairs)
    source = RegionsToMatch(
        id=key,
        image_id=image.image,
        regions={opaque_id: list(regions[opaque_id].boxes) for opaque_id in sorted(regions)},
        inferences={opaque_id: inferences[opaque_id].inference for opaque_id in sorted(inferences)},
        truth={opaque_id: region_of[inferences[opaque_id].instance_id] for opaque_id in sorted(inferences)},
    )
    return PlannedUnit(
        key=key,
        payload=matching_spec().build_unit(source),
        excluded_workers=[authors[pk] for pk in sorted({pair.author for pair in image.pairs})],
    )


def matching_set_id(instance_ids: Iterable[str]) -> str:
    """Return the id of a set of pairs, 32 hex digits: the same in every round."""
    return sha256("/".join(sorted(instance_ids)).encode()).hexdigest()[:32]


def _opaque_id(field: str, pair: MatchablePair) -> str:
    """Return a pair's region or inference as 16 hex digits that do not reveal the other.

    The hash is keyed, so a worker who knows published instance ids cannot compute it.
    """
    return salted_hmac(
        f"localization.{field}", pair.instance_id, secret=settings.WORKER_HASH_SECRET, algorithm="sha256"
    ).hexdigest()[:16]
