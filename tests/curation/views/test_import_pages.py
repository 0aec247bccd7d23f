"""Imports start from the pages: from one folder of the server, as the commands do it, and with a look first."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation_site.env import EnvError, env_folder
from curation.models import ProposalRun, SourceRecord
from curation.pipelines import proposals as pipeline
from curation.services import source_images, sources
from curation.sources.visual_genome import VisualGenomeSource
from curation.versions.plan import image_url
from curation.views.command_lines import command_lines
from hits.domain.states import JobState
from hits.models import AuditEvent, Image, Job, JobLine, Project
from hits.services.jobs import jobs
from tests.support import made_up_sources as made

pytestmark = pytest.mark.django_db(transaction=True)

FRAMES = {"a@0": ["person", "person", "dog"], "b@0": ["person"], "c@0": ["car", "person", "tie", "tie"]}
UNSPLIT = "No list of splits was given: all 6 images are put into train; give --splits, or --train, --val and --test"


@pytest.fixture
def root(tmp_path: Path, settings: Any) -> Path:
    """A folder of imports with a copy of each collection and files of proposals, and a secret beside it."""
    root = tmp_path / "imports"
    made.visual_genome(root / "genome")
    made.regions(root / "genome" / "region_descriptions.json")
    made.vcr(root / "vcr1", FRAMES, splits={"train": ["a@0", "b@0"], "val": ["c@0"]})
    (root / "lists").mkdir()
    made.write(root / "lists" / "ids.json", {"train": [1, 2, 3], "val": [4], "test": [5, 6]})
    made.write(root / "lists" / "train_annots.json", [{"img_fn": f"{made.MOVIE}/a@0.jpg"}])
    made.write(root / "image_url2auto_bboxes.json", {})
    made.write(tmp_path / "secret.json", [1])
    settings.IMPORTS_ROOT = root
    return root


@pytest.fixture
def page(client: Client, project: Project, researcher: User) -> "Pages":
    """The pages as a researcher of the project sees them."""
    client.force_login(researcher)
    return Pages(client, project)


class Pages:
    """The two pages of imports, and what is sent from them."""

    def __init__(self, client: Client, project: Project) -> None:
        self.client = client
        self.slug = project.slug

    def sources(self, collection: str = "visual_genome") -> str:
        reply = self.client.get(reverse("curation-sources", args=[self.slug]), {"collection": collection})
        assert reply.status_code == 200
        return str(reply.content.decode())

    def proposals(self) -> str:
        return str(self.client.get(reverse("curation-proposals", args=[self.slug])).content.decode())

    def start(self, source: str = "visual_genome", **given: Any) -> Any:
        default = (
            {"folder": "genome"} if source == "visual_genome" else {"folder": "vcr1", "min_entities": "3"}
        )
        return self.client.post(address(self.slug, source), default | given)

    def start_file(self, **given: Any) -> Any:
        default = {"file": "image_url2auto_bboxes.json", "layout": "corners", "limit": "100"}
        return self.client.post(reverse("curation-proposals-import", args=[self.slug]), default | given)


def address(slug: str, source: str = "visual_genome") -> str:
    return reverse("curation-sources-import", args=[slug, source])


def done(reply: Any) -> Job:
    """Run the only job, to whose page a reply has to lead."""
    job = Job.objects.get()
    assert (reply.status_code, reply["Location"]) == (302, reverse("job-detail", args=[job.pk]))
    return jobs.run_in_process(job=job)


def log() -> str:
    return "\n".join(JobLine.objects.values_list("text", flat=True))


def asked(name: str, folder: Path, project: Project, *flags: object) -> dict[str, Any]:
    """Return what a command's job keeps, and take it away."""
    words = [name, str(folder), "--project", project.slug, "--background", *map(str, flags)]
    call_command(*words, stdout=io.StringIO(), stderr=io.StringIO())
    job = Job.objects.get()
    args = dict(job.args)
    job.delete()
    return args


# -- the setting


def test_the_setting_is_an_absolute_path_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", " /srv/imports ")
    assert env_folder("X") == Path("/srv/imports")
    monkeypatch.setenv("X", "")
    assert env_folder("X") is None
    monkeypatch.setenv("X", "imports")
    with pytest.raises(EnvError, match="X='imports': use an absolute path"):
        env_folder("X")


