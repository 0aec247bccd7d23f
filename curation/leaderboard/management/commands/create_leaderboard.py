"""``manage.py create_leaderboard VERSION --project P [--split S] --title T``: a leaderboard of a sealed version."""

from argparse import ArgumentParser
from typing import Any

from curation.families.sherlock.evaluation_plan import ALL, resolve_proposal_run
from curation.leaderboard.selectors.boards import BUILD_LEADERBOARD
from curation.leaderboard.services.boards import (
    LeaderboardDataOptions,
    SubmissionLimits,
    Wording,
    create_leaderboard,
)
from curation.management.file_messages import convert_input_errors
from curation.management.lookups import get_version, resolve_split
from curation.versions import photos
from curation.versions.families import family_of_version
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Create a leaderboard of one split of a sealed version and build its files. It is closed and not public."""

    help = "Create a leaderboard of one split of a sealed version and build its files."
    tasks = (BUILD_LEADERBOARD,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("name", nargs="?", default="", metavar="VERSION", help="a sealed version; or use --version")
        add("--version", default="", help="the sealed version, instead of VERSION")
        add("--project", default="", help="the project's short name")
        add("--split", help=f"train, val, test or {ALL}; default: test, else val")
        add("--title", default="", help="the leaderboard's title; its address is made from it")
        add("--note", default="", help="a paragraph above the table")
        add("--daily", type=int, default=2, help="maximum submissions of a team within 24 hours; default: 2")
        add("--total", type=int, default=50, help="maximum submissions of a team in total; default: 50")
        runs = "number of the run of box proposals; default: the newest run, 0 for none"
        add("--proposals", type=int, metavar="RUN", help=runs)
        add(
            "--photos",
            default=photos.LICENSED_PHOTOS,
            choices=photos.PHOTO_CHOICES,
            help="photos that teams can download: those whose licence allows copies (default), all, or none",
        )
        add(
            "--private-share",
            type=int,
            default=0,
            metavar="PERCENT",
            help="percentage of photos whose figures are private until the leaderboard is closed; default: 0",
        )

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the leaderboard and return the job that builds its files."""
        names = set(filter(None, (options["name"], options["version"])))
        if not names or not options["title"]:
            raise input_error("give the version and --title, or --resume JOB")
        if len(names) > 1:
            given = f"--version {options['version']}"
            raise input_error(f"{given}: {options['name']} is given too; give one version")
        version = get_version(names.pop(), find_project(options["project"]))
        texts = family_of_version(version).board
        proposals = None
        if texts is not None and texts.has_proposals:
            with convert_input_errors():
                proposals = resolve_proposal_run(version, options["proposals"])
        elif options["proposals"]:
            raise input_error("--proposals: leaderboards of this family have no proposed boxes; leave it out")
        board = create_leaderboard(
            version=version,
            split=resolve_split(version, options["split"], part=texts.part if texts else ""),
            wording=Wording(options["title"], options["note"]),
            limits=SubmissionLimits(options["daily"], options["total"]),
            proposals=proposals,
            data=LeaderboardDataOptions(options["photos"], options["private_share"]),
            by=None,
            queue=queue,
        )
        assert board.job is not None, "a leaderboard is created with the job that builds its files"
        return board.job

    def report_job(self, job: Job, options: dict[str, Any]) -> None:
        """Print the leaderboard's short name, which its address and other commands use."""
        board = job.leaderboard
        counts = f"{sum(board.tasks.values())} scores in {len(board.tasks)} files"
        if options["background"]:
            counts = f"job {job.pk} is queued"
        facts = {"job": job.pk, "state": job.state, "leaderboard": board.slug, "expected": board.tasks}
        self.report(options, facts, f"{board.slug}: {counts}")
