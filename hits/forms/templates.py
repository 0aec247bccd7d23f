"""Forms of uploaded pages: upload, rows, and launch."""

from dataclasses import replace
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from hits.domain.task_template.check import MAX_PAGE
from hits.forms.fields import PageForm
from hits.forms.launch import BatchTermsForm
from hits.kind import HitKind
from hits.models import TaskTemplate
from hits.selectors.listing import TaskListing
from hits.services.launching.template_launch import MAX_DESCRIPTION, MAX_KEYWORDS, MAX_NAME, MAX_TITLE
from hits.services.launching.terms import LaunchTerms

MAX_ROWS_BYTES = 2_000_000  # a hidden field holds the CSV on each page; larger files need the command line
_TEXTAREA_ATTRIBUTES = {"rows": 12, "spellcheck": "false", "wrap": "off"}


def uploaded_or_pasted_text(data: dict[str, Any], file_field: str, text_field: str) -> bytes | str:
    """Return the uploaded file's bytes, or the pasted text without a file."""
    file = data.get(file_field)
    return file.read() if isinstance(file, UploadedFile) else data.get(text_field, "")


class TemplateForm(PageForm):
    """A page as a file or pasted HTML."""

    name = forms.CharField(
        max_length=MAX_NAME,
        label="Name",
        help_text="Shown in this project only. Reusing a name creates a new version.",
    )
    page = forms.FileField(required=False, label="HTML file", max_length=255)
    html = forms.CharField(
        required=False,
        strip=False,
        label="Or paste the HTML",
        widget=forms.Textarea(attrs=_TEXTAREA_ATTRIBUTES),
        help_text="Each row of the CSV fills in the ${variables}.",
    )

    def clean(self) -> dict[str, Any]:
        """Require a file or a text of at most the maximum size."""
        data = super().clean() or {}
        file = data.get("page")
        if file is not None and file.size > 4 * MAX_PAGE:
            self.add_error("page", f"Over {MAX_PAGE:,} characters; load images and libraries from elsewhere.")
        elif file is None and not data.get("html", "").strip():
            self.add_error("html", "Choose a file or paste the page.")
        return data


class TemplateRowsForm(PageForm):
    """The rows of a page: a CSV file or pasted CSV."""

    rows_file = forms.FileField(required=False, label="CSV file", max_length=255)
    rows = forms.CharField(
        required=False,
        strip=False,
        label="Or pasted CSV",
        widget=forms.Textarea(attrs=_TEXTAREA_ATTRIBUTES | {"rows": 6}),
        help_text="A line with column names, then one line per task.",
    )

    def clean(self) -> dict[str, Any]:
        """Require a file or a text of at most the maximum size."""
        data = super().clean() or {}
        file = data.get("rows_file")
        size = file.size if file is not None else len(data.get("rows", "").encode())
        if size > MAX_ROWS_BYTES:
            field = "rows" if file is None else "rows_file"
            self.add_error(field, "Over 2 MB; split it, or use manage.py launch_template.")
        elif file is None and not data.get("rows", "").strip():
            self.add_error("rows", "Choose a file or paste the CSV.")
        return data


class TemplateLaunchForm(BatchTermsForm):
    """A batch over a page: name, listing, pay and allowed hosts."""

    title = forms.CharField(
        max_length=MAX_TITLE, label="Title", help_text="Workers see it in their list of tasks."
    )
    description = forms.CharField(
        max_length=MAX_DESCRIPTION, label="Description", widget=forms.Textarea(attrs={"rows": 2})
    )
    keywords = forms.CharField(
        max_length=MAX_KEYWORDS, required=False, label="Keywords", help_text="Separated by commas."
    )
    expected_minutes = forms.FloatField(
        min_value=0.1, max_value=480, label="Expected minutes", help_text="Time that a careful worker needs."
    )
    allowed_minutes = forms.IntegerField(
        min_value=1,
        max_value=60 * 24,
        label="Allowed minutes",
        help_text="Maximum time from acceptance to submission.",
    )
    hosts = forms.CharField(
        required=False,
        max_length=2000,
        label="Allowed hosts",
        help_text="Host names, separated by commas. The page may load files from these hosts; the hosts see the "
        "workers’ IP addresses.",
    )
    ignore_findings = forms.BooleanField(required=False, label="Launch despite errors")

    def __init__(self, kind: HitKind, template: TaskTemplate, *args: Any, **kwargs: Any) -> None:
        kwargs["initial"] = {
            "name": template.name,
            "title": template.name,
            "expected_minutes": kind.expected_seconds // 60,
            "allowed_minutes": kind.duration_seconds // 60,
        }
        super().__init__(kind, [], *args, **kwargs)
        # All rows are launched, and a row number means another unit in another CSV.
        for name in ("unit_scope", "instructions"):
            self.fields.pop(name, None)
        self.fields["name"].help_text = "Shown in this project only."
        self.fields["assignments"].label = "Workers per row"
        self.fields["assignments"].help_text = "Number of different workers."

    def clean(self) -> dict[str, Any]:
        """Add values for the fields that this form lacks."""
        return (super().clean() or {}) | {"unit_scope": "", "instructions": ""}

    @property
    def listing(self) -> TaskListing:
        """The listing of the tasks; the form must be valid."""
        data = self.cleaned_data
        return TaskListing(
            data["title"], data["description"], data["keywords"], round(60 * data["expected_minutes"])
        )

    @property
    def terms(self) -> LaunchTerms:
        """The launch terms with the allowed time; the form must be valid."""
        return replace(super().terms, duration_seconds=60 * self.cleaned_data["allowed_minutes"])

    @property
    def host_names(self) -> tuple[str, ...]:
        """The allowed hosts."""
        return tuple(name.strip() for name in self.cleaned_data["hosts"].split(",") if name.strip())
