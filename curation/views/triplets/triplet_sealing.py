"""Why triplets cannot be sealed, and what checks changed in the facets of their scenes, in words for pages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from curation.families.nleye.family import NlEyeFamily
from curation.families.nleye.rows import (
    AGAINST_GOLD,
    HIDDEN_IMAGE,
    MIN_ANSWERS,
    NO_EXPLANATION,
    NOT_ALIGNED,
    TEST_DRAWING,
    TOO_FEW_ANSWERS,
    UNKNOWN_LICENCE,
    exclusion_reasons,
)
from curation.models import TripletCheck, TripletSettings
from curation.selectors.triplets.images import hidden_images
from curation.selectors.triplets.scenes import SceneState
from curation.selectors.triplets.settings import triplet_settings
from curation.selectors.triplets.triplets import ALIGNED, IMAGE_ROLES, Facets, TripletFacts, TripletState
from curation.versions.selection import ExclusionReason
from curation.views.triplets.labels import CATEGORY_LABELS, CELL_LABELS, domain_label
from hits.domain.answers.evidence import humanize
from hits.models import Project

ROLE_LABELS: Mapping[str, str] = {"premise": "Premise", "h1": "Hypothesis 1", "h2": "Hypothesis 2"}
BLOCKS: Mapping[str, str] = {
    HIDDEN_IMAGE: "a safety checker flagged an image, and nobody released it",
    TEST_DRAWING: "an image is a test drawing, which rehearsals alone may seal",
    UNKNOWN_LICENCE: "an image has an unknown licence",
    ExclusionReason.SIMULATED: "its scene or gold explanation is simulated, which rehearsals alone may seal",
    NO_EXPLANATION: "no gold explanation",
    AGAINST_GOLD: "the majority is against gold: decide",
}

SCENE_BLOCKS: Mapping[SceneState, str] = {
    SceneState.DROPPED: "its scene was dropped",
    SceneState.TO_REVISE: "its scene is to be revised",
    SceneState.REPLACED: "a revision replaced its scene",
    SceneState.OPEN: "a verdict on its scene is missing",
    SceneState.DISAGREED: "the readers of its scene disagree",
}


@dataclass(frozen=True, slots=True)
class Sealing:
    """What decides whether the triplets of a page can be sealed, and who changed their facets.

    hidden: keys of flagged images that nobody released. checkers: who made a check, by its key.
    """

    settings: TripletSettings
    hidden: frozenset[int]
    is_rehearsal: bool
    checkers: Mapping[int, str]


def read_sealing(project: Project, facts: Iterable[TripletFacts]) -> Sealing:
    """Read what the pages say of triplets; at most four queries."""
    found = list(facts)
    images = [getattr(row.triplet, role) for row in found for role in IMAGE_ROLES]
    changed = [row.check.pk for row in found if row.check is not None and facets_changed(row)]
    return Sealing(triplet_settings(project), hidden_images(images), project.is_rehearsal, _checkers(changed))


def _checkers(keys: Sequence[int]) -> dict[int, str]:
    """Return who made each check: a member by name, a worker as W-<number>; empty for imports."""
    if not keys:
        return {}
    rows = TripletCheck.objects.filter(pk__in=keys).select_related("by", "record__submission__assignment")
    found = {}
    for row in rows:
        if row.by is not None:
            found[row.pk] = row.by.get_username()
        elif row.record is not None and row.record.submission is not None:
            found[row.pk] = f"W-{row.record.submission.assignment.worker_id}"
    return found


def list_blocks(facts: TripletFacts, sealing: Sealing) -> list[str]:
    """Return every reason why a triplet cannot be sealed; empty if nothing blocks it, or if it is dropped."""
    if facts.scene_state in SCENE_BLOCKS:
        return [SCENE_BLOCKS[facts.scene_state]]
    if facts.state is TripletState.DROPPED:
        return []
    if facts.state is TripletState.TO_REVISE:
        return ["draw or pick other images, then build again"]
    reasons = exclusion_reasons(facts, sealing.settings, sealing.hidden, is_rehearsal=sealing.is_rehearsal)
    found: list[str] = []
    for reason in reasons:
        if reason == NOT_ALIGNED:
            found += _alignment_blocks(facts)
        elif reason == TOO_FEW_ANSWERS:
            found.append(_missing_answers(facts, is_rehearsal=sealing.is_rehearsal))
        else:
            found.append(BLOCKS.get(reason) or NlEyeFamily.exclusion_labels.get(reason, humanize(reason)))
    return found


def _missing_answers(facts: TripletFacts, *, is_rehearsal: bool) -> str:
    counted = sum(is_rehearsal or not answer.simulated for answer in facts.answers)
    missing = MIN_ANSWERS - counted
    text = f"{missing} answer{'s' if missing > 1 else ''} missing"
    return text if counted == len(facts.answers) else f"{text}, as simulated ones do not count"


def _alignment_blocks(facts: TripletFacts) -> list[str]:
    if facts.check is None:
        return ["nobody checked whether the images show their texts"]
    wrong = {role: facts.check.alignment.get(role, "") for role in IMAGE_ROLES}
    return [
        f"{ROLE_LABELS[role].lower()} shows its text {'only partly' if value == 'partly' else 'not at all'}"
        for role, value in wrong.items()
        if value != ALIGNED
    ]


def time_label(facets: Facets) -> str:
    """Return the label of a temporal cell."""
    return CELL_LABELS.get(facets.cell, humanize(facets.cell))


def _shown_facets(facets: Facets) -> dict[str, str]:
    return {
        "category": CATEGORY_LABELS.get(facets.category, facets.category),
        "time": time_label(facets),
        "domain": domain_label(facets.domain),
    }


def _scene_facets(facts: TripletFacts) -> Facets:
    scene = facts.triplet.scene
    return Facets(scene.category, scene.direction, scene.duration, scene.domain)


def facets_changed(facts: TripletFacts) -> bool:
    """Whether the facets of the newest check differ from those of the scene."""
    return facts.facets != _scene_facets(facts)


def list_changes(facts: TripletFacts, sealing: Sealing) -> list[str]:
    """Return each facet that a check changed, and by whom: ``category changed: Emotional → Physical, by W-5``."""
    now = _shown_facets(facts.facets)
    checker = sealing.checkers.get(facts.check.pk, "") if facts.check else ""
    by = f", by {checker}" if checker else ""
    return [
        f"{name} changed: {was} → {now[name]}{by}"
        for name, was in _shown_facets(_scene_facets(facts)).items()
        if was != now[name]
    ]


def gold_balance(facts: Iterable[TripletFacts]) -> list[tuple[str, int, int]]:
    """Return how many triplets have gold 1 and gold 2 in each category as it stands now, without dropped ones."""
    counts: Counter[tuple[str, int]] = Counter(
        (row.facets.category, row.triplet.gold) for row in facts if row.state is not TripletState.DROPPED
    )
    return [
        (label, counts[name, 1], counts[name, 2])
        for name, label in CATEGORY_LABELS.items()
        if counts[name, 1] or counts[name, 2]
    ]
