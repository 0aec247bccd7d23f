"""Results in Mechanical Turk's columns for every kind, and decisions uploaded in the same file."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from hits.domain.mturk_formats.answer_xml import join_values_by_name
from hits.domain.mturk_formats.results_csv import (
    ASSIGNMENT_COLUMNS,
    HIT_COLUMNS,
    ResultsError,
    csv_lines,
    escape_formula,
    flatten,
    format_rate,
    format_time,
    parse_decisions,
)
from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.domain.task_template.rows import parse_rows
from hits.models import Assignment, AuditEvent, Batch, Decision, Hit, Image, Job, Project
from hits.mturk.boto import marketplace
from hits.selectors.listing import TaskListing
from hits.selectors.results import result_rows
from hits.services.errors import Conflict, Refused
from hits.services.launching import template_launch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.services.reviewing import results_upload
from hits.tasks import settle_uploaded_decisions
from tests.support import market
from tests.support.loop import collected, published

PAGE = '<form><label>${city} <textarea name="why"></textarea></label><button>Send</button></form>'
ANSWERS = [
    [["why", "=1+1"], ["has", "harbour"], ["has", "tram"]],
    [["why", "plain, with a comma\nand a line"]],
    [["why", "+49"]],
]


def cells(rows: Any) -> list[dict[str, str]]:
    """Return rows by column."""
    heading, *rest = rows
    return [dict(zip(heading, row, strict=True)) for row in rest]


@pytest.fixture
def batch(project: Project, transactional_db: None) -> Batch:
    """Return a batch over an old page with three submissions of three workers."""
    market.fund()
    template = template_launch.save_template(project=project, name="Cities", html=PAGE, by=None)
    table = parse_rows('city\nPorto\n"Graz, Styria"\nBern\n')
    plan = template_launch.TemplateLaunch(template, table, TaskListing("Cities", "Say why.", "city", 60))
    made, _ = template_launch.launch_template(
        project=project, plan=plan, name="Cities", terms=LaunchTerms(reward_cents=25), by=None
    )
    publish.publish_batch(batch=made, marketplace=marketplace())
    for number, (hit, fields) in enumerate(zip(Hit.objects.order_by("pk"), ANSWERS, strict=True)):
        market.work(hit, market.market_worker(f"w{number}"), answer={"fields": fields})
    collected(made)
    return Batch.objects.get(pk=made.pk)


def filled(batch: Batch, *decisions: tuple[str, str]) -> str:
    """Return the batch's file with Approve and Reject filled in, row by row."""
    heading, *rows = list(result_rows(batch))
    for row, (approve, reject) in zip(rows, decisions, strict=False):
        row[-2:] = [approve, reject]
    return "".join(csv_lines([heading, *rows], guard=True))


