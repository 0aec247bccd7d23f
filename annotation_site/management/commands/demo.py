"""``manage.py demo``: serve a demo project, or play all its stages once with scripted users."""

import json
import os
import sys
import time
import urllib.request
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from annotation_site.management.commands.serve import (
    Process,
    encoder_command,
    refuse_taken_port,
    run_processes,
    wait_until_one_ends,
    web_command,
)
from annotation_site.startup import lock_data_folder
from annotation_site.workers import celery_worker_commands


class Command(BaseCommand):
    """Set up and serve the demo. ``--once`` plays all stages and prints one line of JSON."""

    help = (
        "Serve a rehearsal project with sample photos. "
        "--once (or DEMO_ONCE=1) plays the whole demo without a person."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags; each also has an environment variable, for make."""
        parser.add_argument("--once", action="store_true", default=os.environ.get("DEMO_ONCE") == "1")
        parser.add_argument("--images", type=Path, default=os.environ.get("DEMO_IMAGES") or None)
        parser.add_argument("--out", type=Path, help="where --once exports the version")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare and serve the demo, then play it or wait for Ctrl C."""
        refuse_taken_port()
        with lock_data_folder():
            self._run(options)

    def _run(self, options: dict[str, Any]) -> None:
        from annotation_site.demo import demo_users, play
        from hits.services.errors import Refused

        self.report_progress("Preparing the database and the static files …")
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        try:
            users = demo_users.ensure_demo_users(is_scripted=options["once"])
            play.import_photos(users, Path(options["images"]) if options["images"] else None)
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        # A container's only user is root: Celery's warning about it would fill the first screen.
        os.environ.setdefault("PYTHONWARNINGS", "ignore:You're running the worker with superuser")
        # The servers print to stderr: stdout is for the summary.
        helpers = [] if options["once"] else [encoder_command()]  # scripted workers need no live hints
        try:
            with run_processes(
                [web_command(1)], sys.stderr, supervised=celery_worker_commands(), helpers=helpers
            ) as processes:
                _wait_for_server(processes)
                if options["once"]:
                    out = options["out"] or settings.VAR_DIR / "exports"
                    summary = play.play_all_stages(users, Path(out), self.report_progress)
                    print(json.dumps(summary))  # the only line on stdout
                else:
                    play.launch_first_batch_if_none(users, self.report_progress)
                    play.play_qualification_if_none(users, self.report_progress)
                    self.report_progress(play.welcome_message(users))
                    wait_until_one_ends(processes)
        except play.PlayError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            if options["once"]:
                raise CommandError("stopped before the end", returncode=130) from None

    def report_progress(self, text: str) -> None:
        """Print progress to stderr; stdout is for the summary."""
        self.stderr.write(text, style_func=str)


def _wait_for_server(processes: list[Process]) -> None:
    for _ in range(300):
        if any(process.poll() is not None for process in processes):
            raise CommandError("the server could not start; see its output above")
        try:
            urllib.request.urlopen(f"{settings.PUBLIC_URL}/healthz", timeout=2).read()  # noqa: S310
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise CommandError(f"{settings.PUBLIC_URL} did not answer within 30 s")
