"""``manage.py launch_review --project P [--sample N | --worker W-… | --stratify FIELD --each N] …``."""

import secrets
from argparse import ArgumentParser
from typing import Any

from hits.domain.workers.qualification_pools import Pool
from hits.management.base import DeerstalkerCommand, RenamedOption, input_error
from hits.management.lookups import find_project
from hits.management.publishing import available_balance_cents, print_live_hit_count, publish_launched_batch
from hits.models import Project
from hits.services.launching.eligibility import SELECTABLE_POOLS, build_eligibility
from hits.services.launching.terms import LaunchTerms
from validation.domain.judging.quality_check_types import CheckRates, QualityCheckError
from validation.domain.judging.sampling import Allocation, Selection, SelectionError, SelectionMethod, Stratum
from validation.selectors.judging import find_pairs
from validation.services.judging import RoundPlan, default_pool, launch_review

ANYONE = "anyone"
SEED_RANGE = 1_000_000  # random default seeds are below this


class Command(DeerstalkerCommand):
    """Launch a review round of selected pairs, and publish it before returning."""

    help = "Send approved pairs to judges; default: all approved pairs that were not sent yet."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True, help="the project's short name")
        _add_selection_options(parser)
        parser.add_argument(
            "--redundancy",
            "--judges",
            action=RenamedOption,
            type=int,
            help="number of different workers per item; default: 3",
        )
        parser.add_argument(
            "--pool",
            choices=[*(pool.value for pool in SELECTABLE_POOLS), ANYONE],
            help="who can judge; default: qualified workers if the project has a qualification round, else anyone",
        )
        for role, help_text in (
            ("gold", "gold items to mix in, in percent of the pairs; default: 0"),
            ("attention", "attention checks to mix in, in percent of the pairs; default: 0"),
            ("repeat", "repeated pairs to mix in, in percent of the pairs; default: 0"),
        ):
            parser.add_argument(f"--{role}", type=int, default=0, metavar="PERCENT", help=help_text)
        parser.add_argument(
            "--max-redundancy",
            "--most-judges",
            action=RenamedOption,
            type=int,
            default=0,
            metavar="N",
            help="ask one more judge at a time about undecided pairs, up to N workers per item",
        )
        parser.add_argument(
            "--ask-budget-cents",
            type=int,
            default=0,
            metavar="CENTS",
            help="budget for all judgments that --max-redundancy adds",
        )
        parser.add_argument(
            "--reward-cents", type=int, metavar="CENTS", help="reward per judgment; default: the kind's"
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
        """Select pairs, launch and publish."""
        project = find_project(options["project"])
        if bool(options["max_redundancy"]) != bool(options["ask_budget_cents"]):
            raise input_error("--max-redundancy and --ask-budget-cents: give both or neither")
        selection = _pair_selection(options)
        found = find_pairs(project, selection)
        if not found.pairs:
            if not found.total:
                raise input_error(
                    "no approved pair is left to judge; approve submissions, or add --again for pairs sent before"
                )
            raise input_error(f"{selection.description}: matches none of {found.total} pairs")
        batch, _ = launch_review(
            project=project,
            observations=[pair.id for pair in found.pairs],
            by=None,
            name=options["name"],
            terms=_launch_terms(project, options),
            plan=RoundPlan(
                selection=selection,
                rates=_quality_check_rates(options),
                max_redundancy=options["max_redundancy"],
                ask_budget_cents=options["ask_budget_cents"],
            ),
        )
        extra = {"pairs": len(found.pairs), "of": found.total, "selection": selection.as_row()}
        if not options["json"]:
            self.stdout.write(f"{len(found.pairs)} of {found.total} pairs: {selection.description}")
        print_live_hit_count(self, options, publish_launched_batch(batch), **extra)


def _add_selection_options(parser: ArgumentParser) -> None:
    """Declare the options that select pairs."""
    selection = parser.add_mutually_exclusive_group()
    selection.add_argument("--sample", type=int, metavar="N", help="a random sample of N pairs")
    selection.add_argument(
        "--worker",
        action="append",
        default=[],
        help="all pairs of the author W-…; repeat the option for several authors",
    )
    selection.add_argument(
        "--stratify", choices=[by.value for by in Stratum], help="a stratified sample; “worker” is the author"
    )
    parser.add_argument("--each", type=int, metavar="N", help="with --stratify: N pairs from each stratum")
    parser.add_argument(
        "--total",
        type=int,
        metavar="N",
        help="with --stratify: N pairs in total, in proportion to the strata",
    )
    parser.add_argument("--seed", type=int, help="seed of the sample; default: a new one, which is printed")
    parser.add_argument("--again", action="store_true", help="include pairs that were sent to judges before")


def _launch_terms(project: Project, options: dict[str, Any]) -> LaunchTerms:
    pool_option = options["pool"]
    pool = (
        default_pool(project) if pool_option is None else None if pool_option == ANYONE else Pool(pool_option)
    )
    return LaunchTerms(
        reward_cents=options["reward_cents"],
        redundancy=options["redundancy"],
        confirmed_cents=options["confirm_cents"],
        available_cents=available_balance_cents(),
        eligibility=build_eligibility(pool=pool),
    )


def _quality_check_rates(options: dict[str, Any]) -> CheckRates:
    try:
        return CheckRates(options["gold"], options["attention"], options["repeat"])
    except QualityCheckError as error:
        raise input_error(f"--{error}") from error


def _pair_selection(options: dict[str, Any]) -> Selection:
    how, n, allotment = SelectionMethod.ALL, None, Allocation.PROPORTIONAL
    if options["sample"] is not None:
        how, n = SelectionMethod.SAMPLE, options["sample"]
    elif options["worker"]:
        how = SelectionMethod.WORKERS
    elif options["stratify"]:
        how = SelectionMethod.STRATIFIED
        if (options["each"] is None) == (options["total"] is None):
            raise input_error("--stratify: use --each N (per stratum) or --total N (in proportion)")
        n = options["each"] if options["total"] is None else options["total"]
        allotment = Allocation.EQUAL if options["total"] is None else Allocation.PROPORTIONAL
    if how is not SelectionMethod.STRATIFIED and not (options["each"] is None and options["total"] is None):
        raise input_error("--each and --total require --stratify")
    try:
        return Selection(
            method=how,
            n=n,
            seed=secrets.randbelow(SEED_RANGE) if options["seed"] is None else options["seed"],
            workers=tuple(_parse_worker_number(text) for text in options["worker"]),
            stratify_by=Stratum(options["stratify"]) if options["stratify"] else None,
            allocation=allotment,
            include_judged=options["again"],
        )
    except SelectionError as error:
        raise input_error(str(error)) from error


def _parse_worker_number(text: str) -> int:
    """Return the worker's primary key, such as 12 for ``W-12``."""
    number = text.removeprefix("W-")
    if not number.isdecimal():
        raise input_error(f"--worker {text}: write it as on the pages, such as W-12")
    return int(number)
