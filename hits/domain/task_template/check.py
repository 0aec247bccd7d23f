"""Check a page and its rows before workers see them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hits.domain.task_template.findings import Finding, Severity, advice_finding, error_finding
from hits.domain.task_template.form_checks import check_fields, check_form, check_ids, check_radio_groups
from hits.domain.task_template.page import Page, is_submit_button, parse_page
from hits.domain.task_template.resource_checks import (
    ExternalResource,
    check_resource,
    check_resources,
    check_scripts,
    external_resources,
    has_url_from_row,
    is_inline,
)
from hits.domain.task_template.rows import Table
from hits.domain.task_template.variables import (
    Variable,
    fill_variables,
    find_variables,
    line_finder,
    match_columns,
)

MAX_PAGE = 500_000
MAX_PER_CODE = 20  # listed findings per code; more of them have one cause
_ANY_VARIABLE_PATTERN = re.compile(r"\$\{([^}\n]{0,60})\}")
_VARIABLE_NAME_PATTERN = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MAX_ROWS_FOR_HOSTS = 200  # hosts of later rows are rarely new


class PageError(ValueError):
    """A page that cannot be used; the message names the reason."""


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """The findings of a check, by line. ``hosts`` are those that the page would load from."""

    findings: tuple[Finding, ...]
    variables: tuple[Variable, ...]
    hosts: tuple[str, ...]

    @property
    def error_count(self) -> int:
        """The number of findings that must be corrected."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def has_all_columns(self) -> bool:
        """Whether every variable has a column."""
        return all(finding.code != "no-column" for finding in self.findings)


def read_page(data: bytes | str) -> str:
    """Return a page's text.

    Raises:
        PageError: empty, too long, or not UTF-8.
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
        raise PageError("the page is empty: paste its HTML")
    if len(text) > MAX_PAGE:
        raise PageError(f"over {MAX_PAGE:,} characters; keep pictures and libraries outside of it")
    if "\x00" in text:
        raise PageError("the page contains a NUL character; remove it")
    return text


def check_template(html: str, table: Table | None = None, *, allowed: Sequence[str] = ()) -> TemplateReport:
    """Return the findings about a page and its rows. ``allowed`` are the hosts that the page may load from."""
    page = parse_page(html)
    variables = find_variables(html)
    row_resources = list(_resources_from_rows(page, table)) if table is not None else []
    findings: list[Finding] = [
        *(_check_columns(variables, table) if table is not None else ()),
        *_check_variable_names(html),
        *check_form(page),
        *check_fields(page),
        *check_ids(page),
        *check_radio_groups(page),
        *check_resources(page, allowed),
        *_check_row_resources(row_resources, allowed),
        *check_scripts(page),
        *_check_submit_button(page),
    ]
    findings.sort(key=lambda finding: (finding.line, finding.severity is Severity.ADVICE))
    return TemplateReport(
        tuple(_limit_per_code(findings)), tuple(variables), tuple(_resource_hosts(page, row_resources))
    )


def _check_columns(variables: list[Variable], table: Table) -> Iterator[Finding]:
    match = match_columns(variables, table.columns)
    known = ", ".join(table.columns[:12])
    for variable in match.without_column:
        yield error_finding(
            variable.line,
            "no-column",
            f"${{{variable.name}}} has no column in the CSV, which has {known}",
            f"add a column {variable.name}, or correct the name; capitals count",
        )
    for column in match.without_variable:
        yield advice_finding(
            0,
            "no-variable",
            f"the page does not use the CSV’s column {column}",
            f"write ${{{column}}} into the page to show it; the results include the column in any case",
        )


def _check_variable_names(html: str) -> Iterator[Finding]:
    line_at = line_finder(html)
    for match in _ANY_VARIABLE_PATTERN.finditer(html):
        if not _VARIABLE_NAME_PATTERN.fullmatch(match[1]):
            yield advice_finding(
                line_at(match.start()),
                "odd-variable",
                f"${{{match[1]}}} is not a variable name and stays unchanged",
                "use letters, digits, dots, dashes and underscores, without spaces",
            )
    for mark in ("{% csrf_token %}", "{{ csrf"):
        if mark in html:
            line = line_at(html.index(mark))
            yield advice_finding(
                line, "csrf", f"{mark} is for another site’s server and is shown as text", "remove it"
            )


def _check_submit_button(page: Page) -> Iterator[Finding]:
    if any(
        is_submit_button(element.tag, element.get("type")) or element.tag == "crowd-button"
        for element in page.elements
    ):
        return
    yield advice_finding(1, "no-submit", "the page has no submit button", "no fix is needed: one is added")


def _resource_hosts(page: Page, row_resources: Sequence[tuple[int, ExternalResource]]) -> list[str]:
    found = {item.host for item in external_resources(page)} | {item.host for _, item in row_resources}
    return sorted(found - {""})


def _check_row_resources(
    row_resources: Sequence[tuple[int, ExternalResource]], allowed: Sequence[str]
) -> Iterator[Finding]:
    """Yield the findings about resources from rows, as if they were in the page."""
    for row, item in row_resources:
        for finding in check_resource(item, allowed):
            yield replace(finding, problem=f"row {row}: {finding.problem}")


def _resources_from_rows(page: Page, table: Table) -> Iterator[tuple[int, ExternalResource]]:
    """Yield the resources that rows add, once per line and host, with the number of the first such row, from 1."""
    incomplete = [item for item in external_resources(page) if has_url_from_row(item)]
    seen: set[tuple[int, str, str, bool]] = set()
    for index in range(min(len(table.rows), _MAX_ROWS_FOR_HOSTS)):
        for item in _resources_from_row(incomplete, table.row_values(index)):
            key = (item.line, item.kind, item.host, item.url.lower().startswith("http:"))
            if key not in seen:
                seen.add(key)
                yield index + 1, item


def _resources_from_row(
    incomplete: Sequence[ExternalResource], values: dict[str, str]
) -> Iterator[ExternalResource]:
    """Yield the addresses that a row completes, and the resources of HTML in its cells, which have line 0."""
    for item in incomplete:
        url = fill_variables(item.url, values)
        if url.strip() and "${" not in url and not is_inline(url):
            yield ExternalResource(item.line, item.kind, url)
    for value in values.values():
        if "<" in value:
            for item in external_resources(parse_page(value)):
                yield ExternalResource(0, item.kind, item.url)


def _limit_per_code(findings: list[Finding]) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if counts[finding.code] <= MAX_PER_CODE:
            yield finding
