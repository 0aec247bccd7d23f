"""Units of the kinds with image triplets, and their pages in a browser."""

from collections.abc import Sequence
from typing import Any

from hits.models import Hit, Image, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.images.import_image import import_image
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.publishing.publish import publish_batch
from tests.support import market
from tests.support.box_editor import READY, agreed, plain_photo, task_address
from tests.support.pages import wait_until_seen

TEXTS = {
    "premise": "A broken lamp lies on the floor of a living room.",
    "h1": "A child holds a ball and looks at the floor.",
    "h2": "A child reads a book in an armchair.",
}
EXPLANATIONS = (
    "Somebody threw the ball indoors, and it hit the lamp.",
    "The floor has the same colour in both images.",
    "Children who play in rooms knock things over, so the child with the ball looks down at the damage.",
    "The child is about to sing.",
)
WHY = "The ball was thrown indoors and has knocked the lamp over."


def three_images(project: Project, *, size: int = 512) -> dict[str, int]:
    """Import three square images that differ; returns their ids by role."""
    shapes = {"premise": size, "h1": size - 16, "h2": size - 32}
    return {
        role: import_image(project=project, name=f"{role}.jpg", data=plain_photo(side, side))[0].pk
        for role, side in shapes.items()
    }


def plausibility_unit(images: dict[str, int], *, show: str = "triplet", **more: Any) -> dict[str, Any]:
    """Return a unit of ``triplet_plausibility`` in one of the shapes; the first hypothesis is the gold one."""
    roles = {"triplet": TEXTS, "pair": ("premise", "h2"), "hypotheses_only": ("h1", "h2"), "texts": ()}[show]
    return {
        "item": f"item-{show}",
        "triplet": "triplet-of-the-lamp",
        "show": show,
        "images": {role: images[role] for role in roles},
        "texts": TEXTS if show == "texts" else {},
        "gold": 1,
        "scene": "scene-of-the-lamp",
        **more,
    }


def selection_unit(images: dict[str, int], texts: Sequence[str] = EXPLANATIONS) -> dict[str, Any]:
    """Return a unit of ``explanation_selection`` whose second text is wrong on purpose."""
    return {
        "item": "item-texts",
        "triplet": "triplet-of-the-lamp",
        "images": images,
        "right": "h1",
        "explanations": [{"id": f"e{number}", "text": text} for number, text in enumerate(texts, start=1)],
        "decoys": ["e2"],
        "decoy_triplet": "other-triplet-of-the-lamp",
        "decoy_scene": "other-scene-of-the-lamp",
    }


def pick_unit(images: dict[str, int], *, role: str = "a") -> dict[str, Any]:
    """Return a unit of ``image_pick`` with two candidates."""
    return {
        "item": "item-pick",
        "role": role,
        "text": TEXTS["h1"],
        "premise_image": images["premise"] if role != "premise" else None,
        "candidates": [images["h1"], images["h2"]],
        "scene": "scene-of-the-lamp",
    }


def writing_unit(images: dict[str, int]) -> dict[str, Any]:
    """Return a unit of ``nleye_explanation_writing``."""
    return {"triplet": "triplet-of-the-lamp", "images": images, "gold": 1, "texts": TEXTS}


def launched(project: Project, kind: str, unit: dict[str, Any]) -> Hit:
    """Launch one unit and publish it."""
    batch, _ = launch_batch(
        project=project, kind_name=kind, name="Play", units=[PlannedUnit("unit", unit)], by=None
    )
    publish_batch(batch=batch, marketplace=marketplace())
    return Hit.objects.get(unit__batch=batch)


def opened(page: Any, project: Project, kind: str, unit: dict[str, Any], *, worker: str = "wanda") -> str:
    """Launch a unit, take it and open its page with the instructions folded; returns the page's address."""
    address = task_address(agreed(market.accept(launched(project, kind, unit), market.market_worker(worker))))
    page.goto(address)
    ready(page)
    return address


def ready(page: Any) -> None:
    """Wait until the page works, also after it was loaded again."""
    page.locator("#work:not([disabled])").wait_for()
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    wait_until_seen(page)


def reloaded(page: Any) -> None:
    """Reload the page after everything is saved."""
    page.locator("#save").get_by_text("Saved").wait_for()
    page.reload()
    ready(page)


def submitted(page: Any) -> dict[str, Any]:
    """Press Enter on the focused button that submits; returns the stored answer."""
    page.locator("#submit[aria-disabled=false]").focus()
    with page.expect_request("**/mturk/externalSubmit"):
        page.keyboard.press("Enter")
    return dict(Submission.objects.get().answer)


def image_of(pk: int) -> Image:
    """Return an image by its id."""
    return Image.objects.get(pk=pk)
