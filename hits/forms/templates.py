"""Forms of old pages: upload one, and launch a batch over its rows."""

from dataclasses import replace
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from hits.domain.task_template.check import MAX_PAGE
from hits.forms.launch import BatchTermsForm
from hits.forms.parts import PageForm
from hits.kind import HitKind
from hits.models import TaskTemplate
from hits.selectors.listing import Listing
from hits.services.launching.template_launch import MAX_DESCRIPTION, MAX_KEYWORDS, MAX_NAME, MAX_TITLE
from hits.services.launching.terms import Terms

MAX_ROWS_BYTES = 2_000_000  # comes along from step to step; what is larger goes by the command line
_AREA = {"rows": 12, "spellcheck": "false", "wrap": "off"}


def text_of(data: dict[str, Any], file_field: str, text_field: str) -> bytes | str:
    """Return the uploaded file's bytes, or what was pasted where there is no file."""
    file = data.get(file_field)
    return file.read() if isinstance(file, UploadedFile) else data.get(text_field, "")


class TemplateForm(PageForm):
    """A page to upload: as a file, or pasted."""

    name = forms.CharField(
        max_length=MAX_NAME, label="Name", help_text="For this project. The same name again is a new version."
    )
    page = forms.FileField(required=False, label="The page as a file", max_length=255)
    html = forms.CharField(
        required=False,
        strip=False,
        label="Or paste its HTML",
        widget=forms.Textarea(attrs=_AREA),
        help_text="With ${variables} where each row of the CSV fills something in.",
    )

    def clean(self) -> dict[str, Any]:
        """Take the file or the text, and say so when there is neither or too much."""
        data = super().clean() or {}
        file = data.get("page")
        if file is not None and file.size > 4 * MAX_PAGE:
            self.add_error(
                "page", f"Over {MAX_PAGE:,} characters; keep pictures and libraries outside of it."
            )
        elif file is None and not data.get("html", "").strip():
            self.add_error("html", "Choose a file, or paste the page.")
        return data


class RowsForm(PageForm):
    """The CSV that fills a page in: as a file, or pasted."""

    rows_file = forms.FileField(required=False, label="The CSV as a file", max_length=255)
    rows = forms.CharField(
        required=False,
        strip=False,
        label="Or paste it",
        widget=forms.Textarea(attrs=_AREA | {"rows": 6}),
        help_text="A line of column names, then a line for each task.",
    )

    def clean(self) -> dict[str, Any]:
        """Take the file or the text, and say so when there is neither or too much."""
        data = super().clean() or {}
        file = data.get("rows_file")
        size = file.size if file is not None else len(data.get("rows", "").encode())
        if size > MAX_ROWS_BYTES:
            field = "rows" if file is None else "rows_file"
            self.add_error(field, "Over 2 MB; split it, or use manage.py launch_template.")
        elif file is None and not data.get("rows", "").strip():
            self.add_error("rows", "Choose a file, or paste the CSV.")
        return data


class TemplateLaunchForm(BatchTermsForm):
    """What a batch over a page is called, says, pays and may load."""

    title = forms.CharField(max_length=MAX_TITLE, label="Title", help_text="Workers choose by it.")
    description = forms.CharField(
        max_length=MAX_DESCRIPTION, label="Description", widget=forms.Textarea(attrs={"rows": 2})
    )
    keywords = forms.CharField(
        max_length=MAX_KEYWORDS, required=False, label="Keywords", help_text="With commas between them."
    )
    usual_minutes = forms.FloatField(
        min_value=0.1, max_value=480, label="Usual minutes", help_text="That a careful worker needs."
    )
    allowed_minutes = forms.IntegerField(
        min_value=1, max_value=60 * 24, label="Minutes allowed", help_text="From accepting to handing in."
    )
    hosts = forms.CharField(
        required=False,
        max_length=2000,
        label="Load from these hosts",
        help_text="With commas between them. Their owners learn the addresses of those who work here.",
    )
    in_spite = forms.BooleanField(required=False, label="Launch in spite of what has to be mended")

    def __init__(self, kind: HitKind, template: TaskTemplate, *args: Any, **kwargs: Any) -> None:
        kwargs["initial"] = {
            "name": template.name,
            "title": template.name,
            "reward": kind.reward_cents,
            "assignments": kind.assignments_per_hit,
            "usual_minutes": kind.usual_seconds // 60,
            "allowed_minutes": kind.duration_seconds // 60,
        }
        super().__init__(kind, [], *args, **kwargs)
        # All rows are asked; what a row is, another CSV may give to another number.
        for name in ("unit_scope", "instructions"):
            self.fields.pop(name, None)
        self.fields["name"].help_text = "For this project."
        self.fields["assignments"].label = "Workers per row"
        self.fields["assignments"].help_text = "Different people each."

    def clean(self) -> dict[str, Any]:
        """Fill in what this form does not ask."""
        return (super().clean() or {}) | {"unit_scope": "", "instructions": ""}

    @property
    def listing(self) -> Listing:
        """How the tasks are listed; the form has to be valid."""
        data = self.cleaned_data
        return Listing(
            data["title"], data["description"], data["keywords"], round(60 * data["usual_minutes"])
        )

    @property
    def terms(self) -> Terms:
        """What the batch pays, and how long a worker has; the form has to be valid."""
        return replace(super().terms, duration_seconds=60 * self.cleaned_data["allowed_minutes"])

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts that were named."""
        return tuple(name.strip() for name in self.cleaned_data["hosts"].split(",") if name.strip())
