"""What the check of an old page finds, each by a page that has the fault and one that has not."""

import time

import pytest

from hits.domain.task_template.check import PageError, check_template, read_page
from hits.domain.task_template.findings import Severity
from hits.domain.task_template.rows import MAX_ROWS, RowsError, parse_rows
from hits.domain.task_template.variables import fill_variables, find_variables, match_columns

LABEL = '<label for="a">What?</label><input id="a" name="a">'
BUTTON = "<button>Send</button>"
SOUND = f"<form>{LABEL}{BUTTON}</form>"


def codes(html: str, rows: str = "", **more: object) -> dict[str, int]:
    """Return each finding's code with its line."""
    table = parse_rows(rows) if rows else None
    return {finding.code: finding.line for finding in check_template(html, table, **more).findings}  # type: ignore[arg-type]


def test_check_template_of_valid_page_has_no_finding() -> None:
    html = f'<form name="mturk_form" action="/mturk/externalSubmit">\n<p>${{text}}</p>{LABEL}{BUTTON}</form>'
    assert check_template(html, parse_rows("text\nhello\n")).findings == ()


FAULTS = {
    "radio-names": (
        "<fieldset>"
        + "".join(f'<label><input type="radio" name="r{n}" required>{n}</label>' for n in (1, 2, 3))
        + "</fieldset>",
        "<fieldset>"
        + "".join(f'<label><input type="radio" name="r" value="{n}" required>{n}</label>' for n in (1, 2, 3))
        + "</fieldset>",
    ),
    "label-target": (
        '<label for="low">Low</label><label><input type="radio" name="x" id="lo">Low</label>',
        '<label for="lo">Low</label><input type="radio" name="x" id="lo">',
    ),
    "no-label": ("<p>Why? <input name='w'></p>", "<p><label>Why? <input name='w'></label></p>"),
    "optional": (
        "<label>B <input name='b' optional></label>",
        "<label>B <input name='b'></label>",
    ),
    "required-hidden": (
        "<div style='display: none'><label>H <input name='h' required></label></div>",
        "<div style='display: none'><label>H <input name='h'></label></div>",
    ),
    "no-name": ("<label>N <input></label>", "<label>N <input name='n'></label>"),
    "reserved-name": (
        "<label>W <input name='workerId'></label>",
        "<input type='hidden' name='assignmentId'>",
    ),
    "file": ("<label>F <input type='file' name='f'></label>", ""),
    "csrf": ("{% csrf_token %}", ""),
    "duplicate-id": ("<p id='d'></p><p id='d'></p>", "<p id='d'></p><p id='e'></p>"),
    "undefined-function": (
        "<p onclick='getnext()'>Go</p>",
        "<p onclick='getnext()'>Go</p><script>function getnext() {}</script>",
    ),
    "text-of-field": (
        "<label>C <textarea id='clue' name='c'></textarea></label><script>$('#clue').text('x')</script>",
        "<label>C <textarea id='clue' name='c'></textarea></label><script>$('#clue').val('x')</script>",
    ),
    "blank-phone": (
        "<style>@media (max-width: 460px) { body { display: none } }</style>",
        "<style>@media (max-width: 460px) { .wide { display: none } }</style>",
    ),
    "outside-script": ("<script src='https://cdn.example.org/a.js'></script>", "<script>1</script>"),
    "outside-style": ("<link rel='stylesheet' href='https://cdn.example.org/a.css'>", "<style>p{}</style>"),
    "not-https": ("<img src='http://old.example.org/a.png'>", "<img src='data:image/png;base64,x'>"),
    "relative": ("<img src='a.png'>", "<img src='${picture}'>"),
    "mturk-helper": ("<script src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script>", ""),
    "crowd-elements": ("<script src='https://assets.crowd.aws/crowd-html-elements.js'></script>", ""),
    "odd-variable": ("<p>${two words}</p>", "<p>${two_words}</p>"),
}


