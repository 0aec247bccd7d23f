"""Dataset versions: creating, previewing, sealing and downloading them."""

import json
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import get_text_list
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import DatasetVersion
from curation.selectors import versions as version_selectors
from curation.selectors.jobs import SEAL, latest_job
from curation.selectors.rounds import sealed_rounds
from curation.selectors.scorers import version_scorers
from curation.services import drafts
from curation.services import versions as services
from curation.versions.difference import compare_rows
from curation.versions.export import manifest_path, seal_file_lines
from curation.versions.families import family_of, family_of_version
from curation.versions.family import Family, Part
from curation.versions.seal import seal_sha256
from curation.versions.splits import Split
from curation.views.forms import VersionForm
from curation.views.pages import grouped_hash, tab_context
from curation.views.selection_form import SelectionForm, describe_selection
from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import visitor_has_role
from hits.services.errors import Refused
from hits.views.access import check_access, project_page
from hits.views.pages import action_messages, job_if_open
from hits.views.users import signed_in_user

MAX_LISTED_FILES = 20  # files of one folder that are listed one by one
MAX_INLINE_ROWS = 2000  # rows up to which checksums are verified while rendering the page
FILE_LABELS = {
    "manifest.json": "File manifest",
    "seal.jsonl": "Checksums, one line per row",
    "annotators.jsonl": "Keyed hashes of the workers",
    "statistics.json": "Corpus statistics",
    "REHEARSAL.txt": "Rehearsal marker",
}

View = Callable[..., HttpResponseBase]


