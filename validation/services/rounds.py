"""Launch qualification and training rounds. Nothing here calls the marketplace: publication is a job."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.workers.countries import COUNTRIES
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.kind import HitKind
from hits.models import Batch, Image, Job, Project
from hits.selectors.unit_planners import planner_of
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms, PlannedRequirement
from validation.domain.judging.slots import SlotPlan, plan_slots
from validation.domain.qualification.outcome import PassRule
from validation.models import QualificationRound
from validation.selectors.rounds import qualification_kind, training_kind


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """One exam question with its choices; ``right`` is the index of the right choice, from 0."""

    text: str
    choices: tuple[str, ...]
    right: int

    def as_unit(self, number: int) -> dict[str, Any]:
        """Return the question in the format of a unit."""
        return {"id": f"q{number}", "text": self.text, "choices": list(self.choices), "right": self.right}


@dataclass(frozen=True, slots=True)
class Admission:
    """The requirements for applicants: the pass rule, the exam's questions, and the countries (empty: all).

    Without a rule, the kind's applies. Without questions, the exam has the kind's built-in ones, if it has any.
    """

    rule: PassRule | None = None
    questions: Sequence[ExamQuestion] = ()
    countries: Sequence[str] = ()


def launch_qualification_round(
    *,
    project: Project,
    image_sets: Sequence[Sequence[int]],
    applicants: int,
    by: AbstractBaseUser | None,
    name: str = "",
    admission: Admission | None = None,
    terms: LaunchTerms | None = None,
    idempotency_key: str = "",
) -> tuple[QualificationRound, Job]:
    """Launch a round for at least ``applicants`` workers, each of whom may take it once.

    The kind is that of the project's dataset family.

    Args:
        image_sets: ids of as many images as the kind's units need; HITs get the sets in turn.
        idempotency_key: a repeated request with the same key returns the first round.

    Raises:
        Refused: a set of another size, a rule that nobody can pass, an unknown country, or an impossible launch.
    """
    admission, terms = admission or Admission(), terms or LaunchTerms()
    kind = registry.get_kind(qualification_kind(project))
    exam = exam_questions(kind, admission.questions)
    rule = admission.rule or default_pass_rule(kind, len(exam))
    _check_image_sets(image_sets, kind.exam_rule.photos)
    _check_rule(rule, kind, len(exam))
    slot_plan = plan_round_slots(applicants, variants=len(image_sets))
    variants = [{**_variant(project, kind, ids), "questions": exam} for ids in image_sets]
    units = [
        PlannedUnit(
            f"set-{n % len(image_sets) + 1}-{n // len(image_sets) + 1}", variants[n % len(image_sets)]
        )
        for n in range(slot_plan.hits)
    ]
    not_applied = PlannedRequirement(Pool.APPLIED, Comparator.DOES_NOT_EXIST)
    eligibility = replace(
        terms.eligibility,
        worker_limit=1,
        requirements=(not_applied, *_country_requirements(admission.countries)),
    )
    with transaction.atomic():
        batch, job = launch_batch(
            project=project,
            kind_name=kind.name,
            name=name or f"Qualification, {applicants} assignments",
            units=units,
            by=by,
            terms=replace(terms, redundancy=slot_plan.redundancy, eligibility=eligibility),
            provenance={"applicants": applicants, "image_sets": [list(ids) for ids in image_sets]},
            idempotency_key=idempotency_key,
        )
        qualification_round, _ = QualificationRound.objects.get_or_create(
            batch=batch,
            defaults={"needed": rule.needed, "exam_needed": rule.exam_needed, "graders": rule.graders},
        )
    return qualification_round, job


def launch_training_round(
    *,
    project: Project,
    images: Sequence[int],
    slots: int,
    by: AbstractBaseUser | None,
    name: str = "",
    countries: Sequence[str] = (),
    terms: LaunchTerms | None = None,
    idempotency_key: str = "",
) -> tuple[Batch, Job]:
    """Launch training tasks for qualified workers who are not trained yet, with at least ``slots`` assignments.

    HITs get the images in turn. A worker may train again, on another HIT, until a trainer finds them ready.

    Raises:
        Refused: no image or no slot, an unknown country, or an impossible launch.
    """
    terms = terms or LaunchTerms()
    slot_plan = plan_round_slots(slots, variants=len(images), noun="images")
    units = [
        PlannedUnit(f"image-{pk}-{n // len(images) + 1}", {"image": pk})
        for n in range(slot_plan.hits)
        for pk in [images[n % len(images)]]
    ]
    requirements = (
        PlannedRequirement(Pool.QUALIFIED, Comparator.EXISTS),
        PlannedRequirement(Pool.TRAINED, Comparator.DOES_NOT_EXIST),
        *_country_requirements(countries),
    )
    kind_name = training_kind(project)
    if kind_name is None:
        raise Refused(f"training: projects of the family {project.family} have no training task")
    return launch_batch(
        project=project,
        kind_name=kind_name,
        name=name or f"Training, {slots} assignments",
        units=units,
        by=by,
        terms=replace(
            terms,
            redundancy=slot_plan.redundancy,
            eligibility=replace(terms.eligibility, requirements=requirements),
        ),
        provenance={"places": slots},
        idempotency_key=idempotency_key,
    )


def exam_questions(kind: HitKind, questions: Sequence[ExamQuestion]) -> list[dict[str, Any]]:
    """Return the exam's questions in the format of a unit: the given ones, otherwise the kind's built-in ones."""
    if not questions:
        return [dict(row) for row in kind.exam_rule.questions]
    return [question.as_unit(number) for number, question in enumerate(questions, start=1)]


def default_pass_rule(kind: HitKind, questions: int) -> PassRule:
    """Return the pass rule that a kind declares, for an exam with this number of questions."""
    return PassRule(kind.exam_rule.needed, kind.exam_rule.exam_needed(questions))


def group_into_sets(images: Sequence[Image], sets: int, photos: int = 3) -> list[list[int]]:
    """Return the first images as ``sets`` sets of ``photos`` ids each.

    Raises:
        Refused: too few images.
    """
    if sets < 1:
        raise Refused("sets: use at least 1")
    if len(images) < sets * photos:
        raise Refused(
            f"sets: {sets} sets need {sets * photos} photos, and there are {len(images)}; "
            "add photos or use fewer sets"
        )
    ids = [image.pk for image in images[: sets * photos]]
    return [ids[n : n + photos] for n in range(0, len(ids), photos)]


def _variant(project: Project, kind: HitKind, ids: Sequence[int]) -> dict[str, Any]:
    """Return a unit without questions: the images alone, or what the kind's planner adds to them."""
    planner = planner_of(kind)
    if planner is None:
        return {"images": list(ids)}
    units = planner.units(project, ids)
    if len(units) != 1:
        raise Refused(f"photo {ids[0]}: cannot be used for this task. {planner.no_photos_message}")
    return units[0]


