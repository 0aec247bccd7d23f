"""Import images: decode, refuse unusable ones, re-encode without metadata."""

import hashlib
import io
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from PIL import Image as Pillow

from hits.domain.images.decoding import UnusableImage, decode_image
from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import BadFile, StorageFull
from hits.storage import has_content, save_if_changed


@dataclass(frozen=True, slots=True)
class ImageDescription:
    """The description of an image in a manifest."""

    source_url: str = ""
    credit: str = ""
    licence: str = ""
    alt: str = ""
    split: str = ""
    entity_count: int | None = None
    stated_width: int | None = None
    stated_height: int | None = None


@dataclass(frozen=True, slots=True)
class ReencodedImage:
    """An image that is safe to serve: upright, RGB, without metadata. Sizes are pixels."""

    data: bytes
    suffix: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """An uploaded file before decoding."""

    name: str
    data: bytes
    description: ImageDescription = ImageDescription()


@dataclass(frozen=True, slots=True)
class PreparedImage:
    """A file with its hash and the image to store; ``reencoded`` is absent if the project has the file."""

    name: str
    original_sha256: str
    description: ImageDescription
    reencoded: ReencodedImage | None


def import_image(
    *, project: Project, name: str, data: bytes, description: ImageDescription = ImageDescription()
) -> tuple[Image, bool]:
    """Store one image and return it with whether it is new; the same file twice is stored once.

    Raises:
        BadFile: an unusable image; the message names it, the reason and the fix.
        StorageFull: the disk is full.
    """
    original = hashlib.sha256(data).hexdigest()
    existing = Image.objects.filter(project=project, original_sha256=original).first()
    if existing is not None:
        restore_image_file_if_faulty(image=existing, name=name, data=data)
        return existing, False
    prepared = prepare_image(IncomingFile(name, data, description), frozenset())
    (stored,) = store_images(project=project, prepared=[prepared])
    if isinstance(stored, BadFile):
        raise stored
    return stored


def restore_image_file_if_faulty(*, image: Image, name: str, data: bytes) -> bool:
    """Restore a missing or damaged file of an image from its original file; return whether it was necessary.

    Raises:
        BadFile: today's decoder gives other bytes than the row describes; nothing is changed.
        StorageFull: the disk is full.
    """
    storage = image.file.storage
    if has_content(storage, str(image.file), size=image.bytes, sha256=image.sha256):
        return False
    reencoded = reencode_image(name, data)
    if hashlib.sha256(reencoded.data).hexdigest() != image.sha256:
        raise BadFile(
            f"{name}: the stored file of {image.name} is damaged, and this file does not give the same bytes; "
            "restore the stored file from a backup"
        )
    _store_file(name, image.sha256, reencoded)
    return True


@transaction.atomic
def update_image_description(
    *, image: Image, by: AbstractBaseUser | None, credit: str, licence: str, alt: str, split: str
) -> list[str]:
    """Change an image's description; return the names of changed fields. Without a change, no event is recorded."""
    new_values = {"credit": credit, "licence": licence, "alt": alt, "split": split}
    current = Image.objects.select_for_update().get(pk=image.pk)
    changed = [name for name, value in new_values.items() if getattr(current, name) != value]
    if changed:
        Image.objects.filter(pk=image.pk).update(**{name: new_values[name] for name in changed})
        before = {name: getattr(current, name) for name in changed}
        audit.record(
            project=current.project,
            actor=by,
            action="image.describe",
            subject=image.pk,
            name=image.name,
            changed=changed,
            before=before,
        )
    return changed


def known_original_hashes(project: Project, files: Iterable[IncomingFile]) -> frozenset[str]:
    """Return the hashes of the files that the project has already; one query."""
    hashes = [hashlib.sha256(file.data).hexdigest() for file in files]
    rows = Image.objects.filter(project=project, original_sha256__in=hashes)
    return frozenset(rows.values_list("original_sha256", flat=True))


def prepare_image(file: IncomingFile, known: Container[str]) -> PreparedImage:
    """Decode and check a file, unless its hash is ``known``. It uses no database, so threads may call it.

    Raises:
        BadFile: an unusable image; the message names it, the reason and the fix.
    """
    original = hashlib.sha256(file.data).hexdigest()
    if original in known:
        return PreparedImage(file.name, original, file.description, None)
    reencoded = reencode_image(file.name, file.data)
    _check_stated_size(file.name, reencoded, file.description)
    return PreparedImage(file.name, original, file.description, reencoded)


