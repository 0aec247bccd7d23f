"""The files of per-rater rows: complete, equal in both formats, and without anybody's id."""

import csv
import hashlib
import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.domain.hashing import keyed_worker_hash
from hits.domain.states import JobState
from hits.models import Hit, Image, Job, Project, Worker
from hits.services.errors import Refused
from tests.support.judging.many_judgments import Crowd, fill
from tests.support.judging.work import Work, ratings, review
from validation import tasks
from validation.domain.judging.quality_check_types import CheckRole
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.domain.reports.rater_rows import COLUMNS
from validation.models import ImportedJudgment, JudgmentImport, QualityCheck
from validation.services import rater_rows
from validation.services.judging import launch_comparison, launch_review

pytestmark = pytest.mark.django_db(transaction=True)
REVIEW, LIKERT = "observation_review", "likert_comparison"


@pytest.fixture
def judged(work: Work, make_image: Callable[..., Image]) -> list[Hit]:
    """Return three reviewed HITs: two judges, two judges, and one that is a control."""
    pairs = work.observed(make_image(1))
    batch, _ = launch_review(project=work.project, observations=pairs, by=None)
    work.publish(batch)
    hits = list(Hit.objects.filter(unit__batch=batch).order_by("pk"))
    for hit in hits:
        work.answered(hit, "JUDGEONE", review())
        work.answered(hit, "JUDGETWO", review("un", "mostly"))
    QualityCheck.objects.create(unit=hits[2].unit, role=CheckRole.ATTENTION, expected={})
    return hits


def rows_in(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "rows.csv").read_text("utf-8"))))


def test_a_row_for_each_label_and_equal_in_both_files(
    project: Project, judged: list[Hit], tmp_path: Path
) -> None:
    made = rater_rows.write_rater_rows(project=project, kind=REVIEW, folder=tmp_path / "out")
    rows = rows_in(tmp_path / "out")
    assert (made.rows, made.judgments, len(rows)) == (12, 4, 12)
    assert tuple(rows[0]) == COLUMNS
    first = rows[0]
    one = Worker.objects.get(worker_id="JUDGEONE")
    assert first["rater"] == keyed_worker_hash(settings.WORKER_HASH_SECRET, one.environment, one.worker_id)
    assert (first["kind"], first["item"]) == (REVIEW, judged[0].unit.payload["observation"])
    assert (first["dimension"], first["label"], float(first["value"])) == ("reasonable", "highly", 2)
    assert (float(first["seconds"]), first["simulated"], first["imported"]) == (60, "0", "0")
    assert first["submitted_at"].endswith("+00:00")
    table = pq.read_table(tmp_path / "out" / "rows.parquet").to_pylist()
    assert [row["label"] for row in table] == [row["label"] for row in rows]
    assert [row["submitted_at"].isoformat() for row in table] == [row["submitted_at"] for row in rows]
    assert table[0]["submitted_at"].utcoffset() == timedelta(0)
    assert isinstance(table[0]["batch"], int)
    for file in made.files:
        content = (tmp_path / "out" / file.name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file.bytes, file.sha256)


def test_exported_files_contain_no_worker_id(project: Project, judged: list[Hit], tmp_path: Path) -> None:
    rater_rows.write_rater_rows(project=project, kind=REVIEW, folder=tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "rows.parquet")
    texts = [path.read_bytes() for path in (tmp_path / "out").iterdir()]
    texts.append(str(table.to_pylist()).encode())  # Parquet's own bytes are compressed
    texts.append(str(table.schema.metadata).encode())
    for worker in Worker.objects.all():
        for text in texts:
            assert worker.worker_id.encode() not in text
            assert str(worker).encode() not in text
    assert "worker" not in (tmp_path / "out" / "rows.csv").read_text()


