"""Form for a version's selection, by a decision run and by an audit's labels."""

from typing import Any, NamedTuple

from django import forms

from curation.audits.codebook import Choice, Code
from curation.audits.parsing import codebook_from_row
from curation.models import Audit, DatasetVersion
from curation.records import InvalidInput
from curation.versions.families import family_of, family_of_version
from curation.versions.selection import AuditChoice, DecisionChoice, Selection
from curation.versions.selection_filter import count_judgments_since
from curation.views.fields import checkbox, choice_field, integer_field
from hits.forms.fields import PageForm
from hits.models import Project
from validation.models import DecisionRun
from validation.registry import is_judging_kind, spec_of

MAX_AUDITS = 20  # the newest


class _AuditMark(NamedTuple):
    """A possible answer of an audit's readers."""

    audit: Audit
    code: Code
    choice: Choice


class SelectionForm(PageForm):
    """Selects all approved records or those accepted by a decision run, without those marked in an audit."""

    holds = choice_field(
        "Records",
        [("all", "All approved records"), ("decided", "Records accepted by a decision run")],
        required=False,
        widget=forms.RadioSelect,
    )
    run = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Decision run")
    dimensions = forms.MultipleChoiceField(
        required=False, label="Accepted in", widget=forms.CheckboxSelectMultiple
    )
    not_judged = checkbox("Keep records without judgments")
    undecided = checkbox("Keep undecided records")
    marks = forms.MultipleChoiceField(
        required=False, label="Exclude records marked in an audit", widget=forms.CheckboxSelectMultiple
    )
    readers = integer_field(
        "Readers required",
        "A record is excluded if at least this many readers gave one of the answers above. Default: 1.",
        low=1,
        high=5,
        required=False,
        initial=1,
    )

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data, initial={"holds": "all", "readers": 1})
        self.project = project
        self.runs = decision_runs(project)
        self.marks_by_value = {
            f"{audit.pk}:{code.id}:{choice.value}": _AuditMark(audit, code, choice)
            for audit in Audit.objects.filter(project=project).order_by("-pk")[:MAX_AUDITS]
            for code in codebook_from_row(audit.codebook).codes
            for choice in code.choices
        }
        fields: dict[str, Any] = self.fields
        fields["run"].choices = [("", "–"), *((run.pk, decision_run_label(run)) for run in self.runs)]
        names = {name: spec_of(run.kind).dimension_title(name) for run in self.runs for name in run.rules}
        fields["dimensions"].choices = list(names.items())
        fields["marks"].choices = [(value, mark.choice.words) for value, mark in self.marks_by_value.items()]

    def clean(self) -> dict[str, Any]:
        """Check that the choices are consistent."""
        data = super().clean() or {}
        if data.get("holds") == "decided":
            if not data.get("run"):
                self.add_error("run", "Choose a decision run.")
            if not data.get("dimensions"):
                self.add_error("dimensions", "Choose at least one question.")
        return data

    @property
    def audit_checkboxes(self) -> list[tuple[Audit, list[tuple[Code, list[Any]]]]]:
        """Return the audits with their codes, and the checkboxes of each code's answers."""
        boxes: dict[Audit, dict[Code, list[Any]]] = {}
        for box in self["marks"]:
            mark = self.marks_by_value[str(box.data["value"])]
            boxes.setdefault(mark.audit, {}).setdefault(mark.code, []).append(box)
        return [(audit, list(codes.items())) for audit, codes in boxes.items()]

    @property
    def selection(self) -> Selection:
        """The selection; the form must be valid."""
        data = self.cleaned_data
        decisions = None
        if data.get("holds") == "decided":
            kept = data["not_judged"], data["undecided"]
            decisions = DecisionChoice(data["run"], tuple(data["dimensions"]), *kept)
        values: dict[tuple[int, str], list[str]] = {}
        for mark in (self.marks_by_value[value] for value in data["marks"]):
            values.setdefault((mark.audit.pk, mark.code.id), []).append(mark.choice.value)
        readers = data["readers"] or 1
        audits = tuple(AuditChoice(*key, tuple(given), readers) for key, given in values.items())
        return Selection(decisions, audits)


def decision_runs(project: Project) -> list[DecisionRun]:
    """Return the newest decision runs about the types of records that the project's versions contain."""
    types = family_of(project).record_types
    rows = DecisionRun.objects.filter(project=project).order_by("-pk")[:40]
    known = [run for run in rows if is_judging_kind(run.kind)]  # the kind may have been uninstalled
    specs = ((run, spec_of(run.kind)) for run in known)
    return [run for run, spec in specs if spec.record_type in types and not spec.has_parts]


def decision_run_label(run: DecisionRun) -> str:
    """Return a decision run's label, with the number of judgments since."""
    since = count_judgments_since(run)
    late = f"; {since:,} judgments came in since" if since > 0 else ""
    gone = f"; {-since:,} judgments were rejected since" if since < 0 else ""
    return f"Run {run.pk} of {run.decided_at:%-d %b %Y}, {spec_of(run.kind).title.lower()}{late}{gone}"


def describe_selection(version: DatasetVersion) -> str:
    """Describe a version's selection in a sentence."""
    try:
        selection = Selection.from_json(version.selection)
    except InvalidInput as error:
        return str(error)
    if selection.is_everything:
        return f"{family_of_version(version).everything}."
    parts = []
    if selection.decisions is not None:
        parts.append(_describe_decisions(version.project, selection.decisions))
    for audit in selection.audits:
        rows = Audit.objects.filter(project=version.project, pk=audit.audit)
        name = rows.values_list("name", flat=True).first()
        readers = f"{audit.readers} reader{'' if audit.readers == 1 else 's'}"
        marks = f"{audit.code}: {', '.join(audit.values)}"
        parts.append(f"without records that {readers} of audit “{name or audit.audit}” marked {marks}")
    description = "; ".join(parts)
    return f"Approved records {description}."


def _describe_decisions(project: Project, choice: DecisionChoice) -> str:
    run = DecisionRun.objects.filter(project=project, pk=choice.run).first()
    spec = spec_of(run.kind) if run and is_judging_kind(run.kind) else None
    titles = [spec.dimension_title(name) if spec else name for name in choice.dimensions]
    since = count_judgments_since(run) if run else 0
    also = [
        label
        for kept_text, label in (
            (choice.keep_not_judged, "those not judged"),
            (choice.keep_undecided, "undecided ones"),
        )
        if kept_text
    ]
    kept_text = f", with {' and '.join(also)}" if also else ""
    late = f" ({abs(since):,} judgments {'came in' if since > 0 else 'were rejected'} since)" if since else ""
    return f"accepted by decision run {choice.run}{late} in {', '.join(titles)}{kept_text}"
