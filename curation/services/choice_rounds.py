"""Give multiple-choice questions of a set to people: for human figures, or as a pilot for the choice of λ.

Five people choose each response, never an author of a shown text. Both stages of a question go to different people
(Zellers et al. 2019 §6). Nothing here calls the marketplace: publication is a job.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import ChoiceRound, Question, QuestionSet, Stage
from curation.selectors import choice_rounds as selectors
from curation.selectors.choice_audits import launch_refusal
from curation.selectors.object_lists import objects_of_records
from curation.selectors.questions import load_questions, stand_in_of_similarity
from curation.services.questions import check_built
from hits.domain.images.detections import page_objects
from hits.domain.images.unit_objects import objects_of_unit
from hits.models import Job, Record
from hits.services import audit
from hits.services.errors import Refused
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.launch import find_launched_batch_and_job
from hits.services.launching.terms import LaunchTerms
from validation.domain.judging.round_material import ChoiceToShow, QuestionToAnswer
from validation.domain.judging.sampling import MAX_SEED
from validation.services.judging import RoundPlan, default_pool, launch_judging_units
from validation.services.units import plan_judging_units

MAIN, PILOT = "main", "pilot"
PURPOSES = (MAIN, PILOT)
PAPER_SAMPLE = 200  # questions of the paper's human figures (Zellers et al. 2019, appendix G)


@dataclass(frozen=True, slots=True)
class ChoiceRoundOptions:
    """What a round asks.

    ``sample`` questions are drawn by a hash of ``seed`` and the triplet, so that both stages and sets of other λ draw
    the same ones; ``None`` takes all. ``split`` limits them to a split. A ``pilot`` also asks whether another choice
    is right, too. ``accept_stand_in`` allows more than a pilot although P_sim is a stand-in.
    """

    stage: Stage
    sample: int | None = PAPER_SAMPLE
    purpose: str = MAIN
    split: str = ""
    seed: int = 0
    accept_stand_in: bool = False

    def __post_init__(self) -> None:
        if self.purpose not in PURPOSES:
            raise Refused(f"purpose: {self.purpose!r} is not offered; use {' or '.join(PURPOSES)}")
        if self.sample is not None and self.sample < 1:
            raise Refused(f"sample: {self.sample} is too few; launch at least one question")
        if not 0 <= self.seed <= MAX_SEED:
            raise Refused(f"seed: {self.seed} is not offered; use 0 to {MAX_SEED}")


def launch_choice(
    *,
    question_set: QuestionSet,
    options: ChoiceRoundOptions,
    by: AbstractBaseUser | None,
    name: str = "",
    terms: LaunchTerms | None = None,
    idempotency_key: str = "",
) -> tuple[ChoiceRound, Job]:
    """Launch questions of one stage, without those that a round of this stage has launched before.

    ``terms`` are by default the kind's own, open to ``default_pool``. A repeated request with the same
    ``idempotency_key`` returns the first round.

    Raises:
        Conflict: the set is not built yet.
        Refused: an audit is over its limit and nobody wrote why, P_sim is a stand-in for more than a pilot, fewer
            questions are left than ``sample``, or the launch is not possible.
    """
    project = question_set.project
    terms = terms or LaunchTerms(eligibility=build_eligibility(pool=default_pool(project)))
    with transaction.atomic():
        # Locks the set, so that a parallel launch does not take the same questions.
        locked = QuestionSet.objects.select_for_update().get(pk=question_set.pk)
        existing = find_launched_batch_and_job(project=project, idempotency_key=idempotency_key)
        if existing is not None:
            return ChoiceRound.objects.get(batch=existing[0]), existing[1]
        stand_in = _check_set(locked, options)
        questions = _draw_questions(locked, options)
        spec = selectors.question_spec()
        units = [(spec.key(unit), unit) for unit in _build_units(locked, questions, options)]
        batch, job = launch_judging_units(
            project=project,
            kind=spec.name,
            units=plan_judging_units(project, spec.kind, units),
            plan=RoundPlan(rules={}),  # nothing is decided about choices
            name=name or f"Choice of {options.stage.value}s: {len(units)} questions",
            by=by,
            terms=terms,
            provenance={"question_set": locked.pk, "stage": options.stage.value, "purpose": options.purpose},
            idempotency_key=idempotency_key,
        )
        round_ = ChoiceRound.objects.create(
            question_set=locked,
            stage=options.stage.value,
            purpose=options.purpose,
            options=_stored_options(locked, options, questions, stand_in),
            batch=batch,
            created_by_id=by.pk if by else None,
        )
        audit.record(
            project=project, actor=by, action="choice.launch", subject=locked.pk, questions=len(questions)
        )
    return round_, job


def _check_set(question_set: QuestionSet, options: ChoiceRoundOptions) -> str:
    """Return what the set's P_sim stands in for, or raise if the set may not be launched."""
    check_built(question_set)
    refusal = launch_refusal(question_set)
    if refusal:
        raise Refused(refusal)
    stand_in = stand_in_of_similarity(question_set)
    if stand_in and options.purpose != PILOT and not options.accept_stand_in:
        raise Refused(
            f"set {question_set.name}: its similarity model is a stand-in ({stand_in}); launch a pilot, or accept "
            "the stand-in (--accept-stand-in)"
        )
    return stand_in


