"""Image import: what is refused, and that no camera metadata stays."""

import io
from pathlib import Path

import pytest
from PIL import Image as Pillow
from PIL import ImageCms

from hits.models import Image, Project
from hits.services.errors import BadFile
from hits.services.images.import_image import import_image, reencode_image
from hits.services.images.manifests import import_image_files
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db


def test_size_and_hash_are_of_the_served_file(project: Project) -> None:
    image, new = import_image(project=project, name="a.png", data=picture(64, 48))
    with image.file.open() as file, Pillow.open(file) as served:
        assert served.size == (image.width, image.height) == (64, 48)
    assert new


def test_the_same_file_is_stored_once(project: Project) -> None:
    first, _ = import_image(project=project, name="a.png", data=picture())
    again, new = import_image(project=project, name="b.png", data=picture())
    assert (again.pk, new, Image.objects.count()) == (first.pk, False, 1)


def test_exif_is_stripped_and_the_picture_turned_upright(project: Project) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6  # rotate 90° clockwise
    exif[0x010E] = "taken at home"
    exif.get_ifd(0x8825)[2] = (48.0, 8.0, 0.0)  # a place
    data = picture(64, 48, image_format="JPEG", exif=exif.tobytes())
    image, _ = import_image(project=project, name="a.jpg", data=data)
    with image.file.open() as file, Pillow.open(file) as served:
        assert not dict(served.getexif())
        assert "exif" not in served.info
        assert served.size == (48, 64)
    assert (image.width, image.height) == (48, 64)


def _animated() -> bytes:
    buffer = io.BytesIO()
    frames = [Pillow.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(buffer, "WEBP", save_all=True, append_images=frames[1:], duration=10)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("broken.jpg", picture(image_format="JPEG")[:200], "not a readable image"),
        ("text.png", b"no picture at all", "not a readable image"),
        ("print.jpg", picture(image_format="JPEG", mode="CMYK"), "CMYK"),
        ("moving.webp", _animated(), "animated"),
        ("wrong.jpg", picture(image_format="PNG"), r"a PNG file; rename it to \.png"),
        ("old.bmp", picture(image_format="BMP"), "use JPEG, PNG or WebP"),
    ],
)
def test_unusable_pictures_are_refused_by_name(project: Project, name: str, data: bytes, why: str) -> None:
    with pytest.raises(BadFile, match=f"^{name}: .*{why}"):
        import_image(project=project, name=name, data=data)
    assert not Image.objects.exists()


def test_huge_pictures_are_refused_before_they_are_decoded(project: Project, settings) -> None:
    settings.MAX_IMAGE_PIXELS = 64 * 48 - 1
    with pytest.raises(BadFile, match="64 × 48 is too large"):
        reencode_image("a.png", picture(64, 48))
    settings.MAX_IMAGE_BYTES = 10
    with pytest.raises(BadFile, match="is too large; use"):
        reencode_image("a.png", picture())


def test_transparency_becomes_white() -> None:
    buffer = io.BytesIO()
    Pillow.new("RGBA", (4, 4), (0, 0, 0, 0)).save(buffer, "PNG")
    decoded = reencode_image("clear.png", buffer.getvalue())
    with Pillow.open(io.BytesIO(decoded.data)) as served:
        assert served.getpixel((0, 0)) == (255, 255, 255)


def test_phone_jpeg_with_a_preview_keeps_the_photo() -> None:
    buffer = io.BytesIO()
    photo, preview = (
        Pillow.new("RGB", size, colour) for size, colour in (((64, 48), "red"), ((8, 6), "blue"))
    )
    photo.save(buffer, "MPO", save_all=True, append_images=[preview], quality=95)
    decoded = reencode_image("phone.jpg", buffer.getvalue())
    assert (decoded.width, decoded.height, decoded.suffix) == (64, 48, ".jpg")
    assert _colour(decoded.data)[0] > 250


