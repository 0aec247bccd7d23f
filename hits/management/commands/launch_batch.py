"""``manage.py launch_batch KIND --project P --reward-cents N [--limit N]``."""

from argparse import ArgumentParser
from typing import Any

from hits import registry
from hits.domain.states import Purpose
from hits.management.base import DeerstalkerCommand, bad_input
from hits.management.publishing import emit_published, publish_now
from hits.management.rows import checked_limit, project_called
from hits.selectors.images import unused, usable
from hits.services.launch import PlannedUnit, Terms, launch_batch


class Command(DeerstalkerCommand):
    """Launch one unit per image of a collecting kind, and publish it before returning."""

    help = "Launch a batch of a collecting kind over the project's images and publish its HITs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("kind")
        parser.add_argument("--project", required=True)
        parser.add_argument("--reward-cents", type=int, required=True)
        parser.add_argument("--bonus-cents", type=int)
        parser.add_argument("--assignments", type=int, help="different workers per image")
        parser.add_argument(
            "--confirm-cents", type=int, help="the most it can cost; needed on a live marketplace"
        )
        parser.add_argument("--name", default="")
        parser.add_argument("--limit", type=int, help="take at most this many images")
        parser.add_argument(
            "--again", action="store_true", help="also photos that such a batch showed already"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = project_called(options["project"])
        try:
            kind = registry.get(options["kind"])
        except LookupError as error:
            raise bad_input(f"kind: {error}") from error
        if kind.purpose is not Purpose.COLLECTING:
            raise bad_input(f"kind {kind.name}: judges other work; launch it from the judging page")
        limit = checked_limit(options["limit"])
        images = usable(project) if options["again"] else unused(project, kind.name)
        if not images and usable(project):
            raise bad_input(
                f"project {project.slug}: every photo is in a batch of {kind.name} already; "
                "resume a stopped one with resume_batch, or ask about the same photos once more with --again"
            )
        images = images[:limit]
        units = [PlannedUnit(key=f"image-{image.pk}", payload={"image": image.pk}) for image in images]
        terms = Terms(
            options["reward_cents"], options["bonus_cents"], options["assignments"], options["confirm_cents"]
        )
        name = options["name"] or kind.title
        batch, _ = launch_batch(
            project=project, kind_name=kind.name, name=name, units=units, by=None, terms=terms
        )
        emit_published(self, options, publish_now(batch))
