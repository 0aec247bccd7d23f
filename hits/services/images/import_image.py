"""Take pictures in: decode, refuse what would surprise later, re-encode without metadata."""

import hashlib
import io
import struct
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from PIL import Image as Pillow
from PIL import ImageCms, UnidentifiedImageError

from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import BadFile, NoRoom
from hits.storage import holds, keep_content

_SUFFIXES = {"JPEG": {".jpg", ".jpeg"}, "PNG": {".png"}, "WEBP": {".webp"}}
_MODES = {"RGB", "L", "P", "RGBA", "LA"}
# Phones put a preview or a gain map behind the photograph: a JPEG still, whose first frame is the picture.
_PHONE_JPEG = "MPO"
_ORIENTATION = 0x0112  # EXIF 2.3, table 4
_TURNS = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}
SUFFIXES = frozenset().union(*_SUFFIXES.values())


@dataclass(frozen=True, slots=True)
class Description:
    """What a manifest may say about an image besides its pixels."""

    source_url: str = ""
    credit: str = ""
    licence: str = ""
    alt: str = ""
    split: str = ""
    entity_count: int | None = None
    stated_width: int | None = None
    stated_height: int | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A picture that is safe to serve: upright, RGB, without metadata. Sizes in pixels."""

    data: bytes
    suffix: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file that came in, not looked at yet."""

    name: str
    data: bytes
    about: Description = Description()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file with its hash, and the picture to store; ``decoded`` is absent for one that the project has."""

    name: str
    original_sha256: str
    about: Description
    decoded: Decoded | None


def import_image(
    *, project: Project, name: str, data: bytes, about: Description = Description()
) -> tuple[Image, bool]:
    """Store one picture and return it with whether it is new; the same file twice is stored once.

    Raises:
        BadFile: the picture cannot be used; the message names it, the reason and the mend.
        NoRoom: the disk takes no more.
    """
    original = hashlib.sha256(data).hexdigest()
    known = Image.objects.filter(project=project, original_sha256=original).first()
    if known is not None:
        restore_image(image=known, name=name, data=data)
        return known, False
    prepared = prepare_image(Incoming(name, data, about), frozenset())
    (stored,) = store_images(project=project, prepared=[prepared])
    if isinstance(stored, BadFile):
        raise stored
    return stored


def restore_image(*, image: Image, name: str, data: bytes) -> bool:
    """Write a photo's file anew from the file that it came from, if it is missing or damaged; return whether it was.

    Raises:
        BadFile: today's decoder makes other bytes of it than the row has; nothing is changed then.
        NoRoom: the disk takes no more.
    """
    storage = image.file.storage
    if holds(storage, str(image.file), size=image.bytes, sha256=image.sha256):
        return False
    decoded = decode(name, data)
    if hashlib.sha256(decoded.data).hexdigest() != image.sha256:
        raise BadFile(
            f"{name}: the stored file of {image.name} is damaged, and this one no longer gives the same bytes; "
            "bring the stored file back from a backup"
        )
    _store(name, image.sha256, decoded)
    return True


@transaction.atomic
def describe_image(
    *, image: Image, by: AbstractBaseUser | None, credit: str, licence: str, alt: str, split: str
) -> list[str]:
    """Change what is said about a photo, and return the names of the fields that changed; none is no event."""
    wanted = {"credit": credit, "licence": licence, "alt": alt, "split": split}
    held = Image.objects.select_for_update().get(pk=image.pk)
    changed = [name for name, value in wanted.items() if getattr(held, name) != value]
    if changed:
        Image.objects.filter(pk=image.pk).update(**{name: wanted[name] for name in changed})
        before = {name: getattr(held, name) for name in changed}
        audit.record(
            project=held.project,
            actor=by,
            action="image.describe",
            subject=image.pk,
            name=image.name,
            changed=changed,
            before=before,
        )
    return changed


def known_originals(project: Project, files: Iterable[Incoming]) -> frozenset[str]:
    """Return the hashes of those files that the project has; one query."""
    hashes = [hashlib.sha256(file.data).hexdigest() for file in files]
    rows = Image.objects.filter(project=project, original_sha256__in=hashes)
    return frozenset(rows.values_list("original_sha256", flat=True))


def prepare_image(file: Incoming, known: Container[str]) -> Prepared:
    """Decode a file and check it, unless its hash is ``known``. Asks no database, so that threads may do it.

    Raises:
        BadFile: the picture cannot be used; the message names it, the reason and the mend.
    """
    original = hashlib.sha256(file.data).hexdigest()
    if original in known:
        return Prepared(file.name, original, file.about, None)
    decoded = decode(file.name, file.data)
    _check_stated_size(file.name, decoded, file.about)
    return Prepared(file.name, original, file.about, decoded)


@transaction.atomic
def store_images(*, project: Project, prepared: Sequence[Prepared]) -> "list[tuple[Image, bool] | BadFile]":
    """Store a few pictures with a handful of queries; each comes back with whether it is new.

    A picture whose address another one has is not stored; its place holds the reason.
    """
    originals = [item.original_sha256 for item in prepared]
    rows = Image.objects.filter(project=project, original_sha256__in=originals)
    known = {image.original_sha256: image for image in rows}
    urls = [item.about.source_url for item in prepared if item.about.source_url]
    owners = {image.source_url: image for image in Image.objects.filter(project=project, source_url__in=urls)}
    fresh: dict[str, Image] = {}
    problems: dict[int, BadFile] = {}
    for at, item in enumerate(prepared):
        if item.decoded is None or item.original_sha256 in known or item.original_sha256 in fresh:
            continue
        image = _row(project, item, item.decoded)
        owner = owners.setdefault(image.source_url, image) if image.source_url else image
        if owner is not image:
            problems[at] = BadFile(
                f"{item.name}: its url is that of {owner.name} already; give each photo its own"
            )
            continue
        fresh[item.original_sha256] = image
    Image.objects.bulk_create(fresh.values(), ignore_conflicts=True)  # somebody may store the same meanwhile
    stored = {image.original_sha256: image for image in rows.all()}
    return [
        problems.get(at) or _outcome(item, stored, fresh.pop(item.original_sha256, None))
        for at, item in enumerate(prepared)
    ]


def _outcome(
    item: Prepared, stored: Mapping[str, Image], fresh: Image | None
) -> "tuple[Image, bool] | BadFile":
    image = stored.get(item.original_sha256)
    if image is None:
        return BadFile(f"{item.name}: was stored by somebody else at this moment; import it again")
    return image, fresh is not None


def _row(project: Project, item: Prepared, decoded: Decoded) -> Image:
    digest = hashlib.sha256(decoded.data).hexdigest()
    about = item.about
    return Image(
        project=project,
        original_sha256=item.original_sha256,
        name=Path(item.name).name[:200],
        sha256=digest,
        width=decoded.width,
        height=decoded.height,
        bytes=len(decoded.data),
        source_url=about.source_url,
        credit=about.credit[:300],
        licence=about.licence[:120],
        alt=about.alt[:300],
        split=about.split,
        entity_count=about.entity_count,
        # Content-addressed: the name tells nothing about people and cannot clash.
        file=_store(item.name, digest, decoded),
    )


def url_taken(project: Project, url: str) -> Image | None:
    """Return the project's image that came from there; a released row names its image by this address."""
    return Image.objects.filter(project=project, source_url=url).first() if url else None