class TestFile:
    @pytest.mark.rule(
        "results-columns",
        source="D",
        text="Results have Mechanical Turk's columns in its order, then Input.*, Answer.*, Approve and Reject.",
    )
    def test_columns_are_amazons_then_inputs_answers_and_decisions(self, batch: Batch) -> None:
        heading = next(iter(result_rows(batch)))
        own = ["Input.city", "Answer.why", "Answer.has", "Approve", "Reject"]
        assert heading == [*HIT_COLUMNS, *ASSIGNMENT_COLUMNS, *own]

    def test_row_holds_marketplace_and_page_values(self, batch: Batch) -> None:
        first, second, _ = cells(result_rows(batch))
        row = Assignment.objects.order_by("submitted_at", "id").first()
        assert row is not None
        assert first["HITId"] == row.hit.hit_id
        assert first["AssignmentId"] == row.assignment_id
        assert first["WorkerId"] == row.worker.worker_id
        assert (first["Title"], first["Reward"], first["AssignmentStatus"]) == (
            "Cities",
            "$0.25",
            "Submitted",
        )
        assert first["SubmitTime"] == format_time(row.submitted_at)
        assert first["LifetimeApprovalRate"] == "0% (0/0)"
        assert (first["Answer.has"], second["Answer.has"]) == ("harbour|tram", "")
        assert second["Input.city"] == "Graz, Styria"

    def test_decisions_show_in_their_columns(self, batch: Batch) -> None:
        data = filled(batch, ("Thank you", ""), ("", "Nothing was read."))
        results_upload.apply_upload(upload=results_upload.read_upload(batch=batch, data=data), by=None)
        settle_uploaded_decisions(Job.objects.get(task=results_upload.SETTLE_TASK).pk)
        first, second, third = cells(result_rows(batch))
        assert (first["AssignmentStatus"], first["RequesterFeedback"]) == ("Approved", "Thank you")
        assert first["ApprovalTime"]
        assert not first["RejectionTime"]
        assert second["AssignmentStatus"] == "Rejected"
        assert second["RejectionTime"]
        assert (first["LifetimeApprovalRate"], second["Last7DaysApprovalRate"]) == ("100% (1/1)", "0% (0/1)")
        assert third["AssignmentStatus"] == "Submitted"

    def test_unconfirmed_work_is_not_downloaded(self, batch: Batch) -> None:
        Assignment.objects.filter(pk=Assignment.objects.order_by("pk")[0].pk).update(
            match=SubmissionMatch.MISMATCH
        )
        assert len(cells(result_rows(batch))) == 2

    def test_other_kinds_come_by_path(
        self, project: Project, make_image: Callable[..., Image], db: None
    ) -> None:
        market.fund()
        made = published(project, [make_image(1)])
        market.work(Hit.objects.get(), market.market_worker())
        collected(made)
        (row,) = cells(result_rows(made))
        assert row["Answer.observations[0].clue"] == "the lamp at the left"
        assert row["Answer.observations[0].boxes[0].left"] == "2"
        assert row["Input.image"] == str(Image.objects.get().pk)

    @pytest.mark.django_db(transaction=True)
    def test_the_number_of_queries_does_not_grow_with_the_rows(
        self, batch: Batch, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(4):
            assert len(list(result_rows(batch))) == 4


class TestParts:
    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
    def test_what_a_spreadsheet_would_reckon_gets_a_mark_in_front(self, start: str) -> None:
        assert escape_formula(f"{start}1") == f"'{start}1"
        assert escape_formula(f"1{start}") == f"1{start}"
        written = "".join(csv_lines([[f"{start}1"]], guard=False))
        assert next(csv.reader(io.StringIO(written, newline=""))) == [f"{start}1"]

    @pytest.mark.rule(
        "results-boxes",
        source="D",
        text="Ticked boxes of one name stand in one cell with a bar between them.",
    )
    def test_paths_joins_moments_and_rates(self) -> None:
        assert flatten({"a": [{"b": 1}, {"b": None}], "c": True}) == {
            "a[0].b": "1",
            "a[1].b": "",
            "c": "true",
        }
        assert join_values_by_name([["x", "1"], ["y", ""], ["x", "2"]]) == {"x": "1|2", "y": ""}
        assert format_time(datetime(2026, 11, 3, 4, 5, 6, tzinfo=UTC)) == "Tue Nov 03 04:05:06 UTC 2026"
        assert (format_rate(4, 5), format_rate(0, 0), format_rate(2, 3)) == (
            "80% (4/5)",
            "0% (0/0)",
            "66% (2/3)",
        )

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"Approve": "x", "Reject": "no"}, "line 7, columns Approve and Reject"),
            ({"Reject": "X"}, "line 7, column Reject: write the reason"),
            ({"Approve": "x", "AssignmentId": " "}, "line 7, column AssignmentId: is empty"),
            ({"Reject": "n" * 1001}, "line 7, column Reject: over 1,000"),
            ({}, "the file has no decision"),
        ],
    )
    def test_decisions_that_cannot_be_read_name_line_and_column(
        self, row: dict[str, str], message: str
    ) -> None:
        with pytest.raises(ResultsError, match=message):
            parse_decisions([(7, {"AssignmentId": "A", "Approve": "", "Reject": ""} | row)])

    def test_an_assignment_is_decided_once(self) -> None:
        row = {"AssignmentId": "A", "Approve": "x"}
        with pytest.raises(ResultsError, match=r"line 9.*A is in line 8 already"):
            parse_decisions([(8, row), (9, row)])