def test_without_import_folder_pages_explain_setting_and_start_nothing(page: Pages, settings: Any) -> None:
    settings.IMPORTS_ROOT = None
    for text in (page.sources(), page.proposals()):
        assert "must set <code>DEERSTALKER_IMPORTS</code> to a folder" in text
        assert "<form" not in text.partition('id="import"')[2].partition("Last imports")[0]
    assert f"manage.py import_visual_genome FOLDER --project {page.slug}" in page.sources()
    assert f"manage.py import_proposals FILE --project {page.slug}" in page.proposals()
    assert page.start().status_code == 404
    assert page.start_file().status_code == 400
    assert not Job.objects.exists()


def test_missing_folder_is_reported(page: Pages, settings: Any, tmp_path: Path) -> None:
    settings.IMPORTS_ROOT = tmp_path / "nowhere"
    for text in (page.sources(), page.proposals()):
        assert "nowhere: cannot be read (No such file or directory)" in text
    assert page.start().status_code == 400
    assert page.start_file().status_code == 400


def test_empty_folder_explains_expected_files(page: Pages, settings: Any, tmp_path: Path) -> None:
    settings.IMPORTS_ROOT = tmp_path
    assert "<code>image_data.json</code>, and <code>VG_100K</code>" in page.sources()
    assert "<code>vcr1images</code>" in page.sources("vcr")
    assert "No file there yet" in page.proposals()


# -- who may


@pytest.mark.parametrize("name", ["curation-sources-import", "curation-proposals-import"])
def test_imports_are_started_by_researchers_of_the_project_alone(
    name: str, root: Path, client: Client, project: Project, outsider: User, annotator: User
) -> None:
    words = [project.slug, "visual_genome"] if name == "curation-sources-import" else [project.slug]
    place = reverse(name, args=words)
    assert client.post(place, {"folder": "genome"}).status_code == 302
    assert "sign-in" in client.post(place)["Location"]
    for user in (outsider, annotator):
        client.force_login(user)
        assert client.post(place, {"folder": "genome"}).status_code == 404
    assert not Job.objects.exists()


