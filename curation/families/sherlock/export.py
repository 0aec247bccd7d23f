"""Write a sealed version as the published Sherlock JSON and the leaderboard's layout."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from curation.families.sherlock import leaderboard
from curation.families.sherlock.region_pictures import region_picture_name, region_pictures
from curation.models import DatasetVersion, Part, VersionRow
from curation.versions.export import pretty_json
from curation.versions.family import row_contents
from hits.domain.hashing import canonical_json


def pairs_file_name(split: str) -> str:
    """Return the file name of a split's pairs; pairs without a split go to ``sherlock.json``."""
    return f"sherlock_{split}.json" if split else "sherlock.json"


def sherlock_files(version: DatasetVersion, *, regions: bool) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the files of pairs by split, and of comparison sets in the leaderboard's layout."""
    pairs = VersionRow.objects.filter(version=version, part=Part.OBSERVATION)
    splits = list(pairs.order_by("split").values_list("split", flat=True).distinct())
    for split in splits:
        yield pairs_file_name(split), _json_list(row_contents(pairs.filter(split=split)))
    compared = VersionRow.objects.filter(version=version, part=Part.COMPARISON)
    if compared.exists():
        rows = list(row_contents(compared))  # at most a thousand sets, and the key is a single object
        yield "comparison/instances.json", _json_list(leaderboard.public_instances(rows))
        yield "comparison/answer_key.json", [pretty_json(leaderboard.build_answer_key(rows))]
        ids = sorted(instance["test_id"] for instance in leaderboard.public_instances(rows))
        yield "comparison/instance_ids.json", [pretty_json(ids)]
        if regions:
            yield from ((name, [picture]) for name, picture in region_pictures(version, rows))


def _json_list(values: Iterable[Any]) -> Iterator[bytes]:
    """Yield a JSON list with one value per line, so that line-based tools can read the file."""
    opening = b"[\n"
    for value in values:
        yield opening + canonical_json(value)
        opening = b",\n"
    yield b"[]\n" if opening == b"[\n" else b"\n]\n"


def regions_left_out(version: DatasetVersion, written: Collection[str]) -> list[str]:
    """Return the ids of the comparison sets whose region picture is not among the ``written`` files.

    Their photos were taken down.
    """
    compared = VersionRow.objects.filter(version=version, part=Part.COMPARISON)
    ids = compared.order_by("instance_id").values_list("instance_id", flat=True)
    return [key for key in ids if region_picture_name(key) not in written]