def _draw_questions(question_set: QuestionSet, options: ChoiceRoundOptions) -> list[Question]:
    available = selectors.launchable_questions(question_set, options.stage, options.split)
    if not available:
        where = f" in the split {options.split}" if options.split else ""
        raise Refused(
            f"questions: none of set {question_set.name}{where} is left for the stage {options.stage.value}; "
            "choose another split, or another set"
        )
    if options.sample is not None and options.sample > len(available):
        raise Refused(f"sample: {len(available)} questions can be launched; use that number or fewer")
    drawn = sorted(available, key=lambda row: sha256(f"{options.seed}/{row.instance_id}".encode()).digest())
    ids = [row.pk for row in drawn[: options.sample]]
    return load_questions(ids)


def _build_units(
    question_set: QuestionSet, questions: Sequence[Question], options: ChoiceRoundOptions
) -> list[dict[str, Any]]:
    spec = selectors.question_spec()
    sources = selectors.triplet_ids_by_match_index(question_set, options.stage, questions)
    objects = objects_of_records([row.triplet for row in questions])
    return [
        spec.build_unit(
            QuestionToAnswer(
                id=selectors.item_id(row),
                record_id=row.triplet.instance_id,
                stage=row.stage,
                image_id=_image_id(row.triplet),
                objects=page_objects(objects_of_unit(objects[row.triplet_id]), **_image_size(row.triplet)),
                question=row.triplet.fields["question"],
                answer=row.triplet.fields["answer"] if row.stage == Stage.RATIONALE else None,
                choices=[
                    ChoiceToShow(choice["text"], sources[row.fold, choice["source"]])
                    for choice in row.choices
                ],
                label=int(row.label or 0),
                several_allowed=options.purpose == PILOT,
            )
        )
        for row in questions
    ]


def _image_id(triplet: Record) -> int:
    assert triplet.image_id is not None  # a triplet always has its image
    return triplet.image_id


def _image_size(triplet: Record) -> dict[str, int]:
    assert triplet.image is not None
    return {"width": triplet.image.width, "height": triplet.image.height}


def _stored_options(
    question_set: QuestionSet, options: ChoiceRoundOptions, questions: Sequence[Question], stand_in: str
) -> dict[str, Any]:
    """Return a round's options, with the figures of its questions that need no people."""
    return {
        "questions": len(questions),
        "split": options.split,
        "seed": options.seed,
        "lambda": question_set.options.get(f"lambda_{options.stage.value}"),
        "stand_in": stand_in,
        "accepted_stand_in": options.accept_stand_in,
        "relevance_right": selectors.count_relevance_right(questions),
        "copies": selectors.count_copies(options.stage, questions),
    }
