"""Plan the rows of a version: validated triplets, their provenance, people's answers, and all explanations.

A triplet's row has what the published table has (Ventura et al. 2025 §2.2), without ``sample_id``, and the hashes of
its three images. Provenance, answers and votes are rows of their own, so that equal triplets have equal hashes.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from curation.models import (
    DatasetVersion,
    ExplanationSource,
    GeneratedImage,
    TripletSettings,
    TripletVerdict,
)
from curation.records import InvalidInput
from curation.selectors.triplets.answers import PersonAnswer
from curation.selectors.triplets.audits import newest_audit
from curation.selectors.triplets.explanations import JudgedExplanation, judged_explanations, text_key
from curation.selectors.triplets.images import hidden_images
from curation.selectors.triplets.scenes import SceneState
from curation.selectors.triplets.settings import triplet_settings
from curation.selectors.triplets.triplets import (
    IMAGE_ROLES,
    TripletFacts,
    image_triplets,
    triplet_facts,
    triplets_with_images,
)
from curation.versions.plan import Plan, PlannedRow, image_url, worker_hash
from curation.versions.selection import ExclusionReason
from curation.versions.splits import parse_split
from hits.models import Project, Worker
from hits.selectors.records import id_chunks

TRIPLET, PROVENANCE, ANSWER, EXPLANATION = (
    "nleye_triplet",
    "nleye_provenance",
    "nleye_answer",
    "nleye_explanation",
)
PUBLISHED_ROLES: Mapping[str, str] = {"premise": "premise", "h1": "hypothesis1", "h2": "hypothesis2"}
DEFAULT_SPLIT = "test"  # the only one of the published release
TEST_DRAWING, UNKNOWN_LICENCE = "test_drawing", "unknown_licence"
NO_EXPLANATION, NOT_ALIGNED, TOO_FEW_ANSWERS = "no_gold_explanation", "not_aligned", "too_few_answers"
DROPPED, TO_REVISE, AGAINST_GOLD = "triplet_dropped", "triplet_to_revise", "against_gold_undecided"
SCENE_NOT_KEPT = "scene_not_kept"
SCENE_REASONS: Mapping[SceneState, str] = {
    SceneState.DROPPED: "scene_dropped",
    SceneState.TO_REVISE: "scene_to_revise",
    SceneState.REPLACED: "scene_replaced",
    SceneState.OPEN: SCENE_NOT_KEPT,
    SceneState.DISAGREED: SCENE_NOT_KEPT,
}
HIDDEN_IMAGE = "hidden_image"
MIN_ANSWERS = 3
DRAWING = "drawing"  # the generator of test drawings
UNKNOWN = "unknown"
_VERDICT_REASONS = {TripletVerdict.DROP: DROPPED, TripletVerdict.REVISE: TO_REVISE}
Row = dict[str, Any]


def plan_rows(version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
    """Add the version's rows to ``plan``, with the reason for each triplet that is left out.

    Raises:
        InvalidInput: the selection names decisions or audits of records, which triplets are not.
        UnknownSplit: an image's split is unknown.
    """
    if not plan.selection.is_everything:
        raise InvalidInput(
            "selection: decisions and audits choose records, and triplets are none; decide about them on their page"
        )
    project = version.project
    settings = triplet_settings(project)
    explained = _explanations_by_triplet(project)
    found = triplet_facts(project, triplets_with_images(project))
    images = [image for facts in found for image in _images(facts)]
    hidden, sources = hidden_images(images), _edited_hashes(images)
    kept: list[TripletFacts] = []
    for number, facts in enumerate(found):
        report_progress(number)
        reasons = exclusion_reasons(facts, settings, hidden, is_rehearsal=version.rehearsal)
        if reasons:
            plan.exclude_row(TRIPLET, facts.triplet.public_id, reasons[0], reasons[1:])
            continue
        _add_triplet(plan, facts, explained[facts.triplet.pk], sources)
        kept.append(facts)
    for triplet in image_triplets(project):
        if any(getattr(triplet, role).image.taken_down_at for role in IMAGE_ROLES):
            plan.exclude_row(TRIPLET, triplet.public_id, ExclusionReason.IMAGE_TAKEN_DOWN)
    workers = _workers(kept, explained)
    for facts in kept:
        _add_answers(plan, facts, workers)
        _add_explanations(plan, facts, explained[facts.triplet.pk], workers)
    plan.sources |= {
        "holds_answers": settings.holds_answers,
        "against_gold": _count_against_gold(kept),
        "audits": _newest_audits(project),
        "languages": sorted({facts.triplet.scene.language for facts in kept}),
    }


def exclusion_reasons(
    facts: TripletFacts, settings: TripletSettings, hidden: Container[int], *, is_rehearsal: bool
) -> list[str]:
    """Return every reason for leaving a triplet out, the main one first; imported ones need no answers of ours.

    Args:
        hidden: the keys of images that a safety checker flagged and nobody released.
    """
    images = _images(facts)
    reasons = [SCENE_REASONS[facts.scene_state]] if facts.scene_state in SCENE_REASONS else []
    verdict = facts.decision.verdict if facts.decision else ""
    reasons += [reason for decided, reason in _VERDICT_REASONS.items() if verdict == decided]
    if any(image.pk in hidden for image in images):
        reasons.append(HIDDEN_IMAGE)
    if not is_rehearsal:
        reasons += _reasons_against_release(facts, images, settings)
    if not facts.is_imported:
        if facts.gold_explanation is None:
            reasons.append(NO_EXPLANATION)
        if not facts.is_aligned:
            reasons.append(NOT_ALIGNED)
        if len(_counted_answers(facts, is_rehearsal=is_rehearsal)) < MIN_ANSWERS:
            reasons.append(TOO_FEW_ANSWERS)
        if facts.needs_decision:
            reasons.append(AGAINST_GOLD)
    return reasons


def _images(facts: TripletFacts) -> list[GeneratedImage]:
    return [getattr(facts.triplet, role) for role in IMAGE_ROLES]


def _reasons_against_release(
    facts: TripletFacts, images: Sequence[GeneratedImage], settings: TripletSettings
) -> list[str]:
    """Return why a triplet cannot be released as real data."""
    reasons: list[str] = []
    if any(row.generator == DRAWING for row in images):
        reasons.append(TEST_DRAWING)
    is_allowed = settings.unknown_licence_allowed_by_id is not None
    if not is_allowed and any((row.licence.strip() or UNKNOWN).lower() == UNKNOWN for row in images):
        reasons.append(UNKNOWN_LICENCE)
    explanation = facts.gold_explanation
    if facts.triplet.scene.simulated or (explanation is not None and explanation.simulated):
        reasons.append(ExclusionReason.SIMULATED)
    return reasons


def _counted_answers(facts: TripletFacts, *, is_rehearsal: bool) -> list[PersonAnswer]:
    return [answer for answer in facts.answers if is_rehearsal or not answer.simulated]


def _newest_audits(project: Project) -> list[Row]:
    """Return what the newest audits found, for the card."""
    row = newest_audit(project)
    audits = row.figures["audits"] if row else []
    return [{name: audit[name] for name in ("name", "why", "flagged", "n")} for audit in audits]


def _count_against_gold(kept: Iterable[TripletFacts]) -> dict[str, int]:
    """Return how many triplets people judged, how many majorities are against gold, and how many of these stay."""
    judged = [row for row in kept if len(row.answers) >= MIN_ANSWERS]
    against = [row for row in judged if row.is_against_gold]
    stay = sum(not row.needs_decision for row in against)
    return {"judged": len(judged), "against": len(against), "kept": stay}


def _explanations_by_triplet(project: Project) -> dict[int, list[JudgedExplanation]]:
    found: dict[int, list[JudgedExplanation]] = defaultdict(list)
    for row in judged_explanations(project):
        found[row.row.triplet_id].append(row)
    return found


def _edited_hashes(images: Iterable[GeneratedImage]) -> dict[int, str]:
    """Return the hash of each image that others were made from, by its key."""
    keys = sorted({image.parent_id for image in images if image.parent_id is not None})
    found: dict[int, str] = {}
    for chunk in id_chunks(keys):
        found |= dict(GeneratedImage.objects.filter(pk__in=chunk).values_list("pk", "image__sha256"))
    return found


def _add_triplet(
    plan: Plan, facts: TripletFacts, explained: Sequence[JudgedExplanation], sources: Mapping[int, str]
) -> None:
    triplet = facts.triplet
    for role in IMAGE_ROLES:
        plan.add_image(getattr(triplet, role).image)
    split = str(parse_split(triplet.premise.image.split)) or DEFAULT_SPLIT
    author, explanation = triplet.scene.author, facts.gold_explanation
    explainer = explanation.worker if explanation else None
    workers = [worker_hash(worker) if worker else "" for worker in (explainer, author)]
    plan.add_row(
        PlannedRow.from_row(TRIPLET, triplet.public_id, split, triplet_row(facts, explained), workers)
    )
    row = {PUBLISHED_ROLES[role]: provenance_row(getattr(triplet, role), sources) for role in IMAGE_ROLES}
    plan.add_row(
        PlannedRow.from_row(PROVENANCE, triplet.public_id, split, {"triplet": triplet.public_id, **row}, [])
    )


def triplet_row(facts: TripletFacts, explained: Sequence[JudgedExplanation]) -> Row:
    """Return a triplet's row: the published columns by our names, and the hashes of its images."""
    triplet, facets = facts.triplet, facts.facets
    scene = triplet.scene
    other = "b" if triplet.first == "a" else "a"
    texts = {
        "premise": scene.premise,
        "hypothesis1": scene.text(triplet.first),
        "hypothesis2": scene.text(other),
    }
    return {
        "reasoning_category": facets.category,
        "domain": facets.domain,
        "time_direction": facets.direction,
        "time_duration": facets.duration,
        **{f"{role}_description": text for role, text in texts.items()},
        "gold": triplet.gold,
        "gold_explanation": facts.gold_explanation.text if facts.gold_explanation else "",
        "explanations": reference_texts(explained),
        "images": {PUBLISHED_ROLES[role]: getattr(triplet, role).image.sha256 for role in IMAGE_ROLES},
    }


