"""The flags of audits that the page of a version repeats."""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.image_triplets.audit_titles import audit_title
from curation.models import DatasetVersion
from curation.selectors.triplets.audits import newest_audit
from curation.versions.family import SealWarnings

PAGE = "triplet-audits"
TITLE = "Audits"
NOT_AUDITED = "Nobody has audited the triplets for shortcuts."
NO_FLAG = "No audit raised a flag."


def seal_warnings(version: DatasetVersion) -> SealWarnings:
    """Return a warning for each flag; a version without an audit gets one that says so."""
    audits = _audits(version)
    if not audits:
        return SealWarnings(TITLE, (NOT_AUDITED,), "", PAGE)
    flagged = tuple(f"{audit_title(row['name'])}: {row['why']}" for row in audits if row["flagged"])
    return SealWarnings(TITLE, flagged, NO_FLAG, PAGE)


def _audits(version: DatasetVersion) -> Sequence[Mapping[str, Any]]:
    """Return the audits that were sealed with a version, or those of a draft as they stand now."""
    if version.is_sealed:
        sealed: Sequence[Mapping[str, Any]] = version.provenance.get("audits", ())
        return sealed
    newest = newest_audit(version.project)
    return newest.figures["audits"] if newest else ()
