"""``manage.py launch_batch KIND --project P --reward-cents N [--limit N] [--pool trained] [--countries US,CA]``."""

from argparse import ArgumentParser
from typing import Any

from hits import registry
from hits.domain.images.image_selection import ChoiceError, How, PhotoChoice
from hits.domain.states import Purpose
from hits.management.base import DeerstalkerCommand, bad_input
from hits.management.launching import add_terms, terms_of
from hits.management.publishing import emit_published, publish_launched
from hits.management.rows import checked_limit, project_called
from hits.selectors.images.image_selection import choose
from hits.selectors.images.images import unused_images, usable_images
from hits.services.launching.launch import PlannedUnit, launch_batch

_FLAGS = {"n": "random", "names": "photo"}


class Command(DeerstalkerCommand):
    """Launch one unit per image of a collecting kind, and publish it before returning."""

    help = "Launch a batch of a collecting kind over the project's images and publish its HITs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("kind")
        parser.add_argument("--project", required=True)
        add_terms(parser)
        parser.add_argument("--name", default="")
        parser.add_argument("--limit", type=int, help="take at most this many images")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--random", type=int, metavar="N", help="N photos drawn with --seed")
        which.add_argument(
            "--photo", action="append", default=[], metavar="NAME", help="this photo; may be repeated"
        )
        parser.add_argument("--seed", type=int, default=1, help="of --random; 1 by default")
        parser.add_argument("--split", default="", help="only photos of this split")
        parser.add_argument("--source", default="", help="only photos from this collection")
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
        if kind.purpose is not Purpose.COLLECTING or not kind.takes_photos:
            raise bad_input(
                f"kind {kind.name}: is not asked about photos alone; launch it from its own page, a review of "
                "pairs by launch_review, or from a file by launch_units"
            )
        limit = checked_limit(options["limit"])
        choice = _choice(options)
        asked = not options["again"] and not unused_images(project, kind.name).exists()
        if asked and usable_images(project).exists():
            raise bad_input(
                f"project {project.slug}: every photo is in a batch of {kind.name} already; "
                "resume a stopped one with resume_batch, or ask about the same photos once more with --again"
            )
        try:
            photos = choose(project, kind.name, choice)[:limit]
        except ChoiceError as error:
            raise bad_input(f"--{_FLAGS.get(error.field, error.field)}: {error}") from error
        batch, _ = launch_batch(
            project=project,
            kind_name=kind.name,
            name=options["name"] or kind.title,
            units=[PlannedUnit(kind.unit_key(unit), unit) for unit in kind.plan_units(photos)],
            by=None,
            terms=terms_of(project, kind, options),
            provenance={"photos": choice.as_row() | ({"limit": limit} if limit else {})},
        )
        emit_published(self, options, publish_launched(batch))


def _choice(options: dict[str, Any]) -> PhotoChoice:
    how = How.RANDOM if options["random"] is not None else How.NAMED if options["photo"] else How.ALL
    return PhotoChoice(
        how=how,
        n=options["random"],
        seed=options["seed"] if how is How.RANDOM else None,
        names=tuple(options["photo"]),
        split=options["split"],
        source=options["source"],
        again=options["again"],
    )
