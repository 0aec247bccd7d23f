"""The files that rows refer to, with their expected content. Apps above add theirs (``register_file_provider``)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hits.models import Image

PHOTO = "photo"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file below the media folder as its row describes it.

    kind: for example ``photo``. owner: a readable name of the row. bytes: ``None`` if the row has no size.
    """

    kind: str
    owner: str
    name: str
    sha256: str
    bytes: int | None = None


Provider = Callable[[], Iterator[StoredFile]]
_providers: list[Provider] = []


def register_file_provider(provider: Provider) -> None:
    """Register a provider of an app above for the files of its rows."""
    if provider not in _providers:
        _providers.append(provider)


def referenced_files() -> Iterator[StoredFile]:
    """Yield every file that a row refers to, photos first; rows are streamed."""
    yield from _photos()
    for provider in _providers:
        yield from provider()


def _photos() -> Iterator[StoredFile]:
    rows = Image.objects.order_by("file", "pk").values_list(
        "file", "sha256", "bytes", "project__slug", "name"
    )
    last = ""
    for name, sha256, size, project, image_name in rows.iterator(chunk_size=2000):
        if name != last:  # projects share the file of the same photo
            yield StoredFile(PHOTO, f"{project}: {image_name}", name, sha256, size)
        last = name
