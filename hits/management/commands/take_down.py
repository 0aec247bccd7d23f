"""``manage.py take_down IMAGE --project P --reason TEXT [--undo] [--json]``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.rows import project_called
from hits.models import Image
from hits.mturk.boto import marketplace
from hits.services.images import take_down


class Command(DeerstalkerCommand):
    """Take a photo down, so that nobody is shown it any more; ``--undo`` puts it back."""

    help = "Take a photo down with a reason, or put it back with --undo."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument(
            "image", help="the photo’s number (as on the Photos page), its file name or its sha256"
        )
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--reason", required=True, help="kept in the project's history")
        parser.add_argument("--undo", action="store_true", help="put the photo back")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and say what follows."""
        image = _image_called(options["project"], options["image"])
        if options["undo"]:
            take_down.put_back(image=image, reason=options["reason"], by=None)
            result: dict[str, Any] = {"image": image.pk, "withdrawn": False}
        else:
            ended = take_down.take_down(image=image, reason=options["reason"], by=None)
            written = take_down.tell_workers(image=image, marketplace=marketplace())
            result = {"image": image.pk, "withdrawn": True, "hits_to_expire": ended, "workers_told": written}
        if options["json"]:
            emit_json(self, result)
        elif options["undo"]:
            self.stdout.write(f"{image.name} is back")
        else:
            self.stdout.write(f"{image.name} is taken down; {ended} open tasks will end")


def _image_called(slug: str, name: str) -> Image:
    images = Image.objects.filter(project=project_called(slug))
    if name.isdecimal() and len(name) < len("9" * 18):
        found = list(images.filter(pk=int(name)))
    else:
        found = list(images.filter(sha256=name) or images.filter(name=name)[:2])
    if not found:
        raise bad_input(f"{name}: {slug} has no such photo; give its number, file name or sha256")
    if len(found) > 1:
        raise bad_input(f"{name}: {slug} has several photos of that name; give the number of one")
    return found[0]