def test_a_form_of_another_site_starts_nothing(root: Path, project: Project, researcher: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(researcher)
    assert client.post(address(project.slug), {"folder": "genome"}).status_code == 403
    there = reverse("curation-proposals-import", args=[project.slug])
    assert client.post(there, {"file": "image_url2auto_bboxes.json"}).status_code == 403
    assert not Job.objects.exists()


def test_only_posts_start_an_import_and_only_of_known_collections(root: Path, page: Pages) -> None:
    assert page.client.get(address(page.slug)).status_code == 405
    assert page.client.post(address(page.slug, "imagenet"), {"folder": "genome"}).status_code == 404
    assert not Job.objects.exists()


# -- collections


def test_visual_genome_is_imported_as_by_the_command(
    root: Path, page: Pages, project: Project, researcher: User
) -> None:
    lists = root / "lists" / "ids.json"
    regions = root / "genome" / "region_descriptions.json"
    flags = (
        "--splits",
        lists,
        "--regions",
        regions,
        "--limit",
        5,
        "--licence",
        "CC BY 4.0",
        "--skip-missing",
    )
    same = asked("import_visual_genome", root / "genome", project, *flags)
    reply = page.start(
        splits="lists/ids.json",
        regions="genome/region_descriptions.json",
        limit="5",
        licence="CC BY 4.0",
        skip_missing="on",
    )
    job = done(reply)
    assert (job.state, job.created_by) == (JobState.DONE, researcher)
    assert job.args == same | {"wanted": same["wanted"] | {"within": str(root)}}
    assert job.result["splits"] == {"train": 3, "val": 1, "test": 1}
    assert SourceRecord.objects.count() == Image.objects.filter(licence="CC BY 4.0").count() == 5
    assert AuditEvent.objects.get(action="images.import_source").actor == researcher
    assert command_lines([job])[0].startswith(f"manage.py import_visual_genome {root}/genome --project")
    assert "Warning" not in log()


def test_vcr_is_imported_as_by_the_command(root: Path, page: Pages, project: Project) -> None:
    allowed = root / "lists" / "train_annots.json"
    same = asked("import_vcr", root / "vcr1", project, "--allowed", allowed, "--min-entities", 2)
    job = done(page.start("vcr", allowed="lists/train_annots.json", min_entities="2"))
    assert job.args == same | {"wanted": same["wanted"] | {"within": str(root)}}
    assert job.result["new"] == 1
    assert Image.objects.get().split == "train"


def test_three_lists_and_the_rest_are_taken(root: Path, page: Pages) -> None:
    made.write(root / "lists" / "mine.json", [1])
    (root / "lists" / "tests.txt").write_text("2\n")
    job = done(
        page.start(val="lists/mine.json", test="lists/tests.txt", rest="train", allowed="lists/tests.txt")
    )
    assert job.result["splits"] == {"test": 1}
    assert job.args["wanted"]["splits"] == {
        "val": str(root / "lists" / "mine.json"),
        "test": str(root / "lists" / "tests.txt"),
    }


def test_dry_run_counts_and_stores_nothing(root: Path, page: Pages) -> None:
    reply = page.start(dry_run="on")
    assert "Nothing will be stored" in page.client.get(reply["Location"]).content.decode()
    job = done(reply)
    assert (job.title, job.result["dry_run"]) == ("Dry run: import Visual Genome", True)
    assert (job.result["images"], job.result["warning"]) == (6, UNSPLIT)
    assert f"Warning: {UNSPLIT}" in log()
    assert not Image.objects.exists()
    text = page.sources()
    assert "6 train; dry run, nothing was stored" in text
    assert UNSPLIT in text
    assert UNSPLIT in page.client.get(reverse("job-detail", args=[job.pk])).content.decode()


def test_form_offers_existing_files_with_published_names_preselected(root: Path, page: Pages) -> None:
    text = page.sources()
    assert '<option value="genome">genome</option>' in text
    assert '<option value="genome/region_descriptions.json" selected>' in text
    assert "Without a list of splits, all images are put into train." in text
    assert '<option value="genome/image_data.json">' not in text
    made.write(root / "densecap_splits.json", {"train": [1]})
    text = page.sources()
    assert '<option value="densecap_splits.json" selected>' in text
    assert "Without any list of splits" not in text
    made.vcr(root / "bare", FRAMES)
    text = page.sources("vcr")
    assert '<option value="vcr1">vcr1 (splits train, val)</option>' in text
    assert '<option value="bare">bare (no annotation files: all images are put into train)</option>' in text
    ticks = re.findall(r'name="allowed" value="([^"]+)"[^>]*checked', text)
    assert ticks == ["lists/train_annots.json"]


def test_existing_collection_is_shown_by_default(page: Pages, settings: Any, tmp_path: Path) -> None:
    settings.IMPORTS_ROOT = tmp_path
    made.vcr(tmp_path / "vcr1", FRAMES)
    assert "Import VCR</button>" in page.sources(collection="")
    assert "Import VCR</button>" not in page.sources()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("folder", ""),
        ("folder", "../imports/genome"),
        ("folder", "/etc"),
        ("folder", "."),
        ("folder", "lists"),
        ("folder", "vcr1"),
        ("folder", "away"),
        ("splits", "../secret.json"),
        ("splits", "lists/away.json"),
        ("splits", "lists/nowhere.json"),
        ("allowed", "lists/away.json"),
        ("regions", "/etc/passwd"),
        ("rest", "dev"),
        ("limit", "0"),
        ("licence", "x" * 121),
    ],
)
def test_nothing_else_is_taken(root: Path, page: Pages, tmp_path: Path, field: str, value: str) -> None:
    made.visual_genome(tmp_path / "elsewhere")
    (root / "away").symlink_to(tmp_path / "elsewhere")
    (root / "lists" / "away.json").symlink_to(tmp_path / "secret.json")
    assert "away" not in page.sources()
    reply = page.start(**{field: value})
    assert reply.status_code == 400
    assert "attention</h2>" in reply.content.decode()
    assert not Job.objects.exists()


def test_a_link_that_comes_after_the_choice_is_refused_by_the_job(
    root: Path, page: Pages, tmp_path: Path
) -> None:
    reply = page.start(splits="lists/ids.json")
    (root / "genome" / "VG_100K" / "3.jpg").rename(tmp_path / "elsewhere.jpg")
    (root / "genome" / "VG_100K" / "3.jpg").symlink_to(tmp_path / "elsewhere.jpg")
    job = done(reply)
    assert job.state == JobState.FAILED
    assert "VG_100K/3.jpg: is outside of" in job.error
    assert not Image.objects.exists()


