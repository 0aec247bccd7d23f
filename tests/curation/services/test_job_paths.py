"""A command stores absolute paths in its job, so that a worker finds the files from any folder."""

import io
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class

from hits.models import Job, Project
from hits.services.jobs import jobs
from tests.support import made_up_sources as made
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db(transaction=True)

FRAMES = {"a@0": ["person", "person", "dog"], "b@0": ["car", "person", "tie"]}


def asked(*words: str) -> dict[str, Any]:
    """Leave a command's work to a worker and return what its job keeps."""
    call_command(*words, "--background", stdout=io.StringIO(), stderr=io.StringIO())
    job = Job.objects.get()
    jobs.cancel_job(job=job)
    return dict(job.args)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_visual_genome_is_asked_for_by_absolute_paths(here: Path, project: Project) -> None:
    made.visual_genome(here / "vg")
    flags = ["--image-data", "i.json", "--regions", "r.json", "--splits", "s.json", "--test", "t.json"]
    flags += ["--allowed", "a.json", "--allowed", "b.json"]
    spec = asked("import_visual_genome", "vg", "--project", project.slug, *flags)["wanted"]
    assert (spec["folder"], spec["image_data"]) == (f"{here}/vg", f"{here}/i.json")
    assert spec["regions"] == f"{here}/r.json"
    assert spec["splits"] == {"": f"{here}/s.json", "test": f"{here}/t.json"}
    assert spec["allowed"] == [f"{here}/a.json", f"{here}/b.json"]


def test_vcr_is_asked_for_by_absolute_paths(here: Path, project: Project) -> None:
    made.vcr(here / "vcr", FRAMES, splits={"train": ["a@0", "b@0"]})
    spec = asked("import_vcr", "vcr", "--project", project.slug)["wanted"]
    assert spec["folder"] == f"{here}/vcr/vcr1images"
    assert spec["annotations"] == {"train": f"{here}/vcr/train.jsonl"}


def test_named_annotations_of_vcr_are_kept_as_absolute_paths(here: Path, project: Project) -> None:
    made.vcr(here / "vcr", FRAMES, splits={"train": ["a@0", "b@0"]})
    spec = asked("import_vcr", "vcr", "--project", project.slug, "--val", "v.jsonl")["wanted"]
    assert spec["annotations"] == {"val": f"{here}/v.jsonl"}


def test_import_is_resumed_from_another_working_directory(here: Path, project: Project) -> None:
    made.visual_genome(here / "vg")
    asked("import_visual_genome", "vg", "--project", project.slug)
    os.chdir("/")  # the fixture goes back
    out = io.StringIO()
    job = Job.objects.get()
    call_command("import_visual_genome", "--resume", str(job.pk), stdout=out, stderr=io.StringIO())
    assert "6 new" in out.getvalue()


def test_an_import_is_resumed_by_the_command_of_its_collection(here: Path, project: Project) -> None:
    made.visual_genome(here / "vg")
    asked("import_visual_genome", "vg", "--project", project.slug)
    job = Job.objects.get()
    with pytest.raises(CommandError, match="another command \\(Import Visual Genome"):
        call_command("import_vcr", "--resume", str(job.pk))


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("make_features", "encoder"),
        ("check_leakage", "encoder"),
        ("deduplicate_photos", "encoder"),
        ("build_comparison_round", "encoder"),
        ("propose_boxes", "detector"),
        ("analyse_texts", "scorer"),
    ],
)
def test_a_models_folder_is_read_as_an_absolute_path(here: Path, name: str, option: str) -> None:
    (here / "weights").mkdir()
    parser = load_command_class("curation", name).create_parser("manage.py", name)
    given = vars(parser.parse_args([f"--{option}", "clip:weights"]))
    assert given[option] == f"clip:{here}/weights"


def test_features_are_asked_for_with_the_absolute_path_of_a_models_folder(here: Path, work: Work) -> None:
    work.image(1)
    (here / "weights").mkdir()
    args = asked("make_features", "--project", work.project.slug, "--encoder", "clip:weights")
    assert args["options"]["encoder"] == f"clip:{here}/weights"
