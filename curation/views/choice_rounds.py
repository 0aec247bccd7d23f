"""The page of choice rounds: how often people are right, pilots for λ, and the launch of rounds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from curation.evaluation.choice_paper import PEOPLE
from curation.models import ChoiceRound, QuestionSet, Stage
from curation.selectors.choice_rounds import (
    choice_rounds,
    launchable_questions,
    question_spec,
    round_progress,
)
from curation.selectors.choice_votes import (
    JointFigures,
    PeopleFigures,
    joint_figures,
    people_figures,
    read_votes,
)
from curation.selectors.lambda_pilots import LambdaRow, lambda_rows
from curation.selectors.questions import is_built, question_sets, stand_in_of_similarity
from curation.services import choice_rounds as services
from curation.services.lambda_tuning import CHOICE_KEY, choose_lambda
from hits.domain.workers.qualification_pools import Pool
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Project
from hits.views.access import project_page
from hits.views.batches.launch import find_repeated_launch, report_launch
from hits.views.costs import add_balance_to_terms, launch_if_confirmed
from hits.views.pages import action_messages, get_or_404, get_page, section_context
from hits.views.users import signed_in_user
from validation.domain.judging.sampling import MAX_SEED
from validation.services.judging import default_pool
from validation.views.judging_forms import RoundTermsForm

ROUNDS_PER_PAGE = 20
STAGE_LABELS = {Stage.ANSWER.value: "Answers", Stage.RATIONALE.value: "Rationales"}
PURPOSE_LABELS = {
    services.MAIN: "Human figures",
    services.PILOT: "Pilot: also asks whether several are right",
}
PAPER_LAMBDA = {Stage.ANSWER: 0.1, Stage.RATIONALE: 0.01}  # Zellers et al. 2019, appendix C


class ChoiceRoundForm(RoundTermsForm):
    """The questions and the terms of a choice round."""

    question_set = forms.ChoiceField(label="Question set", widget=forms.Select({"class": "input"}))
    stage = forms.ChoiceField(
        label="Stage", choices=list(STAGE_LABELS.items()), widget=forms.Select({"class": "input"})
    )
    purpose = forms.ChoiceField(
        label="Purpose", choices=list(PURPOSE_LABELS.items()), widget=forms.Select({"class": "input"})
    )
    sample = forms.IntegerField(
        min_value=1,
        label="Number of questions",
        help_text="Drawn by a hash of the seed, so that both stages get the same questions. The paper had 200.",
    )
    split = forms.ChoiceField(
        required=False,
        label="Split",
        choices=[("", "All splits"), *((name, name) for name in ("train", "val", "test", "blind"))],
        widget=forms.Select({"class": "input"}),
    )
    seed = forms.IntegerField(min_value=0, max_value=MAX_SEED, initial=0, label="Seed")
    accept_stand_in = forms.BooleanField(
        required=False, label="Accept a stand-in as the similarity model for more than a pilot"
    )

    def __init__(self, sets: Sequence[QuestionSet], pool: Pool | None, *args: Any, **kwargs: Any) -> None:
        initial = {"sample": services.PAPER_SAMPLE, "seed": 0}
        super().__init__(question_spec().name, *args, initial=initial, default_pool=pool, **kwargs)
        self.sets = {str(found.pk): found for found in sets}
        self.fields["question_set"].choices = [(key, found.name) for key, found in self.sets.items()]  # type: ignore[attr-defined]
        self.fields["pool"].label = "Who can choose"
        self.fields["pool"].widget = forms.Select({"class": "input"}, self.fields["pool"].choices)  # type: ignore[attr-defined]
        self.fields["reward"].help_text = "US dollars per question and stage."
        self.fields["assignments"].label = "Workers per question"
        self.fields[
            "assignments"
        ].help_text = "Different workers, never an author of a shown text, nor a worker of the other stage."

    @property
    def chosen_set(self) -> QuestionSet:
        """The chosen set; requires a valid form."""
        return self.sets[self.cleaned_data["question_set"]]

    @property
    def options(self) -> services.ChoiceRoundOptions:
        """What the round asks; requires a valid form."""
        data = self.cleaned_data
        return services.ChoiceRoundOptions(
            stage=Stage(data["stage"]),
            sample=data["sample"],
            purpose=data["purpose"],
            split=data["split"],
            seed=data["seed"],
            accept_stand_in=data["accept_stand_in"],
        )

    def clean(self) -> dict[str, Any]:
        """Check the number against the questions that can be launched."""
        data: dict[str, Any] = super().clean() or {}
        if not self.errors:
            left = len(launchable_questions(self.chosen_set, Stage(data["stage"]), data["split"]))
            if data["sample"] > left:
                self.add_error(
                    "sample", f"Use {left} or fewer: only {left} questions of this stage can be launched."
                )
        return data


@dataclass(frozen=True, slots=True)
class SetFigures:
    """The human figures of a question set: one for each stage, and of both together."""

    question_set: QuestionSet
    answers: PeopleFigures
    rationales: PeopleFigures
    joint: JointFigures


@dataclass(frozen=True, slots=True)
class StagePilots:
    """The pilots for λ of one stage; ``chosen`` names the sets whose value was chosen."""

    stage: str
    label: str
    paper: float
    rows: Sequence[LambdaRow]
    chosen: Sequence[str]


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def choice_round_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the rounds and what people choose; launch a round in two steps."""
    if find_repeated_launch(request, project) is not None:
        return redirect("choice-rounds", project.slug)
    sets = [found for found in question_sets(project) if is_built(found)]
    form = ChoiceRoundForm(sets, default_pool(project), request.POST or None)
    suggest_reward(form, project=project, kind=form.kind)
    extra: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change":
        if form.is_valid():
            refusal = launch_if_confirmed(request, partial(_launch, request, project, form))
            if isinstance(refusal, HttpResponse):
                return refusal
            extra = form.confirm_context(project, form.cleaned_data["sample"]) | refusal
        status = 200 if form.is_valid() and not extra.get("refused") else 400
    context = section_context(project, "judging") | {"form": form, "kind": form.kind, "sets": sets}
    return render(
        request,
        "curation/choice_rounds/choice_rounds.html",
        context | _figures_context(request, project, sets) | extra,
        status=status,
    )


