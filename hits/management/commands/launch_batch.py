"""``manage.py launch_batch KIND --project P --reward-cents N [--limit N] [--pool trained] [--countries US,CA]``."""

from argparse import ArgumentParser
from typing import Any

from hits import registry
from hits.domain.images.image_selection import ImageSelection, ImageSelectionError, SelectionMethod
from hits.domain.states import Purpose
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.launch_options import add_terms_options, read_terms
from hits.management.lookups import find_project, validate_image_limit
from hits.management.publishing import print_live_hit_count, publish_launched_batch
from hits.selectors.images.image_selection import select_photos
from hits.selectors.images.images import unused_images, usable_images
from hits.services.launching.launch import PlannedUnit, launch_batch

_FLAG_BY_FIELD = {"n": "random", "names": "photo"}


class Command(DeerstalkerCommand):
    """Launch one unit per image of a collecting kind, and publish it before returning."""

    help = "Launch a batch of a collecting kind over the project's images and publish its HITs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("kind")
        parser.add_argument("--project", required=True)
        add_terms_options(parser)
        parser.add_argument("--name", default="")
        parser.add_argument("--limit", type=int, help="maximum number of images; default: all")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--random", type=int, metavar="N", help="random sample of N photos, drawn with --seed"
        )
        which.add_argument(
            "--photo", action="append", default=[], metavar="NAME", help="file name of a photo; repeatable"
        )
        parser.add_argument("--seed", type=int, default=1, help="seed of --random; default 1")
        parser.add_argument("--split", default="", help="only photos of this split")
        parser.add_argument("--source", default="", help="only photos of this source")
        parser.add_argument(
            "--again", action="store_true", help="include photos that a batch of this kind already used"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = find_project(options["project"])
        try:
            kind = registry.get_kind(options["kind"])
        except LookupError as error:
            raise input_error(f"kind: {error}") from error
        if kind.purpose is not Purpose.COLLECTING or not kind.takes_photos:
            raise input_error(
                f"kind {kind.name}: its units are not photos; launch it from its own page, with launch_review or "
                "with launch_units"
            )
        limit = validate_image_limit(options["limit"])
        choice = _read_image_selection(options)
        no_unused_photos = not options["again"] and not unused_images(project, kind.name).exists()
        if no_unused_photos and usable_images(project).exists():
            raise input_error(
                f"project {project.slug}: every photo is in a batch of {kind.name} already; "
                "resume a stopped batch with resume_batch, or use the same photos again with --again"
            )
        try:
            photos = select_photos(project, kind.name, choice)[:limit]
        except ImageSelectionError as error:
            raise input_error(f"--{_FLAG_BY_FIELD.get(error.field, error.field)}: {error}") from error
        batch, _ = launch_batch(
            project=project,
            kind_name=kind.name,
            name=options["name"] or kind.title,
            units=[PlannedUnit(kind.unit_key(unit), unit) for unit in kind.plan_units(photos)],
            by=None,
            terms=read_terms(project, kind, options),
            provenance={"photos": choice.as_row() | ({"limit": limit} if limit else {})},
        )
        print_live_hit_count(self, options, publish_launched_batch(batch))


def _read_image_selection(options: dict[str, Any]) -> ImageSelection:
    how = (
        SelectionMethod.RANDOM
        if options["random"] is not None
        else SelectionMethod.NAMED
        if options["photo"]
        else SelectionMethod.ALL
    )
    return ImageSelection(
        how=how,
        n=options["random"],
        seed=options["seed"] if how is SelectionMethod.RANDOM else None,
        names=tuple(options["photo"]),
        split=options["split"],
        source=options["source"],
        again=options["again"],
    )
