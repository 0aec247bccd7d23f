"""Lists of images: their splits, and the allowed images.

Visual Genome has no splits of its own. Two lists are common, and both forms are read here:

* DenseCap (Johnson et al. 2016, doi:10.1109/CVPR.2016.494): 77,398 / 5,000 / 5,000 images, as one JSON object
  ``{"train": [ids], "val": [...], "test": [...]}`` (``info/densecap_splits.json``) or as three JSON lists of ids
  (``data/train_split.json`` and so on in the repository jcjohnson/densecap);
* bottom-up attention (Anderson et al. 2018, doi:10.1109/CVPR.2018.00636): 98,077 / 5,000 / 5,000, chosen so that the
  Karpathy splits of COCO stay separate; three text files whose lines start with ``VG_100K/2372979.jpg``.

VCR ships its splits as ``train.jsonl``, ``val.jsonl`` and ``test.jsonl``. VisualCOMET (Park et al. 2020,
doi:10.1007/978-3-030-58558-7_30) keeps them: ``train_annots.json`` and its siblings are JSON lists of records with
``img_fn``. Hessel et al. 2022, appendix A.2: "aligned with the community standard splits for these corpora".
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from curation.records import InvalidInput
from curation.sources.json_stream import iterate_list, parse_json
from curation.sources.records import SPLITS

MAX_SPLIT_FILE_BYTES = 1 << 26


def read_splits(files: Mapping[str, str]) -> dict[str, str]:
    """Return the split of each image id.

    Args:
        files: path by split; the key ``""`` is one JSON object with a list for each split.

    Raises:
        InvalidInput: an unknown split, an unreadable or empty list, or an id in two splits.
    """
    splits: dict[str, str] = {}
    for split, names in _iterate_lists(files):
        for name in names:
            image_id = parse_image_id(name)
            if splits.setdefault(image_id, split) != split:
                raise InvalidInput(
                    f"image {image_id} is in the lists of {splits[image_id]} and {split}; take it out of one"
                )
    return splits


def read_names(path: Path) -> Iterator[str]:
    """Yield the images of a list: ids or file names.

    A ``.json`` file is a list of numbers, of texts, or of records with ``img_fn`` (VisualCOMET) or ``image_id``.
    Any other file is text: the first word of each line; empty lines and lines that start with ``#`` are skipped.

    Raises:
        InvalidInput: unreadable, or an entry that names no image.
    """
    if path.suffix.lower() == ".json":
        for found in iterate_list(path):
            yield _parse_name(found.value, f"{path}: record {found.number}")
        return
    for line in read_text(path).splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            yield words[0]


def read_allowed_names(paths: Sequence[str]) -> set[str]:
    """Return the union of the names of all lists.

    Raises:
        InvalidInput: a list is unreadable or empty.
    """
    allowed: set[str] = set()
    for path in paths:
        names = set(read_names(Path(path)))
        if not names:
            raise InvalidInput(f"{path}: names no image; give one name per line, or a JSON list")
        allowed |= names
    return allowed


def missing_list_warning(list_name: str, *, split: str, count: int | None, hint: str) -> str:
    """Return the warning that no list of splits was given.

    Args:
        list_name: the missing list. split: the split of all images. count: number of images, if known.
    """
    how_many = "all images" if count is None else "the only image" if count == 1 else f"all {count:,} images"
    verb = "is" if count == 1 else "are"
    return f"No {list_name} was given: {how_many} {verb} put into {split}; {hint}"


def parse_image_id(name: str) -> str:
    """Return an id as the collection writes it: ``VG_100K_2/2378438.jpg`` and ``2378438`` are ``2378438``."""
    return PurePosixPath(name).stem if "." in name else PurePosixPath(name).name


def read_text(path: Path) -> str:
    """Return a small text file.

    Raises:
        InvalidInput: unreadable, too large, or not UTF-8.
    """
    try:
        if path.stat().st_size > MAX_SPLIT_FILE_BYTES:
            raise InvalidInput(f"{path}: is too large for a list of images; check its name")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check its name") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text; save it again as UTF-8") from error


def _iterate_lists(files: Mapping[str, str]) -> Iterator[tuple[str, Sequence[str]]]:
    for split, file in files.items():
        if split == "":
            yield from _read_combined_file(Path(file))
            continue
        if split not in SPLITS:
            raise InvalidInput(f"split {split!r} is unknown; use {', '.join(SPLITS)}")
        names = list(read_names(Path(file)))
        if not names:
            raise InvalidInput(f"{file}: names no image for {split}; give one id per line, or a JSON list")
        yield split, names


def _read_combined_file(path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    value = parse_json(read_text(path), str(path))
    if not isinstance(value, dict) or not value or set(value) - set(SPLITS):
        raise InvalidInput(f"{path}: must be an object with the lists {', '.join(SPLITS)}")
    for split, names in value.items():
        if not isinstance(names, list) or not names:
            raise InvalidInput(f"{path}: {split} must be a non-empty list of image ids")
        yield (
            split,
            [
                _parse_name(item, f"{path}: {split}, entry {position}")
                for position, item in enumerate(names, start=1)
            ],
        )


def _parse_name(value: Any, where: str) -> str:
    if isinstance(value, dict):
        value = value.get("img_fn", value.get("image_id"))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{where}: names no image; use an id, a file name, or a record with img_fn")
    return value.strip()
