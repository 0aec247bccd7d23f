"""The migration of an older database to records loses no row and keeps the append-only triggers."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.annotation_site.test_servers import database_url
from tests.support import children
from tests.support.old_database import BOXES, CLUE

REFERENCES = [
    f"curation_{table}.observation_id"
    for table in ("audititem", "comparisonset", "proposaloverlap", "textreading", "textscore")
]
MOST = 363_000
NEW = {
    "hits_record",
    "hits_recordimage",
    "curation_objectset",
    "curation_interestlabel",
    "curation_auditwaiver",
    # Scenes, images and triplets, and the files that they were read from.
    "curation_import",
    "curation_importedrow",
    "curation_scene",
    "curation_scenedecision",
    "curation_promptset",
    "curation_promptdecision",
    "curation_generatedimage",
    "curation_imagepick",
    "curation_imagetriplet",
    "curation_tripletcheck",
    "curation_tripletdecision",
    "curation_tripletexplanation",
    "curation_tripletprediction",
    "curation_explanationgrade",
    "curation_replycorrection",
    "curation_safetyrelease",
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder in memory where the system offers that: each migration's commit waits for the disk."""
    with tempfile.TemporaryDirectory(dir=settings.VAR_DIR) as found:
        yield Path(found)


def migrated(folder: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    """Return what the process found that filled and migrated a database of its own."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("DEERSTALKER_TEST")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.old_database", *arguments],
        cwd=children.ROOT,
        env=own | {"DEERSTALKER_VAR": str(folder)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _is_whole(found: dict[str, Any]) -> None:
    record, old = found["record"], found["old"]
    assert {key: record[key] for key in old} == old
    assert record["fields"] == {"clue": CLUE, "inference": "Tea.", "confidence": 3, "boxes": BOXES}
    assert (record["type"], record["index"], record["bonus"]) == ("observation", 2, True)
    assert (record["origin"], record["family"]) == ("submission", "sherlock")
    assert found["pairs_referred_to"] == REFERENCES
    assert found["next_id_is_free"]
    assert {name.split(" ")[0] for name in found["triggers_lost"]} <= {"hits_observation"}
    assert {name.split(" ")[0] for name in found["triggers_new"]} == NEW
    assert found["triggers"] > 30
    assert found["let_through"] == []
    assert "cannot be reversed while table hits_record has rows" in found["taken_back"]
    assert found["after_that"] == 0


@pytest.mark.long
def test_migration_of_old_sqlite_database_keeps_rows_and_triggers(folder: Path) -> None:
    _is_whole(migrated(folder, SQLITE_PATH=str(folder / "old.sqlite3")))


@pytest.mark.long
@pytest.mark.postgres
def test_migration_of_old_postgresql_database_keeps_rows_and_triggers(folder: Path) -> None:
    with database_url() as url:
        # The server itself is never killed, so a commit need not wait for its disk.
        _is_whole(migrated(folder, DATABASE_URL=url, PGOPTIONS="-c synchronous_commit=off"))


@pytest.mark.nightly
@pytest.mark.postgres
def test_postgresql_database_cannot_be_taken_back_from_the_newest_release(folder: Path) -> None:
    with database_url() as url:
        _is_whole(migrated(folder, "--back-from-newest", DATABASE_URL=url))


@pytest.mark.nightly
def test_the_published_corpus_migrates_in_ninety_seconds_and_little_memory(tmp_path: Path) -> None:
    database = str(tmp_path / "old.sqlite3")
    found = migrated(tmp_path, str(MOST), "--back-from-newest", SQLITE_PATH=database)
    _is_whole(found)
    figures = {"records": found["records"], "seconds": found["seconds"], "peak_mib": found["peak_mib"]}
    sys.stdout.write(f"{json.dumps(figures)}\n")
    assert found["records"] == MOST + 1
    assert found["seconds"] <= 90
    assert found["peak_mib"] <= 500
