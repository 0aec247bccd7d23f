"""``manage.py tune_lambda --project P --values 0.001,0.01,0.1,1 --each 100``."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from curation.management.option_fields import option_fields
from curation.models import QuestionSet, Stage
from curation.selectors.lambda_pilots import LambdaRow, lambda_rows
from curation.selectors.questions import find_question_set
from curation.services.lambda_tuning import choose_lambda, launch_pilot, request_draft
from curation.services.questions import QuestionSetOptions
from hits.domain.states import JobState
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.jobs import absolute_model_folder
from hits.management.lookups import find_project
from hits.management.publishing import available_balance_cents, publish_launched_batch
from hits.models import Project
from hits.services.jobs import jobs
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.terms import LaunchTerms
from validation.services.judging import default_pool

DEFAULT_VALUES = (0.001, 0.01, 0.1, 1.0)
DEFAULT_EACH = 100  # questions of a value and stage (Zellers et al. 2019, appendix C)
DEFAULTS = QuestionSetOptions()
BOTH = "both"


class Command(DeerstalkerCommand):
    """Build a draft set for each value of λ, launch pilots, and report what people and P_rel choose."""

    help = (
        "Build a draft question set for each value of λ, give --each questions of each stage to people as pilots, "
        "and report how often people and the relevance model are right. Repeat the command to see later answers: it "
        "builds and launches nothing twice. Then choose a value with --choose."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", required=True, help="the project's short name")
        add("--values", type=_values, default=DEFAULT_VALUES, help="values of λ; default: 0.001,0.01,0.1,1")
        add(
            "--each",
            type=int,
            default=DEFAULT_EACH,
            help=f"questions of each value and stage ({DEFAULT_EACH})",
        )
        add("--stage", choices=[*(stage.value for stage in Stage), BOTH], default=BOTH)
        add("--split", default="", help="only questions of this split; the paper used val")
        add("--seed", type=int, default=0, help="seed of folds and of the sample (0)")
        add("--folds", type=int, default=DEFAULTS.folds, help=f"as of build_questions ({DEFAULTS.folds})")
        add("--small", action="store_true", help="allow folds under 200 triplets, as of build_questions")
        add(
            "--relevance",
            type=absolute_model_folder,
            default=DEFAULTS.relevance,
            help="as of build_questions",
        )
        add(
            "--similarity",
            type=absolute_model_folder,
            default=DEFAULTS.similarity,
            help="as of build_questions",
        )
        add("--redundancy", type=int, help="workers per question; default: 5")
        add(
            "--waive", default="", metavar="REASON", help="why drafts over an audit limit are given to people"
        )
        add("--confirm-cents", type=int, help="maximum cost of each pilot, as of launch_choice")
        add(
            "--choose",
            metavar="SET",
            help="record that λ of this set was chosen for --stage, and launch nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Build, launch and report; or record a choice."""
        project = find_project(options["project"])
        stages = [stage for stage in Stage if options["stage"] in {stage.value, BOTH}]
        if options["choose"] is not None:
            self._choose(project, stages, options)
            return
        if options["each"] < 1:
            raise input_error(f"--each {options['each']}: use 1 or more")
        for value in options["values"]:
            question_set = self._build(project, value, options)
            for stage in stages:
                self._launch(question_set, stage, options)
        rows = [row for stage in stages for row in lambda_rows(project, stage)]
        self.report(options, {"rows": [row.as_json() for row in rows]}, *map(_describe, rows))

    def _choose(self, project: Project, stages: list[Stage], options: dict[str, Any]) -> None:
        found = find_question_set(project, options["choose"])
        if found is None:
            raise input_error(f"--choose {options['choose']}: {project.slug} has no such question set")
        for stage in stages:
            choose_lambda(question_set=found, stage=stage, by=None)
        chosen = {stage.value: found.options[f"lambda_{stage.value}"] for stage in stages}
        lines = [f"{found.name}: λ of {stage}s is {value:g}" for stage, value in chosen.items()]
        self.report(options, {"set": found.pk, "chosen": chosen}, *lines)

    def _build(self, project: Project, value: float, options: dict[str, Any]) -> QuestionSet:
        question_set, job = request_draft(
            project=project,
            value=value,
            options=option_fields(QuestionSetOptions, options),
            by=None,
            queue=False,
        )
        if job is None:
            return question_set
        self.stderr.write(f"building {question_set.name} …")
        ended = jobs.run_in_process(job=job)
        if ended.state != JobState.DONE:
            reason = ended.error or f"its job is {ended.state}"
            raise input_error(
                f"set {question_set.name}: {reason}; correct it, then: build_questions --resume {job.pk}"
            )
        question_set.refresh_from_db()
        return question_set

    def _launch(self, question_set: QuestionSet, stage: Stage, options: dict[str, Any]) -> None:
        terms = LaunchTerms(
            redundancy=options["redundancy"],
            confirmed_cents=options["confirm_cents"],
            available_cents=available_balance_cents(),
            eligibility=build_eligibility(pool=default_pool(question_set.project)),
        )
        round_, is_new = launch_pilot(
            question_set=question_set,
            stage=stage,
            each=options["each"],
            by=None,
            split=options["split"],
            seed=options["seed"],
            waiver=options["waive"],
            terms=terms,
        )
        if is_new:
            publish_launched_batch(round_.batch)


def _values(given: str) -> tuple[float, ...]:
    try:
        values = tuple(dict.fromkeys(float(text) for text in given.split(",")))
    except ValueError:
        raise ArgumentTypeError(f"{given!r} is no list of numbers, such as 0.01,0.1") from None
    return values


def _describe(row: LambdaRow) -> str:
    people = "nobody yet"
    if row.people.expected is not None and row.people.low is not None and row.people.high is not None:
        people = f"{row.people.expected:.1f}% ({row.people.low:.1f} to {row.people.high:.1f})"
    relevance = "–" if row.relevance_percent is None else f"{row.relevance_percent:.1f}%"
    return (
        f"λ {row.value:g}, {row.stage}s: people {people}, {row.received} of {row.required} answers; relevance "
        f"{relevance}; near copies in {row.near} of {row.launched} questions"
    )