def reference_texts(explained: Iterable[JudgedExplanation]) -> list[str]:
    """Return the reference explanations besides gold: imported ones, and people's with at least one vote."""
    texts: dict[str, str] = {}
    for found in explained:
        is_reference = found.row.source == ExplanationSource.REFERENCE
        is_validated = found.row.source == ExplanationSource.CROWD and found.votes.valid > 0
        if is_reference or is_validated:
            texts.setdefault(text_key(found.row.text), found.row.text)
    return list(texts.values())


def provenance_row(image: GeneratedImage, sources: Mapping[int, str]) -> Row:
    """Return everything known of an image's origin; money in micro-dollars. ``sources`` are of ``_edited_hashes``."""
    return {
        "sha256": image.image.sha256,
        "file": image_url(image.image),
        "width": image.image.width,
        "height": image.image.height,
        "generator": image.generator,
        "model": image.model,
        "revision": image.revision,
        "licence": image.licence or UNKNOWN,
        "prompt": image.prompt,
        "revised_prompt": image.revised_prompt,
        "negative_prompt": image.negative_prompt,
        "seed": image.seed,
        "candidate": image.number,
        "edited_from": sources.get(image.parent_id or 0),
        "mask": image.mask,
        "strength": image.strength,
        "parameters": image.parameters,
        "cost_micro_usd": image.cost_micro,
    }


