"""Check a page and its rows before a worker meets them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hits.domain.task_template.findings import Finding, Severity, advice, must
from hits.domain.task_template.form_checks import check_fields, check_form, check_labels, check_radio_groups
from hits.domain.task_template.outside_checks import check_outside, check_scripts, fetched, host_of
from hits.domain.task_template.page import Page, parse_page
from hits.domain.task_template.rows import Table
from hits.domain.task_template.variables import Variable, fill_in, lines_of, pair, variables_in

MAX_PAGE = 500_000
MOST_OF_A_KIND = 20  # findings of one kind that are listed; a page with more has one cause
_ODD_VARIABLE = re.compile(r"\$\{([^}\n]{0,60})\}")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_LOOKED_AT_FOR_HOSTS = 200  # rows; hosts of later ones are seldom new


class PageError(ValueError):
    """A page that cannot be used at all; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found, in the order of the lines. ``hosts`` are those that the page would load from."""

    findings: tuple[Finding, ...]
    variables: tuple[Variable, ...]
    hosts: tuple[str, ...]

    @property
    def to_mend(self) -> int:
        """How many findings have to be mended."""
        return sum(finding.severity is Severity.MEND for finding in self.findings)

    @property
    def fillable(self) -> bool:
        """Tell whether every variable has a column."""
        return all(finding.code != "no-column" for finding in self.findings)


def read_page(data: bytes | str) -> str:
    """Return a page's text.

    Raises:
        PageError: empty, too long, or no UTF-8.
    """
    if isinstance(data, str):
        text = data.removeprefix("\ufeff")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise PageError(f"line {line}: not UTF-8; save the page as UTF-8 and try again") from None
    if not text.strip():
        raise PageError("it is empty: paste the page’s HTML")
    if len(text) > MAX_PAGE:
        raise PageError(f"over {MAX_PAGE:,} characters; keep pictures and libraries outside of it")
    if "\x00" in text:
        raise PageError("it holds a NUL character; remove it")
    return text


def check_template(html: str, table: Table | None = None, *, allowed: Sequence[str] = ()) -> Report:
    """Return what there is to mend in a page, and in how its rows fit. ``allowed`` hosts may be loaded from."""
    page = parse_page(html)
    variables = variables_in(html)
    findings: list[Finding] = [
        *(_check_columns(variables, table) if table is not None else ()),
        *_check_names(html),
        *check_form(page),
        *check_fields(page),
        *check_labels(page),
        *check_radio_groups(page),
        *check_outside(page, allowed),
        *check_scripts(page),
        *_check_submit(page),
    ]
    findings.sort(key=lambda finding: (finding.line, finding.severity is Severity.ADVICE))
    return Report(tuple(_most_of_each(findings)), tuple(variables), tuple(_hosts(page, table)))


def _check_columns(variables: list[Variable], table: Table) -> Iterator[Finding]:
    fit = pair(variables, table.columns)
    known = ", ".join(table.columns[:12])
    for variable in fit.without_column:
        yield must(
            variable.line,
            "no-column",
            f"${{{variable.name}}} has no column in the CSV, which has {known}",
            f"add a column {variable.name}, or correct the name; capitals count",
        )
    for column in fit.without_variable:
        yield advice(
            0,
            "no-variable",
            f"the CSV’s column {column} is used nowhere in the page",
            f"write ${{{column}}} where it belongs; else nobody sees it; it comes back beside the answers",
        )


def _check_names(html: str) -> Iterator[Finding]:
    line_at = lines_of(html)
    for match in _ODD_VARIABLE.finditer(html):
        if not _PLAIN_NAME.fullmatch(match[1]):
            yield advice(
                line_at(match.start()),
                "odd-variable",
                f"${{{match[1]}}} is no variable’s name and stays as it is",
                "use letters, digits, dots, dashes and underscores, without spaces",
            )
    for mark in ("{% csrf_token %}", "{{ csrf"):
        if mark in html:
            line = line_at(html.index(mark))
            yield advice(
                line, "csrf", f"{mark} belongs to another site’s server and is shown as text", "remove it"
            )


def _check_submit(page: Page) -> Iterator[Finding]:
    for element in page.elements:
        kind = element.get("type").lower()
        if element.tag == "button" and kind in {"", "submit"}:
            return
        if (element.tag == "input" and kind in {"submit", "image"}) or element.tag == "crowd-button":
            return
    yield advice(1, "no-submit", "the page has no submit button", "nothing: one is added at its end")


def _hosts(page: Page, table: Table | None) -> list[str]:
    items = fetched(page)
    found = {item.host for item in items}
    open_ones = [item.url for item in items if "${" in item.url]
    if table is not None:
        for index in range(min(len(table.rows), _LOOKED_AT_FOR_HOSTS)):
            found |= _hosts_of_row(open_ones, table.values(index))
    return sorted(found - {""})


def _hosts_of_row(urls: list[str], values: dict[str, str]) -> set[str]:
    """Return the hosts that one row adds: an address that fills in a ``src``, or HTML that a cell brings along."""
    found = {host_of(fill_in(url, values)) for url in urls}
    for value in values.values():
        if "<" in value:
            found |= {item.host for item in fetched(parse_page(value))}
    return found


def _most_of_each(findings: list[Finding]) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if counts[finding.code] <= MOST_OF_A_KIND:
            yield finding
