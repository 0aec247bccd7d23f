"""Store scenes, and readers' verdicts on them. A verdict never changes: a later one of the same reader counts."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from curation.models import Scene, SceneDecision, SceneReason, SceneVerdict
from curation.selectors.triplets.scenes import (
    SceneOutcome,
    SceneState,
    is_own_scene,
    scene_outcome,
    waiting_scene_records,
)
from curation.selectors.triplets.settings import triplet_settings
from hits.domain.answers.scene_facets import CATEGORIES, DIRECTIONS, MAX_CHARACTERS, check_temporal
from hits.domain.answers.scene_rules import (
    MAX_CULTURE_CHARACTERS,
    MAX_DOMAIN_CHARACTERS,
    SCENE_TEXTS,
    are_alike,
)
from hits.domain.answers.text import TextError, clean_line
from hits.models import Project, Record
from hits.selectors.eligibility.accounts import find_own_worker
from hits.selectors.records import is_simulated, record_author
from hits.services import audit
from hits.services.errors import Conflict, Refused

MAX_NOTE = 400
_NEEDS_REASON = (SceneVerdict.DROP, SceneVerdict.REVISE)


@dataclass(frozen=True, slots=True)
class ReaderDecision:
    """What a reader decides. ``twin`` is the scene that it repeats.

    ``seen`` is ``SceneOutcome.seen_by`` of the reader's page (0 for none): a decision on a stale page is refused.
    """

    verdict: SceneVerdict
    reasons: Collection[SceneReason] = ()
    twin: Scene | None = None
    note: str = ""
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class SceneTexts:
    """The texts of a scene, and what changes with them."""

    premise: str
    plausible: str
    implausible: str


def take_in_scenes(project: Project) -> int:
    """Store the scenes of approved answers; return how many are new. Repeatable.

    Which hypothesis is a is drawn here, so that a and b tell nothing.
    """
    stored = 0
    for record in waiting_scene_records(project).iterator(chunk_size=500):
        try:
            with transaction.atomic():
                Scene.objects.create(**scene_fields(project, record))
        except IntegrityError:  # another process stored it at this moment
            continue
        stored += 1
    return stored


def scene_fields(project: Project, record: Record) -> dict[str, object]:
    """Return the fields of the scene of a record."""
    fields = record.fields
    texts = SceneTexts(fields["premise"], fields["plausible"], fields["implausible"])
    names = ("category", "direction", "duration", "domain", "culture", "why", "language")
    return {
        "project": project,
        "record": record,
        "author": record_author(record),
        "simulated": is_simulated(record),
        **{name: fields.get(name) or "" for name in names},
        **draw_hypotheses(texts),
    }


def draw_hypotheses(texts: SceneTexts) -> dict[str, str]:
    """Return premise, hypotheses a and b in a drawn order, and which of them is plausible."""
    plausible = secrets.choice("ab")
    pair = (texts.plausible, texts.implausible)
    a, b = pair if plausible == "a" else pair[::-1]
    return {"premise": texts.premise, "hypothesis_a": a, "hypothesis_b": b, "plausible": plausible}


def decide_scene(*, scene: Scene, decision: ReaderDecision, by: AbstractBaseUser) -> SceneOutcome:
    """Store a reader's verdict on a scene, and return its outcome.

    Raises:
        Refused: the verdict needs a reason, the reader wrote the scene, or the twin is another project's or itself.
        Conflict: a revision replaced the scene, or somebody decided after the page was opened.
    """
    note = _check_decision(scene, decision, by)
    readers = triplet_settings(scene.project).readers
    with transaction.atomic():
        locked = Scene.objects.select_for_update().get(pk=scene.pk)
        before = scene_outcome(locked, readers)
        if before.state is SceneState.REPLACED:
            raise Conflict("scene: a revision replaced it; decide about the revision")
        if decision.seen is not None and decision.seen != before.seen_by(by.pk, readers):
            raise Conflict("scene: somebody decided about it after you opened the page; reload the page")
        SceneDecision.objects.create(
            scene=locked,
            verdict=decision.verdict.value,
            reasons=[reason.value for reason in dict.fromkeys(decision.reasons)],
            twin=decision.twin,
            note=note,
            by_id=by.pk,
        )
        # Without the verdict: the project's history shows this to readers who have not decided yet.
        audit.record(project=scene.project, actor=by, action="scene.decide", subject=scene.pk)
        return scene_outcome(locked, readers)


def undo_decision(*, scene: Scene, by: AbstractBaseUser, seen: int | None = None) -> SceneOutcome:
    """Take the reader's own verdict back, and return the scene's outcome.

    Raises:
        Conflict: there is no verdict to take back, or the page is stale.
    """
    readers = triplet_settings(scene.project).readers
    if scene_outcome(scene, readers).verdict_of(by.pk) is None:
        raise Conflict("scene: you have no verdict on it to take back")
    return decide_scene(scene=scene, decision=ReaderDecision(SceneVerdict.UNDONE, seen=seen), by=by)


@transaction.atomic
def revise_scene(
    *, scene: Scene, texts: SceneTexts, by: AbstractBaseUser | None, facets: Mapping[str, str] | None = None
) -> Scene:
    """Store a revision of a scene, which takes its place; the old one stays readable.

    ``facets`` may change category, direction, duration, domain and culture. The revision needs verdicts of its own.

    Raises:
        Refused: a text is empty, or both hypotheses are alike.
        Conflict: the scene has a revision already.
    """
    changes = {"direction": scene.direction, "duration": scene.duration, **(facets or {})}
    cleaned = _clean_texts(texts)
    changes = _check_facets(changes)
    Scene.objects.select_for_update().get(pk=scene.pk)
    if Scene.objects.filter(replaces=scene).exists():
        raise Conflict("scene: it has a revision already; revise that one")
    kept = ("category", "direction", "duration", "domain", "culture", "why", "language", "licence")
    revision = Scene.objects.create(
        project=scene.project,
        author=scene.author,
        simulated=scene.simulated,
        replaces=scene,
        created_by_id=by.pk if by else None,
        **{name: getattr(scene, name) for name in kept} | changes,
        **draw_hypotheses(cleaned),
    )
    audit.record(
        project=scene.project, actor=by, action="scene.revise", subject=revision.pk, replaces=scene.pk
    )
    return revision


def parse_reasons(values: Sequence[str]) -> list[SceneReason]:
    """Return reasons by their names.

    Raises:
        Refused: one is unknown.
    """
    unknown = [value for value in values if value not in set(SceneReason)]
    if unknown:
        raise Refused(f"reasons: {unknown[0]!r} is not known; use {', '.join(SceneReason)}")
    return [SceneReason(value) for value in values]


def _check_decision(scene: Scene, decision: ReaderDecision, by: AbstractBaseUser) -> str:
    """Check a decision, and return its cleaned note."""
    is_given = decision.verdict is not SceneVerdict.UNDONE
    if is_given and is_own_scene(scene, by.pk, find_own_worker(by.pk)):
        raise Refused("scene: you wrote it, so somebody else decides about it")
    if decision.verdict in _NEEDS_REASON and not decision.reasons:
        raise Refused(f"reasons: choose at least one for the verdict {decision.verdict.value}")
    if decision.twin is not None and (
        decision.twin.pk == scene.pk or decision.twin.project_id != scene.project_id
    ):
        raise Refused("twin: choose another scene of this project")
    return _clean("note", decision.note, MAX_NOTE)


def _clean_texts(texts: SceneTexts) -> SceneTexts:
    cleaned = {}
    for name in SCENE_TEXTS:
        cleaned[name] = _clean(name, getattr(texts, name), MAX_CHARACTERS)
        if not cleaned[name]:
            raise Refused(f"{name}: is empty; describe what the picture shows")
    if are_alike(cleaned["plausible"], cleaned["implausible"]):
        raise Refused("implausible: has the same words as the plausible hypothesis; change what happens")
    return SceneTexts(**cleaned)


def _check_facets(facets: Mapping[str, str]) -> dict[str, str]:
    """Check the facets that a revision changes, and return them cleaned."""
    cleaned = dict(facets)
    for name, maximum in (("domain", MAX_DOMAIN_CHARACTERS), ("culture", MAX_CULTURE_CHARACTERS)):
        if name in facets:
            cleaned[name] = _clean(name, facets[name], maximum)
    if facets.get("category", CATEGORIES[0]) not in CATEGORIES:
        raise Refused(f"category: {facets['category']!r} is not known; use {', '.join(CATEGORIES)}")
    if facets["direction"] not in DIRECTIONS:
        raise Refused(f"direction: {facets['direction']!r} is not known; use {', '.join(DIRECTIONS)}")
    if problem := check_temporal(facets["direction"], facets["duration"]):
        raise Refused(f"duration: {problem}")
    if not cleaned.get("domain", "any"):
        raise Refused("domain: is empty; choose one")
    return cleaned


def _clean(name: str, text: str, maximum: int) -> str:
    """Return a text of one line. Raises Refused, which names the field."""
    try:
        return clean_line(text, maximum=maximum)
    except TextError as error:
        raise Refused(f"{name}: {error}") from error
