"""Build image triplets from picked images, and store explanations, checks and decisions about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from curation.image_triplets.order_balance import GoldCounts, SceneToOrder, draw_orders
from curation.models import (
    ExplanationSource,
    ImageTriplet,
    Scene,
    TripletCheck,
    TripletDecision,
    TripletExplanation,
    TripletSettings,
    TripletVerdict,
)
from curation.selectors.triplets.images import SceneImages, scene_images
from curation.selectors.triplets.scenes import kept_scenes
from curation.selectors.triplets.triplets import (
    IMAGE_ROLES,
    Facets,
    TripletFacts,
    TripletState,
    gold_counts,
    image_triplets,
    triplet_facts,
)
from hits.domain.answers.scene_facets import CATEGORIES, DIRECTIONS, Hypothesis, check_temporal
from hits.domain.answers.scene_rules import MAX_DOMAIN_CHARACTERS
from hits.domain.answers.text import TextError, clean_line
from hits.models import Project, Record
from hits.selectors.records import approved_records, is_simulated, record_author
from hits.services import audit
from hits.services.errors import Conflict, Refused

EXPLANATION = "nleye_explanation"
"""The type of records in which workers explain a triplet and check its images."""
MAX_NOTE = 400
MAX_EXPLANATION = 1000
_REPLACED_NOTE = "other images of the scene were picked"
_RESTORED_NOTE = "its images were picked again"


@dataclass(frozen=True, slots=True)
class BuiltTriplets:
    """The new triplets, how many older ones they replace, and how many dropped ones are back in use.

    ``dropped`` counts the scenes of whose images a person dropped the triplet: nothing is built of these.
    """

    triplets: list[ImageTriplet]
    replaced: int
    restored: int = 0
    dropped: int = 0


def build_triplets(*, project: Project, by: AbstractBaseUser | None) -> BuiltTriplets:
    """Build a triplet for each kept scene whose three images are picked; the same images build nothing again.

    In each category, gold is hypothesis 1 in half of the triplets. A scene has one triplet in use: one of other
    images is dropped, also while its images are not available, and is back in use when its images are picked again.
    """
    with transaction.atomic():
        settings = lock_settings(project)
        scenes = kept_scenes(project)
        images = scene_images(scenes)
        facts = triplet_facts(project, image_triplets(project))
        existing = {(row.triplet.premise_id, row.triplet.a_id, row.triplet.b_id): row for row in facts}
        keys = {row.pk: _image_keys(images[row.pk]) for row in scenes if images[row.pk].is_complete}
        new = [row for row in scenes if row.pk in keys and keys[row.pk] not in existing]
        known = [existing[key] for key in keys.values() if key in existing]
        restored = [row for row in known if row.is_dropped_by_build]
        in_use = [row for row in facts if row.state is not TripletState.DROPPED]
        chosen = {row.triplet.pk for row in known if row in in_use or row in restored}
        settled = {row.pk for row in new} | {
            row.triplet.scene_id for row in known if row.triplet.pk in chosen
        }
        replaced = [row for row in in_use if row.triplet.scene_id in settled and row.triplet.pk not in chosen]
        stay = [row for row in in_use if row not in replaced]
        built = _create(project, new, images, gold_counts([*stay, *restored]), settings, by)
        for row in replaced:
            _decide_by_build(row, TripletVerdict.DROP, _REPLACED_NOTE)
        for row in restored:
            _decide_by_build(row, TripletVerdict.KEEP, _RESTORED_NOTE)
        if built or restored or replaced:
            audit.record(
                project=project,
                actor=by,
                action="triplets.build",
                triplets=len(built),
                restored=len(restored),
            )
    dropped = sum(row.state is TripletState.DROPPED and not row.is_dropped_by_build for row in known)
    return BuiltTriplets(built, len(replaced), len(restored), dropped)


def _create(
    project: Project,
    scenes: Sequence[Scene],
    images: Mapping[int, SceneImages],
    counts: Mapping[str, GoldCounts],
    settings: TripletSettings,
    by: AbstractBaseUser | None,
) -> list[ImageTriplet]:
    orders = draw_orders(
        [SceneToOrder(row.public_id, row.category, _hypothesis(row.plausible)) for row in scenes],
        counts,
        secret=bytes.fromhex(settings.secret),
    )
    return [
        ImageTriplet.objects.create(
            project=project,
            scene=scene,
            premise=images[scene.pk].picks["premise"],
            a=images[scene.pk].picks["a"],
            b=images[scene.pk].picks["b"],
            first=orders[scene.public_id].first_hypothesis,
            gold=orders[scene.public_id].gold,
            created_by_id=by.pk if by else None,
        )
        for scene in scenes
    ]


def _decide_by_build(row: TripletFacts, verdict: TripletVerdict, note: str) -> None:
    """Store a decision of nobody, by which a build is known."""
    TripletDecision.objects.create(triplet=row.triplet, verdict=verdict.value, note=note)


def lock_settings(project: Project) -> TripletSettings:
    """Return the project's stored settings, locked, so that parallel changes wait."""
    TripletSettings.objects.get_or_create(project=project)
    return TripletSettings.objects.select_for_update().get(project=project)


