"""What a draft would hold if it were sealed now: computed at once where it is little, else by a job that keeps it."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from curation.models import DatasetVersion, Part
from curation.selectors import versions as stored
from curation.selectors.jobs import PLAN
from curation.services.versions import Report, state_of
from curation.versions.build import Plan, plan_version
from curation.versions.difference import Difference, difference
from curation.versions.splits import UnknownSplit
from curation.versions.stats import Counting
from hits.domain.hashing import content_sha256
from hits.models import Job, Project
from hits.services import jobs
from hits.services.errors import Refused

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
    pairs = stored.approved_pairs(version.project)
    if pairs <= AT_ONCE:
        return DraftContents(pairs, summarise_draft(version), None)
    job = stored.newest_plan(version)
    kept = job.result if job is not None and job.result else {}
    current = kept.get("state") == _fingerprint(version.project)
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
    state = _fingerprint(version.project)
    jobs.set_result(job=job, state=state, summary=summarise_draft(version, progress))


def summarise_draft(version: DatasetVersion, progress: Report | None = None) -> dict[str, Any]:
    """Return counts, statistics, exclusions and the first changed rows of a draft as plain JSON.

    Raises:
        Refused: a photo's split is unknown.
    """
    total = stored.approved_pairs(version.project)
    try:
        plan = plan_version(version, None if progress is None else lambda done: progress.advance(done, total))
    except UnknownSplit as error:
        raise Refused(str(error)) from error
    earlier = stored.sealed_before(version)
    counting, after, sets = Counting(), dict[str, str](), 0
    for row in plan.rows:
        if row.part is Part.COMPARISON:
            sets += 1
        else:
            counting.add(row.row, row.split)
            after[row.instance_id] = row.sha256
    change = difference(stored.row_hashes(earlier) if earlier else {}, after)
    return {
        "rows": len(after),
        "statistics": counting.result().as_dict() | {"comparison_sets": sets},
        "exclusions": dict(plan.exclusions),
        "change": change.counts(),
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
    gone = [key for kind, key in wanted if kind == "removed"]
    here = [key for kind, key in wanted if kind != "removed"]
    rows = stored.rows_of(earlier, gone) if earlier else {}
    rows |= plan.pairs(here) if plan is not None else stored.rows_of(version, here)
    urls = {row["inputs"]["image"]["url"] for row in rows.values()}
    names: dict[str, str] = {}
    for source in (earlier, version):
        if source is not None and source.is_sealed:
            names |= stored.image_names(source, sorted(urls))
    if plan is not None:
        names |= {image.url: image.facts["name"] for image in plan.images if image.url in urls}
    return [
        {
            "kind": kind,
            "id": key,
            "row": rows[key],
            "photo": names.get(rows[key]["inputs"]["image"]["url"], ""),
        }
        for kind, key in wanted
        if key in rows
    ]


def _fingerprint(project: Project) -> str:
    return content_sha256([str(value) for value in state_of(project)])
