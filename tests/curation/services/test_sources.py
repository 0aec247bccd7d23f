"""Collections are imported with their splits, boxes and addresses, in steps that can be resumed."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.models import Source, SourceRecord
from curation.services import source_images, sources
from curation.sources.visual_genome import VisualGenomeSource
from hits.domain.states import JobState
from hits.models import AuditEvent, Image, Job, JobLine, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support import made_up_sources as made
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)

FRAMES = {"a@0": ["person", "person", "dog"], "b@0": ["person"], "c@0": ["car", "person", "tie", "tie"]}


def run(name: str, folder: Path, project: Project, *flags: Any) -> dict[str, Any]:
    out = io.StringIO()
    words = [str(flag) for flag in flags]
    call_command(
        name, str(folder), "--project", project.slug, "--json", *words, stdout=out, stderr=io.StringIO()
    )
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def genome(folder: Path, project: Project, *flags: Any) -> dict[str, Any]:
    return run("import_visual_genome", folder, project, *flags)


def counts(result: dict[str, Any]) -> dict[str, int]:
    return {name: result[name] for name in ("new", "known", "described", "skipped")}


def log() -> str:
    return "\n".join(JobLine.objects.values_list("text", flat=True))


def test_visual_genome_comes_in_with_splits_boxes_and_addresses(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path)
    path = tmp_path / "region_descriptions.json"
    records = made.regions(path)
    records[1]["regions"][0] |= {"x": -4, "width": 500}
    records[1]["regions"][1] |= {"x": 900}
    made.write(path, records)
    splits = made.write(tmp_path / "splits.json", {"train": [1, 2, 3], "val": [4], "test": [5, 6]})
    result = genome(tmp_path, project, "--splits", splits, "--regions", path, "--licence", "CC BY 4.0")
    assert counts(result) == {"new": 6, "known": 0, "described": 0, "skipped": 0}
    assert result["splits"] == {"train": 3, "val": 1, "test": 2}
    assert (result["regions"], result["clipped"], result["dropped"]) == (11, 1, 1)
    second = Image.objects.get(name="2.jpg")
    assert second.source_url == "https://cs.stanford.edu/people/rak248/VG_100K_2/2.jpg"
    assert (second.split, second.credit, second.licence) == ("train", "Visual Genome 2", "CC BY 4.0")
    assert (second.width, second.height, second.entity_count) == (*made.SIZE, None)
    record = second.source_record
    assert (record.source, record.source_id) == (Source.VISUAL_GENOME, "2")
    assert record.facts == {"coco_id": 1002, "flickr_id": 7_000_000_002}
    assert record.regions == [{"id": "200", "box": [0, 3, 64, 12], "text": "Grüner Baum № 0 of 2"}]
    event = AuditEvent.objects.get(action="images.import_source")
    assert event.data == {"new": 6, "skipped": 0}


def test_vcr_comes_in_with_entities_and_objects(tmp_path: Path, project: Project) -> None:
    made.vcr(tmp_path, FRAMES, splits={"train": ["a@0", "b@0"], "val": ["c@0"]})
    result = run("import_vcr", tmp_path, project)
    assert counts(result)["new"] == 2
    assert result["left_out"] == {"fewer than 3 entities": 1}
    image = Image.objects.get(name="c@0.jpg")
    assert (image.split, image.entity_count) == ("val", 4)
    assert image.source_url == (
        f"http://s3-us-west-2.amazonaws.com/ai2-rowanz/vcr1images/{made.MOVIE}/c@0.jpg"
    )
    assert image.source_record.source_id == f"{made.MOVIE}/c@0.jpg"
    assert image.source_record.regions[0] == {"id": "0", "box": [2, 3, 19, 28], "text": "car"}


def test_a_second_import_stores_nothing_again(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path)
    genome(tmp_path, project)
    again = genome(tmp_path, project)
    assert counts(again) == {"new": 0, "known": 6, "described": 0, "skipped": 0}
    assert Image.objects.count() == SourceRecord.objects.count() == 6


def rows_of(project: Project) -> list[tuple[Any, ...]]:
    """What an import leaves of each picture, whatever its keys."""
    images = Image.objects.filter(project=project).order_by("name")
    fields = ("name", "sha256", "split", "credit", "licence", "entity_count", "source_url")
    about = ("source", "source_id", "regions", "facts")
    return list(images.values_list(*fields, *(f"source_record__{name}" for name in about)))


def test_later_import_adds_missing_details_to_known_photo(
    tmp_path: Path, project: Project, rehearsal: Project
) -> None:
    made.visual_genome(tmp_path, image_1={"coco_id": None, "flickr_id": None})
    genome(tmp_path, project)
    made.visual_genome(tmp_path)
    regions = tmp_path / "region_descriptions.json"
    made.regions(regions)
    flags = ("--regions", regions, "--licence", "CC BY 4.0")
    again = genome(tmp_path, project, *flags)
    assert counts(again) == {"new": 0, "known": 0, "described": 6, "skipped": 0}
    assert again["regions"] == 12
    genome(tmp_path, rehearsal, *flags)
    assert rows_of(project) == rows_of(rehearsal), "as one import with all of it"
    third = genome(tmp_path, project, *flags)
    assert (counts(third)["known"], third["regions"]) == (6, 0), "a third one finds nothing to fill"


def test_objects_that_known_photos_of_vcr_lack_are_filled(
    tmp_path: Path, project: Project, rehearsal: Project
) -> None:
    folder = made.vcr(tmp_path, FRAMES, splits={"train": ["a@0", "b@0"], "val": ["c@0"]})
    run("import_vcr", tmp_path, project)
    SourceRecord.objects.update(regions=[], facts={})
    Image.objects.update(entity_count=None, credit="")
    again = run("import_vcr", tmp_path, project)
    assert folder.is_dir()
    assert (counts(again)["described"], again["regions"]) == (2, 7)
    run("import_vcr", tmp_path, rehearsal)
    assert rows_of(project) == rows_of(rehearsal)


def test_differences_from_known_photo_are_logged_and_left(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path)
    regions = tmp_path / "region_descriptions.json"
    records = made.regions(regions)
    genome(tmp_path, project, "--regions", regions, "--licence", "CC0")
    before = rows_of(project)
    records[1]["regions"][0] |= {"phrase": "Another text"}
    made.write(regions, records)
    made.visual_genome(tmp_path, image_4={"coco_id": 5, "flickr_id": 6})
    again = genome(tmp_path, project, "--regions", regions)
    assert counts(again) == {"new": 0, "known": 4, "described": 0, "skipped": 2}
    assert "record 2 (image_id 2): has another regions in the project; left as it is" in again["problems"][0]
    assert "(image_id 4): has another coco_id, flickr_id in the project" in again["problems"][1]
    assert rows_of(project) == before
    with pytest.raises(CommandError, match="has another regions"):
        genome(tmp_path, project, "--regions", regions, "--strict")
    other = genome(tmp_path, project, "--licence", "CC BY 4.0", "--limit", "1")
    assert "has another licence" in other["problems"][0]


def test_a_corpus_with_many_faults_is_refused_once_for_all(tmp_path: Path, project: Project) -> None:
    ids = tuple(range(1, 15))
    made.visual_genome(tmp_path, ids, **{f"image_{image}": {"width": "wide"} for image in ids[:12]})
    with pytest.raises(CommandError) as refusal:
        genome(tmp_path, project)
    message = str(refusal.value)
    assert [f"record {number}: width is 'wide'" in message for number in range(1, 7)] == [True] * 5 + [False]
    assert "and 7 more such problems" in message
    made.visual_genome(tmp_path, ids)
    records = made.regions(tmp_path / "regions.json", ids)
    for record in records[:3]:
        record["regions"][0]["phrase"] = None
    made.write(tmp_path / "regions.json", records)
    with pytest.raises(
        CommandError, match=r"record 1, region 1: .*record 2, region 1: .*record 3, region 1: "
    ):
        genome(tmp_path, project, "--regions", tmp_path / "regions.json")


def test_a_refusal_before_any_work_offers_no_resume(
    tmp_path: Path, project: Project, client: Client, admin: User
) -> None:
    made.visual_genome(tmp_path, image_2={"width": 0})
    with pytest.raises(CommandError, match="record 2: width is 0") as refusal:
        genome(tmp_path, project)
    assert "--resume" not in str(refusal.value)
    job = Job.objects.get()
    with pytest.raises(Conflict):
        jobs.resume_job(job=job)
    client.force_login(admin)
    page = client.get(reverse("job-detail", args=[job.pk])).content.decode()
    assert "Refused before it started" in page
    assert "Refused</span>" in page
    assert reverse("job-resume", args=[job.pk]) not in page
    listed = client.get(reverse("curation-jobs", args=[project.slug])).content.decode()
    assert f"--resume {job.pk}" not in listed


def test_a_vcr_with_many_faults_is_refused_once_for_all(tmp_path: Path, project: Project) -> None:
    frames = {f"f@{number}": ["person", "dog", "tie"] for number in range(8)}
    folder = made.vcr(tmp_path, frames, splits={"train": list(frames)})
    for number in range(7):
        path = folder / made.MOVIE / f"f@{number}.json"
        made.write(path, json.loads(path.read_text()) | {"width": 0})
    with pytest.raises(CommandError, match=r"f@0\.json: width .*f@4\.json: width .*and 2 more such problems"):
        run("import_vcr", tmp_path, project)
    lines = (tmp_path / "train.jsonl").read_text().splitlines()
    broken = [line.replace(f"{made.MOVIE}/", "../", 1) for line in lines[:2]] + ["{"] + lines[2:]
    (tmp_path / "train.jsonl").write_text("\n".join(broken))
    with pytest.raises(CommandError, match=r"line 1: .*leaves the folder.*line 2: .*line 3: is not JSON"):
        run("import_vcr", tmp_path, project)


def test_changed_split_is_logged_and_ignored(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path)
    genome(tmp_path, project)
    test = made.write(tmp_path / "test.json", [3])
    result = genome(tmp_path, project, "--test", test, "--rest", "train")
    assert counts(result) == {"new": 0, "known": 5, "described": 0, "skipped": 1}
    assert "is in the project's split train, here in test; left as it is" in result["problems"][0]
    assert Image.objects.get(name="3.jpg").split == "train"


def test_a_dry_run_counts_and_stores_nothing(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path)
    result = genome(tmp_path, project, "--dry-run", "--limit", "4")
    assert (result["dry_run"], result["images"], result["new"]) == (True, 4, 0)
    assert not Image.objects.exists()
    assert not AuditEvent.objects.filter(action="images.import_source").exists()


def test_bad_pictures_are_named_and_skipped_and_the_rest_comes_in(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path, image_3={"width": 65})
    (tmp_path / "VG_100K_2" / "2.jpg").write_bytes(b"no picture")
    (tmp_path / "VG_100K_2" / "4.jpg").write_bytes((tmp_path / "VG_100K" / "1.jpg").read_bytes())
    result = genome(tmp_path, project)
    assert counts(result) == {"new": 3, "known": 0, "described": 0, "skipped": 3}
    problems = "\n".join(result["problems"])
    assert "record 2 (image_id 2): 2.jpg: is not a readable image" in problems
    assert "record 3 (image_id 3): the collection says 65 × 48, the file is 64 × 48" in problems
    assert "record 4 (image_id 4): is the same file as visual_genome 1" in problems
    assert "Skipped: image_data.json: record 2" in log()
    assert set(Image.objects.values_list("name", flat=True)) == {"1.jpg", "5.jpg", "6.jpg"}


def test_strict_import_stops_at_bad_picture_and_resumes_when_fixed(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_images, "BATCH_SIZE", 2)
    made.visual_genome(tmp_path)
    bad = tmp_path / "VG_100K_2" / "4.jpg"
    good = bad.read_bytes()
    bad.write_bytes(b"no picture")
    with pytest.raises(CommandError, match=r"record 4 .* is not a readable image.*--resume") as caught:
        genome(tmp_path, project, "--strict")
    assert caught.value.returncode == 2
    assert Image.objects.count() == 2
    bad.write_bytes(good)
    out = io.StringIO()
    call_command(
        "import_visual_genome", "--resume", str(Job.objects.get().pk), stdout=out, stderr=io.StringIO()
    )
    assert "6 new" in out.getvalue()
    assert Image.objects.count() == 6


def test_copies_at_another_scale_bring_their_boxes_along(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path, ids=(1,))
    path = tmp_path / "region_descriptions.json"
    made.regions(path, [1])
    (tmp_path / "VG_100K" / "1.jpg").write_bytes(picture(32, 24, image_format="JPEG"))
    assert counts(genome(tmp_path, project, "--regions", path))["skipped"] == 1
    assert counts(genome(tmp_path, project, "--regions", path, "--resized"))["new"] == 1
    assert SourceRecord.objects.get().regions[1]["box"] == [2, 1, 5, 7]


def test_pictures_that_came_another_way_are_described(
    tmp_path: Path, project: Project, make_image: Callable[..., Image]
) -> None:
    from hits.services.images.import_image import ImageDescription, import_image

    made.visual_genome(tmp_path)
    for number, about in (
        (1, ImageDescription()),
        (3, ImageDescription(split="val")),
        (5, ImageDescription(split="train")),
    ):
        data = (tmp_path / "VG_100K" / f"{number}.jpg").read_bytes()
        import_image(project=project, name=f"mine-{number}.jpg", data=data, description=about)
    result = genome(tmp_path, project)
    assert counts(result) == {"new": 3, "known": 0, "described": 2, "skipped": 1}
    assert "is in the project as mine-3.jpg, in val; left as it is" in result["problems"][0]
    first = Image.objects.get(name="mine-1.jpg")
    assert (first.split, first.source_record.source_id) == ("train", "1")
    assert first.source_url.endswith("/VG_100K/1.jpg")


def test_two_pictures_never_share_an_address(tmp_path: Path, project: Project) -> None:
    url = "https://cs.stanford.edu/people/rak248/VG_100K/1.jpg"
    made.visual_genome(
        tmp_path, image_2={"url": "https://example.org/1.jpg"}, image_4={"url": "https://example.org/1.jpg"}
    )
    result = genome(tmp_path, project)
    assert counts(result)["skipped"] == 1
    assert "2.jpg has the same url" in result["problems"][0]
    assert Image.objects.filter(source_url=url).count() == 1


@pytest.mark.parametrize("stop_after", [1, 2])
def test_cancelled_import_resumes_at_cursor_and_counts_once(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    monkeypatch.setattr(source_images, "BATCH_SIZE", 2)
    made.visual_genome(tmp_path)
    (tmp_path / "VG_100K" / "1.jpg").write_bytes(b"no picture")
    job = sources.request_source_import(project=project, spec=VisualGenomeSource(str(tmp_path)), queue=False)
    steps = 0

    def listen(current: Job, line: str) -> None:
        nonlocal steps
        steps += current.done > 0 and not line
        if steps == stop_after:
            Job.objects.filter(pk=job.pk).update(cancel_requested=True)

    job = jobs.run_in_process(job=job, listener=listen)
    assert job.state == JobState.CANCELLED
    kept = Image.objects.count()
    assert 0 < kept < 5
    assert job.cursor["position"] == kept + 1
    assert SourceRecord.objects.count() == kept  # nothing half-written
    job = jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    assert job.state == JobState.DONE
    assert counts(job.result) == {"new": 5, "known": 0, "described": 0, "skipped": 1}
    assert Image.objects.count() == 5


def test_resumed_import_restarts_when_files_changed(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_images, "BATCH_SIZE", 2)
    made.visual_genome(tmp_path)
    (tmp_path / "VG_100K_2" / "4.jpg").write_bytes(b"no picture")
    with pytest.raises(CommandError):
        genome(tmp_path, project, "--strict")
    made.visual_genome(tmp_path, ids=(9, 1, 2, 3))
    job = jobs.run_in_process(job=jobs.resume_job(job=Job.objects.get(), queue=False))
    assert counts(job.result) == {"new": 2, "known": 2, "described": 0, "skipped": 0}


def test_nothing_is_stored_when_metadata_is_bad(tmp_path: Path, project: Project) -> None:
    made.visual_genome(tmp_path, image_6={"width": None})
    with pytest.raises(CommandError, match="record 6: width is None"):
        genome(tmp_path, project)
    made.visual_genome(tmp_path)
    (tmp_path / "VG_100K_2" / "6.jpg").unlink()
    with pytest.raises(CommandError, match=r"VG_100K_2/6.jpg is not in"):
        genome(tmp_path, project)
    assert not Image.objects.exists()
    assert counts(genome(tmp_path, project, "--skip-missing"))["new"] == 5


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--limit", "0"], "limit"),
        (["--train", "absent.txt"], "absent.txt: cannot be read"),
        (["--regions", "absent.json"], "absent.json: cannot be read"),
        (["--allowed", "absent.json"], "absent.json: cannot be read"),
        (["--rest", "dev"], "invalid choice"),
    ],
)
def test_bad_flags_end_with_one_line(
    tmp_path: Path, project: Project, flags: list[str], complaint: str
) -> None:
    made.visual_genome(tmp_path)
    with pytest.raises(CommandError, match=complaint) as caught:
        genome(tmp_path, project, *flags)
    assert caught.value.returncode == 2 or "invalid choice" in complaint
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_makes_no_job(tmp_path: Path, project: Project) -> None:
    with pytest.raises(CommandError, match="is not a folder on this machine"):
        genome(tmp_path / "absent", project)
    with pytest.raises(CommandError, match="give the folder and --project"):
        call_command("import_vcr")
    assert not Job.objects.exists()


def test_one_import_at_a_time(tmp_path: Path, project: Project) -> None:
    spec = VisualGenomeSource(str(tmp_path))
    sources.request_source_import(project=project, spec=spec, queue=False)
    with pytest.raises(Conflict, match="is running already"):
        sources.request_source_import(project=project, spec=spec, queue=False)
    with pytest.raises(Refused, match="rest: 'dev' is no split"):
        sources.request_source_import(project=project, spec=VisualGenomeSource(str(tmp_path), rest="dev"))


def test_queries_do_not_grow_with_every_picture(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def queries(folder: Path, ids: range) -> int:
        made.visual_genome(folder, ids=tuple(ids))
        with CaptureQueriesContext(
            connection,
        ) as seen:
            genome(folder, project)
        return len(seen)

    few = queries(tmp_path / "few", range(1, 5))
    many = queries(tmp_path / "many", range(101, 101 + 3 * source_images.BATCH_SIZE))
    assert many - few <= 2 * 20  # two batches more


# -- the page


@pytest.fixture
def imported(tmp_path: Path, project: Project) -> Project:
    made.visual_genome(tmp_path / "vg", image_3={"width": 65})
    made.vcr(tmp_path / "vcr", FRAMES, splits={"train": ["a@0", "b@0"], "val": ["c@0"]})
    genome(tmp_path / "vg", project)
    run("import_vcr", tmp_path / "vcr", project)
    return project


def page(client: Client, project: Project) -> Any:
    return client.get(reverse("curation-sources", args=[project.slug]))


def test_the_page_is_for_researchers_of_the_project(
    client: Client, project: Project, researcher: User, outsider: User, annotator: User
) -> None:
    assert page(client, project).status_code == 302
    for user, status in ((outsider, 404), (annotator, 404), (researcher, 200)):
        client.force_login(user)
        assert page(client, project).status_code == status
    assert client.post(reverse("curation-sources", args=[project.slug])).status_code == 405


def test_the_page_shows_counts_histogram_imports_and_commands(
    client: Client, imported: Project, researcher: User
) -> None:
    client.force_login(researcher)
    text = page(client, imported).content.decode()
    for words in ("Visual Genome", "VCR", "Entities in a photo", "the collection says 65 × 48"):
        assert words in text
    assert f"manage.py import_vcr FOLDER --project {imported.slug}" in text
    assert f'data-copy="manage.py import_visual_genome FOLDER --project {imported.slug}' in text
    assert "3 entities" in text


def test_empty_project_shows_next_step(client: Client, project: Project, researcher: User) -> None:
    client.force_login(researcher)
    text = page(client, project).content.decode()
    assert "No photos yet" in text
    assert "No import yet" in text


def test_the_pages_queries_do_not_grow(
    client: Client, imported: Project, researcher: User, tmp_path: Path
) -> None:
    client.force_login(researcher)
    page(client, imported)
    with CaptureQueriesContext(connection) as few:
        page(client, imported)
    made.visual_genome(tmp_path / "more", ids=tuple(range(50, 70)))
    genome(tmp_path / "more", imported)
    with CaptureQueriesContext(connection) as many:
        page(client, imported)
    assert len(many) == len(few)
