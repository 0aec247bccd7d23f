"""Decide items by rules, and keep what was decided: rows are added, never changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction

from hits.domain.jobs.queues import Queue
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from validation.domain.reports.decisions import Rule, decide
from validation.models import DecisionRun, ItemDecision
from validation.registry import decided as decided_kinds
from validation.selectors.decisions import (
    DECIDE,
    Counts,
    count_by_method,
    fits,
    item_key,
    labels_on,
    material,
    usual_rules,
)
from validation.selectors.report import counted
from validation.services.report import HEAVY

LARGE = 5_000  # judgments; above it a worker process does it
COLUMNS = ("item", "dimension", "outcome", "judges", "support")


@dataclass(frozen=True, slots=True)
class Made:
    """A run; ``is_new`` is false when the same rules had seen the same judgments before."""

    run: DecisionRun
    is_new: bool


def decide_items(
    *,
    project: Project,
    kind: str,
    rules: Mapping[str, Rule],
    by: AbstractBaseUser | None,
    progress: Progress | None = None,
) -> Made:
    """Decide all judged items of a kind, and keep the run with its decisions; the same run again is found, not made.

    Raises:
        Refused: a kind without accepting and rejecting, rules for other dimensions, or no judgment yet.
    """
    _check(kind, rules)
    found = material(project, kind)
    if not found.judgments:
        raise Refused("judgments: nothing has been judged yet; launch a round, or import judgments")
    rows = {name: rule.as_row() for name, rule in rules.items()}
    if progress is not None:
        progress.advance(0, sum(len(found.tables[name].item_ids) for name in rules))
    fitted = fits(found.tables, rules)
    decided = {name: decide(found.tables[name], rule, fit=fitted.get(name)) for name, rule in rules.items()}
    counts = {
        name: Counts.from_row(_tally(row.outcome.value for row in items)).as_row()
        for name, items in decided.items()
    }
    lines = [
        (item_key(row.item), name, row.outcome.value, row.judges, row.support)
        for name, items in decided.items()
        for row in items
    ]
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        newest = DecisionRun.objects.filter(project=project, kind=kind).first()
        if newest is not None and (newest.rules, newest.data_sha256) == (rows, found.sha256):
            return Made(newest, is_new=False)
        run = DecisionRun.objects.create(
            project=project,
            kind=kind,
            rules=rows,
            data_sha256=found.sha256,
            counts={"judgments": found.judgments, "dimensions": counts},
            decided_by_id=by.pk if by else None,
        )
        _write(run, lines)
        audit.record(project=project, actor=by, action="judging.decide", subject=run.pk, kind=kind)
    return Made(run, is_new=True)


def is_large(judgments: int) -> bool:
    """Tell whether deciding so many judgments is too much for a page: a worker process does it."""
    return judgments > LARGE


def request_decisions(
    *,
    project: Project,
    kind: str,
    rules: Mapping[str, Rule],
    by: AbstractBaseUser | None,
    preview: bool = False,
) -> Job:
    """Let a worker process decide, or (``preview``) only count what each method would decide.

    Raises:
        Refused: as for ``decide_items``.
        Conflict: one is under way.
    """
    _check(kind, rules)
    return jobs.enqueue(
        task=DECIDE,
        title="Count what each method decides" if preview else "Decide judged items",
        project=project,
        by=by,
        exclusive_key=f"decisions:{project.pk}:{kind}",
        on=Queue.CPU if counted(project, kind) > HEAVY else None,
        kind=kind,
        rules={name: rule.as_row() for name, rule in rules.items()},
        by_id=by.pk if by else None,
        preview=preview,
    )


def run_job(*, progress: Progress, by: AbstractBaseUser | None) -> None:
    """Do what ``request_decisions`` asked for."""
    args: dict[str, Any] = progress.job.args
    project = progress.job.project
    assert project is not None
    rules = {name: Rule.from_row(row) for name, row in args["rules"].items()}
    if args["preview"]:
        found = material(project, args["kind"])
        jobs.set_result(
            job=progress.job, judgments=found.judgments, counts=count_by_method(found.tables, rules)
        )
        return
    made = decide_items(project=project, kind=args["kind"], rules=rules, by=by, progress=progress)
    jobs.set_result(job=progress.job, run=made.run.pk, new=made.is_new)


def _check(kind: str, rules: Mapping[str, Rule]) -> None:
    if kind not in decided_kinds():
        kinds = " or ".join(decided_kinds())
        why = "nothing is accepted or rejected in it, for no label of its spec speaks for an item"
        raise Refused(f"kind {kind}: {why}; use {kinds}")
    foreign = sorted(set(rules) - set(usual_rules(kind)))
    if foreign or not rules:
        names = ", ".join(usual_rules(kind))
        raise Refused(f"rules: {foreign[0] if foreign else 'none'} is no dimension of {kind}; use {names}")
    for name, rule in rules.items():
        words = labels_on(kind, name)
        unknown = next((word for word in rule.positive if word not in words), None)
        if unknown is not None:
            raise Refused(f"rules: {name}, positive: {unknown} is not on the scale; use {', '.join(words)}")


def _write(run: DecisionRun, lines: Sequence[tuple[str, str, str, int, float | None]]) -> None:
    """Add a run's decisions.

    By one prepared statement: making 120,000 model instances takes ten times as long, and nobody else can write to
    SQLite meanwhile.
    """
    table = connection.ops.quote_name(ItemDecision._meta.db_table)
    columns = ", ".join(connection.ops.quote_name(name) for name in ("run_id", *COLUMNS))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({columns}) VALUES (%s, %s, %s, %s, %s, %s)",  # noqa: S608 - constants
            [(run.pk, *line) for line in lines],
        )


def _tally(words: Iterator[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found
