"""Old pages in the console: kept, checked, shown in a frame without rights, launched row by row."""

import re
import uuid
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from hits.domain.task_template.rows import parse_rows
from hits.models import AuditEvent, Batch, Hit, Project, TaskTemplate
from hits.models.base import AppendOnlyError
from hits.mturk.boto import marketplace
from hits.selectors.listing import TaskListing
from hits.services.errors import Refused
from hits.services.launching import template_launch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from tests.support import loop, market

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = """<form action="https://www.mturk.com/mturk/externalSubmit">
<h1>${city}</h1>
<label><input type="radio" name="size" value="s" required> Small</label>
<label><input type="radio" name="size" value="l"> Large</label>
<button>Send</button></form>"""
ROWS = "city\nPorto\n<b>Graz</b>\n"
LISTING = TaskListing("Look at a city", "Say how large it is.", "city", 90)


def saved(project: Project, html: str = PAGE, name: str = "Cities") -> TaskTemplate:
    return template_launch.save_template(project=project, name=name, html=html, by=None)


def launched(project: Project, *, rows: str = ROWS, hosts: tuple[str, ...] = (), **more: Any) -> Batch:
    market.fund()
    plan = template_launch.TemplateLaunch(
        saved(project, more.pop("html", PAGE)), parse_rows(rows), LISTING, hosts, **more
    )
    terms = LaunchTerms(reward_cents=30)
    return template_launch.launch_template(project=project, plan=plan, name="Cities", terms=terms, by=None)[0]


class TestKeeping:
    def test_same_page_keeps_its_version_and_changed_page_gets_the_next(self, project: Project) -> None:
        first = saved(project)
        assert saved(project).pk == first.pk
        second = saved(project, PAGE + "<p>${more}</p>")
        assert (second.version, second.variables) == (2, ["city", "more"])
        assert AuditEvent.objects.filter(action="template.upload").count() == 2
        with pytest.raises(AppendOnlyError, match="never deleted"):
            second.delete()

    def test_invalid_page_is_refused_by_field(self, project: Project) -> None:
        with pytest.raises(Refused, match="name: name the page"):
            saved(project, name="  ")
        with pytest.raises(Refused, match="page: the page is empty"):
            saved(project, " ")
        assert not TaskTemplate.objects.exists()


