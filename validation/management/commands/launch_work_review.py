"""``manage.py launch_work_review --project P [--every 50] [--seed N]``."""

from argparse import ArgumentParser
from typing import Any

from hits.domain.workers.qualification_pools import Pool
from hits.management.base import DeerstalkerCommand
from hits.management.lookups import find_project
from hits.management.publishing import available_balance_cents, print_live_hit_count, publish_launched_batch
from hits.services.launching.terms import LaunchTerms
from validation.domain.judging.work_samples import DEFAULT_EVERY
from validation.selectors.work_reviews import reviewers
from validation.services.work_reviews import WorkReviewLaunch, launch_work_review


class Command(DeerstalkerCommand):
    """Send a sample of new submissions to reviewers, and publish the round before returning."""

    help = (
        "Send the new submissions of one HIT in --every to holders of the qualification work-reviewers. A submission "
        "is sent once, so the command can be repeated, for example every night."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument(
            "--every",
            type=int,
            default=DEFAULT_EVERY,
            metavar="N",
            help=f"review one HIT in N; 1 reviews all; default: {DEFAULT_EVERY}",
        )
        parser.add_argument(
            "--seed",
            type=int,
            help="seed of the sample; default: that of the project's last round, or a new random one",
        )
        parser.add_argument("--redundancy", type=int, help="reviewers per submission; default: 1")
        parser.add_argument(
            "--reward-cents", type=int, metavar="CENTS", help="reward per review; default: 40"
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
        """Sample, launch and publish."""
        project = find_project(options["project"])
        launched = launch_work_review(
            project=project,
            by=None,
            every=options["every"],
            seed=options["seed"],
            name=options["name"],
            terms=LaunchTerms(
                reward_cents=options["reward_cents"],
                redundancy=options["redundancy"],
                confirmed_cents=options["confirm_cents"],
                available_cents=available_balance_cents(),
            ),
        )
        if not options["json"]:
            self.stdout.write(_describe(launched))
            if not reviewers(project):
                self.stderr.write(
                    f"nobody holds {Pool.WORK_REVIEWERS.value!r} yet: grant it on Judging → Work review"
                )
        facts = {
            "sampled": launched.sampled,
            "candidates": launched.candidates,
            "every": launched.every,
            "seed": launched.seed,
        }
        if launched.batch is None:
            self.report(options, {"batch": None, **facts})
        else:
            print_live_hit_count(self, options, publish_launched_batch(launched.batch), **facts)


def _describe(launched: WorkReviewLaunch) -> str:
    return (
        f"{launched.sampled} of {launched.candidates} new submissions are in the sample of one HIT in "
        f"{launched.every}, seed {launched.seed}"
    )
