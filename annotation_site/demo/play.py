"""Play the loop: the researcher's steps through services, the workers' through the real pages."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation_site.demo import answers, steps
from annotation_site.demo.demo_users import ANNOTATORS, Cast
from annotation_site.demo.photos import sample_photos
from annotation_site.demo.player import PlayError, ScriptedWorker
from hits.models import Batch, Image, Job
from hits.services.images.import_image import Description, import_image
from hits.services.images.manifests import import_path

Say = Callable[[str], None]

# The paper asks for at least 20 candidates; a rehearsal of a few photographs has fewer inferences to offer.
MIN_CANDIDATES = 12
JOB_SECONDS = 600
APPLICANTS = (("wolfgang", 0), ("wanda", 4))  # who applies, and how many of their pairs are mere captions
LEFT_TO_LAUNCH = 2  # photos that a visitor can launch a batch of their own over

__all__ = ["PlayError", "first_batch", "import_photos", "road", "welcome", "whole_loop"]


def import_photos(cast: Cast, folder: Path | None) -> int:
    """Bring photographs into the rehearsal: a folder of the person's own, or those that packages ship."""
    if folder is not None:
        return len(import_path(project=cast.project, path=folder).images)
    photos = sample_photos()
    for photo in photos:
        about = Description(alt=photo.alt, credit=photo.credit, licence=photo.licence)
        import_image(project=cast.project, name=photo.name, data=photo.path.read_bytes(), about=about)
    return len(photos)


def first_batch(cast: Cast, say: Say) -> None:
    """De-duplicate and launch the first batch, unless an earlier demo did."""
    if not cast.project.batches.exists():
        say("Looking for near-duplicates …")
        wait_for(steps.deduplicate(cast))
        say("Launching an observation batch …")
        wait_for(steps.launch_observations(cast, leave=LEFT_TO_LAUNCH)[1])


def road(cast: Cast, say: Say) -> None:
    """Launch qualification and training, and let two scripted applicants hand in, unless an earlier demo did."""
    if cast.project.batches.filter(kind="sherlock_qualification").exists():
        return
    say("Two scripted applicants take the qualification task …")
    batch, job = steps.launch_qualification(cast)
    wait_for(job)
    wait_for(steps.launch_training(cast)[1])
    photos = Image.objects.filter(project=cast.project)
    names = dict(photos.values_list("pk", "name"))
    seen = {pk: alt or "A photograph" for pk, alt in photos.values_list("pk", "alt")}
    for part, (name, captions) in enumerate(APPLICANTS):
        _work(cast, name, batch, answers.applicant(part, names, seen, captions=captions))


def whole_loop(cast: Cast, out: Path, say: Say) -> dict[str, Any]:
    """Play everything once and return the summary.

    Raises:
        PlayError: a page or a job did not do what it should.
    """
    say("Looking for near-duplicates …")
    wait_for(steps.deduplicate(cast))
    say("Two scripted workers write five observations each about every photo …")
    batch, job = steps.launch_observations(cast)
    wait_for(job)
    names = dict(Image.objects.filter(project=cast.project).values_list("pk", "name"))
    writers = ANNOTATORS[:2]
    for part, name in enumerate(writers):
        _work(cast, name, batch, answers.writer(part, names))
    steps.approve_all(cast, batch)
    judges = [name for name in ANNOTATORS if name not in writers]
    say("Three others review some of the pairs …")
    review, job = steps.launch_review(cast)
    wait_for(job)
    for name in judges:
        _work(cast, name, review, answers.reviewer(name))
    steps.approve_all(cast, review)
    say("Two of them match inferences to regions …")
    matching, job = steps.launch_localization(cast)
    wait_for(job)
    for name in judges[:2]:
        _work(cast, name, matching, answers.matcher(name, names))
    steps.approve_all(cast, matching)
    say(f"Choosing comparison sets (at least {MIN_CANDIDATES} candidates instead of the paper's 20) …")
    comparison, job = steps.launch_comparison(cast, MIN_CANDIDATES, wait_for)
    wait_for(job)
    for name in judges[:2]:
        _work(cast, name, comparison, answers.judge(name))
    steps.approve_all(cast, comparison)
    say("Computing what the judgments come to …")
    steps.compute_reports(cast, wait_for)
    say("Sealing and exporting a version …")
    version, files = steps.seal_and_export(cast, out, wait_for)
    return steps.summary(cast, [batch, review, matching, comparison], version, files, MIN_CANDIDATES)


def wait_for(job: Job) -> Job:
    """Wait until a worker process has done the job."""
    ends = time.monotonic() + JOB_SECONDS
    while time.monotonic() < ends:
        job.refresh_from_db()
        if job.state == "done":
            return job
        if job.state in {"failed", "cancelled"}:
            raise PlayError(f"{job.title}: {job.error or job.state}")
        time.sleep(0.2)
    raise PlayError(f"{job.title}: no worker process did it within {JOB_SECONDS} s")


def welcome(cast: Cast) -> str:
    """Return what a person reads once the demo is up."""
    lines = ["", f"Deerstalker is up: {settings.PUBLIC_URL}", "", "Sign in as"]
    lines += [f"  {a.role:<11} {a.username:<10} {a.password}" for a in cast.accounts]
    lines += [
        "",
        "First, as an annotator: open Work, start a task, draw boxes and submit.",
        "Then, as the researcher: open the batch, review what came in, and approve it.",
        "Two applicants wait under People, Applicants: grade them, and train whoever passes.",
        "At last, as the admin: make a version, seal it, and download it.",
        "Ctrl C stops everything.",
        "",
    ]
    return "\n".join(lines)


def _work(cast: Cast, name: str, batch: Batch, answer: Any) -> None:
    worker = ScriptedWorker(settings.PUBLIC_URL, name, cast.password_of(name))
    if worker.work_through(batch.name, answer) == 0:
        raise PlayError(f"{name} found nothing to do in {batch.name}")
