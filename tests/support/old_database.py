# ruff: noqa: E402 - the settings are read before anything of Django's is imported
"""A database as the release before records left it, filled, and migrated: run as a process on a database of its own.

``python -m tests.support.old_database [N] [--back-from-newest]`` reads DATABASE_URL, fills every table with a row
(and N observations), migrates, and prints what it found as one line of JSON. It also tries the way back to the
release before records: from the release with records, or, which takes twice as long in all, from the newest.
"""

import json
import os
import time
from argparse import ArgumentParser
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation_site.settings")

import django

django.setup()

from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from hits.management.memory import peak_mib
from tests.support.any_row import Rows

BEFORE = {
    "hits": "0014_messages_to_workers",
    "validation": "0005_python_names",
    "curation": "0008_entry_withdrawals",
}
WITH_RECORDS = ("hits", "0017_drop_observations")
APART_SINCE = ("leaderboard",)  # apps that came to be since, of tables that were there
CLUE, BOXES = "the kettle’s “lid”", [{"left": 1, "top": 2, "width": 3, "height": 4}]
# What the models' constraints insist on.
INSIST: dict[str, dict[str, Any]] = {
    "Audit": {"state": "open"},
    "Evaluation": {"source": "predictions"},
    "FeatureSet": {"subject": "images"},
    "GoldItem": {"kind": "observation_review"},
    "Instructions": {"kind": "sherlock_observation"},
    "JudgingReport": {"kind": "observation_review"},
    "LeakReading": {"verdict": "same"},
    "Observation": {
        "index": 2,
        "confidence": 3,
        "bonus": True,
        "clue": CLUE,
        "inference": "Tea.",
        "boxes": BOXES,
    },
    "QualificationRound": {"graders": 1},
    "SourceRecord": {"source": "visual_genome"},
    "WorkerRule": {"measure": "approved_share", "proposes": "paused"},
    "TextAnalysis": {"kind": "topics"},
    "TextScore": {"field": "clue"},
    "VersionRow": {"part": "observation"},
}
OURS = ("hits", "validation", "curation", "marketplace")


def main(observations: int, *, back_from_newest: bool) -> dict[str, Any]:
    """Fill, migrate and look; see the module."""
    old = _migrated_before()
    unfilled = _filled(old)
    kept = _observation(old)
    _seal(old)
    if observations:
        _many(kept["submission_id"], kept["image_id"], observations)
    before = _triggers()
    way_back = {} if back_from_newest else _taken_back(WITH_RECORDS)
    began = time.monotonic()
    call_command("migrate", verbosity=0)
    seconds = time.monotonic() - began
    after = _triggers()
    found: dict[str, Any] = {
        "unfilled": unfilled,
        "seconds": round(seconds, 1),
        "peak_mib": round(peak_mib()),
        "triggers_lost": sorted(set(before) - set(after)),
        "triggers_new": sorted(set(after) - set(before)),
        "triggers": len(after),
        "record": _record(kept["id"]),
        "old": {key: kept[key] for key in ("id", "instance_id", "submission_id", "image_id")},
        "records": _count("hits_record"),
        "pairs_referred_to": _references(kept["id"]),
    }
    found |= way_back or _taken_back(())
    return found | {"next_id_is_free": _next_id_is_free(), "let_through": _let_through()}


def _taken_back(release: tuple[str, ...]) -> dict[str, Any]:
    """Return what going back from a release to the one before records says, and what is different after that."""
    call_command("migrate", *release, verbosity=0)
    triggers, records, message = set(_triggers()), _count("hits_record"), ""
    try:
        call_command("migrate", "hits", BEFORE["hits"], verbosity=0)
    except RuntimeError as error:
        message = str(error)
    call_command("migrate", *release, verbosity=0)
    return {
        "taken_back": message,
        "after_that": sorted(triggers ^ set(_triggers())) or _count("hits_record") - records,
    }


def _migrated_before() -> Any:
    targets = list(BEFORE.items())
    executor = MigrationExecutor(connection)
    since = {*BEFORE, *APART_SINCE}
    leaves = [node for node in executor.loader.graph.leaf_nodes() if node[0] not in since]
    executor.migrate(targets + leaves)
    executor = MigrationExecutor(connection)
    return executor.loader.project_state(targets + leaves).apps


def _filled(old: Any) -> list[str]:
    """Write a row into every table of ours; return the tables that took none."""
    rows = Rows(None, None, **INSIST)  # type: ignore[arg-type]
    for model in old.get_models():
        if model._meta.app_label in OURS:
            _ = _made(rows, model)
    with connection.cursor() as cursor:
        names = [m._meta.db_table for m in old.get_models() if m._meta.app_label in OURS]
        empty = []
        for name in names:
            cursor.execute(f'SELECT count(*) FROM "{name}"')
            if not cursor.fetchone()[0]:
                empty.append(name)
    return sorted(empty)


