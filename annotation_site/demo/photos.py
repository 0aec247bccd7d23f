"""Sample photos from installed packages, with their licences."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SamplePhoto:
    """One photo in an installed package."""

    name: str
    path: Path
    alt: str
    credit: str
    licence: str


_SKIMAGE = [
    ("astronaut.png", "A person in an orange flight suit beside a helmet", "NASA", "Public domain"),
    ("camera.png", "A person bent over a film camera on a lawn", "Lav Varshney", "CC0"),
    ("chelsea.png", "The face of a tabby cat", "Stefan van der Walt", "CC0"),
    ("coffee.png", "A cup of espresso on a wooden table", "Rachel Michetti", "CC0"),
    ("rocket.jpg", "A rocket on its pad at dusk", "SpaceX", "Public domain"),
    ("motorcycle_left.png", "A red motorcycle in a garage", "Middlebury stereo 2014", "CC0"),
    # Nearly the same view, so that deduplication finds a pair.
    ("motorcycle_right.png", "A red motorcycle in a garage", "Middlebury stereo 2014", "CC0"),
]
_SKLEARN = [
    ("china.jpg", "A tower with many roofs above a lake", "danielbuechele", "CC BY 2.0"),
    ("flower.jpg", "An orange flower before dark leaves", "vultilion", "CC BY 2.0"),
]


def sample_photos() -> list[SamplePhoto]:
    """Return the installed photos in a fixed order."""
    folders = [
        (_package_folder("skimage") / "data", _SKIMAGE),
        (_package_folder("sklearn") / "datasets" / "images", _SKLEARN),
    ]
    return [
        SamplePhoto(name, folder / name, alt, credit, licence)
        for folder, rows in folders
        for name, alt, credit, licence in rows
        if (folder / name).is_file()
    ]


def _package_folder(name: str) -> Path:
    # Only the folder: an import of the packages would load much that the demo does not need.
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return Path("/nonexistent")
    return Path(spec.origin).parent