def decode(name: str, data: bytes) -> Decoded:
    """Return the picture re-encoded, or say why it is refused.

    Raises:
        BadFile: broken, too large, CMYK, animated, or not what its name says.
    """
    if len(data) > settings.MAX_IMAGE_BYTES:
        megabytes = settings.MAX_IMAGE_BYTES // 1024**2
        raise BadFile(f"{name}: {len(data) / 1024**2:.0f} MB is too large; use {megabytes} MB or less")
    try:
        with Pillow.open(io.BytesIO(data)) as picture:
            _check_header(name, picture)
            source_format = _format(picture)
            picture.load()
            return _encode(_flatten(_to_srgb(_upright(picture))), source_format)
    except BadFile:
        raise
    except Pillow.DecompressionBombError as error:
        raise BadFile(f"{name}: has too many pixels; make it smaller first") from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError) as error:
        raise BadFile(f"{name}: is broken or no image; export it again as JPEG or PNG") from error


def _format(picture: Pillow.Image) -> str:
    return "JPEG" if picture.format == _PHONE_JPEG else str(picture.format)


def _check_header(name: str, picture: Pillow.Image) -> None:
    found = _format(picture)
    if found not in _SUFFIXES:
        raise BadFile(f"{name}: is {picture.format or 'unknown'}; use JPEG, PNG or WebP")
    suffix = Path(name).suffix.lower()
    if suffix not in _SUFFIXES[found]:
        right = sorted(_SUFFIXES[found])[-1]
        raise BadFile(f"{name}: is really {found}; rename it to {right}")
    if picture.format != _PHONE_JPEG and getattr(picture, "n_frames", 1) > 1:
        raise BadFile(f"{name}: is animated; export the one frame that is meant")
    if picture.mode == "CMYK":
        raise BadFile(f"{name}: is CMYK, whose colours would change on screens; convert it to RGB first")
    if picture.mode not in _MODES:
        raise BadFile(f"{name}: has the pixel format {picture.mode}; convert it to 8-bit RGB")
    if picture.width * picture.height > settings.MAX_IMAGE_PIXELS:
        raise BadFile(
            f"{name}: {picture.width} × {picture.height} is too large; "
            f"use {settings.MAX_IMAGE_PIXELS // 10**6} megapixels or less"
        )


