"""``manage.py create_leaderboard VERSION --project P [--split S] --title T``: a leaderboard of a sealed version."""

from argparse import ArgumentParser
from typing import Any

from curation.families.sherlock.evaluation_plan import ALL, resolve_proposals
from curation.leaderboard.selectors.boards import BUILD_LEADERBOARD
from curation.leaderboard.services.boards import LeaderboardData, Limits, Wording, create_leaderboard
from curation.management.lookups import get_version, resolve_split
from curation.records import InvalidInput
from curation.versions import photos
from hits.management.base import emit_json, input_error
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
        parser.add_argument(
            "name", nargs="?", default="", metavar="VERSION", help="a sealed version; or name it by --version"
        )
        parser.add_argument("--version", default="", help="the same, as in other commands")
        parser.add_argument("--project", default="", help="the project's short name")
        parser.add_argument("--split", help=f"train, val, test or {ALL}; test or val if any")
        parser.add_argument(
            "--title", default="", help="the title of its page, from which its address is made"
        )
        parser.add_argument("--note", default="", help="a paragraph above the table")
        parser.add_argument("--daily", type=int, default=2, help="submissions per team within 24 hours")
        parser.add_argument("--total", type=int, default=50, help="submissions per team in total")
        parser.add_argument(
            "--proposals",
            type=int,
            metavar="RUN",
            help="run of box proposals; default the newest, 0 for none",
        )

        parser.add_argument(
            "--photos",
            default=photos.LICENSED_PHOTOS,
            choices=photos.PHOTO_CHOICES,
            help="photos provided as files: those whose licence allows it, all, or none",
        )

        parser.add_argument(
            "--private-share",
            type=int,
            default=0,
            metavar="PERCENT",
            help="share of the photos whose figures are shown when the leaderboard is closed (0 unless set)",
        )

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Create the leaderboard and return the job that builds its files."""
        names = set(filter(None, (options["name"], options["version"])))
        if not names or not options["title"]:
            raise input_error("name the version and --title, or a job to --resume")
        if len(names) > 1:
            raise input_error(
                f"--version {options['version']}: {options['name']} is given too; give one version"
            )
        version = get_version(names.pop(), find_project(options["project"]))
        try:
            proposals = resolve_proposals(version, options["proposals"])
        except InvalidInput as error:
            raise input_error(str(error)) from error
        board = create_leaderboard(
            version=version,
            split=resolve_split(version, options["split"]),
            wording=Wording(options["title"], options["note"]),
            limits=Limits(options["daily"], options["total"]),
            proposals=proposals,
            data=LeaderboardData(options["photos"], options["private_share"]),
            by=None,
            queue=queue,
        )
        assert board.job is not None, "it was made with the job that builds its files"
        return board.job

    def finish(self, job: Job, options: dict[str, Any]) -> None:
        """Print its short name, used in its address and in commands."""
        board = job.leaderboard
        if options["json"]:
            emit_json(
                self, {"job": job.pk, "state": job.state, "leaderboard": board.slug, "expected": board.tasks}
            )
        elif options["background"]:
            self.stdout.write(f"{board.slug}: job {job.pk} is queued")
        else:
            self.stdout.write(f"{board.slug}: {sum(board.tasks.values())} scores in {len(board.tasks)} files")
