"""The object lists that texts with tags were written with."""

from collections.abc import Collection, Mapping
from typing import Any

from curation.models import ObjectSet
from hits.domain.images.detections import DetectedObject
from hits.models import Record, Submission
from hits.selectors.records import id_chunks


def newest_object_sets(image_ids: Collection[int]) -> dict[int, ObjectSet]:
    """Return the newest object list of images, by image id; images without one are left out."""
    found: dict[int, ObjectSet] = {}
    for chunk in id_chunks(sorted(image_ids)):
        found |= {row.image_id: row for row in ObjectSet.objects.filter(image__in=chunk).order_by("pk")}
    return found


def objects_of_records(records: Collection[Record]) -> dict[int, list[DetectedObject]]:
    """Return the object list with which each record was written, by record id.

    A record names its list by hash (``fields["objects_sha256"]``). A list that is not stored comes from the unit that
    the record's worker saw: such units were launched from a file.
    """
    list_keys = {record.pk: (record.image_id, record.fields["objects_sha256"]) for record in records}
    stored = _stored_lists({key for key in list_keys.values() if key[0] is not None})
    missing = [record for record in records if list_keys[record.pk] not in stored]
    units = _unit_payloads(missing)
    return {
        record.pk: stored.get(list_keys[record.pk]) or _unit_objects(units.get(record.pk, {}))
        for record in records
    }


def _stored_lists(keys: Collection[tuple[Any, str]]) -> dict[tuple[Any, str], list[DetectedObject]]:
    found: dict[tuple[Any, str], list[DetectedObject]] = {}
    for chunk in id_chunks(sorted({image for image, _ in keys})):
        for row in ObjectSet.objects.filter(image__in=chunk):
            if (row.image_id, row.sha256) in keys:
                found[row.image_id, row.sha256] = [DetectedObject.from_json(raw) for raw in row.detections]
    return found


def _unit_payloads(records: Collection[Record]) -> dict[int, Mapping[str, Any]]:
    by_submission = {
        record.submission_id: record.pk for record in records if record.submission_id is not None
    }
    found: dict[int, Mapping[str, Any]] = {}
    for chunk in id_chunks(sorted(str(key) for key in by_submission)):
        rows = Submission.objects.filter(pk__in=chunk).values_list("pk", "attempt__hit__unit__payload")
        found |= {by_submission[pk]: payload for pk, payload in rows}
    return found


def _unit_objects(unit: Mapping[str, Any]) -> list[DetectedObject]:
    return [_object_of_unit(raw) for raw in unit.get("objects", [])]


def _object_of_unit(raw: Mapping[str, Any]) -> DetectedObject:
    box = raw["box"]
    corners = (
        float(box["left"]),
        float(box["top"]),
        float(box["left"] + box["width"]),
        float(box["top"] + box["height"]),
    )
    polygons = tuple(tuple((float(x), float(y)) for x, y in polygon) for polygon in raw.get("polygons", []))
    return DetectedObject(raw["name"], corners, 1.0, polygons)
