"""Plain facts that travel between rows, kinds and pages."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

IMAGE_TEXTS = frozenset({"alt", "credit"})  # what is written about an image, in people's words


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What a kind may know about an image. Sizes in pixels; ``url`` is absolute, on the HIT origin."""

    id: int
    url: str
    width: int
    height: int
    name: str = ""
    alt: str = ""
    credit: str = ""

    def as_page(self) -> dict[str, Any]:
        """Return what a task's page is told; the file's name could give away where a picture is from."""
        return {
            "id": self.id,
            "url": self.url,
            "width": self.width,
            "height": self.height,
            "alt": self.alt,
            "credit": self.credit,
        }


def neutral(
    images: Mapping[int, ImageFacts], order: Sequence[int], allowed: Collection[str]
) -> dict[int, ImageFacts]:
    """Return images without the texts that are not ``allowed``, and never with a file's name.

    Where alternative text is left out, an image is called by its place in ``order``: "Image 1".
    """
    places = {image: place for place, image in reversed(list(enumerate(order, start=1)))}
    return {
        key: replace(
            image,
            name="",
            alt=image.alt if "alt" in allowed else f"Image {places.get(key, 1)}",
            credit=image.credit if "credit" in allowed else "",
        )
        for key, image in images.items()
    }
