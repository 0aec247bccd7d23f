"""``manage.py demo``: a rehearsal project, ready to click through, or played once without a person."""

import json
import os
import sys
import time
import urllib.error
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
    running,
    wait_for_end,
    web_command,
)
from annotation_site.starting import held_folder
from annotation_site.workers import worker_commands


class Command(BaseCommand):
    """Set up and serve the demo. ``DEMO_ONCE=1`` plays the whole loop and ends with one line of JSON."""

    help = "Serve a rehearsal project with sample photographs. DEMO_ONCE=1 plays it without a person."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags; each also has an environment variable, for make."""
        parser.add_argument("--once", action="store_true", default=os.environ.get("DEMO_ONCE") == "1")
        parser.add_argument("--images", type=Path, default=os.environ.get("DEMO_IMAGES") or None)
        parser.add_argument("--out", type=Path, help="where --once exports the version")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, serve, and either play or wait for Ctrl C."""
        refuse_taken_port()
        with held_folder():
            self._run(options)

    def _run(self, options: dict[str, Any]) -> None:
        from annotation_site.demo import demo_users, play
        from hits.services.errors import Refused

        self.say("Preparing the database and the static files …")
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        try:
            people = demo_users.assemble(played=options["once"])
            play.import_photos(people, Path(options["images"]) if options["images"] else None)
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        # A container's only person is root: no reason to fill the first screen with a warning.
        os.environ.setdefault("PYTHONWARNINGS", "ignore:You're running the worker with superuser")
        # What the servers print goes to stderr: stdout belongs to the summary.
        helpers = [] if options["once"] else [encoder_command()]  # a played worker reads no hints
        try:
            with running(
                [web_command(1)], sys.stderr, restarted=worker_commands(), helpers=helpers
            ) as processes:
                _wait_for_server(processes)
                if options["once"]:
                    out = options["out"] or settings.VAR_DIR / "exports"
                    summary = play.whole_loop(people, Path(out), self.say)
                    print(json.dumps(summary))  # the one line that stands on stdout
                else:
                    play.first_batch(people, self.say)
                    play.road(people, self.say)
                    self.say(play.welcome(people))
                    wait_for_end(processes)
        except play.PlayError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            if options["once"]:
                raise CommandError("stopped before the end", returncode=130) from None

    def say(self, text: str) -> None:
        """Tell a person; stdout belongs to the summary."""
        self.stderr.write(text, style_func=str)


def _wait_for_server(processes: list[Process]) -> None:
    for _ in range(300):
        if any(process.poll() is not None for process in processes):
            raise CommandError("the server could not start; what it said stands above")
        try:
            urllib.request.urlopen(f"{settings.PUBLIC_URL}/healthz", timeout=2).read()  # noqa: S310
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
        else:
            return
    raise CommandError(f"{settings.PUBLIC_URL} did not answer within 30 s")
