"""Keep uploaded task pages, and launch batches over a page and its rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.answers.text import TextError, clean_line
from hits.domain.task_template.check import PageError, check_template, read_page
from hits.domain.task_template.outside_checks import host_of
from hits.domain.task_template.rows import Table
from hits.domain.task_template.variables import variables_in
from hits.models import Batch, Job, Project, TaskTemplate
from hits.selectors.listing import KEY, Listing
from hits.services import audit
from hits.services.errors import Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import Terms

KIND = "html_template"
HOSTS = "hosts"  # in a batch's provenance: where its pages may load from
MAX_NAME = 120
MAX_TITLE, MAX_DESCRIPTION, MAX_KEYWORDS = 128, 2000, 1000  # as the marketplace's model says
MOST_HOSTS = 20
MOST_USUAL_SECONDS = 8 * 3600


@dataclass(frozen=True, slots=True)
class Plan:
    """What is launched: a page, its rows, how it is listed, and the hosts that it may load from."""

    template: TaskTemplate
    table: Table
    listing: Listing
    hosts: tuple[str, ...] = ()
    in_spite: bool = False  # although the check says that something has to be mended


def save_template(
    *, project: Project, name: str, html: bytes | str, by: AbstractBaseUser | None
) -> TaskTemplate:
    """Keep a page as the newest version of its name; the same page again is the same version.

    Raises:
        Refused: no name, or a page that cannot be used at all.
    """
    try:
        called = clean_line(name, maximum=MAX_NAME)
    except TextError as error:
        raise Refused(f"name: it {error}") from error
    if not called:
        raise Refused("name: give the page a name")
    try:
        text = read_page(html)
    except PageError as error:
        raise Refused(f"page: {error}") from error
    digest = sha256(text.encode()).hexdigest()
    with transaction.atomic():
        # PostgreSQL: one upload at a time in a project. (SQLite: always so.)
        Project.objects.select_for_update().get(pk=project.pk)
        latest = TaskTemplate.objects.filter(project=project, name=called).order_by("-version").first()
        if latest is not None and latest.sha256 == digest:
            return latest
        saved = TaskTemplate.objects.create(
            project=project,
            name=called,
            version=latest.version + 1 if latest else 1,
            html=text,
            sha256=digest,
            variables=[variable.name for variable in variables_in(text)],
            uploaded_by_id=by.pk if by else None,
        )
        audit.record(
            project=project, actor=by, action="template.upload", subject=saved.pk, version=saved.version
        )
    return saved


def launch_template(
    *,
    project: Project,
    plan: Plan,
    name: str,
    terms: Terms,
    by: AbstractBaseUser | None,
    once: str = "",
) -> tuple[Batch, Job]:
    """Launch one task for each row of the CSV, and queue their publication.

    Raises:
        Refused: a variable without a column; findings to mend that nobody waved through; a title or a host that
            cannot be used; whatever ``launch_batch`` refuses.
    """
    template = plan.template
    if template.project_id != project.pk:
        raise Refused("template: it belongs to another project")
    listing = _listing(plan.listing)
    hosts = _hosts(plan.hosts)
    _check(plan, hosts)
    rows = range(len(plan.table.rows))
    units = [
        PlannedUnit(f"row-{index + 1}", {"template": template.pk, "values": plan.table.values(index)})
        for index in rows
    ]
    provenance: dict[str, Any] = {
        "template": {"id": template.pk, "version": template.version, "sha256": template.sha256},
        KEY: asdict(listing),
        HOSTS: list(hosts),
    }
    return launch_batch(
        project=project,
        kind_name=KIND,
        name=name,
        units=units,
        by=by,
        terms=terms,
        provenance=provenance,
        once=once,
    )


def _check(plan: Plan, hosts: Sequence[str]) -> None:
    report = check_template(plan.template.html, plan.table, allowed=hosts)
    if not report.fillable:
        first = next(finding for finding in report.findings if finding.code == "no-column")
        raise Refused(f"page, line {first.line}: {first.what}; {first.mend}")
    if report.to_mend and not plan.in_spite:
        raise Refused(
            f"page: {report.to_mend} finding{'s' * (report.to_mend != 1)} of the check should be mended first; "
            "mend them, or launch in spite of them"
        )


def _listing(typed: Listing) -> Listing:
    return Listing(
        title=_line("title", typed.title, MAX_TITLE),
        description=_line("description", typed.description, MAX_DESCRIPTION),
        keywords=_line("keywords", typed.keywords, MAX_KEYWORDS, wanted=False),
        usual_seconds=_usual(typed.usual_seconds),
    )


def _line(field: str, typed: str, maximum: int, *, wanted: bool = True) -> str:
    try:
        text = clean_line(typed, maximum=maximum)
    except TextError as error:
        raise Refused(f"{field}: it {error}") from error
    if wanted and not text:
        raise Refused(f"{field}: say it; workers choose by it")
    return text


def _usual(seconds: int) -> int:
    if not 1 <= seconds <= MOST_USUAL_SECONDS:
        raise Refused("usual time: use a second to eight hours")
    return seconds


def _hosts(typed: Sequence[str]) -> tuple[str, ...]:
    found = []
    for name in typed:
        host = host_of(f"https://{name.strip().lower().removeprefix('https://').rstrip('/')}")
        if not host:
            raise Refused(f"hosts: {name.strip()[:80]!r} is no host; write it as cdn.example.org")
        found.append(host)
    if len(found) > MOST_HOSTS:
        raise Refused(f"hosts: {len(found)} are named; use at most {MOST_HOSTS}")
    return tuple(dict.fromkeys(found))