class TestLaunching:
    def test_each_row_is_a_unit_and_the_listing_goes_to_the_marketplace(self, project: Project) -> None:
        batch = launched(project, hosts=("pics.example.org",))
        assert list(batch.units.values_list("key", flat=True)) == ["row-1", "row-2"]
        assert batch.units.first().payload["values"] == {"city": "Porto"}
        assert batch.provenance["hosts"] == ["pics.example.org"]
        publish.publish_batch(batch=batch, marketplace=marketplace())
        hit_type = market.HIT.objects.get(hit_id=Hit.objects.first().hit_id).hit_type
        assert hit_type.title == "Look at a city"
        assert hit_type.description == "Say how large it is."

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"rows": "town\nPorto\n"}, "page, line 2: .*city.* no column"),
            ({"html": PAGE.replace("<form", "<form><form", 1)}, "the check has 1 error"),
            ({"hosts": ("not a host",)}, "hosts: 'not a host' is not a host"),
        ],
    )
    def test_invalid_template_launch_writes_nothing(
        self, project: Project, change: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(Refused, match=message):
            launched(project, **change)
        assert not Batch.objects.exists()

    def test_findings_can_be_ignored_except_a_missing_column(self, project: Project) -> None:
        assert launched(project, html=PAGE.replace("<form", "<form><form", 1), ignore_findings=True).pk
        with pytest.raises(Refused, match="no column"):
            launched(project, rows="town\nPorto\n", ignore_findings=True)

    def test_a_page_of_another_project_is_refused(self, project: Project, rehearsal: Project) -> None:
        plan = template_launch.TemplateLaunch(saved(rehearsal), parse_rows(ROWS), LISTING)
        with pytest.raises(Refused, match="another project"):
            template_launch.launch_template(
                project=project, plan=plan, name="x", terms=LaunchTerms(), by=None
            )


class TestFrame:
    def document(self, client: Client, batch: Batch, number: int = 0) -> Any:
        unit = batch.units.order_by("pk")[number]
        return client.get(reverse("hit-document", args=[unit.public_id]), HTTP_HOST=host())

    def test_values_are_unescaped_and_our_script_comes_first(self, project: Project, client: Client) -> None:
        reply = self.document(client, launched(project), 1)
        body = reply.content.decode()
        assert "<h1><b>Graz</b></h1>" in body
        assert body.startswith("<!doctype html><script src=")
        assert "Set-Cookie" not in reply.headers

    def test_policy_sandboxes_the_page_and_allows_the_launch_hosts(
        self, project: Project, client: Client
    ) -> None:
        reply = self.document(client, launched(project, hosts=("pics.example.org",)))
        rules = dict(rule.split(" ", 1) for rule in reply["Content-Security-Policy"].split("; "))
        assert rules["sandbox"] == "allow-scripts allow-forms"
        assert rules["default-src"] == rules["form-action"] == "'none'"
        assert rules["img-src"].split()[-1] == "https://pics.example.org"
        assert settings.PUBLIC_URL in rules["frame-ancestors"]
        assert reply["Referrer-Policy"] == "no-referrer"
        assert "X-Frame-Options" not in reply.headers

    def test_document_of_other_kinds_and_unknown_units_is_not_found(
        self, project: Project, client: Client, make_image: Any
    ) -> None:
        market.fund()
        unit = loop.launched(project, [make_image(1)]).units.get()
        for public_id in (unit.public_id, uuid.uuid4()):
            url = reverse("hit-document", args=[public_id])
            assert client.get(url, HTTP_HOST=host()).status_code == 404

    def test_doctype_stays_first(self, project: Project, client: Client) -> None:
        batch = launched(project, html="<!-- x -->\n<!DOCTYPE html>\n" + PAGE)
        assert re.match(r"<!-- x -->\n<!DOCTYPE html><script", self.document(client, batch).content.decode())


class TestConsole:
    def test_from_upload_to_launch(self, project: Project, client: Client, researcher: User) -> None:
        market.fund()
        client.force_login(researcher)
        upload = {"name": "Cities", "page": SimpleUploadedFile("old.html", PAGE.encode())}
        reply = client.post(reverse("project-templates", args=[project.slug]), upload)
        template = TaskTemplate.objects.get()
        address = reverse("template-detail", args=[project.slug, template.pk])
        assert reply.headers["Location"] == address
        rows = SimpleUploadedFile("rows.csv", ROWS.encode())
        reply = client.post(address, {"rows_file": rows, "step": "check"})
        assert b"2 rows" in reply.content
        typed = {
            "rows": ROWS, "name": "Cities", "title": "Look at a city", "description": "How large?",
            "reward": "0.30", "assignments": "3", "expected_minutes": "1.5", "allowed_minutes": "20",
        }  # fmt: skip
        reply = client.post(address, typed | {"step": "estimate"})
        assert reply.status_code == 200
        assert b"1.80" in reply.content
        key = reply.context["idempotency_key"]
        for _ in range(2):  # a second press of the same button launches nothing twice
            reply = client.post(address, typed | {"step": "launch", "idempotency_key": key})
            assert reply.status_code == 302
        batch = Batch.objects.get()
        assert (batch.redundancy, batch.reward_cents, batch.duration_seconds) == (3, 30, 1200)
        assert batch.provenance["listing"]["usual_seconds"] == 90

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({}, "Choose a file or paste the CSV"),
            ({"rows": "a\n1,2\n"}, "Line 2: has 2 cells"),
            ({"rows": "a,b,c\n1,2\n"}, "add what is missing, with a comma for each empty cell"),
        ],
    )
    def test_bad_rows_are_reported_at_their_field(
        self, project: Project, client: Client, researcher: User, data: dict[str, str], message: str
    ) -> None:
        client.force_login(researcher)
        reply = client.post(
            reverse("template-detail", args=[project.slug, saved(project).pk]), data | {"step": "check"}
        )
        assert reply.status_code == 400
        assert message in reply.content.decode()

    def test_preview_fills_in_a_row_and_is_sandboxed(
        self, project: Project, client: Client, researcher: User
    ) -> None:
        client.force_login(researcher)
        address = reverse("template-document", args=[project.slug, saved(project).pk])
        assert b"<h1>${city}</h1>" in client.get(address).content
        reply = client.post(address, {"rows": ROWS, "row": "2"})
        assert b"<h1><b>Graz</b></h1>" in reply.content
        assert reply["Content-Security-Policy"].startswith("sandbox allow-scripts allow-forms;")
        assert b"<h1>Porto</h1>" in client.post(address, {"rows": ROWS, "row": ""}).content

    @pytest.mark.parametrize("row", ["9", "0", "-7", "two", "<b>2</b>"])
    def test_preview_of_a_missing_row_is_an_error(
        self, project: Project, client: Client, researcher: User, row: str
    ) -> None:
        client.force_login(researcher)
        address = reverse("template-document", args=[project.slug, saved(project).pk])
        reply = client.post(address, {"rows": ROWS, "row": row})
        assert reply.status_code == 400
        assert f"There is no row {escape(row)}: the CSV has 2 rows." in reply.content.decode()
        assert "<h1>" not in reply.content.decode()
        assert reply["Content-Security-Policy"].startswith("sandbox allow-scripts allow-forms;")

    def test_another_projects_page_is_not_found(
        self, project: Project, rehearsal: Project, client: Client, researcher: User
    ) -> None:
        client.force_login(researcher)
        address = reverse("template-detail", args=[project.slug, saved(rehearsal).pk])
        assert client.get(address).status_code == 404


