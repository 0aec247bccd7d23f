"""Import published collections: check everything, then store the pictures in small, resumable steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from curation.models import Source
from curation.records import InvalidInput
from curation.selectors.jobs import IMPORT_SOURCE
from curation.services import objects
from curation.services.refusals import refuse_invalid_input
from curation.services.source_images import (
    MAX_LOGGED_PROBLEMS,
    AcceptedSizes,
    BadImageAction,
    ImageImport,
    ImportCounts,
    ImportOptions,
)
from curation.sources import vcr, visual_genome
from curation.sources.path_sandbox import PathSandbox
from curation.sources.records import SPLITS, MissingImagePolicy, SourceImage, SourcePlan, SourceRegion
from curation.sources.vcr import EntityCountRule, VcrSource, read_vcr
from curation.sources.visual_genome import VisualGenomeSource, read_visual_genome
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import JobCannotStart, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress

CollectionSpec = VisualGenomeSource | VcrSource
DEFAULT_OPTIONS = ImportOptions()
SOURCE_TITLES = {Source.VISUAL_GENOME: "Visual Genome", Source.VCR: "VCR"}


def request_source_import(
    *,
    project: Project,
    spec: CollectionSpec,
    options: ImportOptions = DEFAULT_OPTIONS,
    by: AbstractBaseUser | None = None,
    queue: bool = True,
) -> Job:
    """Queue the import of a collection; for ``queue`` see ``jobs.enqueue``.

    Raises:
        Refused: the folder does not exist, or an option is invalid.
        Conflict: an import into this project is running.
    """
    if not Path(spec.folder).is_dir():
        raise Refused(f"{spec.folder}: is not a folder on this machine; name the unpacked collection")
    if spec.limit is not None and spec.limit < 1:
        raise Refused(f"limit: {spec.limit} is too few; use at least 1")
    if isinstance(spec, VisualGenomeSource) and spec.rest not in {"", *SPLITS}:
        raise Refused(f"rest: {spec.rest!r} is no split; use {', '.join(SPLITS)}")
    source = spec_source(spec)
    return jobs.enqueue(
        task=IMPORT_SOURCE,
        title=f"{'Dry run: import' if options.dry_run else 'Import'} {SOURCE_TITLES[source]}",
        project=project,
        by=by,
        exclusive_key=f"import-source:{project.pk}",
        resumable=True,
        queue=queue,
        source=source.value,
        wanted=asdict(spec),
        options=asdict(options),
    )


def spec_source(spec: CollectionSpec) -> Source:
    """Return the collection that a spec describes."""
    return Source.VISUAL_GENOME if isinstance(spec, VisualGenomeSource) else Source.VCR


def split_warning(spec: CollectionSpec) -> str:
    """Return a warning for a spec that has no list of splits; otherwise empty."""
    if isinstance(spec, VisualGenomeSource):
        return visual_genome.missing_splits_warning(spec)
    return vcr.missing_splits_warning(spec)


def spec_from_json(source: str, stored: Mapping[str, Any]) -> CollectionSpec:
    """Return the spec stored in a job."""
    values = dict(stored)
    values["allowed"] = tuple(values["allowed"])
    values["missing"] = MissingImagePolicy(values["missing"])
    if Source(source) is Source.VISUAL_GENOME:
        return VisualGenomeSource(**values)
    return VcrSource(**values | {"count": EntityCountRule(values["count"])})


def options_from_json(stored: Mapping[str, Any]) -> ImportOptions:
    """Return the options stored in a job."""
    values = dict(stored)
    bad_image, sizes = BadImageAction(values.pop("bad_picture")), AcceptedSizes(values.pop("sizes"))
    return ImportOptions(bad_image, sizes, **values)


def import_source(
    *,
    project: Project,
    spec: CollectionSpec,
    options: ImportOptions = DEFAULT_OPTIONS,
    by: AbstractBaseUser | None = None,
    progress: Progress,
) -> dict[str, Any]:
    """Import a collection and return the counts.

    Everything but the pixels is checked first. Pictures are then stored in batches, each committed together with its
    counts and the job's cursor. Repeatable: pictures the project already has are not stored again.

    Raises:
        Refused: a file is invalid; the message names it and the fix. JobCannotStart: nothing was stored.
        Cancelled: the job was cancelled; it can be resumed from the cursor.
    """
    with refuse_invalid_input():
        plan = _read_checked_plan(spec, progress)
        _log_plan(plan, progress)
        counts = ImportCounts() if options.dry_run else _store_images(project, spec, options, plan, progress)
    if not options.dry_run:
        audit.record(
            project=project,
            actor=by,
            action="images.import_source",
            subject=spec_source(spec).value,
            new=counts.new,
            skipped=counts.skipped,
        )
    return _summarise_import(spec, options, plan, counts)


def _read_checked_plan(spec: CollectionSpec, progress: Progress) -> SourcePlan:
    """Read the plan. Raises JobCannotStart for bad input, or InvalidInput if an earlier run stored photos."""
    try:
        return _read_plan(spec, progress)
    except InvalidInput as error:
        if progress.job.done:
            raise
        raise JobCannotStart(str(error)) from error


def _read_plan(spec: CollectionSpec, progress: Progress) -> SourcePlan:
    progress.log(f"Reading the lists and annotations of {spec.folder}")

    def report_progress(_: int) -> None:
        progress.advance(progress.job.done)

    if isinstance(spec, VisualGenomeSource):
        return read_visual_genome(spec, report_progress=report_progress)
    return read_vcr(spec, report_progress=report_progress)


def _store_images(
    project: Project, spec: CollectionSpec, options: ImportOptions, plan: SourcePlan, progress: Progress
) -> ImportCounts:
    """Store the pictures. Each file's location is checked again when it is opened, since links may change."""
    sandbox = PathSandbox(spec.within)

    def regions(image: SourceImage) -> Sequence[SourceRegion]:
        sandbox.check(_regions_file_or_folder(spec, image))
        return plan.regions(image)

    checked_plan = replace(plan, regions=regions)
    source = spec_source(spec)
    run = objects.published_run(project=project, job=progress.job) if source is Source.VCR else None
    counts = ImageImport(
        project, source, options, checked_plan, progress, sandbox=sandbox, objects_run=run
    ).run()
    if run is not None:
        objects.complete_or_discard_run(run=run, cut_polygons=counts.cut_polygons)
    return counts


