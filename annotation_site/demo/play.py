"""Play the demo: the researcher's steps through services, the workers' steps through the real pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation_site.demo import answers, steps
from annotation_site.demo.demo_users import WORKER_NAMES, DemoUsers
from annotation_site.demo.nleye.play import play_nleye
from annotation_site.demo.photos import sample_photos
from annotation_site.demo.player import PlayError, ScriptedWorker
from annotation_site.demo.steps import wait_for_job
from annotation_site.demo.vcr.play import play_vcr
from hits.models import Batch, Image
from hits.services.images.import_image import ImageDescription, import_image
from hits.services.images.manifests import import_image_files

ReportProgress = Callable[[str], None]

# Hessel et al. 2022 use at least 20 candidates; a demo with few photos has fewer inferences.
MIN_CANDIDATES = 12
# The worker's name, and how many of their pairs merely describe the photo.
QUALIFYING_WORKERS = (("wolfgang", 0), ("wanda", 4))
UNLAUNCHED_PHOTOS = 2  # photos that are left for a visitor's own batch

__all__ = [
    "PlayError",
    "import_photos",
    "launch_first_batch_if_none",
    "play_all_stages",
    "play_qualification_if_none",
    "welcome_message",
]


def import_photos(users: DemoUsers, folder: Path | None) -> int:
    """Import the photos of a folder into the demo project, by default the sample photos of installed packages."""
    if folder is not None:
        return len(import_image_files(project=users.project, path=folder).images)
    photos = sample_photos()
    for photo in photos:
        description = ImageDescription(alt=photo.alt, credit=photo.credit, licence=photo.licence)
        import_image(
            project=users.project, name=photo.name, data=photo.path.read_bytes(), description=description
        )
    return len(photos)


def launch_first_batch_if_none(users: DemoUsers, report_progress: ReportProgress) -> None:
    """Deduplicate and launch the first batch, unless an earlier demo did."""
    if not users.project.batches.exists():
        report_progress("Looking for near-duplicates …")
        wait_for_job(steps.deduplicate(users))
        report_progress("Launching an observation batch …")
        wait_for_job(steps.launch_observations(users, unlaunched_count=UNLAUNCHED_PHOTOS)[1])


def play_qualification_if_none(users: DemoUsers, report_progress: ReportProgress) -> None:
    """Launch qualification and training, and let two scripted workers apply, unless an earlier demo did."""
    if users.project.batches.filter(kind="sherlock_qualification").exists():
        return
    report_progress("Two scripted applicants take the qualification task …")
    batch, job = steps.launch_qualification(users)
    wait_for_job(job)
    wait_for_job(steps.launch_training(users)[1])
    photos = Image.objects.filter(project=users.project)
    names = dict(photos.values_list("pk", "name"))
    descriptions = {pk: alt or "A photograph" for pk, alt in photos.values_list("pk", "alt")}
    for worker_index, (name, captions) in enumerate(QUALIFYING_WORKERS):
        _answer_batch(
            users,
            name,
            batch,
            answers.qualification_answer_function(worker_index, names, descriptions, caption_count=captions),
        )


def play_all_stages(users: DemoUsers, out: Path, report_progress: ReportProgress) -> dict[str, Any]:
    """Play every stage once, from deduplication to the export, and return a summary.

    Raises:
        PlayError: a page or a job failed.
    """
    report_progress("Looking for near-duplicates …")
    wait_for_job(steps.deduplicate(users))
    report_progress("Two scripted workers write five observations each about every photo …")
    batch, job = steps.launch_observations(users)
    wait_for_job(job)
    names = dict(Image.objects.filter(project=users.project).values_list("pk", "name"))
    writers = WORKER_NAMES[:2]
    for worker_index, name in enumerate(writers):
        _answer_batch(users, name, batch, answers.observation_answer_function(worker_index, names))
    steps.approve_submissions(users, batch)
    judges = [name for name in WORKER_NAMES if name not in writers]
    report_progress("Three others review some of the pairs …")
    review, job = steps.launch_review(users)
    wait_for_job(job)
    for name in judges:
        _answer_batch(users, name, review, answers.pair_judging_answer_function(name))
    steps.approve_submissions(users, review)
    report_progress("Two of them match inferences to regions …")
    matching, job = steps.launch_localization(users)
    wait_for_job(job)
    for name in judges[:2]:
        _answer_batch(users, name, matching, answers.region_matching_answer_function(name, names))
    steps.approve_submissions(users, matching)
    report_progress(
        f"Choosing comparison sets (at least {MIN_CANDIDATES} candidates instead of the paper's 20) …"
    )
    comparison, job = steps.launch_comparison(users, MIN_CANDIDATES)
    wait_for_job(job)
    for name in judges[:2]:
        _answer_batch(users, name, comparison, answers.candidate_rating_answer_function(name))
    steps.approve_submissions(users, comparison)
    report_progress("Computing the judging reports …")
    steps.compute_reports(users)
    report_progress("Sealing and exporting a version …")
    version, files = steps.seal_and_export(users, out)
    vcr = play_vcr(users, out, report_progress)
    nleye = play_nleye(users, out, report_progress)
    batches = [batch, review, matching, comparison]
    return steps.summarize(users, batches, version, files, MIN_CANDIDATES) | {
        "vcr": vcr,
        "nleye": nleye,
    }


def welcome_message(users: DemoUsers) -> str:
    """Return the message that the demo prints when it is ready."""
    lines = ["", f"Deerstalker is running: {settings.PUBLIC_URL}", "", "Sign in as"]
    lines += [f"  {a.role:<11} {a.username:<10} {a.password}" for a in users.accounts]
    lines += [
        "",
        "1. As a worker: open Work, start a task, draw boxes and submit.",
        "2. As the researcher: open the batch, review the submissions, and approve them.",
        "   Two applicants wait under People, Applicants: grade them, and train those who pass.",
        "3. As the admin: create a version, seal it, and download it.",
        "Ctrl C stops everything.",
        "",
    ]
    return "\n".join(lines)


def _answer_batch(users: DemoUsers, name: str, batch: Batch, answer: Any) -> None:
    worker = ScriptedWorker(settings.PUBLIC_URL, name, users.password_of(name))
    if worker.answer_all_hits(batch.name, answer) == 0:
        raise PlayError(f"{name} found no task in {batch.name}")
