"""The triplets of a question set: read once from the database, then kept in one file for each fold."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.files import write_text
from curation.models import Stage
from curation.pipelines.questions.folder import refuse_damaged_file
from curation.records import check_movie_length
from curation.selectors.image_names import movies
from curation.selectors.object_lists import objects_of_records
from curation.selectors.questions import set_triplets
from curation.services.refusals import refuse_invalid_input
from curation.versions.splits import UnknownSplit, parse_split
from hits.domain.images.unit_objects import objects_of_unit
from hits.domain.tagged_text import Segment, class_text, mentions
from hits.models import Project, Record
from hits.services.errors import Refused

CHUNK_SIZE = 1000
QUESTION, ANSWER, RATIONALE, QUERY = "question", "answer", "rationale", "query"
"""Names of the texts of a triplet; ``query`` is the question and its right answer together."""
TEXTS_OF_STAGE = {Stage.ANSWER: (QUESTION, ANSWER), Stage.RATIONALE: (QUERY, RATIONALE)}
"""Query and response of each stage (Zellers et al. 2019 §4)."""


@dataclass(frozen=True, slots=True)
class TripletKey:
    """What decides a triplet's fold. ``split`` is the split of its image; it may be empty."""

    pk: int
    id: str
    image: int
    movie: str
    split: str


@dataclass(frozen=True, slots=True)
class Triplet:
    """A triplet with segments as texts. ``names``: the class of each object of its image in units, in order."""

    pk: int
    id: str
    image: int
    movie: str
    names: tuple[str, ...]
    question: Sequence[Segment]
    answer: Sequence[Segment]
    rationale: Sequence[Segment]

    def segments(self, text: str) -> list[Segment]:
        """Return a text by its name."""
        if text == QUERY:
            return [*self.question, " ", *self.answer]
        found: Sequence[Segment] = getattr(self, text)
        return list(found)

    def class_text(self, text: str) -> str:
        """Return a text with class words in place of tags, as models see it."""
        return class_text(self.segments(text), self.names)


def read_keys(project: Project) -> list[TripletKey]:
    """Return the keys of the triplets that a set can use, in the order of their ids.

    Raises:
        Refused: there are none, an image's split is unknown, or a film's name is longer than a question holds.
    """
    rows = set_triplets(project).order_by().values_list("pk", "instance_id", "image_id", "image__split")
    found = list(rows.iterator(chunk_size=CHUNK_SIZE))
    if not found:
        raise Refused("triplets: none is approved yet; approve submissions first")
    movie_of = movies({image for _, _, image, _ in found})
    _check_movies(movie_of)
    try:
        keys = [
            TripletKey(pk, name, image, movie_of[image], str(parse_split(split)))
            for pk, name, image, split in found
        ]
    except UnknownSplit as error:
        raise Refused(str(error)) from error
    return sorted(keys, key=lambda key: key.id)


def _check_movies(movie_of: Mapping[int, str]) -> None:
    """Check the films' names before anything is built; photos may be older than the limit of imports."""
    with refuse_invalid_input():
        for image, movie in movie_of.items():
            fix = "take the photos of this film down, since questions hold"
            check_movie_length(movie, f"photo {image}", fix)


def load_triplets(keys: Sequence[TripletKey]) -> Iterator[Triplet]:
    """Yield the triplets of these keys, in their order.

    Raises:
        Refused: a text has a tag of an object that its image does not have.
    """
    for start in range(0, len(keys), CHUNK_SIZE):
        chunk = keys[start : start + CHUNK_SIZE]
        records = Record.objects.in_bulk([key.pk for key in chunk])
        objects = objects_of_records(list(records.values()))
        for key in chunk:
            names = tuple(found.name for found in objects_of_unit(objects[key.pk]))
            yield _make_triplet(key, records[key.pk].fields, names)


def _make_triplet(key: TripletKey, fields: dict[str, Any], names: tuple[str, ...]) -> Triplet:
    triplet = Triplet(
        key.pk, key.id, key.image, key.movie, names, fields[QUESTION], fields[ANSWER], fields[RATIONALE]
    )
    for text in (QUESTION, ANSWER, RATIONALE):
        highest = max(mentions(triplet.segments(text)), default=-1)
        if highest >= len(names):
            raise Refused(
                f"triplet {key.id}: its {text} has the tag {highest + 1}, but its object list has {len(names)} "
                "objects; import the list with which it was written"
            )
    return triplet


def write_triplets(path: Path, triplets: Iterable[Triplet]) -> None:
    """Write triplets, one JSON object per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(asdict(triplet), ensure_ascii=False, sort_keys=True) + "\n" for triplet in triplets)
    write_text(path, lines)


def read_triplets(path: Path) -> list[Triplet]:
    """Return the triplets of a file, whose lists of names share memory if they are equal.

    Raises:
        InvalidInput: the file was lost or damaged.
    """
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = []
    with refuse_damaged_file(path), path.open(encoding="utf-8") as file:
        for line in file:
            raw = json.loads(line)
            key = tuple(raw["names"])
            found.append(Triplet(**raw | {"names": names.setdefault(key, key)}))
    return found
