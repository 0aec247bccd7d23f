"""Plain facts about images, passed between rows, kinds and pages."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

IMAGE_TEXTS = frozenset({"alt", "credit"})  # texts that people wrote about an image


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The facts of an image that a kind may use. Sizes in pixels; ``url`` is absolute, on the HIT origin."""

    id: int
    url: str
    width: int
    height: int
    name: str = ""
    alt: str = ""
    credit: str = ""

    def as_page_dict(self) -> dict[str, Any]:
        """Return the facts for a task's page, without the file's name, which could reveal the source."""
        return {key: value for key, value in asdict(self).items() if key != "name"}


def hide_image_texts(
    images: Mapping[int, ImageFacts], order: Sequence[int], allowed_texts: Collection[str]
) -> dict[int, ImageFacts]:
    """Return images without file names and without the texts that are not ``allowed_texts``.

    An image without its alternative text is named by its number in ``order``: "Image 1".
    """
    numbers = {image: number for number, image in reversed(list(enumerate(order, start=1)))}
    return {
        key: replace(
            image,
            name="",
            alt=image.alt if "alt" in allowed_texts else f"Image {numbers.get(key, 1)}",
            credit=image.credit if "credit" in allowed_texts else "",
        )
        for key, image in images.items()
    }