def _check_image_sets(image_sets: Sequence[Sequence[int]], photos: int) -> None:
    if not image_sets:
        raise Refused(f"image sets: choose at least one set of {count_photos(photos)}")
    for number, ids in enumerate(image_sets, start=1):
        if len(set(ids)) != photos:
            raise Refused(
                f"image set {number}: use {count_photos(photos)}; it has {len(set(ids))} different ones"
            )


def number_word(number: int) -> str:
    """Return a small number in words."""
    return {1: "one", 2: "two", 3: "three"}.get(number, str(number))


def count_photos(photos: int) -> str:
    """Return a number of photos in words: "one photo", "three photos"."""
    return f"{number_word(photos)} photo{'' if photos == 1 else 's'}"


def _check_rule(rule: PassRule, kind: HitKind, questions: int) -> None:
    if not 1 <= rule.needed <= kind.exam_rule.items:
        raise Refused(f"needed: use 1 to {kind.exam_rule.items} reasonable {kind.record_word[1]}")
    if not 0 <= rule.exam_needed <= questions:
        raise Refused(f"exam needed: there are {questions} questions, so use 0 to {questions} right answers")
    if rule.graders not in {1, 2}:
        raise Refused("graders: use 1 or 2")


def _country_requirements(countries: Sequence[str]) -> tuple[PlannedRequirement, ...]:
    unknown = [code for code in countries if code not in COUNTRIES]
    if unknown:
        raise Refused(f"countries: {unknown[0]} is not an ISO 3166-1 code; use codes such as US, CA")
    return (PlannedRequirement(None, Comparator.IN, tuple(countries)),) if countries else ()


def plan_round_slots(slots: int, *, variants: int, noun: str = "image sets") -> SlotPlan:
    """Return how the slots of a round are spread over HITs; ``noun`` names the variants.

    Raises:
        Refused: there is no variant or no slot, or there are more variants than slots.
    """
    if variants < 1:
        raise Refused(f"{noun}: choose at least one")
    if slots < 1:
        raise Refused("assignments: use at least 1")
    if variants > slots:
        raise Refused(f"{noun}: there are {variants} for {slots} assignments; use fewer, or more assignments")
    return plan_slots(slots, variants=variants)
