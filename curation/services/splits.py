"""Checks that a version belongs to the project, is sealed, and has pairs in a split."""

from curation.families.sherlock.evaluation_plan import ALL
from curation.models import DatasetVersion, Part
from curation.selectors.versions import version_splits
from hits.models import Project
from hits.services.errors import Refused


def check_version_in_project(project: Project, version: DatasetVersion) -> None:
    """Check that a version belongs to the project; raise Refused otherwise."""
    if version.project_id != project.pk:
        raise Refused(f"version: {version.name} is another project's; choose one of {project.name}")


def check_sealed(version: DatasetVersion) -> None:
    """Check that a version is sealed; raise Refused otherwise."""
    if not version.is_sealed:
        raise Refused(f"version: {version.name} is a draft, and may still change; seal it first")


def check_split_has_pairs(version: DatasetVersion, split: str) -> None:
    """Check that a version is sealed and has pairs in a split, as ``check_split_has_rows`` does."""
    check_split_has_rows(version, split, part=Part.OBSERVATION, noun="pair")


def check_split_has_rows(version: DatasetVersion, split: str, *, part: str, noun: str) -> None:
    """Check that a version is sealed and has rows of a part in a split; the empty string means the whole version.

    Raises:
        Refused: it is a draft, or has no rows there; the message lists the splits that have some.
    """
    check_sealed(version)
    known = version_splits(version, part)
    if not known or (split and split not in known):
        has_no_splits = known == [""]
        names = (
            f"no splits; use {ALL}" if has_no_splits else ", ".join(name or ALL for name in known) or "none"
        )
        raise Refused(f"split: {version.name} has no {noun} in {split or ALL}; it has {names}")
