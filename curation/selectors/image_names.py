"""The film and the published name of images: of frames, of imported VCR images, and of other photos."""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from curation.models import Frame, Source, SourceRecord
from curation.records import MAX_MOVIE_LENGTH
from hits.domain.hashing import content_sha256
from hits.models import Image
from hits.selectors.records import id_chunks

_UNSAFE_PATTERN = re.compile(r"[^A-Za-z0-9_.@ ()'-]+")
_HASH_LENGTH = 8


@dataclass(frozen=True, slots=True)
class PublishedName:
    """An image's film, and its file name in the published layout, such as ``film/clip@3.jpg``."""

    movie: str
    file: str

    @property
    def metadata_file(self) -> str:
        """The file name of its metadata."""
        return str(PurePosixPath(self.file).with_suffix(".json"))

    def metadata_file_of(self, objects_sha256: str) -> str:
        """Return the file name of the metadata of a further object list of the image."""
        return str(PurePosixPath(self.file).with_suffix(f".{objects_sha256[:8]}.json"))


def published_names(image_ids: Collection[int]) -> dict[int, PublishedName]:
    """Return the film and file name of images, by image id.

    A frame has its clip's film. An image imported from VCR has its name there. Another photo in a folder belongs to
    the film of that name; a photo without a folder is a film by itself, for nothing connects it to other photos.
    """
    found: dict[int, PublishedName] = {}
    for chunk in id_chunks(sorted(image_ids)):
        images = Image.objects.in_bulk(chunk)
        frames = {row.image_id: row for row in Frame.objects.filter(image__in=chunk).select_related("clip")}
        records = {
            row.image_id: row for row in SourceRecord.objects.filter(image__in=chunk, source=Source.VCR)
        }
        found |= {pk: _published_name(image, frames, records) for pk, image in images.items()}
    return _make_distinct(found)


def movies(image_ids: Collection[int]) -> dict[int, str]:
    """Return the film of images, by image id (``published_names``)."""
    return {pk: name.movie for pk, name in published_names(image_ids).items()}


def _published_name(
    image: Image, frames: Mapping[int, Frame], records: Mapping[int, SourceRecord]
) -> PublishedName:
    frame, record = frames.get(image.pk), records.get(image.pk)
    ending = PurePosixPath(str(image.file.name)).suffix
    if frame is not None:
        movie = _safe_part(frame.clip.movie)
        return PublishedName(movie, f"{movie}/{_safe_part(frame.clip.name)}@{frame.shot}{ending}")
    if record is not None:
        movie = str(record.facts.get("movie") or PurePosixPath(record.source_id).parent)
        return PublishedName(_safe_part(movie), str(PurePosixPath(record.source_id).with_suffix(ending)))
    path = PurePosixPath(image.name)
    stem = _safe_part(path.stem)
    movie = _safe_part(path.parent.name) if path.parent.name else f"photo-{image.pk}"
    return PublishedName(movie, f"{movie}/{stem}{ending}")


def _safe_part(text: str) -> str:
    """Return a text as a part of a path, in ASCII and without accents.

    If letters are lost, it ends with a hash of the text: films named in other scripts would be one film otherwise.
    """
    decomposed = unicodedata.normalize("NFKD", text)
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    safe = _UNSAFE_PATTERN.sub("_", plain).strip(". ") or "unnamed"
    if len(plain) <= len(text) and not any(letter.isalnum() for letter in plain if not letter.isascii()):
        return safe
    digest = content_sha256([unicodedata.normalize("NFC", text)])[:_HASH_LENGTH]
    return f"{safe[: MAX_MOVIE_LENGTH - _HASH_LENGTH - 1]}-{digest}"


def _make_distinct(names: Mapping[int, PublishedName]) -> dict[int, PublishedName]:
    """Return the names with the image's id in those that an earlier image has already.

    Names that differ only in their ending count as equal, because their metadata would have one name.
    """
    used: set[str] = set()
    return {pk: _distinct_name(pk, name, used) for pk, name in sorted(names.items())}


def _distinct_name(pk: int, name: PublishedName, used: set[str]) -> PublishedName:
    if name.metadata_file in used:
        path = PurePosixPath(name.file)
        name = PublishedName(name.movie, str(path.with_stem(f"{path.stem}-{pk}")))
    used.add(name.metadata_file)
    return name