def test_colours_of_a_profile_are_brought_to_srgb() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    buffer = io.BytesIO()
    Pillow.new("RGB", (8, 8), (250, 10, 10)).save(buffer, "PNG", icc_profile=_red_is_green(profile))
    red, green, _ = _colour(reencode_image("a.png", buffer.getvalue()).data)
    assert green > 240
    assert red < 30


def test_a_broken_profile_changes_nothing() -> None:
    buffer = io.BytesIO()
    Pillow.new("RGB", (8, 8), (250, 10, 10)).save(buffer, "PNG", icc_profile=b"no profile")
    assert _colour(reencode_image("a.png", buffer.getvalue()).data) == (250, 10, 10)


def _colour(data: bytes) -> tuple[int, int, int]:
    with Pillow.open(io.BytesIO(data)) as served:
        return served.convert("RGB").getpixel((2, 2))  # type: ignore[return-value]


def _red_is_green(profile: bytes) -> bytes:
    """Exchange the primaries' names in the table of tags (ICC.1:2022, 7.3)."""
    red, green = (profile.index(name, 132) for name in (b"rXYZ", b"gXYZ"))
    changed = bytearray(profile)
    changed[red : red + 4], changed[green : green + 4] = b"gXYZ", b"rXYZ"
    return bytes(changed)


def _manifest(folder: Path, text: str) -> Path:
    (folder / "a.png").write_bytes(picture(seed=1))
    (folder / "b.png").write_bytes(picture(seed=2))
    path = folder / "manifest.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_manifest_describes_its_pictures(project: Project, tmp_path: Path) -> None:
    path = _manifest(
        tmp_path, "file,url,split,width,height\na.png,https://example.org/a,val,64,48\nb.png,,,,\n"
    )
    done = import_image_files(project=project, path=path)
    assert (done.new, done.known) == (2, 0)
    assert done.images[0].source_url == "https://example.org/a"
    assert done.images[0].split == "val"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("picture\na.png\n", "row 1 has no column “file”"),
        ("file,colour\na.png,red\n", "row 1 has the unknown column 'colour'"),
        # The published sample is ragged in just this way: four columns, two values.
        ("width,url,height,file\n346,https://example.org/a\n", "row 2 has 2 values, the header has 4"),
        ("file,width\na.png,wide\n", "row 2, column width: 'wide' is not a whole number"),
        ("file,split\na.png,valid\n", "row 2, column split: 'valid' is unknown"),
        ("file\n../a.png\n", "row 2, column file: leaves the manifest's folder"),
        ("file\na.png\nmissing.png\n", r"row 3: missing.png cannot be read"),
        ("file,width,height\na.png,640,480\n", "row 2, columns width and height: 640 × 480 stated"),
        ("", "row 1 has no column “file”"),
    ],
)
def test_a_bad_manifest_names_row_and_column_and_writes_nothing(
    project: Project, tmp_path: Path, text: str, where: str
) -> None:
    path = _manifest(tmp_path, text)
    with pytest.raises(BadFile, match=where):
        import_image_files(project=project, path=path)
    assert not Image.objects.exists()


def test_empty_folder_is_refused(project: Project, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="has no photos"):
        import_image_files(project=project, path=tmp_path)


def test_two_pictures_of_one_address_are_refused_by_row(project: Project, tmp_path: Path) -> None:
    """A released row names its image by its address."""
    rows = "file,url\na.png,https://example.org/1\nb.png,https://example.org/1\n"
    with pytest.raises(BadFile, match=r"row 3, column url: row 2 has the same url"):
        import_image_files(project=project, path=_manifest(tmp_path, rows))
    assert not Image.objects.exists()
    import_image_files(project=project, path=_manifest(tmp_path, "file,url\na.png,https://example.org/1\n"))
    with pytest.raises(BadFile, match=r"row 2, column url: the image a\.png has the same url"):
        import_image_files(
            project=project, path=_manifest(tmp_path, "file,url\nb.png,https://example.org/1\n")
        )
    again = import_image_files(
        project=project, path=_manifest(tmp_path, "file,url\na.png,https://example.org/1\n")
    )
    assert (again.new, again.known) == (0, 1)
