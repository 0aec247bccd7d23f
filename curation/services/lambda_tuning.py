"""Choose λ of Adversarial Matching by pilots: people solve questions that were matched with several values of it.

A greater λ makes questions easier for people and models alike. Zellers et al. 2019 (appendix C, figure 13) took
values at which people are right in about 90 % and the relevance model is seldom right.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from curation.models import ChoiceRound, QuestionSet, QuestionSetState, Stage
from curation.selectors.choice_audits import audits_over_limit, current_waiver
from curation.selectors.lambda_pilots import LambdaRow, lambda_rows, tuned_lambda
from curation.services.choice_audits import waive_audits
from curation.services.choice_rounds import PILOT, ChoiceRoundOptions, launch_choice
from curation.services.named_rows import merge_facts
from curation.services.questions import QuestionSetOptions, check_built, request_question_set
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.launching.terms import LaunchTerms

CHOICE_KEY = "lambda_choice"  # in a set's provenance: the chosen values by stage, with the figures
MAX_LAMBDA = 1000


def draft_name(value: float) -> str:
    """Return the name of the draft set with a value of λ."""
    return f"lambda {value:g}"


def request_draft(
    *,
    project: Project,
    value: float,
    options: Mapping[str, Any],
    by: AbstractBaseUser | None,
    queue: bool = True,
) -> tuple[QuestionSet, Job | None]:
    """Return the draft set with a value of λ in both stages, and the job that builds it, if it is not built.

    A repeated call returns the same set. ``options`` are the other fields of ``QuestionSetOptions``.

    Raises:
        Refused: the value is out of range, a set of this name has other options, or the set cannot be built.
    """
    if not 0 <= value <= MAX_LAMBDA:
        raise Refused(f"values: {value:g} is not offered; use 0 to {MAX_LAMBDA}, such as 0.01")
    chosen = QuestionSetOptions(**{**options, "lambda_answer": value, "lambda_rationale": value})
    name = draft_name(value)
    found = QuestionSet.objects.filter(project=project, name=name).select_related("job").first()
    if found is None:
        job = request_question_set(project, name, chosen, by, queue=queue)
        return QuestionSet.objects.get(project=project, name=name), job
    if QuestionSetOptions(**found.options) != chosen:
        raise Refused(f"set {name}: it was built with other options; delete it, or use its options")
    return found, None if found.state != QuestionSetState.BUILDING else found.job


@transaction.atomic
def launch_pilot(
    *,
    question_set: QuestionSet,
    stage: Stage,
    each: int,
    by: AbstractBaseUser | None,
    split: str = "",
    seed: int = 0,
    waiver: str = "",
    terms: LaunchTerms | None = None,
) -> tuple[ChoiceRound, bool]:
    """Launch a draft's pilot of a stage, and return it and whether it is new; a set has one for each stage.

    The same ``seed`` draws the same triplets from every draft. ``waiver`` is the reason for giving questions to
    people although an audit of the draft is over its limit.

    Raises:
        Refused: as ``launch_choice``.
    """
    # Locks the set, so that a parallel launch finds this pilot instead of paying for a second one.
    locked = QuestionSet.objects.select_for_update().get(pk=question_set.pk)
    existing = locked.rounds.filter(stage=stage.value, purpose=PILOT).order_by("pk").first()
    if existing is not None:
        return existing, False
    if waiver and audits_over_limit(locked) and current_waiver(locked) is None:
        waive_audits(question_set=locked, reason=waiver, by=by)
    options = ChoiceRoundOptions(stage=stage, sample=each, purpose=PILOT, split=split, seed=seed)
    round_, _ = launch_choice(question_set=locked, options=options, by=by, terms=terms)
    return round_, True


def choose_lambda(
    *, question_set: QuestionSet, stage: Stage, by: AbstractBaseUser | None
) -> Sequence[LambdaRow]:
    """Record that a set's λ was chosen, with the figures of all pilots of the stage, in its provenance.

    Choose the draft itself, or the set that was built afterwards with the chosen value.

    Raises:
        Conflict: the set is not built yet.
        Refused: no pilot has an answer yet, or the set's λ was not tried.
    """
    check_built(question_set)
    rows = lambda_rows(question_set.project, stage)
    if not any(row.people.questions for row in rows):
        raise Refused(f"λ: nobody has answered a pilot of the stage {stage.value} yet; run tune_lambda first")
    value = tuned_lambda(question_set, stage)
    if value not in {row.value for row in rows}:
        tried = ", ".join(f"{row.value:g}" for row in rows)
        raise Refused(f"set {question_set.name}: its λ {value:g} was not tried; tried: {tried}")
    chosen = {
        "value": value,
        "pilots": [row.as_json() for row in rows],
        "by": by.get_username() if by else "command",
        "at": timezone.now().isoformat(),
    }
    with transaction.atomic():
        question_set.refresh_from_db(fields=["provenance"])
        choices = question_set.provenance.get(CHOICE_KEY, {}) | {stage.value: chosen}
        merge_facts(question_set, provenance={CHOICE_KEY: choices})
        audit.record(
            project=question_set.project,
            actor=by,
            action="lambda.choose",
            subject=question_set.pk,
            value=value,
        )
    return rows
