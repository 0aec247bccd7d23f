"""Import of box proposals from a file in the server's import folder."""

from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from curation.proposals.detector import DEFAULT_LIMIT
from curation.records import InvalidInput
from curation.selectors.jobs import PROPOSALS, latest_job
from curation.services.proposals import MAX_BOXES, request_proposals_import
from curation.sources.folders import resolve_inside
from curation.views.fields import choice_field, integer_field
from curation.views.pages import tab_context
from curation.views.source_forms import ImportFolderContents, read_import_folder, selectable_files
from hits.forms import PageForm
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import job_if_open
from hits.views.users import signed_in_user

PUBLISHED_FILE = "image_url2auto_bboxes.json"
LAYOUT_LABELS = {
    "auto": "Detect automatically",
    "corners": "Left, top, right, bottom",
    "sizes": "Left, top, width, height",
}


class ProposalFileForm(PageForm):
    """The file, and the format of its boxes."""

    file = choice_field("File of proposals")
    layout = choice_field("Box format", LAYOUT_LABELS)
    limit = integer_field(
        "Boxes per photo",
        "The best ones are kept. Hessel et al. (2022) take 100.",
        low=1,
        high=MAX_BOXES,
        initial=DEFAULT_LIMIT,
    )

    def __init__(self, import_folder: ImportFolderContents, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="file_%s", **kwargs)
        self.root = import_folder.root
        self.problem = import_folder.problem
        self.is_cut = import_folder.contents.is_cut
        self.file_names = selectable_files(import_folder.contents, suffix=".json")
        field = self.fields["file"]
        field.help_text = f"In {self.root} on the server."
        field.choices = [("", "Choose a file"), *((name, name) for name in self.file_names)]  # type: ignore[attr-defined]
        published = [name for name in self.file_names if Path(name).name == PUBLISHED_FILE]
        field.initial = published[0] if published else ""

    def clean(self) -> dict[str, Any]:
        """Resolve the chosen file."""
        given: dict[str, Any] = super().clean() or {}
        if not self.errors and self.root is not None:
            try:
                given["path"] = resolve_inside(self.root, given["file"])
            except InvalidInput as error:
                raise forms.ValidationError(f"Not started: {error}.") from error
        return given


def unbound_file_form() -> ProposalFileForm:
    """Return an unbound form."""
    return ProposalFileForm(read_import_folder())


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def import_proposal_file(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue the import of a file; on errors, show the form on its own page."""
    form = ProposalFileForm(read_import_folder(), request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        chosen = {name: form.cleaned_data[name] for name in ("path", "layout", "limit")}
        by = signed_in_user(request)
        try:
            job = request_proposals_import(project=project, by=by, allowed_folder=form.root, **chosen)
        except Refused as error:
            form.add_error(None, f"Not started: {error}.")
        else:
            messages.success(request, "The import of boxes is queued.")
            return redirect("job-detail", job.pk)
    context = tab_context(project, "") | {
        "import_form": form,
        "images": project.images.filter(taken_down_at__isnull=True).exists(),
        "job": job_if_open(latest_job(project, PROPOSALS)),
    }
    status = 400 if form.errors else 200
    return render(request, "curation/proposals/import_proposals.html", context, status=status)