def _regions_file_or_folder(spec: CollectionSpec, image: SourceImage) -> Path:
    """Return the file that regions are read from, or the folder if there is none."""
    folder = Path(spec.folder)
    if isinstance(spec, VisualGenomeSource):
        return Path(spec.regions or folder)
    return folder / image.facts["metadata"]


def _log_plan(plan: SourcePlan, progress: Progress) -> None:
    if plan.warning:
        progress.log(f"Warning: {plan.warning}")
    counts = Counter(image.split for image in plan.images)
    summary = ", ".join(f"{split} {counts[split]}" for split in SPLITS if counts[split])
    progress.log(f"{len(plan.images)} pictures to import{f': {summary}' if summary else ''}")
    for reason, count in plan.left_out.items():
        progress.log(f"Left out, {reason}: {count}")
    for note in plan.notes[:MAX_LOGGED_PROBLEMS]:
        progress.log(note)
    if len(plan.notes) > MAX_LOGGED_PROBLEMS:
        progress.log(f"{len(plan.notes) - MAX_LOGGED_PROBLEMS} more like these")


def _summarise_import(
    spec: CollectionSpec, options: ImportOptions, plan: SourcePlan, counts: ImportCounts
) -> dict[str, Any]:
    return {
        "source": spec_source(spec).value,
        "dry_run": options.dry_run,
        "images": len(plan.images),
        "splits": dict(Counter(image.split for image in plan.images)),
        "left_out": dict(plan.left_out),
        "warning": plan.warning,
        **asdict(counts),
    }
