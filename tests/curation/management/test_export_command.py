"""``manage.py export_version``: the last step of a researcher's loop without a browser."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.families.sherlock.read import read_version
from curation.models import DatasetVersion
from curation.services.versions import create_sealed_version
from hits.models import Project
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


def export(*args: Any) -> dict[str, Any]:
    out = StringIO()
    call_command("export_version", *map(str, args), "--json", stdout=out)
    (line,) = out.getvalue().splitlines()
    return json.loads(line)


def refused(*args: Any) -> str:
    with pytest.raises(CommandError) as caught:
        export(*args)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_new_name_is_made_sealed_and_written(work: Work, tmp_path: Path) -> None:
    work.observed(work.image())
    result = export("v1.0", "--out", tmp_path / "out", "--format", "sherlock")
    version = DatasetVersion.objects.get()
    assert version.is_sealed
    assert (result["version"], result["sealed_now"], result["pairs"]) == ("v1.0", True, 3)
    assert result["seal"] == version.manifest_sha256
    assert read_version(tmp_path / "out").name == "v1.0"
    again = export("v1.0", "--out", tmp_path / "more")
    assert again["sealed_now"] is False
    assert again["files"] == result["files"]


def test_a_name_in_two_projects_asks_for_the_project(work: Work, rehearsal: Project, tmp_path: Path) -> None:
    other = Work(rehearsal)
    for each in (work, other):
        each.observed(each.image())
        create_sealed_version(project=each.project, name="v1", by=None)
    message = refused("v1", "--out", tmp_path / "out")
    assert "add --project" in message
    assert export("v1", "--out", tmp_path / "out", "--project", "rehearsal")["rehearsal"] is True
    assert "no such project" in refused("v1", "--out", tmp_path / "x", "--project", "nowhere")


def test_unwritable_folder_seals_nothing(work: Work, tmp_path: Path) -> None:
    assert "nothing is approved yet" in refused("v1", "--out", tmp_path / "out")
    work.observed(work.image())
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not empty" in refused("v1", "--out", tmp_path)
    assert "--format coco" in refused("v1", "--out", tmp_path / "out", "--format", "coco")
    assert "name" in refused("v 1", "--out", tmp_path / "out")
    (tmp_path / "file").write_text("")
    assert "file" in refused("v1", "--out", tmp_path / "file" / "out")
    assert not DatasetVersion.objects.exists()
    assert not (tmp_path / "out").exists()


def test_a_rehearsal_is_refused_as_real_before_it_is_sealed(rehearsal: Project, tmp_path: Path) -> None:
    work = Work(rehearsal)
    work.observed(work.image())
    assert "never be released" in refused("v1", "--out", tmp_path / "out", "--real")
    assert not DatasetVersion.objects.exists()
    assert export("v1", "--out", tmp_path / "out")["rehearsal"] is True
    assert "never be released" in refused("v1", "--out", tmp_path / "out", "--real")
