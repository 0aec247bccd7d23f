"""Decide items by rules, and store the decisions in append-only rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
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
from validation.domain.decision_rules import DecisionRule, Outcome, decide
from validation.models import DecisionRun, ItemDecision
from validation.registry import decidable_kinds
from validation.selectors.decisions import (
    DECIDE_TASK,
    count_outcomes_by_method,
    default_rules_of_kind,
    dimension_labels,
    fit_models_of_weighted_rules,
    item_key,
    judgment_tables,
)
from validation.selectors.report import count_judgments
from validation.services.report import HEAVY_JUDGMENTS

MAX_PAGE_JUDGMENTS = 5_000  # with more, a worker process decides, not the web request
COLUMNS = ("item", "dimension", "outcome", "judges", "support")


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """A run; ``is_new`` is false if the same rules have decided the same judgments before."""

    run: DecisionRun
    is_new: bool


def decide_items(
    *,
    project: Project,
    kind: str,
    rules: Mapping[str, DecisionRule],
    by: AbstractBaseUser | None,
    progress: Progress | None = None,
) -> DecisionResult:
    """Decide all judged items of a kind, and store the run; the same rules and judgments return the stored run.

    Raises:
        Refused: the kind has no decisions, a rule is for another dimension, or there are no judgments yet.
    """
    _check_rules(kind, rules)
    inputs = judgment_tables(project, kind)
    if not inputs.judgments:
        raise Refused("judgments: there are none yet; launch a round, or import judgments")
    rows = {name: rule.as_row() for name, rule in rules.items()}
    if progress is not None:
        progress.advance(0, sum(len(inputs.tables[name].item_ids) for name in rules))
    models = fit_models_of_weighted_rules(inputs.tables, rules)
    decided = {name: decide(inputs.tables[name], rule, fit=models.get(name)) for name, rule in rules.items()}
    found = {name: Counter(row.outcome.value for row in items) for name, items in decided.items()}
    counts = {
        name: {outcome.value: by_outcome[outcome.value] for outcome in Outcome}
        for name, by_outcome in found.items()
    }
    decision_rows = [
        (item_key(row.item), name, row.outcome.value, row.judge_count, row.support)
        for name, items in decided.items()
        for row in items
    ]
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        newest = DecisionRun.objects.filter(project=project, kind=kind).first()
        if newest is not None and (newest.rules, newest.data_sha256) == (rows, inputs.sha256):
            return DecisionResult(newest, is_new=False)
        run = DecisionRun.objects.create(
            project=project,
            kind=kind,
            rules=rows,
            data_sha256=inputs.sha256,
            counts={"judgments": inputs.judgments, "dimensions": counts},
            decided_by_id=by.pk if by else None,
        )
        _insert_decisions(run, decision_rows)
        audit.record(project=project, actor=by, action="judging.decide", subject=run.pk, kind=kind)
    return DecisionResult(run, is_new=True)


def request_decisions(
    *,
    project: Project,
    kind: str,
    rules: Mapping[str, DecisionRule],
    by: AbstractBaseUser | None,
    preview: bool = False,
) -> Job:
    """Queue the decisions, or (``preview``) only a count of what each method would decide.

    Raises:
        Refused: as for ``decide_items``.
        Conflict: a job is queued or running already.
    """
    _check_rules(kind, rules)
    return jobs.enqueue(
        task=DECIDE_TASK,
        title="Count what each method decides" if preview else "Decide judged items",
        project=project,
        by=by,
        exclusive_key=f"decisions:{project.pk}:{kind}",
        target_queue=Queue.CPU if count_judgments(project, kind) > HEAVY_JUDGMENTS else None,
        kind=kind,
        rules={name: rule.as_row() for name, rule in rules.items()},
        by_id=by.pk if by else None,
        preview=preview,
    )


def run_decision_job(*, progress: Progress, by: AbstractBaseUser | None) -> None:
    """Run the job that ``request_decisions`` queued."""
    args: dict[str, Any] = progress.job.args
    project = progress.job.project
    assert project is not None
    rules = {name: DecisionRule.from_row(row) for name, row in args["rules"].items()}
    if args["preview"]:
        inputs = judgment_tables(project, args["kind"])
        jobs.set_result(
            job=progress.job,
            judgments=inputs.judgments,
            counts=count_outcomes_by_method(inputs.tables, rules),
        )
        return
    result = decide_items(project=project, kind=args["kind"], rules=rules, by=by, progress=progress)
    jobs.set_result(job=progress.job, run=result.run.pk, new=result.is_new)


def _check_rules(kind: str, rules: Mapping[str, DecisionRule]) -> None:
    if kind not in decidable_kinds():
        kinds = " or ".join(decidable_kinds())
        reason = "its items are not decided, since its spec has no favourable labels"
        raise Refused(f"kind {kind}: {reason}; use {kinds}")
    foreign = sorted(set(rules) - set(default_rules_of_kind(kind)))
    if foreign or not rules:
        names = ", ".join(default_rules_of_kind(kind))
        raise Refused(f"rules: {foreign[0] if foreign else 'none'} is not a dimension of {kind}; use {names}")
    for name, rule in rules.items():
        labels = dimension_labels(kind, name)
        unknown = next((label for label in rule.positive if label not in labels), None)
        if unknown is not None:
            raise Refused(f"rules: {name}, positive: {unknown} is not on the scale; use {', '.join(labels)}")


def _insert_decisions(run: DecisionRun, rows: Sequence[tuple[str, str, str, int, float | None]]) -> None:
    """Add a run's decisions by one prepared statement.

    Making 120,000 model instances takes ten times as long, and SQLite allows no other writer meanwhile.
    """
    table = connection.ops.quote_name(ItemDecision._meta.db_table)
    columns = ", ".join(connection.ops.quote_name(name) for name in ("run_id", *COLUMNS))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({columns}) VALUES (%s, %s, %s, %s, %s, %s)",  # noqa: S608 - constants
            [(run.pk, *row) for row in rows],
        )
