"""Register a page as a HIT layout, for CreateHIT with HITLayoutId and HITLayoutParameters."""

import argparse
from pathlib import Path
from typing import Any

from hits.marketplace.errors import ActionRefused
from hits.marketplace.formats.layout import list_variables
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.models import Clock, Requester
from hits.marketplace.services.layouts import create_layout


class Command(MarketplaceCommand):
    """``create_hit_layout --requester NAME --name N FILE [--frame-height PIXELS] [--json]``."""

    help = "Register an HTML page with ${variables} as a HIT layout. Pass its id to CreateHIT as HITLayoutId."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="the page, in UTF-8")
        parser.add_argument("--requester", required=True, help="name of the account made by create_requester")
        parser.add_argument("--name", required=True, help="name of the layout, unique within the account")
        parser.add_argument(
            "--frame-height",
            type=int,
            default=0,
            help="height of the task's frame in CSS pixels; default 0: the worker site chooses it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Read the page, create the layout and print its id."""
        layout = create_layout(
            requester=_find_requester(options["requester"]),
            name=options["name"],
            html=_read_page(options["file"]),
            frame_height=options["frame_height"],
            now=Clock.now(),
        )
        names = list_variables(layout.html)
        self.print_result(
            options,
            {"layout_id": layout.layout_id, "name": layout.name, "variables": list(names)},
            f"HITLayoutId {layout.layout_id}",
            f"HITLayoutParameters: {', '.join(names) or 'none'}",
        )


def _find_requester(name: str) -> Requester:
    requester = Requester.objects.filter(name=name).first()
    if requester is None:
        raise ActionRefused(
            f"There is no requester named {name!r}. Create the account first: manage.py create_requester."
        )
    return requester


def _read_page(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ActionRefused(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise ActionRefused(f"{path}: is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
