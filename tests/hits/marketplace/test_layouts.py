"""HIT layouts: created by a command, filled by CreateHIT."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from hits.domain.mturk_formats.answer_xml import parse_answer
from hits.marketplace.formats.html_question import add_form_if_missing, parse_html_question, prepare_page
from hits.marketplace.formats.layout import LayoutError, fill_layout, list_variables
from hits.marketplace.models import Assignment, HITLayout, Worker
from hits.marketplace.services import accounts
from tests.hits.marketplace.support import Market, accept, hit_params, secret_of
from tests.hits.marketplace.test_admission import Browser
from tests.hits.marketplace.test_conformance import code_of
from tests.hits.marketplace.test_questions import frame_of, framed

PAGE = '<form action="https://www.mturk.com/mturk/externalSubmit"><img src="${url}"><p>${text} ${text}</p></form>'
EDITOR_PAGE = '<p>${text}</p>\n<label>What <input name="what" required></label>'  # neither form nor button
FORM = '<form name="mturk_form" id="mturk_form" method="post" action="https://www.mturk.com/mturk/externalSubmit">'
FIELD = '<input type="hidden" name="assignmentId" id="assignmentId" value="">'
BUTTON = '<p><input type="submit" id="submitButton" value="Submit"></p>'
VALUES = {"url": "https://example.org/a.jpg?x=1&y=2", "text": "<b>Look</b> here"}


def make(path: Path, html: str = PAGE, name: str = "Photo", **options: Any) -> str:
    """Run the command and return the layout's id."""
    path.write_text(html)
    call_command("create_hit_layout", str(path), requester="Abduction lab", name=name, **options)
    return HITLayout.objects.get(name=name).layout_id


def create(client: Any, layout_id: str, values: dict[str, str]) -> dict[str, Any]:
    """Make a HIT from a layout."""
    params = hit_params(
        HITLayoutId=layout_id,
        HITLayoutParameters=[{"Name": name, "Value": value} for name, value in values.items()],
    )
    del params["Question"]
    return dict(client.create_hit(**params)["HIT"])


@pytest.mark.rule(
    "layout-values",
    source="D",
    text="HITLayoutParameters replace a layout's ${variables} unescaped, and the result is an HTMLQuestion.",
)
def test_layout_values_are_inserted_unescaped(mturk: Any, tmp_path: Path) -> None:
    layout_id = make(tmp_path / "page.html", frame_height=450)
    hit = create(mturk, layout_id, VALUES)
    assert hit["HITLayoutId"] == layout_id
    question = parse_html_question(hit["Question"])
    assert question.frame_height == 450
    assert (
        '<img src="https://example.org/a.jpg?x=1&y=2"><p><b>Look</b> here <b>Look</b> here</p>'
        in question.html
    )
    assert mturk.list_hits()["HITs"][0]["HITLayoutId"] == layout_id
    assert "HITLayoutId" not in mturk.create_hit(**hit_params())["HIT"]


@pytest.mark.rule(
    "layout-names",
    source="D",
    text="Each variable of a layout needs a value, and each parameter needs a variable.",
)
@pytest.mark.parametrize(
    ("values", "named"),
    [({"url": "u"}, "text"), ({}, "url, text"), (VALUES | {"extra": "e"}, "extra")],
    ids=["missing", "all missing", "unused"],
)
def test_layout_parameters_must_match_variables(
    local_client: Any, tmp_path: Path, values: dict[str, str], named: str
) -> None:
    layout_id = make(tmp_path / "page.html")
    with pytest.raises(ClientError) as failure:
        create(local_client, layout_id, values)
    assert code_of(failure)[0] == "ParameterValidationError"
    assert named in failure.value.response["Error"]["Message"]


@pytest.mark.rule(
    "layout-variable-names",
    source="ours",
    text="A layout's variable names follow the rules of templates: letters, digits, dots, dashes, "
    "underscores.",
)
def test_layout_variable_names_may_hold_dots_and_dashes(local_client: Any, tmp_path: Path) -> None:
    html = PAGE.replace("${url}", "${image.url}").replace("${text}", "${text-1}")
    layout_id = make(tmp_path / "page.html", html)
    hit = create(local_client, layout_id, {"image.url": "https://example.org/a.jpg", "text-1": "Look"})
    shown = parse_html_question(hit["Question"]).html
    assert '<img src="https://example.org/a.jpg"><p>Look Look</p>' in shown