def _made(rows: Rows, model: Any) -> bool:
    try:
        with transaction.atomic():
            rows.of(model)
    except (DatabaseError, StopIteration):
        return False
    return True


def _observation(old: Any) -> dict[str, Any]:
    found: dict[str, Any] = old.get_model("hits", "Observation").objects.values().get()
    return found


def _seal(old: Any) -> None:
    """Seal the one draft, so that what seals guard is guarded."""
    version = old.get_model("curation", "DatasetVersion").objects.get()
    version.state, version.sealed_at, version.manifest_sha256 = "sealed", timezone.now(), "0" * 64
    version.save(update_fields=["state", "sealed_at", "manifest_sha256"])


def _many(submission: Any, image: int, count: int) -> None:
    """Write observations by SQL; ids and instance ids go on from what is there."""
    boxes = json.dumps(BOXES * 2)
    key = submission.hex if connection.vendor == "sqlite" else str(submission)
    rows = (
        (
            1_000_000 + n,
            f"{n:032x}",
            n + 10,
            "a clue of usual length in a photo",
            "What it tells about it.",
            2,
            boxes,
        )
        for n in range(count)
    )
    sql = (
        'INSERT INTO hits_observation (id, instance_id, "index", clue, inference, confidence, boxes, bonus, '
        f"submission_id, image_id) VALUES (%s, %s, %s, %s, %s, %s, %s, false, '{key}', {image})"
    )
    with transaction.atomic(), connection.cursor() as cursor:
        chunk: list[Any] = []
        for row in rows:
            chunk.append(row)
            if len(chunk) == 5000:
                cursor.executemany(sql, chunk)
                chunk = []
        cursor.executemany(sql, chunk)


def _triggers() -> list[str]:
    sql = (
        "SELECT tbl_name || ' ' || name FROM sqlite_master WHERE type = 'trigger'"
        if connection.vendor == "sqlite"
        else "SELECT relname || ' ' || tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
        "WHERE NOT tgisinternal"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [name for (name,) in cursor.fetchall()]


def _count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT count(*) FROM "{table}"')
        return int(cursor.fetchone()[0])


def _record(pk: int) -> dict[str, Any]:
    record = apps.get_model("hits", "Record").objects.get(pk=pk)
    names = ("id", "type", "index", "instance_id", "origin", "submission_id", "image_id", "fields", "bonus")
    return {name: getattr(record, name) for name in names} | {"family": record.project.family}


def _references(pk: int) -> list[str]:
    """Return the columns that refer to the record, as the models of today name them."""
    found = []
    record = apps.get_model("hits", "Record")
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            target = getattr(field, "related_model", None)
            is_record = target is not None and target._meta.concrete_model is record
            if is_record and model.objects.filter(**{field.attname: pk}).exists():
                found.append(f"{model._meta.db_table}.{field.column}")
    return sorted(found)


def _next_id_is_free() -> bool:
    record = apps.get_model("hits", "Record")
    first = record.objects.order_by("pk").first()
    highest = record.objects.order_by("pk").last().pk
    made = record.objects.create(
        project_id=first.project_id,
        type="observation",
        index=9,
        instance_id="f" * 32,
        origin="submission",
        submission_id=first.submission_id,
        image_id=first.image_id,
        fields={},
    )
    return bool(made.pk > highest)


def _let_through() -> list[str]:
    """Return what raw SQL could do to guarded rows: nothing, if all is well."""
    found = []
    for place in _triggers():
        table, name = place.split(" ", 1)
        for verb in ("UPDATE", "DELETE"):
            if verb.lower() in name.lower() or name.endswith(("append_only", "kept")):
                found += _tried(table, verb)
    return sorted(set(found)) + _late_row()


def _tried(table: str, verb: str) -> list[str]:
    if not _count(table):
        return []
    statement = f'DELETE FROM "{table}"' if verb == "DELETE" else _touched(table)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
            transaction.set_rollback(True)
    except DatabaseError as error:
        return (
            []
            if "FOREIGN KEY" not in str(error) and "foreign key" not in str(error)
            else [f"{verb} {table}: {error}"]
        )
    return [f"{verb} {table}"]


def _touched(table: str) -> str:
    """Return an UPDATE that writes each column's own value again, but for one: guards may let what is equal pass."""
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, table)
    names = [column.name for column in columns if column.name != "id"]
    return f'UPDATE "{table}" SET ' + ", ".join(f'"{name}" = "{name}"' for name in names)


def _late_row() -> list[str]:
    """Return whether a row could join the sealed version."""
    model = apps.get_model("curation", "VersionRow")
    row = model.objects.first()
    try:
        with transaction.atomic():
            model.objects.create(
                version_id=row.version_id, part="observation", instance_id="late", row={}, sha256="0" * 64
            )
    except DatabaseError:
        return []
    return ["INSERT curation_versionrow"]


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("observations", type=int, nargs="?", default=0)
    parser.add_argument("--back-from-newest", action="store_true")
    print(json.dumps(main(**vars(parser.parse_args())), default=str))  # noqa: T201
