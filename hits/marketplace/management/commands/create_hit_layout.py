"""Register a page from which HITs are made by HITLayoutId and HITLayoutParameters."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hits.marketplace.errors import Refused
from hits.marketplace.formats.layout import variables
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.models import Clock, Requester
from hits.marketplace.services.layouts import create_layout


class Command(MarketplaceCommand):
    """``create_hit_layout --requester NAME --name N FILE [--frame-height PIXELS] [--json]``."""

    help = (
        "Register an HTML page with ${variables} as a HIT layout. Its id goes into CreateHIT's HITLayoutId."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="the page, in UTF-8")
        parser.add_argument(
            "--requester", required=True, help="the account's name, as create_requester knows it"
        )
        parser.add_argument("--name", required=True, help="the layout's name, once for each account")
        parser.add_argument(
            "--frame-height", type=int, default=0, help="CSS pixels; 0 lets the worker site choose"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, create and print."""
        layout = create_layout(
            requester=_requester(options["requester"]),
            name=options["name"],
            html=_page(options["file"]),
            frame_height=options["frame_height"],
            now=Clock.now(),
        )
        names = variables(layout.html)
        self.emit(
            options,
            {"layout_id": layout.layout_id, "name": layout.name, "variables": list(names)},
            f"HITLayoutId {layout.layout_id}",
            f"HITLayoutParameters: {', '.join(names) or 'none'}",
        )


def _requester(name: str) -> Requester:
    found = Requester.objects.filter(name=name).first()
    if found is None:
        raise Refused(
            f"There is no requester named {name!r}. Make the account first: manage.py create_requester."
        )
    return found


def _page(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