@pytest.mark.rule(
    "layout-form",
    source="I",
    text="A layout without a form, as Amazon's editor made them, gets a form to externalSubmit and a button.",
)
def test_editor_page_without_form_can_be_submitted(
    mturk: Any, tmp_path: Path, worker: Worker, browser: Browser
) -> None:
    hit = create(mturk, make(tmp_path / "page.html", EDITOR_PAGE), {"text": "Look"})
    page = f'{FORM}{FIELD}<p>Look</p>\n<label>What <input name="what" required></label>{BUTTON}</form>'
    assert parse_html_question(hit["Question"]).html == page
    slot = accept(worker, hit)
    shown = framed(frame_of(browser(worker), f"/work/tasks/{slot.assignment_id}")).content.decode()
    assert prepare_page(page, submit_to=submit_to(worker, slot), assignment_id=slot.assignment_id) in shown
    assert f'action="{submit_to(worker, slot)}/mturk/externalSubmit"' in shown
    sent = {"assignmentId": slot.assignment_id, "what": "a kite"}
    Client().post(f"/a/{secret_of(worker, slot)}/mturk/externalSubmit", sent)
    (row,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert parse_answer(row["Answer"]) == {"what": "a kite"}


def submit_to(worker: Worker, slot: Assignment) -> str:
    """Return the address of the worker's attempt."""
    return f"{settings.PUBLIC_URL}/a/{secret_of(worker, slot)}"


@pytest.mark.parametrize(
    ("html", "around"),
    [
        ("<p>a", f"{FORM}{FIELD}<p>a{BUTTON}</form>"),
        (
            "<!DOCTYPE html>\n<title>t</title>é <b>",
            f"<!DOCTYPE html>{FORM}{FIELD}\n<title>t</title>é <b>{BUTTON}</form>",
        ),
        (
            "<html><head><title>t</title></head>\n<BODY class=x>\n<p>a\n</BODY></html>",
            f"<html><head><title>t</title></head>\n<BODY class=x>{FORM}{FIELD}\n<p>a\n{BUTTON}</form></BODY></html>",
        ),
        ("<html><head></head ><p>a</html>", f"<html><head></head >{FORM}{FIELD}<p>a{BUTTON}</form></html>"),
        ("</body><body>a", f"</body><body>{FORM}{FIELD}a{BUTTON}</form>"),
        ("<!-- <form> </body> --><p>a", f"{FORM}{FIELD}<!-- <form> </body> --><p>a{BUTTON}</form>"),
        ('<script>"<form>"</script>a', f'{FORM}{FIELD}<script>"<form>"</script>a{BUTTON}</form>'),
        ("<button>Go</button>", f"{FORM}{FIELD}<button>Go</button></form>"),
        ("<INPUT TYPE=Submit>", f"{FORM}{FIELD}<INPUT TYPE=Submit></form>"),
        (
            "<button type=button>Zoom</button>",
            f"{FORM}{FIELD}<button type=button>Zoom</button>{BUTTON}</form>",
        ),
        (
            "<input type=hidden name=assignmentId>",
            f"{FORM}<input type=hidden name=assignmentId>{BUTTON}</form>",
        ),
    ],
)
def test_form_and_button_are_inserted_into_body(html: str, around: str) -> None:
    assert add_form_if_missing(html) == around


@pytest.mark.parametrize(
    "html",
    [
        PAGE,
        '<form id="f"><input name="a"></form>',
        "<crowd-form><crowd-input name=a></crowd-input></crowd-form>",
        "<p id=p></p><script>send(turkSubmitTo + '/mturk/externalSubmit')</script>",
    ],
    ids=["form", "form without address", "crowd-form", "script"],
)
def test_page_with_own_submission_stays_unchanged(html: str) -> None:
    assert add_form_if_missing(html) == html


def test_page_with_inserted_form_must_fit_size_limit(local_client: Any, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="65535"):
        make(tmp_path / "page.html", "x" * 65_300)


def test_filled_layout_must_fit_question_size(local_client: Any, tmp_path: Path) -> None:
    layout_id = make(tmp_path / "page.html")
    with pytest.raises(ClientError) as failure:
        create(local_client, layout_id, VALUES | {"text": "x" * 40_000})
    assert "65535" in failure.value.response["Error"]["Message"]
    assert create(local_client, layout_id, VALUES | {"text": "]]>"})["HITStatus"] == "Assignable"


def test_another_requesters_layout_does_not_exist(
    local_client: Any, local_market: Market, tmp_path: Path
) -> None:
    layout_id = make(tmp_path / "page.html")
    stranger = local_market.client(accounts.create_key_pair(name="Other lab", funds_cents=10_000))
    with pytest.raises(ClientError) as failure:
        create(stranger, layout_id, VALUES)
    assert code_of(failure)[1] == "HITLayoutDoesNotExist"


def test_the_command_prints_id_and_variables(
    local_client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout_id = make(tmp_path / "page.html", json=True)
    assert json.loads(capsys.readouterr().out) == {
        "layout_id": layout_id,
        "name": "Photo",
        "variables": ["url", "text"],
    }


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (b"<p>a</p>", {"requester": "Nobody"}, "no requester named 'Nobody'"),
        (b"\xff", {}, "not UTF-8"),
        (b"  ", {}, "HTMLContent"),
        (b"x" * 65_536, {}, "65535"),
        (b"<p>a</p>", {"name": "\n"}, "printable"),
        (b"<p>a</p>", {"frame_height": -1}, "FrameHeight"),
        (None, {}, "cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_two(
    local_client: Any, tmp_path: Path, content: bytes | None, options: dict[str, Any], words: str
) -> None:
    path = tmp_path / "page.html"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CommandError, match=words) as refusal:
        call_command(
            "create_hit_layout", str(path), **({"requester": "Abduction lab", "name": "n"} | options)
        )
    assert refusal.value.returncode == 2
    assert not HITLayout.objects.exists()


def test_layout_name_is_unique(local_client: Any, tmp_path: Path) -> None:
    make(tmp_path / "page.html")
    with pytest.raises(CommandError, match="Choose another name"):
        make(tmp_path / "page.html")


@given(st.dictionaries(st.from_regex(r"[A-Za-z0-9_.-]{1,8}", fullmatch=True), st.text(), max_size=5))
def test_filling_replaces_each_variable_once(values: dict[str, str]) -> None:
    html = "".join(f"<{name}>${{{name}}}" for name in values)
    assert list_variables(html) == tuple(values)
    # A value that looks like a variable is not filled in again.
    assert fill_layout(html, values) == "".join(f"<{name}>{value}" for name, value in values.items())
    with pytest.raises(LayoutError):
        fill_layout(html, values | {"another_name": "x"})
