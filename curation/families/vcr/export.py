"""Write a sealed version in the published layout, without held answers, and keep those beside it.

    public/train.jsonl, val.jsonl, test.jsonl      a question per line; held splits without labels and sources
    public/vcr1images/<film>/<image>.jpg, .json    photos, and their objects
    public/photos.jsonl, folds.json                credit and licence of each photo; films and questions of each fold
    public/manifest.json                           the hashes of these files
    held/answer_key.jsonl, secrets.json            the labels of held splits, and the keys of question sets
    held/question_test.jsonl, triplet_train.jsonl… the other rows as sealed, for verification

Only ``public`` is published. ``held`` also has the checksums: the hash of a row tells its label to anybody who tries
all of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from curation.families.vcr.published import key_line, metadata_of, without_answers
from curation.families.vcr.rows import OBJECT_LIST, QUESTION
from curation.matching.folds import HELD_SPLITS
from curation.models import DatasetVersion, QuestionSet, VersionRow
from curation.versions.board import HELD, PUBLIC
from curation.versions.export import pretty_json
from curation.versions.family import Part, row_contents, row_files, row_lines
from curation.versions.photos import photo_rows
from hits.domain.hashing import canonical_json
from hits.models import Image

IMAGES_FOLDER = "vcr1images"
BLIND = "blind"  # a split that is not published at all
_CHUNK_SIZE = 1000
_FILE_CHUNK = 1 << 20
Files = Iterator[tuple[str, Iterable[bytes]]]


def vcr_files(version: DatasetVersion, parts: Iterable[Part], *, photos: str) -> Files:
    """Yield the files of a sealed version."""
    questions = VersionRow.objects.filter(version=version, part=QUESTION)
    splits = list(questions.order_by("split").values_list("split", flat=True).distinct())
    for split in splits:
        if split != BLIND:
            yield public_file(split), _public_lines(questions.filter(split=split), split)
    yield f"{PUBLIC}/folds.json", [pretty_json(_folds(questions))]
    yield from _image_files(version, photos)
    for name, lines in row_files(version, (part for part in parts if part.name != QUESTION)):
        yield f"{HELD}/{name}", lines
    for split in splits:
        if split in HELD_SPLITS:
            yield f"{HELD}/{QUESTION}_{split}.jsonl", row_lines(questions.filter(split=split))
    held = questions.filter(split__in=HELD_SPLITS)
    yield f"{HELD}/answer_key.jsonl", (canonical_json(key_line(row)) + b"\n" for row in row_contents(held))
    yield f"{HELD}/secrets.json", [pretty_json(_secrets(version))]


def public_file(split: str) -> str:
    """Return the name of the published file of a split's questions."""
    return f"{PUBLIC}/{split or 'all'}.jsonl"


def _public_lines(rows: Any, split: str) -> Iterator[bytes]:
    if split not in HELD_SPLITS:
        return row_lines(rows)
    return (canonical_json(without_answers(row)) + b"\n" for row in row_contents(rows))


def _folds(questions: Any) -> dict[str, Any]:
    """Return the films and the number of questions of each fold."""
    films: dict[str, set[str]] = defaultdict(set)
    counts: dict[str, int] = defaultdict(int)
    rows = questions.exclude(split=BLIND).order_by().values_list("row__match_fold", "row__movie")
    for fold, film in rows.iterator(chunk_size=_CHUNK_SIZE):
        films[fold].add(film)
        counts[fold] += 1
    return {fold: {"films": sorted(films[fold]), "questions": counts[fold]} for fold in sorted(films)}


def _image_files(version: DatasetVersion, photos: str) -> Files:
    """Yield each image's metadata and, as far as ``photos`` allows, the image; and the list of all images."""
    rows = VersionRow.objects.filter(version=version, part=OBJECT_LIST).exclude(split=BLIND)
    names: dict[str, str] = {}
    for row in row_contents(rows):
        names[row["image"]["url"]] = row["img_fn"]
        yield f"{PUBLIC}/{IMAGES_FOLDER}/{row['metadata_fn']}", [canonical_json(metadata_of(row)) + b"\n"]
    listed = [
        {**row, "img_fn": names[row["image"]]} for row in photo_rows(version, names, photo_choice=photos)
    ]
    for row in listed:
        if row.pop("file"):
            yield f"{PUBLIC}/{IMAGES_FOLDER}/{row['img_fn']}", _file_pieces(version, row["sha256"])
    yield f"{PUBLIC}/photos.jsonl", (canonical_json(row) + b"\n" for row in listed)


def _file_pieces(version: DatasetVersion, sha256: str) -> Iterator[bytes]:
    image = Image.objects.filter(project=version.project_id, sha256=sha256).order_by("pk").first()
    assert image is not None  # listed a moment ago
    with image.file.open("rb") as file:
        while piece := file.read(_FILE_CHUNK):
            yield piece


def _secrets(version: DatasetVersion) -> dict[str, str]:
    """Return the secret of each of the version's question sets, by name."""
    names = [source["name"] for source in version.provenance.get("question_sets", [])]
    rows = QuestionSet.objects.filter(project=version.project_id, name__in=names)
    return {row.name: row.secret for row in rows.order_by("name")}
