"""The question task as a person meets it: open its page, write with mentions, read the texts back."""

import io
import re
from dataclasses import dataclass
from typing import Any

from PIL import Image as Pillow
from PIL import ImageDraw

from hits.models import Hit, Project
from hits.mturk.boto import marketplace
from hits.services.images.import_image import import_image
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from tests.support import market
from tests.support.box_editor import READY, agreed, task_address
from tests.support.pages import wait_until_seen

SIZE = (640, 400)
SHA256 = "ab" * 32
# Name, left, top, width, height: the second person overlaps the first, and the cup is on the table.
SCENE_OBJECTS = [
    ("person", 40, 60, 160, 320),
    ("person", 150, 80, 150, 300),
    ("dog", 330, 240, 120, 120),
    ("dining table", 420, 200, 200, 180),
    ("cup", 480, 190, 40, 50),
]
NAMES = [name for name, *_ in SCENE_OBJECTS]
COLOURS = ("#3b5b7a", "#7a3b4a", "#8c6b4d", "#c79660", "#f4efe4")


def objects() -> list[dict[str, Any]]:
    """Return the objects of the unit; the first has an outline, the others have boxes alone."""
    rows = []
    for number, (name, left, top, width, height) in enumerate(SCENE_OBJECTS):
        right, bottom = left + width, top + height
        outline = [[left + width // 2, top], [right, bottom], [left, bottom]]
        rows.append(
            {
                "name": name,
                "box": {"left": left, "top": top, "width": width, "height": height},
                "polygons": [outline] if number == 0 else [],
            }
        )
    return rows


def scene() -> bytes:
    """Return a picture with a coloured shape for each object."""
    image = Pillow.new("RGB", SIZE, "#9fb0b8")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 330, *SIZE), fill="#6b5340")
    for (_, left, top, width, height), colour in zip(SCENE_OBJECTS, COLOURS, strict=True):
        draw.rounded_rectangle((left, top, left + width, top + height), radius=24, fill=colour)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def unit_for(image: int, **change: Any) -> dict[str, Any]:
    """Return a unit of the question task on an image."""
    unit = {
        "image": image,
        "objects": objects(),
        "objects_sha256": SHA256,
        "captions": ["Somebody carries a cake to the table."],
        "names": ["Brad Pitt"],
    }
    return unit | change


def question_hit(project: Project, *, kind: str = "vcr_qar", **change: Any) -> Hit:
    """Return a live HIT of a kind with objects, on a picture of its own."""
    market.fund()
    image = import_image(project=project, name="scene.jpg", data=scene())[0]
    batch, _ = launch_batch(
        project=project,
        kind_name=kind,
        name="Questions",
        units=[PlannedUnit(key="scene", payload=unit_for(image.pk, **change))],
        by=None,
        terms=LaunchTerms(),
    )
    publish.publish_batch(batch=batch, marketplace=marketplace())
    return Hit.objects.get(unit__batch=batch)


@dataclass
class QuestionPage:
    """A question task's page in the browser."""

    page: Any
    accepted: market.Accepted

    @classmethod
    def opened(cls, hit: Hit, open_page: Any, *, worker: str = "wilma", **window: Any) -> "QuestionPage":
        """Take the task, agree to everything, and open its page by itself, with the instructions folded."""
        accepted = agreed(market.accept(hit, market.market_worker(worker)))
        page = open_page(**window)
        page.goto(task_address(accepted))
        return cls(page, accepted).ready()

    def ready(self) -> "QuestionPage":
        """Wait until the page works."""
        self.page.locator(READY).wait_for(state="attached")
        wait_until_seen(self.page)
        self.page.locator("#how").evaluate("how => { how.open = false; }")
        return self

    def another_tab(self) -> "QuestionPage":
        """Open the same task in a second tab of the same browser."""
        page = self.page.context.new_page()
        page.goto(self.page.url)
        return QuestionPage(page, self.accepted).ready()

    def field(self, name: str, card: int = 1) -> Any:
        """Return a text field."""
        return self.page.locator(f"#{name}-{card}")

    def text(self, name: str, card: int = 1) -> str:
        """Return a field's text as a screen reader gets it, without what is invisible."""
        return str(self.field(name, card).text_content()).replace("\u200b", "")

    def chips(self, name: str, card: int = 1) -> list[str]:
        """Return the names of a field's mentions."""
        found: list[str] = (
            self.field(name, card)
            .locator(".mention")
            .evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
        )
        return found

    def at(self, number: int, *, x: float = 0.5, y: float = 0.8) -> tuple[float, float]:
        """Return where a place of an object is in the window; ``x`` and ``y`` are shares of its box."""
        rect = self.page.locator("#photo").bounding_box()
        _, left, top, width, height = SCENE_OBJECTS[number - 1]
        scale = rect["width"] / SIZE[0]
        return rect["x"] + (left + x * width) * scale, rect["y"] + (top + y * height) * scale

    def choose(self, card: int = 1, likelihood: str = "likely") -> None:
        """Choose how likely the answer of a card is."""
        self.page.locator(f"input[name=likelihood-{card}][value={likelihood}]").check(force=True)

    def interest(self, value: int = 1) -> None:
        """Say whether the photo is interesting."""
        self.page.locator(f"input[name=interest][value='{value}']").check(force=True)

    def gaps(self) -> list[str]:
        """Return what the page says is missing."""
        found: list[str] = self.page.locator("#gaps li").all_inner_texts()
        return found

    def wait_saved(self) -> None:
        """Wait until the server has everything."""
        self.page.locator("#save").get_by_text(re.compile("^Saved")).wait_for()