@pytest.mark.parametrize("code", FAULTS)
def test_check_template_finds_each_fault_with_its_line(code: str) -> None:
    bad, good = FAULTS[code]
    assert codes(f"<form>\n{bad}\n{LABEL}{BUTTON}</form>").get(code) == 2
    assert code not in codes(f"<form>\n{good}\n{LABEL}{BUTTON}</form>")


@pytest.mark.parametrize(
    "around",
    [
        '<div class="card collapse">FIELD</div>',
        '<div class="later">FIELD</div><style>.later, p.x { display: none }</style>',
        '<div id="later">FIELD</div><style>#later { color: red; visibility: hidden; }</style>',
        "<section hidden>FIELD</section>",
        "<details><summary>More</summary>FIELD</details>",
    ],
)
def test_check_template_finds_required_fields_in_hidden_parts(around: str) -> None:
    field = "<label>H <select name='h' required></select></label>"
    found = codes(f"<form>{around.replace('FIELD', field)}{BUTTON}</form>")
    assert "required-hidden" in found
    assert "required-hidden" not in codes(f"<form>{field}{BUTTON}</form>")


def test_parts_hidden_on_small_screens_are_not_hidden() -> None:
    style = "<style>@media (max-width: 30em) { .side { display: none } }</style>"
    field = "<div class='side'><label>S <input name='s' required></label></div>"
    assert "required-hidden" not in codes(f"<form>{style}{field}{BUTTON}</form>")


def test_check_template_finds_nested_and_open_forms() -> None:
    assert codes(f"<form>\n<form>{LABEL}{BUTTON}</form></form>")["nested-form"] == 2
    assert codes(f"\n<form>{LABEL}{BUTTON}")["open-form"] == 2
    assert "no-fields" in codes("<p>Only words</p>")
    assert "no-submit" in codes(LABEL)
    assert codes(f'<form action="https://mine.example.org/save">{LABEL}{BUTTON}</form>')["form-action"] == 1


def test_question_matrix_is_not_a_broken_radio_group() -> None:
    rows = "".join(
        f"<tr><td>{q}</td>"
        + "".join(f"<td><input type=radio name={q} value={v} title={v}></td>" for v in "123")
        + "</tr>"
        for q in ("q1", "q2")
    )
    assert "radio-names" not in codes(f"<form><table>{rows}</table>{BUTTON}</form>")


def test_unmatched_columns_and_variables_are_named() -> None:
    report = check_template(f"<p>\n${{url}}</p>{SOUND}", parse_rows("image,more\na,b\n"))
    found = {(finding.code, finding.severity): finding for finding in report.findings}
    missing = found["no-column", Severity.ERROR]
    assert missing.line == 2
    assert "${url}" in missing.problem
    assert "image, more" in missing.problem
    assert not report.has_all_columns
    assert sum(finding.code == "no-variable" for finding in report.findings) == 2


def test_report_hosts_come_from_page_and_rows() -> None:
    html = f'<img src="${{url}}"><script src="//cdn.example.org/a.js"></script><p>${{html}}</p>{SOUND}'
    rows = 'url,html\nhttps://Pics.example.org/1.png,"<img src=""https://more.example.net:8443/x.png"">"\n'
    hosts = ("cdn.example.org", "more.example.net:8443", "pics.example.org")
    report = check_template(html, parse_rows(rows), allowed=hosts)
    assert report.hosts == hosts
    assert not report.findings


def test_resources_of_rows_are_checked() -> None:
    html = (
        f'<p>\n<img src="${{url}}" alt=""></p><script src="https://${{host}}/a.js"></script>${{html}}{SOUND}'
    )
    rows = (
        "url,host,html\n"
        "https://pics.example.org/1.png,cdn.example.net,\n"
        'https://pics.example.org/2.png,cdn.example.net,"<audio src=""https://more.example.com/x.mp3"">"\n'
        "http://plain.example.org/3.png,cdn.example.net,\n"
        "4.png,cdn.example.net,\n"
        '"data:image/png;base64,AA==",cdn.example.net,\n'
    )
    assert not check_template(html).findings
    found = check_template(html, parse_rows(rows)).findings
    assert [(finding.line, finding.severity, finding.code, finding.problem[:6]) for finding in found] == [
        (0, Severity.ADVICE, "outside-sound", "row 2:"),
        (2, Severity.ERROR, "outside-script", "row 1:"),
        (2, Severity.ERROR, "not-https", "row 3:"),
        (2, Severity.ERROR, "relative", "row 4:"),
        (2, Severity.ADVICE, "outside-picture", "row 1:"),
    ]
    assert "https://pics.example.org/1.png comes from pics.example.org" in found[-1].problem
    assert "allow pics.example.org at the launch" in found[-1].fix
    hosts = ["cdn.example.net", "more.example.com", "pics.example.org"]
    left = check_template(html, parse_rows(rows), allowed=hosts).findings
    assert [finding.code for finding in left] == ["not-https", "relative"]


