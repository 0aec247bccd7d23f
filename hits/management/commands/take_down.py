"""``manage.py take_down IMAGE --project P --reason TEXT [--undo] [--json]``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from hits.models import Image
from hits.mturk.boto import marketplace
from hits.services.images import take_down


class Command(DeerstalkerCommand):
    """Take a photo down so that no page shows it; ``--undo`` puts it back."""

    help = "Take a photo down so that no page shows it, or put it back with --undo."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "image", help="the photo’s number on the Photos page, its file name or its sha256"
        )
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--reason", required=True, help="shown in the project's history")
        parser.add_argument("--undo", action="store_true", help="put the photo back")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the photo down or put it back, and print the consequences."""
        image = _find_image(options["project"], options["image"])
        if options["undo"]:
            take_down.put_back_image(image=image, reason=options["reason"], by=None)
            self.report(options, {"image": image.pk, "withdrawn": False}, f"{image.name} is back")
            return
        ended = take_down.take_down_image(image=image, reason=options["reason"], by=None)
        notified = take_down.notify_workers(image=image, marketplace=marketplace())
        facts = {"image": image.pk, "withdrawn": True, "hits_to_expire": ended, "workers_told": notified}
        self.report(options, facts, f"{image.name} is taken down; {ended} open tasks will end")


def _find_image(project_slug: str, name: str) -> Image:
    images = Image.objects.filter(project=find_project(project_slug))
    if name.isdecimal() and len(name) < len("9" * 18):
        found = list(images.filter(pk=int(name)))
    else:
        found = list(images.filter(sha256=name) or images.filter(name=name)[:2])
    if not found:
        raise input_error(f"{name}: {project_slug} has no such photo; give its number, file name or sha256")
    if len(found) > 1:
        raise input_error(f"{name}: {project_slug} has several photos of that name; give the number of one")
    return found[0]
