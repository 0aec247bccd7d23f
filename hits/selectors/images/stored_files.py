"""Which files rows point at, with what each should hold. Apps above add theirs (``register_files``)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hits.models import Image

PHOTO = "photo"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file below the media folder as its row describes it.

    kind: in a word or two, such as ``photo``. owner: which row, as a person finds it. bytes: ``None`` where the row
    does not say.
    """

    kind: str
    owner: str
    name: str
    sha256: str
    bytes: int | None = None


Provider = Callable[[], Iterator[StoredFile]]
_providers: list[Provider] = []


def register_files(provider: Provider) -> None:
    """Let an app above name the files that its rows point at."""
    if provider not in _providers:
        _providers.append(provider)


def stored_files() -> Iterator[StoredFile]:
    """Yield every file that a row points at, photos first; rows are streamed."""
    yield from _photos()
    for provider in _providers:
        yield from provider()


def _photos() -> Iterator[StoredFile]:
    rows = Image.objects.order_by("file", "pk").values_list(
        "file", "sha256", "bytes", "project__slug", "name"
    )
    last = ""
    for name, sha256, size, project, called in rows.iterator(chunk_size=2000):
        if name != last:  # projects share the file of the same photo
            yield StoredFile(PHOTO, f"{project}: {called}", name, sha256, size)
        last = name
