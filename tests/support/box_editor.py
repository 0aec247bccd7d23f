"""The drawing bench as a person meets it: open a task's page, point at photo pixels, read the boxes back."""

import io
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from PIL import Image as Pillow

from hits.domain.mturk_formats.external_question import frame_url
from hits.marketplace.models import HIT
from hits.models import Hit, Submission
from hits.services.collecting import submit
from tests.support import market
from tests.support.loop import page_key
from tests.support.pages import wait_until_seen

Box = tuple[int, int, int, int]
READY = "html[data-ready=true]"


def plain_photo(width: int, height: int) -> bytes:
    """Return a picture of any size that is quickly made: light to dark, with a little grain."""
    grain = Pillow.effect_noise((width // 8, height // 8), 40).resize((width, height))
    shade = Pillow.linear_gradient("L").resize((width, height))
    buffer = io.BytesIO()
    Pillow.merge("RGB", (shade, grain, shade)).save(buffer, "JPEG", quality=70)
    return buffer.getvalue()


@dataclass
class Task:
    """A task's page in the browser. ``root`` is the page itself, or the frame that it stands in."""

    page: Any
    root: Any
    width: int
    height: int
    accepted: market.Accepted

    @property
    def address(self) -> str:
        """Return the page's address, as the marketplace would put it into its frame."""
        return task_address(self.accepted)

    def boxes(self) -> list[Box]:
        """Return what is drawn: left, top, width, height in photo pixels, in order of drawing."""
        return [tuple(row) for row in self.root.locator("#photo").evaluate(_READ_BOXES)]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a photo point stands in the window, reckoned here and not by the page's code."""
        rect = self.root.locator("#photo").bounding_box()
        return rect["x"] + x * rect["width"] / self.width, rect["y"] + y * rect["height"] / self.height

    def under(self, x: float, y: float) -> tuple[float, float]:
        """Return the photo point at a place in the window."""
        rect = self.root.locator("#photo").bounding_box()
        return (x - rect["x"]) * self.width / rect["width"], (y - rect["y"]) * self.height / rect["height"]

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, steps: int = 3) -> None:
        """Drag the mouse from one photo point to another."""
        self.page.mouse.move(*self.at(*start))
        self.page.mouse.down()
        self.page.mouse.move(*self.at(*end), steps=steps)
        self.page.mouse.up()

    def click(self, x: float, y: float, **more: Any) -> None:
        """Press the mouse on a photo point."""
        self.page.mouse.click(*self.at(x, y), **more)

    def visible(self) -> tuple[float, float, float, float]:
        """Return the part of the photo in view: left, top, right, bottom in photo pixels."""
        photo = self.root.locator("#photo").bounding_box()
        frame = self.root.locator("#stage").bounding_box()
        bar = self.root.locator(".submitbar").bounding_box()
        k = self.width / photo["width"]
        left, top = max(photo["x"], frame["x"]), max(photo["y"], frame["y"])
        right = min(photo["x"] + photo["width"], frame["x"] + frame["width"])
        bottom = min(photo["y"] + photo["height"], frame["y"] + frame["height"], bar["y"])
        x, y = photo["x"], photo["y"]
        return (left - x) * k, (top - y) * k, (right - x) * k, (bottom - y) * k

    def zoom_to(self, percent: int) -> None:
        """Press the zoom buttons until the photo is shown at ``percent``."""
        shown = self.root.locator("#zoom")
        for _ in range(40):
            now = int(shown.text_content().strip("%"))
            if now == percent:
                return
            self.root.locator("[data-tool=in]" if now < percent else "[data-tool=out]").click()
        raise AssertionError(f"the buttons never came to {percent} %")

    def announcement(self) -> str:
        """Return the text that the page last announced to screen readers."""
        return str(self.root.locator("#say").text_content())

    def ready(self) -> "Task":
        """Wait until the page works."""
        self.root.locator(READY).wait_for(state="attached")
        wait_until_seen(self.page, self.root)
        return self

    def fold(self) -> "Task":
        """Close the instructions, which are open at a first visit."""
        self.root.locator("#how").evaluate("how => { how.open = false; }")
        return self

    def write(self, index: int, *, confidence: str = "Likely") -> None:
        """Fill in a card's texts and confidence."""
        card = self.root.locator(f"#o{index}")
        if card.get_attribute("open") is None:
            card.locator("summary").click()
        card.locator(f"#clue{index}").fill(f"the thing number {index} at the window")
        card.locator(f"#inf{index}").fill(f"Somebody will come back for it in {index} hours.")
        card.get_by_text(confidence, exact=False).first.click()

    def complete(self) -> None:
        """Fill in the three cards that are required, each with its own box."""
        for index in (1, 2, 3):
            self.write(index)
            left = self.width * (index - 1) // 3
            self.drag((left + 8, 8 + index), (left + self.width // 4, self.height // 3), steps=2)

    def wait_saved(self) -> None:
        """Wait until the server has everything."""
        self.root.locator("#save").get_by_text(re.compile("^Saved")).wait_for()


_READ_BOXES = """svg => [...svg.querySelectorAll('.box-layer .box[data-id] .line')].map(
    (r) => ['x', 'y', 'width', 'height'].map((n) => Number(r.getAttribute(n))))"""


def task_address(accepted: market.Accepted) -> str:
    """Return the address of an accepted task's page."""
    slot = accepted.slot
    return frame_url(
        HIT.objects.get(hit_id=accepted.hit.hit_id).question_url,
        assignment_id=slot.assignment_id,
        hit_id=str(accepted.hit.hit_id),
        worker_id=accepted.worker.worker_id,
        submit_to=f"{settings.PUBLIC_URL}/a/{accepted.secret}",
    )


def agreed(accepted: market.Accepted) -> market.Accepted:
    """Agree to the consent text on the worker's behalf, so that the page opens on the task."""
    key = page_key(accepted.hit, accepted.slot.assignment_id, accepted.worker.worker_id)
    submit.record_consent(key=key, version=1, country="US")
    return accepted


def rows_of(submission: Submission) -> Sequence[dict[str, Any]]:
    """Return a submission's observations."""
    rows: Sequence[dict[str, Any]] = submission.answer["observations"]
    return rows


def report(record_property: Callable[[str, object], None], name: str, figure: float) -> None:
    """Attach a figure to the test's report, and show it where pytest shows output."""
    record_property(name, round(figure, 1))
    sys.stdout.write(f"\n{name}: {figure:.1f}\n")


def only_hit() -> Hit:
    """Return the one HIT of a test."""
    return Hit.objects.get()
