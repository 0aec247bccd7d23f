"""Apply a selection: find the records that decisions and audits exclude."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db.models import Count, Q

from curation.audits.parsing import codebook_from_row
from curation.models import Audit, AuditLabel
from curation.records import InvalidInput
from curation.versions.selection import (
    AuditChoice,
    DecisionChoice,
    ExclusionReason,
    Selection,
    split_main_reason,
)
from curation.versions.spool import Spool
from hits.models import Project, Record
from validation.domain.decision_rules import Outcome
from validation.models import DecisionRun, ItemDecision
from validation.registry import is_judging_kind, spec_of
from validation.selectors.report import count_judgments

_SCHEMA = """
CREATE TABLE decided (item TEXT PRIMARY KEY, judged INTEGER, rejected INTEGER, undecided INTEGER) WITHOUT ROWID
"""
CHUNK_SIZE = 2_000


class SelectionFilter:
    """Decides which records of one type a selection excludes; decisions about other types are ignored.

    Args:
        record_types: all types of records in the project's versions.

    Raises:
        InvalidInput: a decision run or audit is not the project's, is of another kind, or lacks the named dimension
            or code.
    """

    def __init__(
        self, project: Project, record_type: str, selection: Selection, *, record_types: Collection[str]
    ) -> None:
        self._decisions: DecisionChoice | None = None
        self._spool = Spool(_SCHEMA)
        if selection.decisions is not None:
            run = get_decision_run(project, record_types, selection.decisions)
            if spec_of(run.kind).record_type == record_type:
                self._decisions = selection.decisions
                self._load_decisions(run, selection.decisions)
        self._marked = {pk for audit in selection.audits for pk in _marked_record_keys(project, audit)}

    def exclusion_reason(self, record: Record) -> tuple[ExclusionReason, tuple[ExclusionReason, ...]] | None:
        """Return why a record is excluded, with further reasons, or ``None`` if it is selected."""
        reasons = list(self._decision_reasons(record.instance_id))
        if record.pk in self._marked:
            reasons.append(ExclusionReason.AUDIT_CONCERN)
        return split_main_reason(reasons) if reasons else None

    def _decision_reasons(self, item: str) -> Iterable[ExclusionReason]:
        choice = self._decisions
        if choice is None:
            return
        query = "SELECT judged, rejected, undecided FROM decided WHERE item = ?"
        judged, rejected, undecided = next(self._spool.rows(query, (item,)), (0, 0, 0))
        if rejected:
            yield ExclusionReason.JUDGED_AGAINST
        if judged < len(choice.dimensions) and not choice.keep_not_judged:
            yield ExclusionReason.NOT_JUDGED
        if undecided and not choice.keep_undecided:
            yield ExclusionReason.UNDECIDED

    def _load_decisions(self, run: DecisionRun, choice: DecisionChoice) -> None:
        rows = ItemDecision.objects.filter(run=run, dimension__in=choice.dimensions).order_by("item")
        by_item = rows.values_list("item").annotate(
            judged=Count("pk"),
            rejected=Count("pk", filter=Q(outcome=Outcome.REJECT)),
            undecided=Count("pk", filter=Q(outcome=Outcome.UNDECIDED)),
        )
        counts = by_item.iterator(chunk_size=CHUNK_SIZE)
        self._spool.run_many("INSERT INTO decided VALUES (?, ?, ?, ?)", counts)


def get_decision_run(project: Project, record_types: Collection[str], choice: DecisionChoice) -> DecisionRun:
    """Return the decision run of a selection.

    Raises:
        InvalidInput: it is not the project's, judges other records, or does not decide a dimension.
    """
    run = DecisionRun.objects.filter(project=project, pk=choice.run).first()
    if run is None:
        raise InvalidInput(f"selection.decisions.run: the project has no decision run {choice.run}")
    if not is_judging_kind(run.kind):
        kind = f"run {run.pk} is of kind {run.kind}"
        raise InvalidInput(f"selection.decisions.run: {kind}, which is not installed here")
    spec = spec_of(run.kind)
    if spec.record_type not in record_types or spec.has_parts:
        raise InvalidInput(
            f"selection.decisions.run: run {run.pk} decides {spec.title.lower()} ({run.kind}), not records of type "
            f"{' or '.join(record_types)}; choose a run that does"
        )
    foreign = [name for name in choice.dimensions if name not in run.rules]
    if foreign:
        raise InvalidInput(
            f"selection.decisions.dimensions: run {run.pk} does not decide {foreign[0]!r}; use {', '.join(run.rules)}"
        )
    return run


def count_judgments_since(run: DecisionRun) -> int:
    """Return the number of judgments of the run's kind made after it; negative if some were rejected since."""
    return count_judgments(run.project, run.kind) - int(run.counts.get("judgments", 0))


def _check_audit_choice(audit: Audit, choice: AuditChoice) -> None:
    """Check that the audit's codebook has the code and values, since a mistyped one would exclude nothing."""
    codes = {code.id: code.values for code in codebook_from_row(audit.codebook).codes}
    if choice.code not in codes:
        problem = f"audit {audit.pk} has no code {choice.code!r}"
        raise InvalidInput(f"selection.audits.code: {problem}; use {', '.join(codes)}")
    unknown = [value for value in choice.values if value not in codes[choice.code]]
    if unknown or not choice.values:
        known = ", ".join(codes[choice.code])
        raise InvalidInput(
            f"selection.audits.values: code {choice.code} has no value {unknown[0] if unknown else ''!r}; use {known}"
        )


def _marked_record_keys(project: Project, choice: AuditChoice) -> set[int]:
    """Return the keys of the records marked by enough readers of an audit."""
    audit = Audit.objects.filter(project=project, pk=choice.audit).first()
    if audit is None:
        raise InvalidInput(f"selection.audits: the project has no audit {choice.audit}")
    _check_audit_choice(audit, choice)
    newest: dict[tuple[int, int], object] = {}
    rows = AuditLabel.objects.filter(item__audit=audit).order_by("pk")
    for record, reader, answers in rows.values_list("item__observation_id", "reader_id", "answers"):
        newest[record, reader] = answers.get(choice.code)
    readers: dict[int, int] = defaultdict(int)
    for (record, _), answer in newest.items():
        given = set(answer) if isinstance(answer, list) else {answer}
        readers[record] += bool(given & set(choice.values))
    return {record for record, count in readers.items() if count >= choice.readers}