class TestCommands:
    def test_check_template_prints_findings_and_fails_on_errors(self, tmp_path: Any, capsys: Any) -> None:
        page, rows = tmp_path / "old.html", tmp_path / "rows.csv"
        page.write_text(PAGE)
        rows.write_text(ROWS)
        call_command("check_template", str(page), str(rows), "--json")
        assert '"to_mend": 0' in capsys.readouterr().out
        rows.write_text("town\nPorto\n")
        with pytest.raises(CommandError) as ended:
            call_command("check_template", str(page), str(rows), "--json")
        assert ended.value.returncode == 1
        assert '"no-column"' in capsys.readouterr().out
        rows.write_text("city,more\nPorto,x\n")
        call_command("check_template", str(page), str(rows))
        assert "CSV: advice: the page does not use the CSV’s column more" in capsys.readouterr().out
        with pytest.raises(CommandError, match=r"old\.html: line 1: starts with “<”") as ended:
            call_command("check_template", str(page), str(page))
        assert ended.value.returncode == 2

    def test_launch_template_publishes_before_it_returns(
        self, project: Project, tmp_path: Any, capsys: Any
    ) -> None:
        market.fund()
        page, rows = tmp_path / "old.html", tmp_path / "rows.csv"
        page.write_text(PAGE)
        rows.write_text(ROWS)
        options = {"project": project.slug, "reward_cents": 30, "title": "Look", "description": "How large?"}
        call_command("launch_template", str(page), str(rows), json=True, **options)
        assert '"hits": 2' in capsys.readouterr().out
        with pytest.raises(CommandError, match="no such file") as refused:
            call_command("launch_template", str(tmp_path / "none.html"), str(rows), **options)
        assert refused.value.returncode == 2


def host() -> str:
    """Return the name under which HIT pages are served."""
    return settings.HIT_ORIGIN.partition("//")[2]
