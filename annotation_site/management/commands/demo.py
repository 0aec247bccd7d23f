"""``manage.py demo``: a rehearsal project, ready to click through, or played once without a person."""

import json
import os
import subprocess
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

from annotation_site.management.commands.serve import stop_all, web_command, worker_command


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
        from annotation_site.demo import cast, play
        from hits.services.errors import Refused

        self.say("Preparing the database and the static files …")
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        people = cast.assemble()
        try:
            play.import_photos(people, Path(options["images"]) if options["images"] else None)
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error
        # What the servers print goes to stderr: stdout belongs to the summary.
        processes = [
            subprocess.Popen(command, stdout=sys.stderr)  # noqa: S603
            for command in (web_command(1), worker_command())
        ]
        try:
            _wait_for_server(processes)
            if options["once"]:
                out = options["out"] or settings.VAR_DIR / "exports"
                summary = play.whole_loop(people, Path(out), self.say)
                print(json.dumps(summary))  # the one line that stands on stdout
            else:
                play.first_batch(people, self.say)
                self.say(play.welcome(people))
                _wait(processes)
        except play.PlayError as error:
            raise CommandError(str(error)) from error
        finally:
            stop_all(processes)

    def say(self, text: str) -> None:
        """Tell a person; stdout belongs to the summary."""
        self.stderr.write(text, style_func=str)


def _wait(processes: list["subprocess.Popen[bytes]"]) -> None:
    try:
        while all(process.poll() is None for process in processes):
            time.sleep(0.5)
    except KeyboardInterrupt:
        sys.stderr.write("\n")


def _wait_for_server(processes: list["subprocess.Popen[bytes]"]) -> None:
    for _ in range(300):
        if any(process.poll() is not None for process in processes):
            raise CommandError(
                f"the server could not start; is port {settings.PORT} taken? Use PORT=8100 make demo"
            )
        try:
            urllib.request.urlopen(f"{settings.PUBLIC_URL}/healthz", timeout=2).read()  # noqa: S310
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
        else:
            return
    raise CommandError(f"{settings.PUBLIC_URL} did not answer within 30 s")
