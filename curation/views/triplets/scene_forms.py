"""Forms of the pages about scenes: filters, a reader's verdict, a revision, and an import."""

from collections import Counter
from typing import Any

from django import forms

from curation.models import Scene, SceneVerdict
from curation.selectors.triplets.scene_queue import QueueFilter, QueueState
from curation.services.triplets.scene_imports import SceneFile
from curation.services.triplets.scenes import MAX_NOTE, ReaderDecision, SceneTexts, parse_reasons
from curation.views.fields import checkbox, choice_field, integer_field, text_field
from curation.views.triplets.labels import CATEGORY_LABELS, CELL_LABELS, REASONS, VERDICT_LABELS
from hits.domain.answers.evidence import humanize
from hits.domain.answers.scene_facets import CATEGORY_TEXTS, DIRECTION_TEXTS, DURATION_TEXTS, MAX_CHARACTERS
from hits.domain.answers.scene_rules import MAX_CULTURE_CHARACTERS, MAX_DOMAIN_CHARACTERS
from hits.forms import PageForm
from hits.services.errors import Refused

ALL = "all"
PAGE_SIZES = (30, 100, 500)
MAX_SEARCH = 100
# Of a file that the page reads while the person waits; the command reads larger ones.
MAX_IMPORTED_ROWS = 5_000
MAX_IMPORTED_BYTES = 4_000_000
_VERDICTS = (SceneVerdict.KEEP, SceneVerdict.DROP, SceneVerdict.REVISE)


def add_refusal(form: forms.Form, error: Refused) -> None:
    """Add a service's refusal to the field that its message begins with, or else to the whole form."""
    name, separator, message = str(error).partition(": ")
    name = name.removeprefix("prompt of ")
    if separator and name in form.fields:
        form.add_error(name, f"{message[0].upper()}{message[1:].rstrip('.')}.")
    else:
        text = str(error).rstrip(".")
        form.add_error(None, f"{text[0].upper()}{text[1:]}.")


class SceneFilterForm(PageForm):
    """Filters of the queue; invalid values are ignored. Without a state, the scenes that wait for the reader."""

    q = text_field("Containing", required=False, max_length=MAX_SEARCH)
    category = choice_field("Category", [("", "All"), *CATEGORY_LABELS.items()], required=False)
    cell = choice_field("Time", [("", "All"), *CELL_LABELS.items()], required=False)
    size = choice_field("Scenes per page", [(str(size), str(size)) for size in PAGE_SIZES], required=False)
    twin = checkbox("Like another scene")
    state = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, counts: Counter[QueueState], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="filter_%s", **kwargs)
        self.is_valid()
        self.default = QueueState.WAITING if counts[QueueState.WAITING] else None

    @property
    def chosen_state(self) -> QueueState | None:
        """The state to list; ``None`` for all."""
        name = self.cleaned_data.get("state")
        if name == ALL:
            return None
        return QueueState(name) if name in set(QueueState) else self.default

    @property
    def selection(self) -> QueueFilter:
        """What to list."""
        given = self.cleaned_data
        return QueueFilter(
            state=self.chosen_state,
            category=given.get("category", ""),
            cell=given.get("cell", ""),
            has_twin=given.get("twin", False),
            text=given.get("q", ""),
        )

    @property
    def page_size(self) -> int:
        """The number of scenes on a page."""
        return int(self.cleaned_data.get("size") or PAGE_SIZES[0])

    @property
    def is_filtered(self) -> bool:
        """Whether more than the state narrows the list."""
        return any(self.cleaned_data.get(name) for name in ("q", "category", "cell", "twin"))


