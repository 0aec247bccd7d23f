"""Plain facts that travel between rows, kinds and pages."""

from dataclasses import dataclass
from typing import Any


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
