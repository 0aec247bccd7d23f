"""Find the version and the split that a command line names; errors list the known ones."""

from curation.families.sherlock.evaluation_plan import ALL
from curation.models import Chooser, DatasetVersion, Part, QuestionSet
from curation.selectors.choosers import choosers, find_chooser
from curation.selectors.questions import find_question_set as question_set_by_name
from curation.selectors.questions import question_sets
from curation.selectors.versions import version_splits, versions_named
from curation.services.splits import check_split_has_pairs
from curation.versions.splits import UnknownSplit, parse_split
from hits.management.base import input_error
from hits.management.lookups import find_project
from hits.models import Project


def get_version(name: str | None, project: Project | None, *, flag: str = "--version") -> DatasetVersion:
    """Return the version with this name, of the given project or of the only project that has one."""
    found = versions_named(name, project) if name else []
    if len(found) == 1:
        return found[0]
    if found:
        among = ", ".join(version.project.slug for version in found)
        raise input_error(f"{flag} {name}: {len(found)} projects have one; add --project with one of {among}")
    rows = DatasetVersion.objects.filter(project=project) if project else DatasetVersion.objects.all()
    known = ", ".join(sorted(set(rows.values_list("name", flat=True)))) or "none yet"
    problem = f"{flag} {name}: there is no such version" if name else f"{flag}: is missing; name a version"
    raise input_error(f"{problem}{f' in {project.slug}' if project else ''}; known: {known}")


def resolve_split(version: DatasetVersion, given: str | None, *, part: str = Part.OBSERVATION) -> str:
    """Return the split that the command line names, or the version's default split with rows of a part."""
    if given is None:
        known = version_splits(version, part)
        return known[0] if known else ""
    try:
        split = str(parse_split("" if given == ALL else given))
    except UnknownSplit as error:
        raise input_error(f"--{error}") from error
    if part == Part.OBSERVATION:
        check_split_has_pairs(version, split)
    return split


def find_question_set(project_slug: str | None, name: str | None) -> QuestionSet:
    """Return the question set with this name in a project."""
    project = find_project(project_slug)
    found = question_set_by_name(project, name) if name else None
    if found is None:
        known = ", ".join(row.name for row in question_sets(project)) or "none yet"
        problem = f"--set {name}: there is no such question set" if name else "--set: is missing; name one"
        raise input_error(f"{problem} in {project.slug}; known: {known}")
    return found


def find_ready_chooser(project: Project, name: str) -> Chooser:
    """Return the project's trained chooser with this name."""
    found = find_chooser(project, name)
    if found is None or not found.is_ready:
        ready = choosers(project).filter(is_ready=True)
        known = ", ".join(ready.values_list("name", flat=True)) or "none yet"
        problem = "has not finished training" if found else "is no chooser of this project"
        raise input_error(f"--chooser {name}: {problem}; ready are {known}")
    return found