def _launch(request: HttpRequest, project: Project, form: ChoiceRoundForm) -> str:
    round_, _ = services.launch_choice(
        question_set=form.chosen_set,
        options=form.options,
        by=signed_in_user(request),
        name=form.cleaned_data["name"],
        terms=add_balance_to_terms(form.terms),
        idempotency_key=read_idempotency_key(request.POST),
    )
    report_launch(request, round_.batch, f"its {round_.options['questions']} questions are")
    return reverse("choice-rounds", args=[project.slug])


def _figures_context(request: HttpRequest, project: Project, sets: Sequence[QuestionSet]) -> dict[str, Any]:
    rounds = list(choice_rounds(project))
    page = get_page(request, rounds, ROUNDS_PER_PAGE)
    progress = round_progress(list(page))
    return {
        "paper": PEOPLE,
        "paper_questions": services.PAPER_SAMPLE,
        "figures": _set_figures(project, [row for row in rounds if row.purpose == services.MAIN]),
        "pilots": [pilots for stage in Stage if (pilots := _stage_pilots(project, stage, sets)).rows],
        "page": page,
        "rounds": [(row, STAGE_LABELS[row.stage], *progress[row.pk]) for row in page],
        "stand_ins": [found.name for found in sets if stand_in_of_similarity(found)],
    }


def _set_figures(project: Project, rounds: Sequence[ChoiceRound]) -> list[SetFigures]:
    """Return the human figures of each set with main rounds, newest round first."""
    votes = read_votes(project, rounds)
    by_set: dict[int, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    found_sets = {}
    for row in rounds:
        found_sets[row.question_set_id] = row.question_set
        by_set[row.question_set_id][row.stage] += votes[row.pk]
    return [
        SetFigures(
            question_set=found_sets[pk],
            answers=people_figures(stages[Stage.ANSWER.value]),
            rationales=people_figures(stages[Stage.RATIONALE.value]),
            joint=joint_figures(stages[Stage.ANSWER.value], stages[Stage.RATIONALE.value]),
        )
        for pk, stages in by_set.items()
    ]


def _stage_pilots(project: Project, stage: Stage, sets: Sequence[QuestionSet]) -> StagePilots:
    chosen = [
        f"{found.name}: λ {choice['value']:g}, by {choice['by']}"
        for found in sets
        if (choice := found.provenance.get(CHOICE_KEY, {}).get(stage.value))
    ]
    label = STAGE_LABELS[stage.value]
    return StagePilots(stage.value, label, PAPER_LAMBDA[stage], lambda_rows(project, stage), chosen)


@require_POST
@project_page()
def lambda_choose(request: HttpRequest, project: Project) -> HttpResponse:
    """Record that the λ of a set was chosen for a stage."""
    rows = QuestionSet.objects.filter(project=project, name=request.POST.get("question_set", ""))
    question_set = get_or_404(rows.select_related("project").first())
    stage = request.POST.get("stage", "")
    if stage not in STAGE_LABELS:
        return get_or_404(None)
    done = f"The choice of λ is part of the provenance of {question_set.name}."
    with action_messages(request, "Not chosen", done):
        choose_lambda(question_set=question_set, stage=Stage(stage), by=signed_in_user(request))
    return redirect(f"{reverse('choice-rounds', args=[project.slug])}#pilots")