def test_a_second_import_waits_for_the_first(root: Path, page: Pages) -> None:
    page.start()
    assert "Import Visual Genome</button>" in page.sources()
    assert 'value="on" disabled>Dry run' in page.sources()
    reply = page.start("vcr")
    assert reply.status_code == 400
    assert "Not started: Import VCR: is running already as job" in reply.content.decode()
    assert Job.objects.count() == 1


def test_an_import_from_the_page_is_cancelled_and_resumed(root: Path, page: Pages) -> None:
    page.start(splits="lists/ids.json")
    job = Job.objects.get()
    page.client.post(reverse("job-cancel", args=[job.pk]))
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    page.client.post(reverse("job-resume", args=[job.pk]))
    job.refresh_from_db()
    assert jobs.run_in_process(job=job).result["new"] == 6


# -- the command's warning


def test_command_warns_on_stderr_that_all_are_train(root: Path, project: Project) -> None:
    def import_stderr(*flags: object) -> str:
        err = io.StringIO()
        words = [
            "import_visual_genome",
            str(root / "genome"),
            "--project",
            project.slug,
            "--json",
            *map(str, flags),
        ]
        call_command(*words, stdout=io.StringIO(), stderr=err)
        return err.getvalue()

    assert f"Warning: {UNSPLIT}" in import_stderr("--dry-run")
    assert "Warning" not in import_stderr("--dry-run", "--splits", root / "lists" / "ids.json")
    assert "Warning: No list of splits was given: all images are put into train" in import_stderr(
        "--background"
    )


def test_an_import_of_an_earlier_release_is_read(root: Path, project: Project) -> None:
    job = sources.request_source_import(
        project=project, spec=VisualGenomeSource(str(root / "genome")), queue=False
    )
    del job.args["wanted"]["within"]
    job.save()
    assert jobs.run_in_process(job=job).result["new"] == 6


# -- files of proposals


def test_a_file_of_proposals_is_imported_from_its_page(
    root: Path, page: Pages, project: Project, researcher: User
) -> None:
    done(page.start())
    Job.objects.all().delete()
    urls = list(Image.objects.order_by("pk").values_list("source_url", flat=True))
    made.write(root / "image_url2auto_bboxes.json", {url: [[1, 2, 60, 40], [5, 5, 9, 9]] for url in urls[:4]})
    assert '<option value="image_url2auto_bboxes.json" selected>' in page.proposals()
    reply = page.start_file(limit="1")
    job = done(reply)
    run = ProposalRun.objects.get()
    assert (job.state, job.created_by, run.images, run.boxes) == (JobState.DONE, researcher, 4, 4)
    assert run.options["file"] == str(root / "image_url2auto_bboxes.json")
    assert run.options["within"] == str(root)


@pytest.mark.parametrize("before", ["recognise_layout", "_hash_file", "read_entries"])
def test_a_file_that_becomes_a_link_leading_out_is_refused_by_the_job_whenever_it_is_opened(
    root: Path, page: Pages, make_image: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    image = make_image(1)
    address = image_url(image)
    path = root / "image_url2auto_bboxes.json"
    made.write(path, {address: [[20, 20, 60, 40]]})
    made.write(tmp_path / "secret.json", {address: [[20, 20, 50, 30]]})
    steps = ["recognise_layout", "_hash_file", "read_entries"]  # all that open it, in their order
    opened: list[str] = []

    def swap_before(step: int) -> None:
        if steps[step : step + 1] == [before]:
            path.unlink()
            path.symlink_to(tmp_path / "secret.json")

    def watched(step: int, real: Any) -> Any:
        def call(*args: Any) -> Any:
            opened.append(steps[step])
            found = real(*args)
            swap_before(step + 1)
            return found

        return call

    for step, name in enumerate(steps):
        monkeypatch.setattr(pipeline, name, watched(step, getattr(pipeline, name)))
    reply = page.start_file(layout="auto")
    swap_before(0)
    job = done(reply)
    assert job.state == JobState.FAILED
    assert "image_url2auto_bboxes.json: is outside of" in job.error
    assert opened == steps[: steps.index(before)]
    assert ProposalRun.objects.get().boxes == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("file", ""),
        ("file", "../secret.json"),
        ("file", "away.json"),
        ("file", "lists"),
        ("file", "/etc/passwd"),
        ("layout", "shares"),
        ("limit", "0"),
        ("limit", "1001"),
    ],
)
def test_no_other_file_is_taken(
    root: Path, page: Pages, tmp_path: Path, make_image: Any, field: str, value: str
) -> None:
    make_image(1)
    (root / "away.json").symlink_to(tmp_path / "secret.json")
    assert "away.json" not in page.proposals()
    reply = page.start_file(**{field: value})
    assert reply.status_code == 400
    assert "Import boxes from a file" in reply.content.decode()
    assert "attention</h2>" in reply.content.decode()
    assert not ProposalRun.objects.exists()