def _hypothesis(name: str) -> Hypothesis:
    return "a" if name == "a" else "b"


def _image_keys(images: SceneImages) -> tuple[int, int, int]:
    premise, a, b = (images.picks[role].pk for role in ("premise", "a", "b"))
    return premise, a, b


def take_in_explanations(project: Project) -> int:
    """Store gold explanations and checks of approved answers; return how many are new. Repeatable."""
    rows = approved_records(project, EXPLANATION).filter(triplet_check=None)
    if not project.is_rehearsal:
        rows = rows.exclude(submission__simulated=True)
    stored = 0
    for record in rows.iterator(chunk_size=500):
        triplet = ImageTriplet.objects.filter(project=project, public_id=record.fields["triplet"]).first()
        if triplet is None:
            continue
        try:
            with transaction.atomic():
                _store_answer(triplet, record)
        except IntegrityError:  # another process stored it at this moment
            continue
        stored += 1
    return stored


def _store_answer(triplet: ImageTriplet, record: Record) -> None:
    fields = record.fields
    TripletCheck.objects.create(
        triplet=triplet,
        category=fields["category"],
        direction=fields["direction"],
        duration=fields["duration"],
        domain=triplet.scene.domain,
        alignment=fields["alignment"],
        note=fields.get("note", "")[:MAX_NOTE],
        record=record,
    )
    TripletExplanation.objects.create(
        triplet=triplet,
        text=fields["explanation"],
        source=ExplanationSource.GOLD.value,
        worker=record_author(record),
        record=record,
        simulated=is_simulated(record),
    )


@transaction.atomic
def write_gold_explanation(
    *, triplet: ImageTriplet, text: str, by: AbstractBaseUser, seen: int | None = None
) -> TripletExplanation:
    """Store a researcher's gold explanation; the newest one counts.

    ``seen`` is the newest one that the person's page showed, or 0.

    Raises:
        Refused: the text is empty or too long.
        Conflict: somebody wrote one after the page was opened.
    """
    plain = _clean("explanation", text, MAX_EXPLANATION)
    if not plain:
        raise Refused("explanation: is empty; say why the more plausible hypothesis fits better")
    lock_settings(triplet.project)
    newest = triplet.explanations.filter(source=ExplanationSource.GOLD).last()
    if seen is not None and seen != (newest.pk if newest else 0):
        raise Conflict("explanation: somebody wrote one after you opened the page; read it first")
    audit.record(project=triplet.project, actor=by, action="triplet.explain", subject=triplet.pk)
    return TripletExplanation.objects.create(
        triplet=triplet, text=plain, source=ExplanationSource.GOLD.value, by_id=by.pk
    )


