"""Store uploaded task templates, and launch batches from a template and its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.task_template.check import PageError, check_template, read_page
from hits.domain.task_template.resource_checks import https_host
from hits.domain.task_template.rows import Table
from hits.domain.task_template.variables import find_variables
from hits.models import Batch, Job, Project, TaskTemplate
from hits.selectors.listing import PROVENANCE_KEY, TaskListing
from hits.services import audit
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.typed_values import clean_field

KIND = "html_template"
HOSTS_KEY = "hosts"  # in a batch's provenance: hosts that its pages may load from
MAX_NAME = 120
MAX_TITLE, MAX_DESCRIPTION, MAX_KEYWORDS = 128, 2000, 1000  # the marketplace's limits
MAX_HOSTS = 20
MAX_EXPECTED_SECONDS = 8 * 3600


@dataclass(frozen=True, slots=True)
class TemplateLaunch:
    """A launch of a template: the page, its rows, its listing, and the hosts that it may load from."""

    template: TaskTemplate
    table: Table
    listing: TaskListing
    hosts: tuple[str, ...] = ()
    ignore_findings: bool = False  # launch although the check has findings


def save_template(
    *, project: Project, name: str, html: bytes | str, by: AbstractBaseUser | None
) -> TaskTemplate:
    """Store a page as the newest version of its name; the same page again is the same version.

    Raises:
        Refused: no name, or an unusable page.
    """
    cleaned_name = clean_field("name", name, MAX_NAME)
    if not cleaned_name:
        raise Refused("name: name the page")
    try:
        text = read_page(html)
    except PageError as error:
        raise Refused(f"page: {error}") from error
    digest = sha256(text.encode()).hexdigest()
    with transaction.atomic():
        # PostgreSQL: one upload at a time in a project. (SQLite always does so.)
        Project.objects.select_for_update().get(pk=project.pk)
        latest = TaskTemplate.objects.filter(project=project, name=cleaned_name).order_by("-version").first()
        if latest is not None and latest.sha256 == digest:
            return latest
        saved = TaskTemplate.objects.create(
            project=project,
            name=cleaned_name,
            version=latest.version + 1 if latest else 1,
            html=text,
            sha256=digest,
            variables=[variable.name for variable in find_variables(text)],
            uploaded_by_id=by.pk if by else None,
        )
        audit.record(
            project=project, actor=by, action="template.upload", subject=saved.pk, version=saved.version
        )
    return saved


def launch_template(
    *,
    project: Project,
    plan: TemplateLaunch,
    name: str,
    terms: LaunchTerms,
    by: AbstractBaseUser | None,
    idempotency_key: str = "",
) -> tuple[Batch, Job]:
    """Launch one task for each row of the CSV, and queue their publication.

    Raises:
        Refused: a variable without a column, findings that are not ignored, a bad title or host, or a refusal of
            ``launch_batch``.
    """
    template = plan.template
    if template.project_id != project.pk:
        raise Refused("template: it belongs to another project")
    listing = _clean_listing(plan.listing)
    hosts = _parse_hosts(plan.hosts)
    _check_template(plan, hosts)
    rows = range(len(plan.table.rows))
    units = [
        PlannedUnit(f"row-{index + 1}", {"template": template.pk, "values": plan.table.row_values(index)})
        for index in rows
    ]
    provenance: dict[str, Any] = {
        "template": {"id": template.pk, "version": template.version, "sha256": template.sha256},
        PROVENANCE_KEY: listing.as_row(),
        HOSTS_KEY: list(hosts),
    }
    return launch_batch(
        project=project,
        kind_name=KIND,
        name=name,
        units=units,
        by=by,
        terms=terms,
        provenance=provenance,
        idempotency_key=idempotency_key,
    )


def _check_template(plan: TemplateLaunch, hosts: Sequence[str]) -> None:
    report = check_template(plan.template.html, plan.table, allowed=hosts)
    if not report.has_all_columns:
        first = next(finding for finding in report.findings if finding.code == "no-column")
        raise Refused(f"page, line {first.line}: {first.problem}; {first.fix}")
    if report.error_count and not plan.ignore_findings:
        raise Refused(
            f"page: the check has {report.error_count} error{'s' * (report.error_count != 1)}; fix "
            "them, or choose to ignore them"
        )


def _clean_listing(typed: TaskListing) -> TaskListing:
    return TaskListing(
        title=_clean_field("title", typed.title, MAX_TITLE),
        description=_clean_field("description", typed.description, MAX_DESCRIPTION),
        keywords=_clean_field("keywords", typed.keywords, MAX_KEYWORDS, required=False),
        expected_seconds=_validate_expected_seconds(typed.expected_seconds),
    )


def _clean_field(field: str, typed: str, maximum: int, *, required: bool = True) -> str:
    text = clean_field(field, typed, maximum)
    if required and not text:
        raise Refused(f"{field}: it is empty; workers choose tasks by it")
    return text


def _validate_expected_seconds(seconds: int) -> int:
    if not 1 <= seconds <= MAX_EXPECTED_SECONDS:
        raise Refused("expected time: use 1 second to 8 hours")
    return seconds


def _parse_hosts(typed: Sequence[str]) -> tuple[str, ...]:
    hosts = []
    for name in typed:
        host = https_host(f"https://{name.strip().lower().removeprefix('https://').rstrip('/')}")
        if not host:
            raise Refused(f"hosts: {name.strip()[:80]!r} is not a host; write it as cdn.example.org")
        hosts.append(host)
    if len(hosts) > MAX_HOSTS:
        raise Refused(f"hosts: {len(hosts)} are named; name at most {MAX_HOSTS}")
    return tuple(dict.fromkeys(hosts))
