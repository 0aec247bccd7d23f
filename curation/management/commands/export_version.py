"""``manage.py export_version NAME --out DIR [--format F] [--project P] [--selection FILE] [--real] …``."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curation.management.selection_option import add_selection_option, read_selection
from curation.models import DatasetVersion
from curation.records import InvalidInput
from curation.selectors.versions import versions_named
from curation.services.versions import create_sealed_version, seal_version
from curation.versions.export import ExportRefused, WrittenExport, check_export_target, export_version
from curation.versions.families import family_of, family_of_version
from curation.versions.photos import ALL_PHOTOS, PHOTO_CHOICES
from curation.versions.selection import Selection
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from hits.management.progress import ProgressLines
from hits.models import Project
from hits.registry import family_names
from hits.services.errors import Refused

STATISTIC_NAMES = ("images", "pairs", "comparison_sets", "judgments", "rows")


class Command(DeerstalkerCommand):
    """Export a version's files. A version that does not exist is created, and a draft is sealed first."""

    help = "Export a dataset version. If it does not exist or is a draft, it is created and sealed first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("name")
        add("--out", required=True, type=Path, help="a new or empty folder")
        families = f"must be the project's family (the default); one of {', '.join(family_names())}"
        add("--format", default="", help=families)
        add("--project", help="required if several projects have a version with this name")
        regions = "also write a picture of each comparison set's photo with its region highlighted"
        add("--regions", action="store_true", help=regions)
        photos = (
            "which photos to write, for families whose exports include them: all (default), licensed or none"
        )
        add("--photos", choices=PHOTO_CHOICES, help=photos)
        add("--columns", type=Path, metavar="MAP", help="a TOML file that renames the columns of the table")
        add_selection_option(parser)
        add(
            "--real",
            action="store_true",
            help="refuse to export a rehearsal, which must not be released as data",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Find or create the version, write its files, and verify them."""
        family_name = options["format"]
        if family_name and family_name not in family_names():
            raise input_error(f"--format {family_name}: is not known; use {', '.join(family_names())}")
        project, version = _find_project_and_version(options["name"], options["project"])
        if family_name and family_name != project.family:
            problem = f"{project.slug} holds {project.family}; use that, or leave --format out"
            raise input_error(f"--format {family_name}: {problem}")
        if options["regions"] and not family_of(project).has_regions:
            raise input_error(f"--regions: {project.family} has no regions; leave it out")
        if options["photos"] and not family_of(project).has_photos:
            raise input_error(f"--photos: exports of {project.family} include no photos; leave it out")
        if options["columns"] and not family_of(project).has_columns:
            raise input_error(f"--columns: exports of {project.family} have no table; leave it out")
        try:
            sealed_now = version is None or not version.is_sealed
            if sealed_now:
                # Before sealing permanently, check that the files can be written.
                check_export_target(options["out"], rehearsal=project.is_rehearsal, real=options["real"])
            selection = read_selection(options["selection"])
            if version is not None and options["selection"]:
                problem = f"version {version.name} exists already, with its own selection"
                raise input_error(f"--selection: {problem}")
            version = _seal_or_create(project, version, options["name"], selection)
            chosen = {name: options[name] for name in ("real", "regions", "columns")}
            photos = options["photos"] or ALL_PHOTOS
            written = export_version(version, options["out"], photos=photos, **chosen)
            rows = family_of_version(version).check(written.folder)
        except (Refused, ExportRefused, InvalidInput) as error:
            raise input_error(str(error)) from error
        except OSError as error:
            raise input_error(f"--out {options['out']}: {error.strerror}; choose another folder") from error
        facts = _facts(version, written, sealed_now=sealed_now)
        self.report(options, facts, _describe(version, written, rows), *_describe_exclusions(version))


def _describe(version: DatasetVersion, written: WrittenExport, rows: int) -> str:
    family = family_of_version(version)
    counts = {**family.counts(version.statistics), family.main_part.name: rows}
    counted = ", ".join(
        part.describe_count(counts[part.name]) for part in family.parts if part.name in counts
    )
    mark = " (a rehearsal, not for release)" if version.rehearsal else ""
    files = f"{len(written.files)} files under {written.folder}"
    return f"{version.name}{mark}: {counted} in {files}; seal {written.seal}"


def _describe_exclusions(version: DatasetVersion) -> list[str]:
    labels = family_of_version(version).all_exclusion_labels()
    left_out = [f"{count} {labels.get(reason, reason)}" for reason, count in version.exclusions.items()]
    return [f"left out: {', '.join(left_out)}"] if left_out else []


def _find_project_and_version(name: str, project_slug: str | None) -> tuple[Project, DatasetVersion | None]:
    """Return the project, and its version with this name, if any."""
    project = find_project(project_slug) if project_slug else None
    found = versions_named(name, project)
    if len(found) == 1:
        return found[0].project, found[0]
    if found:
        among = ", ".join(version.project.slug for version in found)
        problem = f"{len(found)} projects have one; add --project with one of {among}"
        raise input_error(f"version {name}: {problem}")
    return project or _only_project(name), None


def _seal_or_create(
    project: Project, version: DatasetVersion | None, name: str, selection: Selection
) -> DatasetVersion:
    progress = ProgressLines(f"Sealing {name}, photos checked:")
    if version is not None:
        return seal_version(version=version, by=None, progress=progress)
    return create_sealed_version(project=project, name=name, by=None, selection=selection, progress=progress)


def _only_project(name: str) -> Project:
    projects = list(Project.objects.all()[:2])
    if len(projects) != 1:
        known = ", ".join(Project.objects.values_list("slug", flat=True)) or "none yet"
        raise input_error(f"version {name}: there is none; to create it, add --project with one of {known}")
    return projects[0]


def _facts(version: DatasetVersion, written: WrittenExport, *, sealed_now: bool) -> dict[str, Any]:
    return {
        "version": version.name,
        "project": version.project.slug,
        "rehearsal": version.rehearsal,
        "sealed_now": sealed_now,
        "seal": written.seal,
        "out": str(written.folder),
        **{name: version.statistics[name] for name in STATISTIC_NAMES if name in version.statistics},
        "exclusions": version.exclusions,
        "files": [asdict(file) for file in written.files],
    }
