"""``manage.py launch_review --project P [--sample N | --worker W-… | --stratify FIELD --each N] …``."""

import secrets
from argparse import ArgumentParser
from typing import Any

from hits.domain.workers.qualification_pools import Pool
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from hits.management.publishing import free_balance_cents, print_published, publish_launched_batch
from hits.models import Project
from hits.services.launching.eligibility import SELECTABLE_POOLS, build_eligibility
from hits.services.launching.terms import LaunchTerms
from validation.domain.judging.quality_check_types import CheckRates, QualityCheckError
from validation.domain.judging.sampling import Allocation, Selection, SelectionError, SelectionMethod, Stratum
from validation.selectors.judging import find_pairs
from validation.services.judging import RoundPlan, default_pool, launch_review

ANYONE = "anyone"
SEED_RANGE = 1_000_000  # a seed that nobody gave is below


class Command(DeerstalkerCommand):
    """Launch a review round over chosen pairs, and publish it before returning."""

    help = "Send accepted pairs to judges: all that no judge got yet, unless a selection says otherwise."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True, help="its short name")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--sample", type=int, metavar="N", help="a random sample of N pairs")
        which.add_argument(
            "--worker", action="append", default=[], help="all pairs of the author W-…; may be repeated"
        )
        which.add_argument(
            "--stratify",
            choices=[by.value for by in Stratum],
            help="a stratified sample; worker is the author",
        )
        parser.add_argument(
            "--each", type=int, metavar="N", help="with --stratify: N pairs from each stratum"
        )
        parser.add_argument("--total", type=int, metavar="N", help="with --stratify: N pairs in proportion")
        parser.add_argument("--seed", type=int, help="of the sample; a new one, which is printed, by default")
        parser.add_argument("--again", action="store_true", help="also pairs that were sent to judges before")
        parser.add_argument("--judges", type=int, help="different workers for each pair; 3 by default")
        parser.add_argument(
            "--pool",
            choices=[*(pool.value for pool in SELECTABLE_POOLS), ANYONE],
            help="who may judge: qualified workers where the project has asked anybody to qualify, else anyone",
        )
        for role, words in (
            (
                "gold",
                "gold units to mix in, in percent of the pairs; they are kept under Judging, Gold units",
            ),
            ("attention", "attention checks to mix in, likewise"),
            ("repeat", "pairs that come a second time, likewise"),
        ):
            parser.add_argument(f"--{role}", type=int, default=0, metavar="PERCENT", help=words)
        parser.add_argument(
            "--most-judges",
            type=int,
            default=0,
            metavar="N",
            help="ask one judge more at a time about undecided pairs, up to N judges each",
        )
        parser.add_argument(
            "--ask-budget-cents",
            type=int,
            default=0,
            metavar="CENTS",
            help="what all those further judgments may cost together",
        )
        parser.add_argument(
            "--reward-cents", type=int, metavar="CENTS", help="for each judgment; the usual reward if absent"
        )
        parser.add_argument(
            "--confirm-cents",
            type=int,
            metavar="CENTS",
            help="the most it can cost; needed on a live marketplace and above the project's threshold",
        )
        parser.add_argument("--name", default="", help="workers read it in the task's description")

    def handle(self, *args: Any, **options: Any) -> None:
        """Choose, launch and publish."""
        project = find_project(options["project"])
        if bool(options["most_judges"]) != bool(options["ask_budget_cents"]):
            raise input_error(
                "--most-judges and --ask-budget-cents go together: how many judges, and for how much"
            )
        selection = _selection(options)
        found = find_pairs(project, selection)
        if not found.pairs:
            raise input_error(f"{selection.description}: this finds none of {found.total} pairs")
        batch, _ = launch_review(
            project=project,
            observations=[pair.id for pair in found.pairs],
            by=None,
            name=options["name"],
            terms=_terms(project, options),
            plan=RoundPlan(
                selection=selection,
                rates=_rates(options),
                max_redundancy=options["most_judges"],
                ask_budget_cents=options["ask_budget_cents"],
            ),
        )
        more = {"pairs": len(found.pairs), "of": found.total, "selection": selection.as_row()}
        if not options["json"]:
            self.stdout.write(f"{len(found.pairs)} of {found.total} pairs: {selection.description}")
        print_published(self, options, publish_launched_batch(batch), **more)


def _terms(project: Project, options: dict[str, Any]) -> LaunchTerms:
    asked = options["pool"]
    pool = default_pool(project) if asked is None else None if asked == ANYONE else Pool(asked)
    return LaunchTerms(
        reward_cents=options["reward_cents"],
        redundancy=options["judges"],
        confirmed_cents=options["confirm_cents"],
        available_cents=free_balance_cents(),
        eligibility=build_eligibility(pool=pool),
    )


def _rates(options: dict[str, Any]) -> CheckRates:
    try:
        return CheckRates(options["gold"], options["attention"], options["repeat"])
    except QualityCheckError as error:
        raise input_error(f"--{error}") from error


def _selection(options: dict[str, Any]) -> Selection:
    how, n, allotment = SelectionMethod.ALL, None, Allocation.PROPORTIONAL
    if options["sample"] is not None:
        how, n = SelectionMethod.SAMPLE, options["sample"]
    elif options["worker"]:
        how = SelectionMethod.WORKERS
    elif options["stratify"]:
        how = SelectionMethod.STRATIFIED
        if (options["each"] is None) == (options["total"] is None):
            raise input_error("--stratify: give --each N (from each) or --total N (in proportion)")
        n = options["each"] if options["total"] is None else options["total"]
        allotment = Allocation.EQUAL if options["total"] is None else Allocation.PROPORTIONAL
    if how is not SelectionMethod.STRATIFIED and not (options["each"] is None and options["total"] is None):
        raise input_error("--each and --total go with --stratify")
    try:
        return Selection(
            method=how,
            n=n,
            seed=secrets.randbelow(SEED_RANGE) if options["seed"] is None else options["seed"],
            workers=tuple(_worker_number(text) for text in options["worker"]),
            stratify_by=Stratum(options["stratify"]) if options["stratify"] else None,
            allocation=allotment,
            include_judged=options["again"],
        )
    except SelectionError as error:
        raise input_error(str(error)) from error


def _worker_number(text: str) -> int:
    """Return the row key in ``W-12``."""
    number = text.removeprefix("W-")
    if not number.isdecimal():
        raise input_error(f"--worker {text}: write it as the pages do, such as W-12")
    return int(number)
