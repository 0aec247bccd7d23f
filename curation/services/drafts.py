"""Preview a draft's contents: at once for small drafts, else by a job that stores the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from curation.models import DatasetVersion
from curation.records import InvalidInput
from curation.selectors import versions as version_selectors
from curation.selectors.jobs import PLAN
from curation.services.versions import ProgressReport, plan_version, project_content_fingerprint
from curation.versions.difference import Difference, Key, compare_rows
from curation.versions.families import family_of
from curation.versions.plan import Plan
from curation.versions.selection import REASON_LABELS
from curation.versions.splits import UnknownSplit
from hits.domain.hashing import content_sha256
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs

MAX_SHOWN_ROWS = 50
MAX_INLINE_PAIRS = 2000  # pairs that a page request may plan


@dataclass(frozen=True, slots=True)
class DraftContents:
    """A draft's contents. ``summary`` is ``None`` until it is computed for the current rows."""

    pairs: int
    summary: dict[str, Any] | None
    job: Job | None


def draft_contents(version: DatasetVersion) -> DraftContents:
    """Return what a draft would contain: computed now if it is small, else from the newest job.

    Raises:
        Refused: a photo's split is unknown.
    """
    pairs = family_of(version.project).count_candidates(version)
    if pairs <= MAX_INLINE_PAIRS:
        return DraftContents(pairs, summarise_draft(version), None)
    job = version_selectors.newest_plan_job(version)
    saved = job.result if job is not None and job.result else {}
    is_current = saved.get("state") == _draft_fingerprint(version)
    return DraftContents(pairs, saved["summary"] if is_current else None, job)


def request_draft_plan(*, version: DatasetVersion, by: AbstractBaseUser | None) -> Job:
    """Queue the job that computes what a draft would contain.

    Raises:
        Conflict: it is sealed already, or is being computed.
    """
    return jobs.enqueue(
        task=PLAN,
        title=f"Count the contents of {version.name}",
        project=version.project,
        by=by,
        exclusive_key=f"plan:{version.pk}",
        version=version.pk,
    )


def store_draft_summary(*, job: Job, version: DatasetVersion, progress: ProgressReport | None = None) -> None:
    """Compute what a draft would contain and store it with the job; it is valid until rows change.

    Raises:
        Refused: a photo's split is unknown.
    """
    state = _draft_fingerprint(version)
    jobs.set_result(job=job, state=state, summary=summarise_draft(version, progress))


def summarise_draft(version: DatasetVersion, progress: ProgressReport | None = None) -> dict[str, Any]:
    """Return counts, statistics, exclusions and the first changed rows of a draft as plain JSON.

    Raises:
        Refused: a photo's split is unknown.
    """
    family = family_of(version.project)
    total = family.count_candidates(version)
    try:
        plan = plan_version(version, None if progress is None else lambda done: progress.advance(done, total))
    except (UnknownSplit, InvalidInput) as error:
        raise Refused(str(error)) from error
    earlier = version_selectors.previous_sealed_version(version)
    counter, parts = family.statistics(), [part.name for part in family.compared_parts]
    after: dict[Key, str] = {}
    for row in plan.rows:
        counter.add(row)
        if row.part in parts:
            after[row.part, row.instance_id] = row.sha256
    change = compare_rows(version_selectors.row_hashes(earlier, parts), after)
    return {
        "rows": len(after),
        "statistics": counter.result(),
        "exclusions": dict(plan.exclusions),
        "change": change.counts(),
        "parts": {part: list(sides) for part, sides in change.parts.items()},
        "changes": first_changed_rows(change, version, earlier, plan),
    }


def first_changed_rows(
    change: Difference, version: DatasetVersion, earlier: DatasetVersion | None, plan: Plan | None = None
) -> list[dict[str, Any]]:
    """Return the first changed rows with their text; removed rows as in the earlier version."""
    keys = [("removed", key) for key in change.removed[:MAX_SHOWN_ROWS]]
    keys += [("changed", key) for key in change.changed[:MAX_SHOWN_ROWS]]
    keys += [("added", key) for key in change.added[:MAX_SHOWN_ROWS]]
    keys = keys[:MAX_SHOWN_ROWS]
    rows = _changed_row_contents(keys, version, earlier, plan)
    photos = _first_photo_names(rows, version, earlier, plan)
    return [
        {
            "kind": kind,
            "part": key[0],
            "id": key[1],
            "row": rows[key],
            "photo": photos[key],
            "reason": _removal_reason_label(version, plan, key) if kind == "removed" else "",
        }
        for kind, key in keys
        if key in rows
    ]


def _changed_row_contents(
    keys: Sequence[tuple[str, Key]],
    version: DatasetVersion,
    earlier: DatasetVersion | None,
    plan: Plan | None,
) -> dict[Key, dict[str, Any]]:
    """Return changed rows: removed ones from the earlier version, the others as they are now."""
    removed = [key for kind, key in keys if kind == "removed"]
    present = [key for kind, key in keys if kind != "removed"]
    rows = version_selectors.version_rows(earlier, removed) if earlier else {}
    if plan is None:
        return rows | version_selectors.version_rows(version, present)
    for part in {part for part, _ in present}:
        found = plan.rows_by_id(part, [key for key_part, key in present if key_part == part])
        rows |= {(part, key): row for key, row in found.items()}
    return rows


def _first_photo_names(
    rows: Mapping[Key, Mapping[str, Any]],
    version: DatasetVersion,
    earlier: DatasetVersion | None,
    plan: Plan | None,
) -> dict[Key, str]:
    """Return the file name of the first image of each row; empty where it has none."""
    family = family_of(version.project)
    photos = {key: next(iter(family.image_urls(row)), "") for key, row in rows.items()}
    urls = sorted(set(photos.values()))
    names: dict[str, str] = {}
    for source in (earlier, version):
        if source is not None and source.is_sealed:
            names |= version_selectors.image_names(source, urls)
    if plan is not None:
        names |= {image.url: image.facts["name"] for image in plan.images if image.url in photos.values()}
    return {key: names.get(url, "") for key, url in photos.items()}


def _removal_reason_label(version: DatasetVersion, plan: Plan | None, key: Key) -> str:
    """Return a label of the reason why a row of the earlier version is missing; empty if it is unknown."""
    known: dict[str, str] = version.provenance.get("removed", {})
    reason = plan.exclusion_reason(*key) if plan is not None else known.get(key[1], "")
    return REASON_LABELS.get(reason, reason)


def _draft_fingerprint(version: DatasetVersion) -> str:
    return content_sha256(
        [version.selection, *(str(value) for value in project_content_fingerprint(version.project))]
    )