def _upright(picture: Pillow.Image) -> Pillow.Image:
    """Turn the picture as its EXIF says. Pillow's own function also writes the EXIF anew, and may fail at it."""
    try:
        turn = _TURNS.get(picture.getexif().get(_ORIENTATION) or 1)
    except (struct.error, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise ValueError("its EXIF cannot be read") from error
    return picture if turn is None else picture.transpose(turn)


def _to_srgb(picture: Pillow.Image) -> Pillow.Image:
    """Bring the colours of a profile (Display P3, Adobe RGB) to sRGB, since no profile is served along."""
    profile = picture.info.get("icc_profile")
    if not profile or picture.mode not in {"RGB", "RGBA"}:
        return picture
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB")) or picture
    except (ImageCms.PyCMSError, OSError):  # a broken profile says nothing about the pixels
        return picture


def _flatten(picture: Pillow.Image) -> Pillow.Image:
    if picture.mode in {"RGBA", "LA"} or "transparency" in picture.info:
        rgba = picture.convert("RGBA")
        ground = Pillow.new("RGBA", rgba.size, "white")
        return Pillow.alpha_composite(ground, rgba).convert("RGB")
    return picture.convert("RGB")


def _encode(picture: Pillow.Image, source_format: str) -> Decoded:
    clean = Pillow.new("RGB", picture.size)
    clean.paste(picture)  # a fresh image carries no EXIF, comments or profiles along
    buffer = io.BytesIO()
    if source_format == "JPEG":
        clean.save(buffer, "JPEG", quality=95, subsampling=0)
        suffix = ".jpg"
    else:
        clean.save(buffer, "PNG")
        suffix = ".png"
    return Decoded(buffer.getvalue(), suffix, clean.width, clean.height)


def _store(name: str, digest: str, decoded: Decoded) -> str:
    """Keep a picture’s file, on the disk before its row is committed, and return its path below the media folder.

    Raises:
        NoRoom: it cannot be written; nothing is left of it.
    """
    storage = Image._meta.get_field("file").storage
    try:
        return keep_content(storage, f"images/{digest[:2]}/{digest}{decoded.suffix}", decoded.data)
    except OSError as error:
        raise NoRoom.after(error, f"{name}: was not stored") from error


def _check_stated_size(name: str, decoded: Decoded, about: Description) -> None:
    stated = (about.stated_width, about.stated_height)
    if None not in stated and stated != (decoded.width, decoded.height):
        raise BadFile(
            f"{name}: the manifest says {stated[0]} × {stated[1]}, the file is "
            f"{decoded.width} × {decoded.height}; boxes would not fit, so mend the manifest"
        )
