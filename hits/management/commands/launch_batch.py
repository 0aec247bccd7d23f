"""``manage.py launch_batch KIND --project P --reward-cents N [--limit N] [--pool trained] [--countries US,CA]``."""

from argparse import ArgumentParser
from typing import Any

from hits import registry
from hits.domain.states import Purpose
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.launch_options import add_terms_options, read_terms
from hits.management.lookups import find_project
from hits.management.photo_options import add_photo_options, choose_photos
from hits.management.publishing import print_live_hit_count, publish_launched_batch
from hits.selectors.unit_planners import planner_of
from hits.services.launching.launch import PlannedUnit, launch_batch


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
        add_photo_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = find_project(options["project"])
        try:
            kind = registry.get_kind(options["kind"])
        except LookupError as error:
            raise input_error(f"kind: {error}") from error
        planner = planner_of(kind)
        if kind.purpose is not Purpose.COLLECTING or planner is None:
            raise input_error(
                f"kind {kind.name}: its units are not photos; launch it from its own page, with launch_review or "
                "with launch_units"
            )
        photos, selection = choose_photos(project, kind, options)
        units = planner.units(project, photos)
        batch, _ = launch_batch(
            project=project,
            kind_name=kind.name,
            name=options["name"] or kind.title,
            units=[PlannedUnit(kind.unit_key(unit), unit) for unit in units],
            by=None,
            terms=read_terms(project, kind, options),
            provenance={"photos": selection},
        )
        print_live_hit_count(self, options, publish_launched_batch(batch))
