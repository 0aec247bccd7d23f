"""``manage.py take_down_clip CLIP --project P --reason TEXT [--undo] [--json]``."""

from argparse import ArgumentParser
from typing import Any

from curation.models import Clip
from curation.services import frames
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from hits.mturk.boto import marketplace
from hits.services.images import take_down


class Command(DeerstalkerCommand):
    """Take a clip down with all of its frames; ``--undo`` puts it back."""

    help = "Take a clip down with all of its frames, or put it back with --undo."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("clip", help="the clip’s number on the Clips page, its name, or FILM/NAME")
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--reason", required=True, help="shown in the project's history")
        parser.add_argument("--undo", action="store_true", help="put the clip back")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the clip down or put it back, and print the consequences."""
        clip = _find_clip(options["project"], options["clip"])
        if options["undo"]:
            count = frames.put_back_clip(clip=clip, reason=options["reason"], by=None)
            facts = {"clip": clip.pk, "taken_down": False, "frames": count}
            self.report(options, facts, f"{clip} is back with {count} frames")
            return
        images = frames.take_down_clip(clip=clip, reason=options["reason"], by=None)
        notified = sum(take_down.notify_workers(image=image, marketplace=marketplace()) for image in images)
        facts = {"clip": clip.pk, "taken_down": True, "frames": len(images), "workers_notified": notified}
        self.report(options, facts, f"{clip} is taken down with {len(images)} frames")


def _find_clip(project_slug: str, name: str) -> Clip:
    clips = Clip.objects.filter(project=find_project(project_slug))
    movie, slash, clip_name = name.rpartition("/")
    if slash:
        found = list(clips.filter(movie=movie, name=clip_name))
    elif name.isdecimal() and len(name) < len("9" * 18):
        found = list(clips.filter(pk=int(name)))
    else:
        found = list(clips.filter(name=name)[:2])
    if not found:
        raise input_error(f"{name}: {project_slug} has no such clip; give its number, its name or FILM/NAME")
    if len(found) > 1:
        raise input_error(f"{name}: several films have a clip of that name; give FILM/NAME")
    return found[0]
