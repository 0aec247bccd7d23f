"""``manage.py export_version NAME --out DIR [--format sherlock] [--project P] [--selection FILE] [--real] …``."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curation.management.selection_option import add_selection, read_selection
from curation.models import DatasetVersion
from curation.records import InvalidInput
from curation.selectors.versions import versions_named
from curation.services import create_sealed_version, seal_version
from curation.versions.export import ExportRefused, WrittenExport, check_target, export_version
from curation.versions.families import family_of, family_of_version
from curation.versions.selection import Selection
from hits.management.base import DeerstalkerCommand, emit_json, input_error
from hits.management.lookups import find_project
from hits.management.progress import ProgressLines
from hits.models import Project
from hits.registry import family_names
from hits.services.errors import Refused

STATISTIC_NAMES = ("images", "pairs", "comparison_sets", "judgments", "rows")


class Command(DeerstalkerCommand):
    """Export a version's files; a new version is created and sealed first."""

    help = "Export a dataset version, sealing it first when it is new or still a draft."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--out", required=True, type=Path, help="a new or empty folder")
        parser.add_argument(
            "--format",
            default="",
            help=f"the project's family, which is the default: {', '.join(family_names())}",
        )
        parser.add_argument("--project", help="needed when the name does not tell")
        parser.add_argument(
            "--regions",
            action="store_true",
            help="write each comparison photo with its region highlighted, too",
        )
        add_selection(parser)
        parser.add_argument(
            "--real", action="store_true", help="refuse rehearsals, which must not be released as data"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Find or create the version, write its files, and verify them."""
        family_name = options["format"]
        if family_name and family_name not in family_names():
            raise input_error(f"--format {family_name}: is not known; use {', '.join(family_names())}")
        project, version = _find_version(options["name"], options["project"])
        if family_name and family_name != project.family:
            raise input_error(
                f"--format {family_name}: {project.slug} holds {project.family}; use that, or leave it out"
            )
        if options["regions"] and not family_of(project).has_regions:
            raise input_error(f"--regions: {project.family} has no regions; leave it out")
        try:
            sealed_now = version is None or not version.is_sealed
            if sealed_now:
                # Before sealing permanently, check that the files can be written.
                check_target(options["out"], rehearsal=project.is_rehearsal, real=options["real"])
            selection = read_selection(options["selection"])
            if version is not None and options["selection"]:
                raise input_error(
                    f"--selection: version {version.name} exists already, with its own selection"
                )
            version = _seal(project, version, options["name"], selection)
            written = export_version(
                version, options["out"], real=options["real"], regions=options["regions"]
            )
            rows = family_of_version(version).check(written.folder)
        except (Refused, ExportRefused, InvalidInput) as error:
            raise input_error(str(error)) from error
        except OSError as error:
            raise input_error(f"--out {options['out']}: {error.strerror}; choose another folder") from error
        self._report(version, written, rows, sealed_now=sealed_now, options=options)

    def _report(
        self,
        version: DatasetVersion,
        written: WrittenExport,
        rows: int,
        *,
        sealed_now: bool,
        options: dict[str, Any],
    ) -> None:
        if options["json"]:
            emit_json(self, _facts(version, written, sealed_now=sealed_now))
            return
        family = family_of_version(version)
        counted = family.describe_rows({**family.counts(version.statistics), family.main_part.name: rows})
        mark = " (a rehearsal, not for release)" if version.rehearsal else ""
        self.stdout.write(
            f"{version.name}{mark}: {counted} in {len(written.files)} files "
            f"under {written.folder}; seal {written.seal}"
        )


def _find_version(name: str, slug: str | None) -> tuple[Project, DatasetVersion | None]:
    """Return the project, and its version with this name, if any."""
    project = find_project(slug) if slug else None
    found = versions_named(name, project)
    if len(found) == 1:
        return found[0].project, found[0]
    if found:
        among = ", ".join(version.project.slug for version in found)
        raise input_error(
            f"version {name}: {len(found)} projects have one; add --project with one of {among}"
        )
    return project or _only_project(name), None


def _seal(
    project: Project, version: DatasetVersion | None, name: str, selection: Selection
) -> DatasetVersion:
    if version is None:
        return create_sealed_version(
            project=project,
            name=name,
            by=None,
            selection=selection,
            progress=ProgressLines(f"Sealing {name}, photos checked:"),
        )
    return seal_version(version=version, by=None, progress=ProgressLines(f"Sealing {name}, photos checked:"))


def _only_project(name: str) -> Project:
    projects = list(Project.objects.all()[:2])
    if len(projects) != 1:
        known = ", ".join(Project.objects.values_list("slug", flat=True)) or "none yet"
        raise input_error(f"version {name}: there is none; say --project to make it, one of {known}")
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