def _workers(
    kept: Iterable[TripletFacts], explained: Mapping[int, Sequence[JudgedExplanation]]
) -> dict[int, str]:
    """Return the keyed hash of each worker whose answer or explanation a row has."""
    keys: set[int | None] = set()
    for facts in kept:
        keys.update(answer.worker for answer in facts.answers)
        keys.update(found.row.worker_id for found in explained[facts.triplet.pk])
    rows = Worker.objects.in_bulk(sorted(key for key in keys if key is not None))
    return {pk: worker_hash(worker) for pk, worker in rows.items()}


def _add_answers(plan: Plan, facts: TripletFacts, workers: Mapping[int, str]) -> None:
    triplet = facts.triplet
    for number, answer in enumerate(facts.answers, start=1):
        row = {
            "triplet": triplet.public_id,
            "worker": workers.get(answer.worker or 0, ""),
            "choice": answer.choice,
            "is_gold": answer.choice == triplet.gold_label,
            "certainty": answer.certainty,
            "ratings": dict(sorted(answer.ratings.items())),
            "explanation": answer.why,
            "first_shown": answer.first_shown,
            "active_seconds": answer.seconds,
            "simulated": answer.simulated,
        }
        key = f"{triplet.public_id}-{number}"
        plan.add_row(PlannedRow.from_row(ANSWER, key, "", row, []))


def _add_explanations(
    plan: Plan, facts: TripletFacts, explained: Sequence[JudgedExplanation], workers: Mapping[int, str]
) -> None:
    for found in explained:
        prediction = found.row.prediction
        row = {
            "triplet": facts.triplet.public_id,
            "id": found.row.public_id,
            "source": found.row.source,
            "model": prediction.evaluation.label if prediction else "",
            "worker": workers.get(found.row.worker_id or 0, ""),
            "text": found.row.text,
            "votes": found.votes.valid,
            "voters": found.votes.voters,
        }
        plan.add_row(PlannedRow.from_row(EXPLANATION, found.row.public_id, "", row, []))