def test_service_errors_are_shown_at_the_form(root: Path, page: Pages, make_image: Any) -> None:
    make_image(1)
    page.start_file()
    reply = page.start_file()
    assert reply.status_code == 400
    refusal = "Not started: Import boxes from file:image_url2auto_bboxes.json: is running already"
    assert refusal in reply.content.decode()
    assert json.loads((root / "image_url2auto_bboxes.json").read_text()) == {}
    assert ProposalRun.objects.count() == 1


# -- links that come while pictures are stored


def swap_for_a_link(path: Path, away: Path) -> None:
    path.rename(away)
    path.symlink_to(away)


@pytest.mark.parametrize("late", ["VG_100K/3.jpg", "VG_100K", "region_descriptions.json"])
def test_a_link_that_comes_after_the_plan_is_refused_before_it_is_opened(
    root: Path, page: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    def planned(*args: Any, **options: Any) -> Any:
        plan = read(*args, **options)
        swap_for_a_link(root / "genome" / late, tmp_path / "elsewhere")
        return plan

    read = sources.read_visual_genome
    monkeypatch.setattr(sources, "read_visual_genome", planned)
    job = done(page.start(splits="lists/ids.json", regions="genome/region_descriptions.json"))
    assert job.state == JobState.FAILED
    named = {"VG_100K": "VG_100K/1.jpg"}.get(late, late)
    assert f"{root}/genome/{named}: is outside of {root}; put the file itself there" in job.error
    assert not Image.objects.exists()


def test_metadata_that_becomes_a_link_after_the_plan_is_refused(
    root: Path, page: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = next((root / "vcr1").rglob("a@0.json"))

    def planned(*args: Any, **options: Any) -> Any:
        plan = read(*args, **options)
        swap_for_a_link(metadata, tmp_path / "elsewhere.json")
        return plan

    read = sources.read_vcr
    monkeypatch.setattr(sources, "read_vcr", planned)
    job = done(page.start("vcr"))
    assert f"{metadata}: is outside of {root}" in job.error
    assert not Image.objects.exists()


def test_link_between_batches_stops_import(
    root: Path, page: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_images, "BATCH_SIZE", 2)
    page.start(splits="lists/ids.json")
    picture = root / "genome" / "VG_100K" / "5.jpg"

    def listen(current: Job, line: str) -> None:
        if current.done == 2 and not picture.is_symlink():
            swap_for_a_link(picture, tmp_path / "elsewhere.jpg")

    job = jobs.run_in_process(job=Job.objects.get(), listener=listen)
    assert (job.state, job.done) == (JobState.FAILED, 4)
    assert "VG_100K/5.jpg: is outside of" in job.error
    assert Image.objects.count() == 4
    picture.unlink()
    (tmp_path / "elsewhere.jpg").rename(picture)
    assert jobs.run_in_process(job=jobs.resume_job(job=job, queue=False)).result["new"] == 6


def test_a_command_still_follows_links_wherever_they_lead(
    root: Path, project: Project, tmp_path: Path
) -> None:
    swap_for_a_link(root / "genome" / "VG_100K", tmp_path / "elsewhere")
    job = sources.request_source_import(
        project=project, spec=VisualGenomeSource(str(root / "genome")), queue=False
    )
    assert jobs.run_in_process(job=job).result["new"] == 6
