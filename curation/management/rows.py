"""Find the version and the split that a command line names, or say which there are."""

from curation.families.sherlock.evaluation_plan import ALL
from curation.models import DatasetVersion
from curation.selectors.versions import splits_of, versions_named
from curation.services.splits import check_split
from curation.versions.splits import UnknownSplit, split_of
from hits.management.base import bad_input
from hits.models import Project


def version_called(name: str | None, project: Project | None, *, flag: str = "--version") -> DatasetVersion:
    """Return the version of that name, of one project or, without one, of the only project that has it."""
    found = versions_named(name, project) if name else []
    if len(found) == 1:
        return found[0]
    if found:
        among = ", ".join(version.project.slug for version in found)
        raise bad_input(f"{flag} {name}: {len(found)} projects have one; add --project with one of {among}")
    rows = DatasetVersion.objects.filter(project=project) if project else DatasetVersion.objects.all()
    known = ", ".join(sorted(set(rows.values_list("name", flat=True)))) or "none yet"
    wrong = f"{flag} {name}: there is no such version" if name else f"{flag}: say which one"
    raise bad_input(f"{wrong}{f' in {project.slug}' if project else ''}; known: {known}")


def split_called(version: DatasetVersion, given: str | None) -> str:
    """Return the split that a command names, or the one that is reported on when it names none."""
    if given is None:
        known = splits_of(version)
        return known[0] if known else ""
    try:
        split = str(split_of("" if given == ALL else given))
    except UnknownSplit as error:
        raise bad_input(f"--{error}") from error
    check_split(version, split)
    return split
