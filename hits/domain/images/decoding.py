"""Decode an image file of unknown origin: refuse unusable ones, and return upright sRGB pixels without metadata."""

import io
import struct
from pathlib import Path

from PIL import Image as Pillow
from PIL import ImageCms, UnidentifiedImageError

_SUFFIXES = {"JPEG": {".jpg", ".jpeg"}, "PNG": {".png"}, "WEBP": {".webp"}}
_MODES = {"RGB", "L", "P", "RGBA", "LA"}
# Phones append a preview or a gain map to the photograph: the file is a JPEG, and its first frame is the photo.
_PHONE_JPEG = "MPO"
_ORIENTATION = 0x0112  # EXIF 2.3, table 4
_TRANSPOSES = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}
SUFFIXES = frozenset().union(*_SUFFIXES.values())


class UnusableImage(ValueError):
    """An image file that cannot be used; the message names the file, the reason and the fix."""


def decode_image(
    name: str, data: bytes, *, max_bytes: int, max_pixels: int, check_suffix: bool = True
) -> tuple[Pillow.Image, str]:
    """Return an upright RGB image without metadata, and the format of its file: JPEG, PNG or WEBP.

    Transparent parts become white.

    Args:
        name: the file's name, which starts each message.
        check_suffix: whether the name's suffix must be one of the format's.

    Raises:
        UnusableImage: it is broken, too large, CMYK or animated, or has the wrong suffix.
    """
    if len(data) > max_bytes:
        megabytes = max_bytes // 1024**2
        raise UnusableImage(f"{name}: {len(data) / 1024**2:.0f} MB is too large; use {megabytes} MB or less")
    try:
        with Pillow.open(io.BytesIO(data)) as picture:
            _check_header(name, picture, max_pixels, check_suffix=check_suffix)
            source_format = _source_format(picture)
            picture.load()
            return _without_metadata(
                _flatten_transparency(_to_srgb(_apply_orientation(picture)))
            ), source_format
    except UnusableImage:
        raise
    except Pillow.DecompressionBombError as error:
        raise UnusableImage(f"{name}: has too many pixels; make it smaller") from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError) as error:
        raise UnusableImage(f"{name}: is not a readable image; export it again as JPEG or PNG") from error


def _source_format(picture: Pillow.Image) -> str:
    return "JPEG" if picture.format == _PHONE_JPEG else str(picture.format)


def _check_header(name: str, picture: Pillow.Image, max_pixels: int, *, check_suffix: bool) -> None:
    found = _source_format(picture)
    if found not in _SUFFIXES:
        raise UnusableImage(f"{name}: is {picture.format or 'unknown'}; use JPEG, PNG or WebP")
    suffix = Path(name).suffix.lower()
    if check_suffix and suffix not in _SUFFIXES[found]:
        expected = sorted(_SUFFIXES[found])[-1]
        raise UnusableImage(f"{name}: is a {found} file; rename it to {expected}")
    if picture.format != _PHONE_JPEG and getattr(picture, "n_frames", 1) > 1:
        raise UnusableImage(f"{name}: is animated; export one frame")
    if picture.mode == "CMYK":
        raise UnusableImage(f"{name}: is CMYK, whose colours change on screens; convert it to RGB")
    if picture.mode not in _MODES:
        raise UnusableImage(f"{name}: has the pixel format {picture.mode}; convert it to 8-bit RGB")
    if picture.width * picture.height > max_pixels:
        raise UnusableImage(
            f"{name}: {picture.width} × {picture.height} is too large; "
            f"use {max_pixels // 10**6} megapixels or less"
        )


def _apply_orientation(picture: Pillow.Image) -> Pillow.Image:
    """Turn the image by its EXIF orientation. Pillow's own function also rewrites the EXIF, which may fail."""
    try:
        transpose = _TRANSPOSES.get(picture.getexif().get(_ORIENTATION) or 1)
    except (struct.error, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise ValueError("unreadable EXIF") from error
    return picture if transpose is None else picture.transpose(transpose)


def _to_srgb(picture: Pillow.Image) -> Pillow.Image:
    """Convert the colours of a profile (Display P3, Adobe RGB) to sRGB, since the served file has no profile."""
    profile = picture.info.get("icc_profile")
    if not profile or picture.mode not in {"RGB", "RGBA"}:
        return picture
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB")) or picture
    except (ImageCms.PyCMSError, OSError):  # a broken profile does not describe the pixels
        return picture


def _flatten_transparency(picture: Pillow.Image) -> Pillow.Image:
    if picture.mode in {"RGBA", "LA"} or "transparency" in picture.info:
        rgba = picture.convert("RGBA")
        background = Pillow.new("RGBA", rgba.size, "white")
        return Pillow.alpha_composite(background, rgba).convert("RGB")
    return picture.convert("RGB")


def _without_metadata(picture: Pillow.Image) -> Pillow.Image:
    clean = Pillow.new("RGB", picture.size)
    clean.paste(picture)  # a new image has no EXIF, comments or profiles
    return clean