class TestUpload:
    @pytest.mark.rule(
        "results-upload",
        source="D",
        text="A results file with Approve or Reject filled in decides; rows with neither stay as they are.",
    )
    def test_the_downloaded_file_comes_back_and_is_carried_out(self, batch: Batch) -> None:
        data = filled(batch, ("x", ""), ("", "Nothing was read."))
        upload = results_upload.read_upload(batch=batch, data=data.encode())
        assert (upload.approval_count, upload.rejection_count, upload.cents) == (1, 1, 25)
        assert results_upload.apply_upload(upload=upload, by=None) is not None
        settle_uploaded_decisions(Job.objects.get(task=results_upload.SETTLE_TASK).pk)
        stand = list(Assignment.objects.order_by("submitted_at", "id").values_list("status", flat=True))
        assert stand == [AssignmentStatus.APPROVED, AssignmentStatus.REJECTED, AssignmentStatus.SUBMITTED]
        again = results_upload.read_upload(batch=batch, data=data)
        assert (again.decisions, again.already_decided) == ((), 2)
        assert results_upload.apply_upload(upload=again, by=None) is None

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda text: text.replace('"Approve"', '"Approved"', 1), "line 1: has no column Approve"),
            (lambda text: text[: text.index("\r\n") + 2] + '"short"\r\n', "line 2: has 1 cell"),
        ],
    )
    def test_a_file_of_another_shape_is_refused(
        self, batch: Batch, change: Callable[[str], str], message: str
    ) -> None:
        with pytest.raises(Refused, match=message):
            results_upload.read_upload(batch=batch, data=change(filled(batch, ("x", ""))))

    def test_assignment_of_another_batch_refuses_the_file(self, batch: Batch) -> None:
        foreign = Assignment.objects.order_by("submitted_at", "id").last()
        assert foreign is not None
        data = filled(batch, ("x", ""), ("x", ""), ("x", "")).replace(foreign.assignment_id, "ELSEWHERE")
        with pytest.raises(Refused, match=r"line 5, column AssignmentId: ELSEWHERE is not a confirmed"):
            results_upload.read_upload(batch=batch, data=data)
        assert not Decision.objects.exists()

    def test_a_contradiction_is_refused_and_a_file_is_decided_as_a_whole(self, batch: Batch) -> None:
        upload = results_upload.read_upload(batch=batch, data=filled(batch, ("x", ""), ("x", "")))
        one = results_upload.read_upload(batch=batch, data=filled(batch, ("", ""), ("", "No reason in it.")))
        results_upload.apply_upload(upload=one, by=None)  # a colleague, after the first file was checked
        with pytest.raises(Refused, match="No decision of the file was applied"):
            results_upload.apply_upload(upload=upload, by=None)
        assert Decision.objects.count() == 1
        with pytest.raises(Conflict, match=r"line 3: .* is decided otherwise already"):
            results_upload.read_upload(batch=batch, data=filled(batch, ("x", ""), ("x", "")))


class TestPages:
    def test_download_is_recorded_and_guarded_by_default(
        self, batch: Batch, client: Client, researcher: User
    ) -> None:
        client.force_login(researcher)
        address = reverse("results-file", args=[batch.pk])
        body = b"".join(client.post(address).streaming_content).decode()
        assert '"\'=1+1"' in body
        plain = b"".join(client.post(address, {"plain": "1"}).streaming_content).decode()
        assert '"=1+1"' in plain
        event = AuditEvent.objects.filter(action="results.download").first()
        assert event is not None
        assert event.data == {"rows": 3}

    def test_upload_is_checked_shown_and_confirmed(
        self, batch: Batch, client: Client, researcher: User
    ) -> None:
        client.force_login(researcher)
        address = reverse("results-upload", args=[batch.pk])
        file = SimpleUploadedFile("r.csv", filled(batch, ("x", ""), ("", "Read nothing.")).encode())
        reply = client.post(address, {"results": file})
        assert b"Approve 1 and pay $0.25, reject 1" in reply.content
        assert not Decision.objects.exists()
        decisions = reply.context["decisions"]
        assert client.post(address, {"confirm": "1", "decisions": decisions}).status_code == 302
        assert Decision.objects.filter(decided_by=researcher).count() == 2
        bad = SimpleUploadedFile("r.csv", b"AssignmentId,Approve,Reject\nX,x,\n")
        reply = client.post(address, {"results": bad})
        assert reply.status_code == 400
        assert "Line 2, column AssignmentId: X is not a confirmed" in reply.content.decode()

    def test_the_command_writes_the_same_file_and_no_other_over_it(self, batch: Batch, tmp_path: Any) -> None:
        out = tmp_path / "results.csv"
        call_command("download_results", str(batch.pk), "--out", str(out))
        with out.open(newline="") as file:
            assert cells(csv.reader(file))[1]["Answer.why"] == "plain, with a comma\nand a line"
        with pytest.raises(CommandError, match="exists already"):
            call_command("download_results", str(batch.pk), "--out", str(out))
