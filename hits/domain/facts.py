"""Plain facts that travel between rows, kinds and pages."""

from dataclasses import dataclass


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