@transaction.atomic
def check_triplet(
    *,
    triplet: ImageTriplet,
    facets: Facets,
    alignment: Mapping[str, str],
    by: AbstractBaseUser,
    note: str = "",
    seen: int | None = None,
) -> TripletCheck:
    """Store what a researcher found of a triplet's facets and images; the newest check counts.

    ``seen`` is the newest check that the person's page showed, or 0.

    Raises:
        Refused: a facet is unknown, or an image has no answer.
        Conflict: somebody checked it after the page was opened.
    """
    if facets.category not in CATEGORIES or facets.direction not in DIRECTIONS:
        raise Refused("category and direction: choose one of each")
    if problem := check_temporal(facets.direction, facets.duration):
        raise Refused(f"duration: {problem}")
    domain = _clean("domain", facets.domain, MAX_DOMAIN_CHARACTERS)
    if not domain:
        raise Refused("domain: is empty; choose one")
    missing = [role for role in IMAGE_ROLES if alignment.get(role) not in ("yes", "partly", "no")]
    if missing:
        raise Refused(f"alignment of {missing[0]}: choose yes, partly or no")
    lock_settings(triplet.project)
    newest = triplet.checks.last()
    if seen is not None and seen != (newest.pk if newest else 0):
        raise Conflict("check: somebody checked it after you opened the page; read that check first")
    audit.record(project=triplet.project, actor=by, action="triplet.check", subject=triplet.pk)
    return TripletCheck.objects.create(
        triplet=triplet,
        category=facets.category,
        direction=facets.direction,
        duration=facets.duration,
        domain=domain,
        alignment={role: alignment[role] for role in IMAGE_ROLES},
        note=_clean("note", note, MAX_NOTE),
        by_id=by.pk,
    )


def decide_triplet(
    *,
    facts: TripletFacts,
    verdict: TripletVerdict,
    by: AbstractBaseUser,
    note: str = "",
    seen: int | None = None,
) -> TripletDecision:
    """Keep, revise or drop a triplet. ``seen`` is the newest decision that the person's page showed, or 0.

    Raises:
        Refused: keeping a triplet whose majority is against gold needs a note; another one of its scene is in use.
        Conflict: somebody decided after the page was opened.
    """
    note = _clean("note", note, MAX_NOTE)
    if verdict is TripletVerdict.KEEP and facts.is_against_gold and not note:
        raise Refused("note: say why the triplet stays although most people chose the other hypothesis")
    with transaction.atomic():
        lock_settings(facts.triplet.project)
        if verdict is not TripletVerdict.DROP:
            _refuse_second_in_use(facts.triplet)
        newest = TripletDecision.objects.filter(triplet=facts.triplet).last()
        if seen is not None and seen != (newest.pk if newest else 0):
            raise Conflict("triplet: somebody decided about it after you opened the page; reload the page")
        audit.record(
            project=facts.triplet.project,
            actor=by,
            action="triplet.decide",
            subject=facts.triplet.pk,
            verdict=verdict.value,
        )
        return TripletDecision.objects.create(
            triplet=facts.triplet, verdict=verdict.value, note=note, by_id=by.pk
        )


def _refuse_second_in_use(triplet: ImageTriplet) -> None:
    """Raise Refused if another triplet of the scene is in use: a scene has one."""
    others = image_triplets(triplet.project).filter(scene=triplet.scene_id).exclude(pk=triplet.pk)
    if others and any(
        row.state is not TripletState.DROPPED for row in triplet_facts(triplet.project, list(others))
    ):
        raise Refused("triplet: another one of its scene is in use; pick its images again, and build")


def _clean(name: str, text: str, maximum: int) -> str:
    """Return a text of one line. Raises Refused, which names the field."""
    try:
        return clean_line(text, maximum=maximum)
    except TextError as error:
        raise Refused(f"{name}: {error}") from error
