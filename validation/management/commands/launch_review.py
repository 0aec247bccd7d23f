"""``manage.py launch_review --project P [--sample N | --worker W-… | --stratify FIELD --each N] …``."""

import secrets
from argparse import ArgumentParser
from typing import Any

from hits.domain.workers.qualification_pools import Pool
from hits.management.base import DeerstalkerCommand, bad_input
from hits.management.publishing import account_cents, emit_published, publish_launched
from hits.management.rows import project_called
from hits.models import Project
from hits.services.launching.eligibility import ASKED_FOR, access_for
from hits.services.launching.terms import Terms
from validation.domain.judging.quality_check_types import ControlError, Rates
from validation.domain.judging.sampling import Allotment, How, Selection, SelectionError, Stratum
from validation.selectors.judging import found_by
from validation.services.judging import RoundPlan, launch_review, usual_pool

ANYONE = "anyone"
SEEDS = 1_000_000  # a seed that nobody gave is below


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
            choices=[*(pool.value for pool in ASKED_FOR), ANYONE],
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
        project = project_called(options["project"])
        if bool(options["most_judges"]) != bool(options["ask_budget_cents"]):
            raise bad_input(
                "--most-judges and --ask-budget-cents go together: how many judges, and for how much"
            )
        selection = _selection(options)
        found = found_by(project, selection)
        if not found.pairs:
            raise bad_input(f"{selection.words}: this finds none of {found.of} pairs")
        batch, _ = launch_review(
            project=project,
            observations=[pair.id for pair in found.pairs],
            by=None,
            name=options["name"],
            terms=_terms(project, options),
            plan=RoundPlan(
                selection=selection,
                rates=_rates(options),
                most_judges=options["most_judges"],
                ask_budget_cents=options["ask_budget_cents"],
            ),
        )
        more = {"pairs": len(found.pairs), "of": found.of, "selection": selection.as_row()}
        if not options["json"]:
            self.stdout.write(f"{len(found.pairs)} of {found.of} pairs: {selection.words}")
        emit_published(self, options, publish_launched(batch), **more)


def _terms(project: Project, options: dict[str, Any]) -> Terms:
    asked = options["pool"]
    pool = usual_pool(project) if asked is None else None if asked == ANYONE else Pool(asked)
    return Terms(
        reward_cents=options["reward_cents"],
        opinions=options["judges"],
        confirmed_cents=options["confirm_cents"],
        available_cents=account_cents(),
        access=access_for(pool=pool),
    )


def _rates(options: dict[str, Any]) -> Rates:
    try:
        return Rates(options["gold"], options["attention"], options["repeat"])
    except ControlError as error:
        raise bad_input(f"--{error}") from error


def _selection(options: dict[str, Any]) -> Selection:
    how, n, allotment = How.ALL, None, Allotment.PROPORTIONAL
    if options["sample"] is not None:
        how, n = How.SAMPLE, options["sample"]
    elif options["worker"]:
        how = How.WORKERS
    elif options["stratify"]:
        how = How.STRATIFIED
        if (options["each"] is None) == (options["total"] is None):
            raise bad_input("--stratify: give --each N (from each) or --total N (in proportion)")
        n = options["each"] if options["total"] is None else options["total"]
        allotment = Allotment.EQUAL if options["total"] is None else Allotment.PROPORTIONAL
    if how is not How.STRATIFIED and not (options["each"] is None and options["total"] is None):
        raise bad_input("--each and --total go with --stratify")
    try:
        return Selection(
            how=how,
            n=n,
            seed=secrets.randbelow(SEEDS) if options["seed"] is None else options["seed"],
            workers=tuple(_worker(text) for text in options["worker"]),
            strata=Stratum(options["stratify"]) if options["stratify"] else None,
            allotment=allotment,
            again=options["again"],
        )
    except SelectionError as error:
        raise bad_input(str(error)) from error


def _worker(text: str) -> int:
    """Return the row key in ``W-12``."""
    number = text.removeprefix("W-")
    if not number.isdecimal():
        raise bad_input(f"--worker {text}: write it as the pages do, such as W-12")
    return int(number)
