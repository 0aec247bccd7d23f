"""``manage.py build_triplets --project P``."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from curation.management.triplet_options import find_triplet_project
from curation.services.triplets.pick_rounds import apply_crowd_picks
from curation.services.triplets.triplets import build_triplets
from hits.management.base import DeerstalkerCommand


class Command(DeerstalkerCommand):
    """Build a triplet for each kept scene whose three images are picked."""

    help = "Build triplets from picked images; in each category, gold is hypothesis 1 in half of them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True, help="the project's short name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Build them, with the picks of crowd rounds that are complete."""
        project = find_triplet_project(options["project"])
        apply_crowd_picks(project)
        built = build_triplets(project=project, by=None)
        golds = Counter(str(row.gold) for row in built.triplets)
        facts = {
            "triplets": len(built.triplets),
            "replaced": built.replaced,
            "restored": built.restored,
            "dropped": built.dropped,
            "gold": dict(sorted(golds.items())),
        }
        found = [
            f"{len(built.triplets)} new triplets, {built.replaced} older ones replaced, "
            f"{built.restored} earlier ones back in use"
        ]
        if not (built.triplets or built.replaced or built.restored or built.dropped):
            found.append("no kept scene has three picked images that no triplet has yet: pick images first")
        if built.dropped:
            found.append(f"{built.dropped} dropped by a person stay dropped: pick other images, or keep them")
        self.report(options, facts, "; ".join(found))