def version_page(role: Role = Role.RESEARCHER) -> Callable[[View], View]:
    """Decorate ``view(request, version, …)`` as a view of ``<int:version_id>`` that checks the role."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, version_id: int, *args: Any, **kwargs: Any) -> HttpResponseBase:
            rows = DatasetVersion.objects.select_related("project", "sealed_by", "created_by")
            version = get_object_or_404(rows, pk=version_id)
            check_access(request, version.project, role)
            return view(request, version, *args, **kwargs)

        return wrapped

    return decorate


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def version_list(request: HttpRequest, project: Project) -> HttpResponse:
    """List a project's versions; create a draft."""
    form = VersionForm(request.POST if request.method == "POST" else None)
    chosen = SelectionForm(project, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and chosen.is_valid():
        try:
            version = services.create_version(
                project=project,
                by=signed_in_user(request),
                selection=chosen.selection,
                **form.cleaned_data,
            )
            return redirect("version", version.pk)
        except Refused as error:
            form.add_error("name", str(error).removeprefix("name: "))
    family = family_of(project)
    context = tab_context(project, "", "versions") | {
        "parts": family.parts,
        "held": get_text_list([part.nouns[1] for part in family.parts if part.record_type], "and"),
        "rows": [
            (version, _row_count_cells(version, family)) for version in version_selectors.versions(project)
        ],
        "form": form,
        "chosen": chosen,
        "selects_records": family.selects_records,
    }
    status = 400 if form.errors or chosen.errors else 200
    return render(request, "curation/versions/versions.html", context, status=status)


@require_safe
@version_page()
def version_detail(request: HttpRequest, version: DatasetVersion) -> HttpResponse:
    """Show a version: changes, checksums, statistics and files."""
    project = version.project
    job = latest_job(project, SEAL)
    is_own_job = job is not None and job.args.get("version") == version.pk
    family = family_of_version(version)
    context: dict[str, Any] = tab_context(project, "", "versions") | {
        "version": version,
        "versions": [
            (other, family.describe_rows(_counts_by_part_if_sealed(other, family)))
            for other in version_selectors.versions(project)
        ],
        "family": family,
        "row_nouns": family.row_nouns,
        "row_templates": family.row_templates,
        "statistics_templates": family.statistics_templates,
        "selection": describe_selection(version),
        "selects_records": family.selects_records,
        "warnings": family.warnings(version),
        "may_seal": visitor_has_role(request, project, Role.ADMIN),
        # A sealed version has all that its job brings, though the job may need a moment to end.
        "job": job_if_open(job) if is_own_job and not version.is_sealed else None,
        "failed": job if is_own_job and job is not None and job.error else None,
    }
    context |= _sealed_context(version) if version.is_sealed else _draft_context(version)
    context |= _changes_context(family, context)
    return render(request, "curation/versions/version.html", context)


def _row_count_cells(version: DatasetVersion, family: Family) -> list[tuple[str, int | str]]:
    """Return the noun and number of rows of each part of a version; dashes for a draft."""
    found = _counts_by_part_if_sealed(version, family)
    return [(part.nouns[1], found.get(part.name, "–")) for part in family.parts]


def _counts_by_part_if_sealed(version: DatasetVersion, family: Family) -> Mapping[str, int]:
    return family.counts(version.statistics) if version.is_sealed else {}


def _changes_context(family: Family, contents: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of the changes: each part before and after, and what would be sealed."""
    change = contents.get("change", {"before": 0, "after": 0})
    # Counts of earlier releases, before there were several parts, do not include them.
    parts = contents.get("parts") or {family.main_part.name: (change["before"], change["after"])}
    counts = {name: after for name, (_, after) in parts.items()}
    rows = contents.get("rows", 0)
    return {
        "has_photos": any(line["photo"] for line in contents.get("changes", ())),
        "sides": [(*parts.get(part.name, (0, 0)), part.nouns[1]) for part in family.compared_parts],
        "would_hold": family.describe_rows(counts)
        if "change" in contents
        else f"{rows} {family.row_nouns[0] if rows == 1 else family.row_nouns[1]}",
    }


def _parts_with_counts(version: DatasetVersion, statistics: dict[str, Any]) -> list[tuple[Part, int]]:
    family = family_of_version(version)
    found = family.counts(statistics)
    return [(part, found.get(part.name, 0)) for part in family.parts]


def _sealed_context(version: DatasetVersion) -> dict[str, Any]:
    earlier = version_selectors.previous_sealed_version(version)
    parts = [part.name for part in family_of_version(version).compared_parts]
    before, after = (version_selectors.row_hashes(row, parts) for row in (earlier, version))
    change = compare_rows(before, after)
    small = version.rows.count() <= MAX_INLINE_ROWS
    return {
        "statistics": version.statistics,
        "counts": _parts_with_counts(version, version.statistics),
        "exclusions": _exclusion_rows(version, version.exclusions),
        "hash_lines": grouped_hash(version.manifest_sha256),
        "verified": small and seal_sha256(seal_file_lines(version)) == version.manifest_sha256,
        "checked": small,
        "earlier": earlier,
        "change": change.counts(),
        "parts": change.parts,
        "changes": drafts.first_changed_rows(change, version, earlier),
        "files": _file_rows(version),
        "rounds": [
            sealed_round | {"of": _describe_splits(sealed_round)} for sealed_round in sealed_rounds(version)
        ],
        "scorers": version_scorers(version),
    }


def _draft_context(version: DatasetVersion) -> dict[str, Any]:
    """Return the context of a draft: the version as if it were sealed now."""
    try:
        found = drafts.draft_contents(version)
    except Refused as error:
        return {"problem": str(error), "rows": 0}
    if found.summary is None:
        job = found.job
        return {
            "rows": found.pairs,
            "uncounted": True,
            "planning": job_if_open(job),
            "plan_error": job.error if job is not None else "",
        }
    summary = found.summary
    return summary | {
        "exclusions": _exclusion_rows(version, summary["exclusions"]),
        "counts": _parts_with_counts(version, summary["statistics"]),
        "earlier": version_selectors.previous_sealed_version(version),
    }


def _exclusion_rows(version: DatasetVersion, counts: dict[str, int]) -> list[tuple[str, int]]:
    labels = family_of_version(version).all_exclusion_labels()
    return [(_capitalise_first_letter(labels.get(reason, reason)), count) for reason, count in counts.items()]


def _capitalise_first_letter(text: str) -> str:
    return text[:1].upper() + text[1:]


def _describe_splits(sealed_round: dict[str, Any]) -> str:
    """Return a label of the splits of a round's ratings, empty if there is only one round or no information."""
    splits = sealed_round.get("splits", [])
    if splits in ([], [Split.NONE]):
        return ""
    return get_text_list([name or "photos without a split" for name in splits], "and")


def _file_rows(version: DatasetVersion) -> list[dict[str, Any]]:
    """Return path, label and size of the exported files and large folders; only files have a name.

    Empty before the first download.
    """
    try:
        path = manifest_path(services.export_folder(version), version)
        manifest = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    family = family_of_version(version)
    common = {family.private_name(version, name): label for name, label in FILE_LABELS.items()}
    known = {**FILE_LABELS, **common, **family.file_labels}
    default = known.get("", "Rows, one per line")
    listed, folders = _split_large_folders(manifest["files"])
    rows = [
        {
            "name": file["name"],
            "path": file["name"],
            "words": known.get(file["name"], default),
            "bytes": file["bytes"],
        }
        for file in listed
    ]
    return rows + [
        {
            "path": f"{folder}/",
            "words": f"{len(files)} files",
            "bytes": sum(file["bytes"] for file in files),
        }
        for folder, files in sorted(folders.items())
    ]


def _split_large_folders(
    files: Sequence[dict[str, Any]],
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """Return the files to list one by one, and the files of folders that have too many, by folder.

    The folder is the one two levels below the export.

    A version of many images has a file for each: the archive has them, and the page has their number.
    """
    folders: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        folders["/".join(file["name"].split("/")[:2])].append(file)
    crowded = {name: found for name, found in folders.items() if len(found) > MAX_LISTED_FILES}
    hidden = {file["name"] for found in crowded.values() for file in found}
    return [file for file in files if file["name"] not in hidden], crowded


@require_POST
@version_page()
def version_plan(request: HttpRequest, version: DatasetVersion) -> HttpResponse:
    """Queue computing a draft's contents."""
    with action_messages(request, "Not counted"):
        drafts.request_draft_plan(version=version, by=signed_in_user(request))
    return redirect("version", version.pk)


@require_POST
@version_page(Role.ADMIN)
def version_seal(request: HttpRequest, version: DatasetVersion) -> HttpResponse:
    """Queue the sealing of a draft."""
    with action_messages(request, "Not sealed", f"{version.name} is being sealed."):
        services.request_seal(version=version, by=signed_in_user(request))
    return redirect("version", version.pk)


@require_safe
@version_page()
def version_download(request: HttpRequest, version: DatasetVersion) -> HttpResponseBase:
    """Download all files as one archive."""
    folder = _ensure_export_folder_or_message(request, version)
    if folder is None:
        return redirect("version", version.pk)
    archive = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it when it is sent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                zipped.write(path, f"{version.project.slug}-{version.name}/{path.relative_to(folder)}")
    archive.seek(0)
    mark = "-rehearsal" if version.rehearsal else ""
    name = f"{version.project.slug}-{version.name}{mark}.zip"
    return FileResponse(archive, as_attachment=True, filename=name, content_type="application/zip")


@require_safe
@version_page()
def version_file(request: HttpRequest, version: DatasetVersion, name: str) -> HttpResponseBase:
    """Download one file of an export."""
    folder = _ensure_export_folder_or_message(request, version)
    if folder is None:
        return redirect("version", version.pk)
    known = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    if name not in known:
        raise Http404("There is no such file in this version.")
    return FileResponse(
        known[name].open("rb"),
        as_attachment=True,
        filename=f"{version.name}-{Path(name).name}",
        content_type="application/octet-stream",
    )


def _ensure_export_folder_or_message(request: HttpRequest, version: DatasetVersion) -> Path | None:
    try:
        return services.ensure_export_folder(version=version)
    except Refused as error:
        messages.error(request, f"Nothing to download: {error}.")
        return None