@pytest.mark.parametrize("line", ["", "\n" * 3])
def test_empty_pages_are_refused(line: str) -> None:
    with pytest.raises(PageError, match="empty"):
        read_page(line)


def test_page_in_another_encoding_is_refused_with_its_line() -> None:
    with pytest.raises(PageError, match="line 2: not UTF-8"):
        read_page("a\ncafé".encode("latin-1"))
    assert read_page("﻿<p>é</p>".encode()) == "<p>é</p>"


@pytest.mark.rule(
    "template-variables", source="D", text="A page's ${variables} are replaced by the cells of their columns."
)
def test_variables_are_found_once_and_filled_in_unescaped() -> None:
    html = "${a}\n${b-2.c} ${a} ${no such}"
    assert [(v.name, v.line) for v in find_variables(html)] == [("a", 1), ("b-2.c", 2)]
    assert match_columns(find_variables(html), ["a", "x"]).without_variable == ("x",)
    assert (
        fill_variables(html, {"a": "<b>${b-2.c}</b>"})
        == "<b>${b-2.c}</b>\n${b-2.c} <b>${b-2.c}</b> ${no such}"
    )


def test_rows_are_read_as_spreadsheets_write_them() -> None:
    table = parse_rows('﻿a,b\r\n"1,\r\n2","say ""hi"""\r\n\r\n3,\r\n'.encode())
    assert table.columns == ("a", "b")
    assert table.rows == (("1,\n2", 'say "hi"'), ("3", ""))
    assert table.lines == (2, 5)


def test_page_given_as_rows_is_refused() -> None:
    for page in ("<!DOCTYPE html>\n<p>Look</p>\n", "\n  <!-- Look, v2, final -->\n<p>,,</p>\n"):
        with pytest.raises(RowsError, match=r"line [12]: starts with “<”"):
            parse_rows(page, variables=["city"])
    assert parse_rows("<5 years,city\n1,Porto\n", variables=["city"]).columns == ("<5 years", "city")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "empty"),
        ("a,b\n", "no rows"),
        ("a,a\n1,2\n", "line 1, column 2: a occurs twice"),
        ("a,\n1,2\n", "line 1, column 2: has no name"),
        ("a;b\n1;2\n", "semicolons"),
        ('a,b\n"x\ny",2\n1\n', "line 4: has 1 cell "),
        ('a\n"open\n', "line 2: .*quotation"),
        ("a\n\x00\n", "line 2: contains a NUL"),
        ("a\n" + "x\n" * (MAX_ROWS + 1), f"line {MAX_ROWS + 2}: over 10,000 rows"),
    ],
)
def test_invalid_rows_are_refused_with_line_and_column(data: str, message: str) -> None:
    with pytest.raises(RowsError, match=message):
        parse_rows(data)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 60_000 + "</p>" * 40_000,
        "<style>" + "@media max-width " * 29_000 + "</style>",
        "<style>" + "a" * 490_000 + "</style>",
        "".join(f"${{v{n}}}\n" for n in range(50_000)),
        "${ }" * 120_000,
        "".join(f"<i onclick='f{n}()'></i>" for n in range(20_000)),
    ],
    ids=["deep", "media", "no braces", "variables", "odd variables", "handlers"],
)
def test_pathological_page_is_checked_quickly(html: str) -> None:
    begun = time.process_time()
    check_template(html)
    assert time.process_time() - begun < 10