@transaction.atomic
def store_images(
    *, project: Project, prepared: Sequence[PreparedImage]
) -> "list[tuple[Image, bool] | BadFile]":
    """Store a few images with a fixed number of queries; return each with whether it is new.

    An image with the URL of another one is not stored; the result holds its error.
    """
    originals = [item.original_sha256 for item in prepared]
    rows = Image.objects.filter(project=project, original_sha256__in=originals)
    known = {image.original_sha256: image for image in rows}
    urls = [item.description.source_url for item in prepared if item.description.source_url]
    image_by_url = {
        image.source_url: image for image in Image.objects.filter(project=project, source_url__in=urls)
    }
    new_images: dict[str, Image] = {}
    problems: dict[int, BadFile] = {}
    for index, item in enumerate(prepared):
        if item.reencoded is None or item.original_sha256 in known or item.original_sha256 in new_images:
            continue
        image = _build_image(project, item, item.reencoded)
        owner = image_by_url.setdefault(image.source_url, image) if image.source_url else image
        if owner is not image:
            problems[index] = BadFile(f"{item.name}: {owner.name} has the same url; give each photo its own")
            continue
        new_images[item.original_sha256] = image
    # Another process may store the same file.
    Image.objects.bulk_create(new_images.values(), ignore_conflicts=True)
    stored = {image.original_sha256: image for image in rows.all()}
    return [
        problems.get(at) or _pick_stored_image(item, stored, new_images.pop(item.original_sha256, None))
        for at, item in enumerate(prepared)
    ]


def _pick_stored_image(
    item: PreparedImage, stored: Mapping[str, Image], new_image: Image | None
) -> "tuple[Image, bool] | BadFile":
    image = stored.get(item.original_sha256)
    if image is None:
        return BadFile(f"{item.name}: another process stored it at this moment; import it again")
    return image, new_image is not None


def _build_image(project: Project, item: PreparedImage, reencoded: ReencodedImage) -> Image:
    digest = hashlib.sha256(reencoded.data).hexdigest()
    description = item.description
    return Image(
        project=project,
        original_sha256=item.original_sha256,
        name=Path(item.name).name[:200],
        sha256=digest,
        width=reencoded.width,
        height=reencoded.height,
        bytes=len(reencoded.data),
        source_url=description.source_url,
        credit=description.credit[:300],
        licence=description.licence[:120],
        alt=description.alt[:300],
        split=description.split,
        entity_count=description.entity_count,
        # Content-addressed: the name reveals nothing about people and cannot clash.
        file=_store_file(item.name, digest, reencoded),
    )


def find_image_by_url(project: Project, url: str) -> Image | None:
    """Return the project's image with this URL; rows of a release name their image by it."""
    return Image.objects.filter(project=project, source_url=url).first() if url else None


def reencode_image(name: str, data: bytes) -> ReencodedImage:
    """Return the re-encoded image.

    Raises:
        BadFile: it is broken, too large, CMYK or animated, or has the wrong suffix.
    """
    try:
        picture, source_format = decode_image(
            name, data, max_bytes=settings.MAX_IMAGE_BYTES, max_pixels=settings.MAX_IMAGE_PIXELS
        )
    except UnusableImage as error:
        raise BadFile(str(error)) from error
    return _encode(picture, source_format)


def _encode(picture: Pillow.Image, source_format: str) -> ReencodedImage:
    buffer = io.BytesIO()
    if source_format == "JPEG":
        picture.save(buffer, "JPEG", quality=95, subsampling=0)
        suffix = ".jpg"
    else:
        picture.save(buffer, "PNG")
        suffix = ".png"
    return ReencodedImage(buffer.getvalue(), suffix, picture.width, picture.height)


def _store_file(name: str, digest: str, reencoded: ReencodedImage) -> str:
    """Write an image's file before its row is committed; return its path below the media folder.

    Raises:
        StorageFull: it cannot be written, and no part of it stays.
    """
    storage = Image._meta.get_field("file").storage
    try:
        return save_if_changed(storage, f"images/{digest[:2]}/{digest}{reencoded.suffix}", reencoded.data)
    except OSError as error:
        raise StorageFull.from_os_error(error, f"{name}: was not stored") from error


def _check_stated_size(name: str, reencoded: ReencodedImage, description: ImageDescription) -> None:
    stated = (description.stated_width, description.stated_height)
    if None not in stated and stated != (reencoded.width, reencoded.height):
        raise BadFile(
            f"{name}: the manifest has {stated[0]} × {stated[1]}, the file is "
            f"{reencoded.width} × {reencoded.height}; boxes would not fit, so correct the manifest"
        )