class VerdictForm(PageForm):
    """A reader's verdict on a scene."""

    verdict = choice_field(
        "Verdict",
        [(verdict.value, VERDICT_LABELS[verdict]) for verdict in _VERDICTS],
        widget=forms.RadioSelect,
    )
    reasons = forms.MultipleChoiceField(
        required=False,
        label="Reasons",
        help_text="To drop or to revise needs at least one. Authors read them.",
        choices=[(reason.value, f"{label}: {text}") for reason, (label, _, text) in REASONS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    twin = integer_field("Repeats scene number", "If it is not new.", low=1, high=2**62, required=False)
    note = text_field(
        "Note",
        "For the project’s members. Authors do not read it.",
        required=False,
        max_length=MAX_NOTE,
        widget=forms.Textarea({"rows": 2}),
    )
    seen = forms.IntegerField(
        min_value=0,
        max_value=2**62,
        widget=forms.HiddenInput,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"), "The page is out of date: reload it."
        ),
    )

    def __init__(self, scene: Scene, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="verdict_%s", **kwargs)
        self.scene = scene

    def clean_twin(self) -> Scene | None:
        """Return the scene of that number."""
        number = self.cleaned_data["twin"]
        if number is None:
            return None
        found = Scene.objects.filter(project=self.scene.project_id, pk=number).first()
        if found is None:
            raise forms.ValidationError(
                f"This project has no scene {number}; use the number above its texts."
            )
        return found

    @property
    def decision(self) -> ReaderDecision:
        """The decision; the form must be valid."""
        given = self.cleaned_data
        return ReaderDecision(
            verdict=SceneVerdict(given["verdict"]),
            reasons=parse_reasons(given["reasons"]),
            twin=given["twin"],
            note=given["note"],
            seen=given["seen"],
        )


def _definitions(texts: Any) -> list[tuple[str, str]]:
    return [(name, f"{humanize(name)}: {text}") for name, text in texts.items()]


class RevisionForm(PageForm):
    """The texts and facets of a revision."""

    premise = text_field("Premise", max_length=MAX_CHARACTERS, widget=forms.Textarea({"rows": 2}))
    plausible = text_field(
        "More plausible hypothesis", max_length=MAX_CHARACTERS, widget=forms.Textarea({"rows": 2})
    )
    implausible = text_field(
        "Less plausible hypothesis", max_length=MAX_CHARACTERS, widget=forms.Textarea({"rows": 2})
    )
    category = choice_field("Category", _definitions(CATEGORY_TEXTS))
    direction = choice_field("Direction", _definitions(DIRECTION_TEXTS))
    duration = choice_field(
        "Duration",
        [("", "None: a parallel scene has no duration"), *_definitions(DURATION_TEXTS)],
        required=False,
    )
    domain = text_field("Domain", max_length=MAX_DOMAIN_CHARACTERS)
    culture = text_field(
        "Culture",
        "If the scene needs to be known from one.",
        required=False,
        max_length=MAX_CULTURE_CHARACTERS,
    )

    FACETS = ("category", "direction", "duration", "domain", "culture")

    def __init__(self, scene: Scene, *args: Any, **kwargs: Any) -> None:
        initial = {name: getattr(scene, name) for name in self.FACETS} | {
            "premise": scene.premise,
            "plausible": scene.plausible_text,
            "implausible": scene.implausible_text,
        }
        super().__init__(*args, initial=initial, auto_id="revision_%s", **kwargs)

    @property
    def texts(self) -> SceneTexts:
        """The texts; the form must be valid."""
        return SceneTexts(*(self.cleaned_data[name] for name in ("premise", "plausible", "implausible")))

    @property
    def facets(self) -> dict[str, str]:
        """The facets; the form must be valid."""
        return {name: self.cleaned_data[name] for name in self.FACETS}

    def clean(self) -> dict[str, Any]:
        """Refuse a revision that changes nothing."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors and not self.has_changed():
            self.add_error(None, "Nothing is changed yet: change a text or a facet, or keep the scene.")
        return cleaned


class SceneImportForm(PageForm):
    """A file of scenes."""

    file = forms.FileField(
        label="File",
        help_text=f"CSV with a header, or JSON lines, in UTF-8. At most {MAX_IMPORTED_ROWS:,} rows.",
        allow_empty_file=True,
        max_length=255,
    )
    licence = text_field(
        "Licence", "Of scenes whose row names none, for example CC BY 4.0.", required=False, max_length=120
    )
    citation = text_field("Citation", "Who wrote the scenes.", required=False, max_length=400)

    def clean_file(self) -> Any:
        """Refuse a file that would keep the page busy."""
        upload = self.cleaned_data["file"]
        if upload.size > MAX_IMPORTED_BYTES:
            raise forms.ValidationError(
                f"It has {upload.size:,} bytes; this page reads at most {MAX_IMPORTED_BYTES:,}: split it, or use "
                "manage.py import_scenes."
            )
        return upload

    @property
    def scene_file(self) -> SceneFile:
        """The file with what was typed; the form must be valid."""
        given = self.cleaned_data
        upload = given["file"]
        content = upload.read()
        return SceneFile(upload.name, content, given["licence"], given["citation"], MAX_IMPORTED_ROWS)
