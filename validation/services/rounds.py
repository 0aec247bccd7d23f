"""Launch qualification and training rounds. Nothing here calls the marketplace: publication is a job."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.workers.countries import COUNTRIES
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.models import Batch, Image, Job, Project
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms, PlannedRequirement
from validation.domain.judging.slots import SlotPlan, plan_slots
from validation.domain.qualification.outcome import PassRule
from validation.models import QualificationRound
from validation.selectors.rounds import qualification_kind, training_kind

IMAGES_PER_SET = 3  # Hessel et al. 2022, supplement A.1; the kind's schema checks it too
PAIRS_PER_IMAGE = 3
PAIRS_PER_SUBMISSION = IMAGES_PER_SET * PAIRS_PER_IMAGE


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
    """The requirements for applicants: the pass rule, the exam's questions, and the countries (empty: all)."""

    rule: PassRule = field(default_factory=PassRule)
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

    Args:
        image_sets: ids of three images each; HITs get the sets in turn.
        idempotency_key: a repeated request with the same key returns the first round.

    Raises:
        Refused: a set of another size, a rule that nobody can pass, an unknown country, or an impossible launch.
    """
    admission, terms = admission or Admission(), terms or LaunchTerms()
    rule, questions = admission.rule, admission.questions
    _check_image_sets(image_sets)
    _check_rule(rule, questions)
    slot_plan = plan_round_slots(applicants, variants=len(image_sets))
    exam = [question.as_unit(number) for number, question in enumerate(questions, start=1)]
    units = [
        PlannedUnit(
            f"set-{n % len(image_sets) + 1}-{n // len(image_sets) + 1}", {"images": ids, "questions": exam}
        )
        for n in range(slot_plan.hits)
        for ids in [list(image_sets[n % len(image_sets)])]
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
            kind_name=qualification_kind(),
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
    return launch_batch(
        project=project,
        kind_name=training_kind(),
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


def group_into_sets(images: Sequence[Image], sets: int) -> list[list[int]]:
    """Return the first images as ``sets`` sets of three ids.

    Raises:
        Refused: too few images.
    """
    if sets < 1:
        raise Refused("sets: use at least 1")
    if len(images) < sets * IMAGES_PER_SET:
        raise Refused(
            f"sets: {sets} sets need {sets * IMAGES_PER_SET} photos, and there are {len(images)}; "
            "add photos or use fewer sets"
        )
    ids = [image.pk for image in images[: sets * IMAGES_PER_SET]]
    return [ids[n : n + IMAGES_PER_SET] for n in range(0, len(ids), IMAGES_PER_SET)]


def _check_image_sets(image_sets: Sequence[Sequence[int]]) -> None:
    if not image_sets:
        raise Refused("image sets: choose at least one set of three photos")
    for number, ids in enumerate(image_sets, start=1):
        if len(set(ids)) != IMAGES_PER_SET:
            raise Refused(
                f"image set {number}: use {IMAGES_PER_SET} different photos; it has {len(set(ids))}"
            )


def _check_rule(rule: PassRule, questions: Sequence[ExamQuestion]) -> None:
    if not 1 <= rule.needed <= PAIRS_PER_SUBMISSION:
        raise Refused(f"needed: use 1 to {PAIRS_PER_SUBMISSION} reasonable pairs")
    if not 0 <= rule.exam_needed <= len(questions):
        raise Refused(
            f"exam needed: there are {len(questions)} questions, so use 0 to {len(questions)} right answers"
        )
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
