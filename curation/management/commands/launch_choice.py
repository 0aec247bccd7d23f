"""``manage.py launch_choice --project P --set NAME --stage answer|rationale [--sample N] [--purpose …]``."""

from argparse import ArgumentParser
from typing import Any

from curation.models import Stage
from curation.selectors.questions import find_question_set
from curation.services.choice_rounds import MAIN, PAPER_SAMPLE, PURPOSES, ChoiceRoundOptions, launch_choice
from hits.domain.workers.qualification_pools import Pool
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from hits.management.publishing import available_balance_cents, print_live_hit_count, publish_launched_batch
from hits.services.launching.eligibility import SELECTABLE_POOLS, build_eligibility
from hits.services.launching.terms import LaunchTerms
from validation.services.judging import default_pool

ANYONE = "anyone"


class Command(DeerstalkerCommand):
    """Launch a choice round, and publish it before returning."""

    help = (
        "Give multiple-choice questions of a set to people. Launch both stages with the same seed: they then have "
        "the same questions and go to different people."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument(
            "--set", required=True, dest="question_set", help="name or number of the question set"
        )
        parser.add_argument("--stage", required=True, choices=[stage.value for stage in Stage])
        parser.add_argument(
            "--sample",
            type=int,
            default=PAPER_SAMPLE,
            metavar="N",
            help=f"number of questions; 0 takes all; default: {PAPER_SAMPLE}",
        )
        parser.add_argument("--split", default="", help="only questions of this split, such as test")
        parser.add_argument("--seed", type=int, default=0, help="seed of the sample (0)")
        parser.add_argument(
            "--purpose",
            choices=PURPOSES,
            default=MAIN,
            help="main: human figures; pilot: a trial that also asks whether another choice is right, too",
        )
        parser.add_argument(
            "--accept-stand-in",
            action="store_true",
            help="launch more than a pilot although the set's similarity model is a stand-in",
        )
        parser.add_argument("--redundancy", type=int, help="workers per question; default: 5")
        parser.add_argument(
            "--reward-cents", type=int, metavar="CENTS", help="reward per question; default: 10"
        )
        parser.add_argument(
            "--pool",
            choices=[*(pool.value for pool in SELECTABLE_POOLS), ANYONE],
            help="who can answer; default: qualified workers if the project has a qualification round, else anyone",
        )
        parser.add_argument(
            "--confirm-cents",
            type=int,
            metavar="CENTS",
            help="maximum cost in cents; required on a live marketplace and above the project's threshold",
        )
        parser.add_argument(
            "--name", default="", help="name of the round; shown to workers in the task's description"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = find_project(options["project"])
        found = find_question_set(project, options["question_set"])
        if found is None:
            raise input_error(f"--set {options['question_set']}: {project.slug} has no such question set")
        pool = default_pool(project)
        if options["pool"] is not None:
            pool = None if options["pool"] == ANYONE else Pool(options["pool"])
        round_, _ = launch_choice(
            question_set=found,
            options=ChoiceRoundOptions(
                stage=Stage(options["stage"]),
                sample=options["sample"] or None,
                purpose=options["purpose"],
                split=options["split"],
                seed=options["seed"],
                accept_stand_in=options["accept_stand_in"],
            ),
            by=None,
            name=options["name"],
            terms=LaunchTerms(
                reward_cents=options["reward_cents"],
                redundancy=options["redundancy"],
                confirmed_cents=options["confirm_cents"],
                available_cents=available_balance_cents(),
                eligibility=build_eligibility(pool=pool),
            ),
        )
        facts = {"round": round_.pk, "stage": round_.stage, "purpose": round_.purpose, **round_.options}
        if not options["json"]:
            self.stdout.write(f"round {round_.pk}: {round_.options['questions']} questions, {round_.stage}s")
        print_live_hit_count(self, options, publish_launched_batch(round_.batch), **facts)