def test_rating_rows_name_set_and_candidate(
    work: Work, make_image: Callable[..., Image], tmp_path: Path
) -> None:
    image = make_image(1)
    gold, other = work.observed(image)[:2]
    found = SetToJudge(
        "7",
        gold.instance_id,
        image.pk,
        gold.boxes,
        [CandidateToRate(pair.instance_id, pair.inference) for pair in (gold, other)],
    )
    batch, _ = launch_comparison(project=work.project, sets=[found], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    work.answered(hit, "J1", ratings(hit, 3, 1))
    rater_rows.write_rater_rows(project=work.project, kind=LIKERT, folder=tmp_path / "out")
    rows = rows_in(tmp_path / "out")
    assert [(row["item"], row["label"], float(row["value"])) for row in rows] == [
        (f"7/{gold.instance_id}", "3", 3.0),
        (f"7/{other.instance_id}", "1", 1.0),
    ]


def test_imported_raters_keep_their_hash(project: Project, tmp_path: Path) -> None:
    source = JudgmentImport.objects.create(
        project=project, kind=REVIEW, name="Old", sha256="0" * 64, judgments=1
    )
    ImportedJudgment.objects.create(source=source, item="=1+1", rater="ab" * 16, answer=review())
    rater_rows.write_rater_rows(project=project, kind=REVIEW, folder=tmp_path / "out")
    first = rows_in(tmp_path / "out")[0]
    assert (first["rater"], first["batch"], first["imported"]) == ("ab" * 16, "", "1")
    assert first["item"] == "'=1+1"  # a spreadsheet must not compute it
    assert pq.read_table(tmp_path / "out" / "rows.parquet")["item"][0].as_py() == "=1+1"


def test_many_rows_come_in_chunks(
    project: Project, make_image: Callable[..., Image], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rater_rows, "ROWS_CHUNK_SIZE", 50)
    fill(project, [make_image(1)], Crowd(items=40, workers=5))
    made = rater_rows.write_rater_rows(project=project, kind=REVIEW, folder=tmp_path / "out")
    rows = rows_in(tmp_path / "out")
    assert made.rows == len(rows) == 360
    assert len({(row["item"], row["rater"], row["dimension"]) for row in rows}) == 360


def test_an_answer_off_its_scale_leaves_the_earlier_files(project: Project, judged: list[Hit]) -> None:
    before = rater_rows.write_rater_rows(project=project, kind=REVIEW)
    source = JudgmentImport.objects.create(
        project=project, kind=REVIEW, name="Bad", sha256="1" * 64, judgments=1
    )
    ImportedJudgment.objects.create(source=source, item="x", rater="a" * 32, answer=review("nonsense"))
    with pytest.raises(Refused, match="nonsense"):
        rater_rows.write_rater_rows(project=project, kind=REVIEW)
    assert rater_rows.find_rater_row_files(project, REVIEW) == before
    folder = rater_rows.rows_folder(project, REVIEW)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_from_the_button_to_the_download(
    client: Client, project: Project, judged: list[Hit], researcher: User
) -> None:
    client.force_login(researcher)
    page = reverse("judging-report", args=[project.slug])
    file = reverse("judging-rows-file", args=[project.slug, REVIEW, "rows.csv"])
    assert client.get(file).status_code == 404
    assert "Create the files" in " ".join(client.get(page).content.decode().split())
    client.post(reverse("judging-rows", args=[project.slug]), {"kind": REVIEW})
    assert "Files of per-rater rows" in client.get(page).content.decode()
    job = Job.objects.get(task="validation.make_rater_rows")
    tasks.make_rater_rows(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["rows"]) == (JobState.DONE, 12)
    shown = client.get(page).content.decode()
    assert "12 rows of 4 judgments" in shown
    reply = client.get(file)
    content = b"".join(reply.streaming_content)  # type: ignore[attr-defined]
    assert hashlib.sha256(content).hexdigest() in shown
    assert reply.headers["Content-Disposition"].startswith("attachment")
    for name in ("manifest.json", "../rows.csv", "nothing"):
        address = f"/projects/{project.slug}/judging/report/rows/{REVIEW}/{name}"
        assert client.get(address).status_code == 404


def test_rater_row_files_are_not_served(client: Client, project: Project, judged: list[Hit]) -> None:
    rater_rows.write_rater_rows(project=project, kind=REVIEW)
    folder = rater_rows.rows_folder(project, REVIEW)
    address = f"/media/{folder.relative_to(settings.MEDIA_ROOT)}/rows.csv"
    assert client.get(address).status_code == 404
    assert client.get(address, headers={"host": settings.HIT_ORIGIN.split("//")[1]}).status_code == 404
