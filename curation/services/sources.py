"""Import published collections: check everything, then store pictures in small steps that can be taken up again."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from curation.models import Source
from curation.records import InvalidInput
from curation.selectors.jobs import IMPORT_SOURCE
from curation.services.source_images import LINES, BadPicture, ImportOptions, PictureImport, Sizes, Tally
from curation.sources import vcr, visual_genome
from curation.sources.fence import Fence
from curation.sources.records import SPLITS, SourceImage, SourcePlan, SourceRegion, WhenMissing
from curation.sources.vcr import EntityCount, Vcr, read_vcr
from curation.sources.visual_genome import VisualGenome, read_visual_genome
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import NotStarted, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress

Wanted = VisualGenome | Vcr
AS_PUBLISHED = ImportOptions()
TITLES = {Source.VISUAL_GENOME: "Visual Genome", Source.VCR: "VCR"}


def request_import(
    *,
    project: Project,
    wanted: Wanted,
    options: ImportOptions = AS_PUBLISHED,
    by: AbstractBaseUser | None = None,
    queue: bool = True,
) -> Job:
    """Queue the import of a collection; ``queue`` as for ``jobs.enqueue``.

    Raises:
        Refused: the folder is not there, or an option makes no sense.
        Conflict: an import into this project is under way.
    """
    if not Path(wanted.folder).is_dir():
        raise Refused(f"{wanted.folder}: is no folder on this machine; name the unpacked collection")
    if wanted.limit is not None and wanted.limit < 1:
        raise Refused(f"limit: {wanted.limit} is too few; take at least 1")
    if isinstance(wanted, VisualGenome) and wanted.rest not in {"", *SPLITS}:
        raise Refused(f"rest: {wanted.rest!r} is no split; use {', '.join(SPLITS)}")
    source = source_of(wanted)
    return jobs.enqueue(
        task=IMPORT_SOURCE,
        title=f"{'Try to import' if options.dry_run else 'Import'} {TITLES[source]}",
        project=project,
        by=by,
        exclusive_key=f"import-source:{project.pk}",
        resumable=True,
        queue=queue,
        source=source.value,
        wanted=asdict(wanted),
        options=asdict(options),
    )


def source_of(wanted: Wanted) -> Source:
    """Return which collection is meant."""
    return Source.VISUAL_GENOME if isinstance(wanted, VisualGenome) else Source.VCR


def split_warning(wanted: Wanted) -> str:
    """Return what to say before anything is read when no list tells the splits; empty when one does."""
    if isinstance(wanted, VisualGenome):
        return visual_genome.split_warning(wanted)
    return vcr.split_warning(wanted)


def wanted_of(source: str, kept: Mapping[str, Any]) -> Wanted:
    """Return what a job's row asks for."""
    plain = dict(kept)
    plain["allowed"] = tuple(plain["allowed"])
    plain["missing"] = WhenMissing(plain["missing"])
    if Source(source) is Source.VISUAL_GENOME:
        return VisualGenome(**plain)
    return Vcr(**plain | {"count": EntityCount(plain["count"])})


def options_of(kept: Mapping[str, Any]) -> ImportOptions:
    """Return the options that a job's row keeps."""
    plain = dict(kept)
    return ImportOptions(BadPicture(plain.pop("bad_picture")), Sizes(plain.pop("sizes")), **plain)


def import_source(
    *,
    project: Project,
    wanted: Wanted,
    options: ImportOptions = AS_PUBLISHED,
    by: AbstractBaseUser | None = None,
    progress: Progress,
) -> dict[str, Any]:
    """Import a collection and return what came of it.

    Everything but the pixels is checked first. Then pictures are stored a few at a time; what is stored, what is
    counted and the job's cursor are committed together. Repeatable: what the project has is not stored again.

    Raises:
        Refused: names the file, the record and the mend; NotStarted when nothing was stored yet.
        Cancelled: somebody asked for the job to stop. The cursor is where it goes on.
    """
    try:
        plan = _plan(wanted, progress)
        _tell_plan(plan, progress)
        tally = Tally() if options.dry_run else _store(project, wanted, options, plan, progress)
    except InvalidInput as error:
        raise Refused(str(error)) from error
    if not options.dry_run:
        audit.record(
            project=project,
            actor=by,
            action="images.import_source",
            subject=source_of(wanted).value,
            new=tally.new,
            skipped=tally.skipped,
        )
    return _result(wanted, options, plan, tally)


def _plan(wanted: Wanted, progress: Progress) -> SourcePlan:
    """Read the plan. Files that are wrong are refused before any work, unless an earlier run stored photos."""
    try:
        return _read(wanted, progress)
    except InvalidInput as error:
        if progress.job.done:
            raise
        raise NotStarted(str(error)) from error


def _read(wanted: Wanted, progress: Progress) -> SourcePlan:
    progress.log(f"Reading what {wanted.folder} describes")

    def tick(_: int) -> None:
        progress.advance(progress.job.done)

    if isinstance(wanted, VisualGenome):
        return read_visual_genome(wanted, tick=tick)
    return read_vcr(wanted, tick=tick)


def _store(
    project: Project, wanted: Wanted, options: ImportOptions, plan: SourcePlan, progress: Progress
) -> Tally:
    """Store the pictures; each file has to lie inside still when it is opened, since links change meanwhile."""
    fence = Fence(wanted.within)

    def regions(image: SourceImage) -> Sequence[SourceRegion]:
        fence.check(_regions_file(wanted, image))
        return plan.regions(image)

    fenced = replace(plan, regions=regions)
    return PictureImport(project, source_of(wanted), options, fenced, progress, fence=fence).run()


def _regions_file(wanted: Wanted, image: SourceImage) -> Path:
    """Return the file that a picture's regions are read from; the folder when they have none."""
    folder = Path(wanted.folder)
    if isinstance(wanted, VisualGenome):
        return Path(wanted.regions or folder)
    return folder / image.facts["metadata"]


def _tell_plan(plan: SourcePlan, progress: Progress) -> None:
    if plan.warning:
        progress.log(f"Warning: {plan.warning}")
    counts = Counter(image.split for image in plan.images)
    words = ", ".join(f"{split} {counts[split]}" for split in SPLITS if counts[split])
    progress.log(f"{len(plan.images)} pictures to import{f': {words}' if words else ''}")
    for reason, count in plan.left_out.items():
        progress.log(f"Left out, {reason}: {count}")
    for note in plan.notes[:LINES]:
        progress.log(note)
    if len(plan.notes) > LINES:
        progress.log(f"{len(plan.notes) - LINES} more such lines")


def _result(wanted: Wanted, options: ImportOptions, plan: SourcePlan, tally: Tally) -> dict[str, Any]:
    return {
        "source": source_of(wanted).value,
        "dry_run": options.dry_run,
        "images": len(plan.images),
        "splits": dict(Counter(image.split for image in plan.images)),
        "left_out": dict(plan.left_out),
        "warning": plan.warning,
        **asdict(tally),
    }
