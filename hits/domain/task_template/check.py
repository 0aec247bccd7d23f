"""Check a page and its rows before a worker meets them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hits.domain.task_template.findings import Finding, Severity, advice_finding, error_finding
from hits.domain.task_template.form_checks import check_fields, check_form, check_labels, check_radio_groups
from hits.domain.task_template.outside_checks import (
    ExternalResource,
    check_resource,
    check_resources,
    check_scripts,
    external_resources,
    is_inline,
    needs_row,
)
from hits.domain.task_template.page import Page, is_submit_button, parse_page
from hits.domain.task_template.rows import Table
from hits.domain.task_template.variables import Variable, fill_in, find_variables, line_finder, match_columns

MAX_PAGE = 500_000
MAX_PER_CODE = 20  # findings of one kind that are listed; a page with more has one cause
_UNKNOWN_VARIABLE = re.compile(r"\$\{([^}\n]{0,60})\}")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MAX_ROWS_FOR_HOSTS = 200  # rows; hosts of later ones are seldom new


class PageError(ValueError):
    """A page that cannot be used at all; the message says why."""


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """What a check found, in the order of the lines. ``hosts`` are those that the page would load from."""

    findings: tuple[Finding, ...]
    variables: tuple[Variable, ...]
    hosts: tuple[str, ...]

    @property
    def error_count(self) -> int:
        """How many findings have to be mended."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def has_all_columns(self) -> bool:
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


def check_template(html: str, table: Table | None = None, *, allowed: Sequence[str] = ()) -> TemplateReport:
    """Return what there is to mend in a page, and in how its rows fit. ``allowed`` hosts may be loaded from."""
    page = parse_page(html)
    variables = find_variables(html)
    brought = list(_resources_from_rows(page, table)) if table is not None else []
    findings: list[Finding] = [
        *(_check_columns(variables, table) if table is not None else ()),
        *_check_names(html),
        *check_form(page),
        *check_fields(page),
        *check_labels(page),
        *check_radio_groups(page),
        *check_resources(page, allowed),
        *_check_rows(brought, allowed),
        *check_scripts(page),
        *_check_submit(page),
    ]
    findings.sort(key=lambda finding: (finding.line, finding.severity is Severity.ADVICE))
    return TemplateReport(tuple(_limit_per_code(findings)), tuple(variables), tuple(_hosts(page, brought)))


def _check_columns(variables: list[Variable], table: Table) -> Iterator[Finding]:
    fit = match_columns(variables, table.columns)
    known = ", ".join(table.columns[:12])
    for variable in fit.without_column:
        yield error_finding(
            variable.line,
            "no-column",
            f"${{{variable.name}}} has no column in the CSV, which has {known}",
            f"add a column {variable.name}, or correct the name; capitals count",
        )
    for column in fit.without_variable:
        yield advice_finding(
            0,
            "no-variable",
            f"the CSV’s column {column} is used nowhere in the page",
            f"write ${{{column}}} where it belongs; else nobody sees it; it comes back beside the answers",
        )


def _check_names(html: str) -> Iterator[Finding]:
    line_at = line_finder(html)
    for match in _UNKNOWN_VARIABLE.finditer(html):
        if not _PLAIN_NAME.fullmatch(match[1]):
            yield advice_finding(
                line_at(match.start()),
                "odd-variable",
                f"${{{match[1]}}} is no variable’s name and stays as it is",
                "use letters, digits, dots, dashes and underscores, without spaces",
            )
    for mark in ("{% csrf_token %}", "{{ csrf"):
        if mark in html:
            line = line_at(html.index(mark))
            yield advice_finding(
                line, "csrf", f"{mark} belongs to another site’s server and is shown as text", "remove it"
            )


def _check_submit(page: Page) -> Iterator[Finding]:
    if any(
        is_submit_button(element.tag, element.get("type")) or element.tag == "crowd-button"
        for element in page.elements
    ):
        return
    yield advice_finding(1, "no-submit", "the page has no submit button", "nothing: one is added at its end")


def _hosts(page: Page, brought: Sequence[tuple[int, ExternalResource]]) -> list[str]:
    found = {item.host for item in external_resources(page)} | {item.host for _, item in brought}
    return sorted(found - {""})


def _check_rows(brought: Sequence[tuple[int, ExternalResource]], allowed: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with what the rows let the page fetch, as though it stood in the page."""
    for row, item in brought:
        for finding in check_resource(item, allowed):
            yield replace(finding, what=f"row {row}: {finding.what}")


def _resources_from_rows(page: Page, table: Table) -> Iterator[tuple[int, ExternalResource]]:
    """Yield what the rows add, once for each place and host, with the number of the first row that does, from 1."""
    open_ones = [item for item in external_resources(page) if needs_row(item)]
    seen: set[tuple[int, str, str, bool]] = set()
    for index in range(min(len(table.rows), _MAX_ROWS_FOR_HOSTS)):
        for item in _resources_from_row(open_ones, table.values(index)):
            key = (item.line, item.what, item.host, item.url.lower().startswith("http:"))
            if key not in seen:
                seen.add(key)
                yield index + 1, item


def _resources_from_row(
    open_ones: Sequence[ExternalResource], values: dict[str, str]
) -> Iterator[ExternalResource]:
    """Yield the addresses that a row completes, and what HTML in its cells fetches, which is of no line."""
    for item in open_ones:
        url = fill_in(item.url, values)
        if url.strip() and "${" not in url and not is_inline(url):
            yield ExternalResource(item.line, item.what, url)
    for value in values.values():
        if "<" in value:
            for item in external_resources(parse_page(value)):
                yield ExternalResource(0, item.what, item.url)


def _limit_per_code(findings: list[Finding]) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if counts[finding.code] <= MAX_PER_CODE:
            yield finding
