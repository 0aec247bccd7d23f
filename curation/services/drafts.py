"""What a draft would hold if it were sealed now: computed at once where it is little, else by a job that keeps it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from curation.models import DatasetVersion
from curation.records import InvalidInput
from curation.selectors import versions as stored
from curation.selectors.jobs import PLAN
from curation.services.versions import Report, plan_version, state_of
from curation.versions.difference import Difference, Key, difference
from curation.versions.families import family_of
from curation.versions.plan import Plan
from curation.versions.selection import WORDS
from curation.versions.splits import UnknownSplit
from hits.domain.hashing import content_sha256
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs

SHOWN_ROWS = 50
AT_ONCE = 2000  # pairs that are planned while a page is made


@dataclass(frozen=True, slots=True)
class DraftContents:
    """What is known of a draft's contents. ``summary`` is ``None`` while nobody computed it as rows are now."""

    pairs: int
    summary: dict[str, Any] | None
    job: Job | None


def draft_contents(version: DatasetVersion) -> DraftContents:
    """Return what a draft would hold: computed now when it is little, else as the newest job kept it.

    Raises:
        Refused: a photo's split is unknown.
    """
    pairs = family_of(version.project).candidates(version)
    if pairs <= AT_ONCE:
        return DraftContents(pairs, summarise_draft(version), None)
    job = stored.newest_plan(version)
    kept = job.result if job is not None and job.result else {}
    current = kept.get("state") == _fingerprint(version)
    return DraftContents(pairs, kept["summary"] if current else None, job)


def request_plan(*, version: DatasetVersion, by: AbstractBaseUser | None) -> Job:
    """Queue the computing of what a draft would hold.

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


def plan_draft(*, job: Job, version: DatasetVersion, progress: Report | None = None) -> None:
    """Compute what a draft would hold and keep it with the job, until rows change.

    Raises:
        Refused: a photo's split is unknown.
    """
    state = _fingerprint(version)
    jobs.set_result(job=job, state=state, summary=summarise_draft(version, progress))


def summarise_draft(version: DatasetVersion, progress: Report | None = None) -> dict[str, Any]:
    """Return counts, statistics, exclusions and the first changed rows of a draft as plain JSON.

    Raises:
        Refused: a photo's split is unknown.
    """
    family = family_of(version.project)
    total = family.candidates(version)
    try:
        plan = plan_version(version, None if progress is None else lambda done: progress.advance(done, total))
    except (UnknownSplit, InvalidInput) as error:
        raise Refused(str(error)) from error
    earlier = stored.sealed_before(version)
    counting, parts = family.statistics(), [part.name for part in family.compared]
    after: dict[Key, str] = {}
    for row in plan.rows:
        counting.add(row)
        if row.part in parts:
            after[row.part, row.instance_id] = row.sha256
    change = difference(stored.row_hashes(earlier, parts), after)
    return {
        "rows": len(after),
        "statistics": counting.result(),
        "exclusions": dict(plan.exclusions),
        "change": change.counts(),
        "parts": {part: list(sides) for part, sides in change.parts.items()},
        "changes": changed_rows(change, version, earlier, plan),
    }


def changed_rows(
    change: Difference, version: DatasetVersion, earlier: DatasetVersion | None, plan: Plan | None = None
) -> list[dict[str, Any]]:
    """Return the first changed rows with their text; removed ones as they stood before."""
    wanted = [("removed", key) for key in change.removed[:SHOWN_ROWS]]
    wanted += [("changed", key) for key in change.changed[:SHOWN_ROWS]]
    wanted += [("added", key) for key in change.added[:SHOWN_ROWS]]
    wanted = wanted[:SHOWN_ROWS]
    rows = _rows(wanted, version, earlier, plan)
    photos = _photo_names(rows, version, earlier, plan)
    return [
        {
            "kind": kind,
            "part": key[0],
            "id": key[1],
            "row": rows[key],
            "photo": photos[key],
            "reason": _reason(version, plan, key) if kind == "removed" else "",
        }
        for kind, key in wanted
        if key in rows
    ]


def _rows(
    wanted: Sequence[tuple[str, Key]],
    version: DatasetVersion,
    earlier: DatasetVersion | None,
    plan: Plan | None,
) -> dict[Key, dict[str, Any]]:
    """Return changed rows: removed ones as the earlier version has them, the others as they are now."""
    gone = [key for kind, key in wanted if kind == "removed"]
    here = [key for kind, key in wanted if kind != "removed"]
    rows = stored.rows_of(earlier, gone) if earlier else {}
    if plan is None:
        return rows | stored.rows_of(version, here)
    for part in {part for part, _ in here}:
        found = plan.rows_called(part, [key for one, key in here if one == part])
        rows |= {(part, key): row for key, row in found.items()}
    return rows


def _photo_names(
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
            names |= stored.image_names(source, urls)
    if plan is not None:
        names |= {image.url: image.facts["name"] for image in plan.images if image.url in photos.values()}
    return {key: names.get(url, "") for key, url in photos.items()}


def _reason(version: DatasetVersion, plan: Plan | None, key: Key) -> str:
    """Return why a row of the earlier version is not in this one, in words; empty where nobody knows."""
    known: dict[str, str] = version.provenance.get("removed", {})
    reason = plan.why_left_out(*key) if plan is not None else known.get(key[1], "")
    return WORDS.get(reason, reason)


def _fingerprint(version: DatasetVersion) -> str:
    return content_sha256([version.selection, *(str(value) for value in state_of(version.project))])
