"""What a version is to hold, as people choose it: decisions of a run, and what an audit's readers marked."""

from typing import Any

from django import forms

from curation.models import Audit, DatasetVersion
from curation.records import InvalidInput
from curation.versions.choices import judgments_since
from curation.versions.families import family_of
from curation.versions.selection import AuditChoice, DecisionChoice, Selection
from hits.forms.parts import PageForm
from hits.models import Project
from validation.models import DecisionRun
from validation.registry import spec_of


class SelectionForm(PageForm):
    """All approved records, or those that a decision run accepts; minus what an audit marked."""

    holds = forms.ChoiceField(
        required=False,
        label="Records",
        choices=[("all", "All approved records"), ("decided", "Those that a decision run accepts")],
        widget=forms.RadioSelect,
    )
    run = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Decision run")
    dimensions = forms.MultipleChoiceField(
        required=False, label="Accepted in", widget=forms.CheckboxSelectMultiple
    )
    not_judged = forms.BooleanField(required=False, label="Keep records that nobody judged")
    undecided = forms.BooleanField(required=False, label="Keep undecided records")
    audit = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, label="Leave out what an audit marked"
    )
    code = forms.CharField(
        required=False, max_length=60, label="Code", help_text="The id of a code of the audit."
    )
    values = forms.CharField(
        required=False,
        max_length=200,
        label="Values",
        help_text="Values that mark a record, separated by commas.",
    )
    readers = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=5,
        initial=1,
        label="Readers",
        help_text="So many readers or more.",
    )

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data, initial={"holds": "all", "readers": 1})
        self.project = project
        self.runs = runs_of(project)
        self.audits = list(Audit.objects.filter(project=project).order_by("-pk")[:20])
        fields: dict[str, Any] = self.fields
        fields["run"].choices = [("", "–"), *((run.pk, run_words(run)) for run in self.runs)]
        names = {name: spec_of(run.kind).title_of(name) for run in self.runs for name in run.rules}
        fields["dimensions"].choices = list(names.items())
        fields["audit"].choices = [("", "–"), *((audit.pk, audit.name) for audit in self.audits)]

    def clean(self) -> dict[str, Any]:
        """See that what was chosen belongs together."""
        data = super().clean() or {}
        if data.get("holds") == "decided":
            if not data.get("run"):
                self.add_error("run", "Choose a decision run.")
            if not data.get("dimensions"):
                self.add_error("dimensions", "Choose at least one question.")
        if data.get("audit"):
            for name in ("code", "values"):
                if not data.get(name):
                    self.add_error(name, "Say which readings mark a record.")
        return data

    @property
    def selection(self) -> Selection:
        """What was chosen; the form has to be valid."""
        data = self.cleaned_data
        decisions = None
        if data.get("holds") == "decided":
            decisions = DecisionChoice(
                data["run"], tuple(data["dimensions"]), data["not_judged"], data["undecided"]
            )
        audits: tuple[AuditChoice, ...] = ()
        if data.get("audit"):
            values = tuple(word.strip() for word in data["values"].split(",") if word.strip())
            audits = (AuditChoice(data["audit"], data["code"].strip(), values, data["readers"] or 1),)
        return Selection(decisions, audits)


def runs_of(project: Project) -> list[DecisionRun]:
    """Return the newest decision runs about records that the project's versions hold."""
    types = family_of(project).record_types
    rows = DecisionRun.objects.filter(project=project).order_by("-pk")[:40]
    return [run for run in rows if spec_of(run.kind).record_type in types and not spec_of(run.kind).has_parts]


def run_words(run: DecisionRun) -> str:
    """Return a decision run as a list offers it, with what came in since."""
    since = judgments_since(run)
    late = f"; {since:,} judgments came in since" if since > 0 else ""
    gone = f"; {-since:,} judgments were rejected since" if since < 0 else ""
    return f"Run {run.pk} of {run.decided_at:%-d %b %Y}, {spec_of(run.kind).title.lower()}{late}{gone}"


def selection_words(version: DatasetVersion) -> str:
    """Return what a version holds as a sentence."""
    try:
        selection = Selection.from_json(version.selection)
    except InvalidInput as error:
        return str(error)
    if selection.is_everything:
        return "All approved records."
    said = []
    if selection.decisions is not None:
        said.append(_decisions_words(version.project, selection.decisions))
    for audit in selection.audits:
        name = (
            Audit.objects.filter(project=version.project, pk=audit.audit)
            .values_list("name", flat=True)
            .first()
        )
        readers = f"{audit.readers} reader{'' if audit.readers == 1 else 's'}"
        marks = f"{audit.code}: {', '.join(audit.values)}"
        said.append(f"without what {readers} of audit “{name or audit.audit}” marked {marks}")
    sentence = "; ".join(said)
    return f"Approved records {sentence}."


def _decisions_words(project: Project, choice: DecisionChoice) -> str:
    run = DecisionRun.objects.filter(project=project, pk=choice.run).first()
    titles = [spec_of(run.kind).title_of(name) if run else name for name in choice.dimensions]
    since = judgments_since(run) if run else 0
    also = [
        words
        for kept, words in (
            (choice.keep_not_judged, "those not judged"),
            (choice.keep_undecided, "undecided ones"),
        )
        if kept
    ]
    kept = f", with {' and '.join(also)}" if also else ""
    late = f" ({abs(since):,} judgments {'came in' if since > 0 else 'were rejected'} since)" if since else ""
    return f"accepted by decision run {choice.run}{late} in {', '.join(titles)}{kept}"
