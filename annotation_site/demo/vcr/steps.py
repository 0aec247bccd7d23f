"""The researcher's steps of VCR's demo."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from annotation_site.demo.demo_users import DemoUsers
from annotation_site.demo.player import PlayError
from annotation_site.demo.steps import wait_for_job
from annotation_site.demo.vcr.answers import choice_key
from annotation_site.demo.vcr.film import SECONDS_PER_SCENE, can_write_films, write_film
from annotation_site.demo.vcr.scenes import FILMS, HEIGHT, WIDTH, Scene, draw_scenes
from curation.models import ChoiceEvaluation, ChoiceRound, Frame, QuestionSet, Stage
from curation.selectors.choice_audits import audits_over_limit
from curation.services.choice_audits import waive_audits
from curation.services.choice_evaluations import request_people_evaluation
from curation.services.choice_rounds import ChoiceRoundOptions, launch_choice
from curation.services.frames import ExtractionSpec, request_extraction
from curation.services.objects import request_detections_import
from curation.services.questions import QuestionSetOptions, accept_question_set, request_question_set
from curation.sources.vcr_metadata import object_fields
from hits import registry
from hits.models import Batch, Image, Job, Record, Worker
from hits.selectors.images.images import list_usable_images
from hits.selectors.records import approved_records
from hits.selectors.unit_planners import planner_of
from hits.services.images.import_image import ImageDescription, import_image
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.launch_estimate import estimate_cost
from hits.services.launching.terms import LaunchTerms
from validation.services.rounds import launch_qualification_round
from validation.services.work_reviews import launch_work_review, set_reviewer

KIND = "vcr_qar"
LICENCE, ORIGIN = "CC0", "Drawn by the demo"
CUT_THRESHOLD = 3.0  # lower than for films, because drawings with few colours differ less
SAMPLE_SIZE = 6  # questions of a choice round
JUDGES_PER_STAGE = 3
QUESTION_SET_NAME = "first"
WAIVER = (
    "A rehearsal on drawn scenes with simulated texts: its audits do not describe texts that people wrote."
)


def add_films(users: DemoUsers, folder: Path) -> int:
    """Draw three films and extract their frames; without PyAV, add the scenes as photos. Return their number."""
    scenes = [scene for film in FILMS for scene in draw_scenes(film)]
    if can_write_films():
        _extract_frames(users, scenes, folder)
    else:
        for scene in scenes:
            _import_scene(users, scene, folder)
    _import_objects(users, scenes, folder)
    return len(scenes)


def _extract_frames(users: DemoUsers, scenes: list[Scene], folder: Path) -> None:
    for film in FILMS:
        (folder / film).mkdir(parents=True, exist_ok=True)
        write_film(folder / film / f"{film}.mp4", [scene for scene in scenes if scene.film == film])
    spec = ExtractionSpec(
        path=str(folder),
        licence=LICENCE,
        origin=ORIGIN,
        every=None,
        threshold=CUT_THRESHOLD,
        captions=str(folder),
    )
    wait_for_job(request_extraction(project=users.project, spec=spec, by=users.researcher))


def _import_scene(users: DemoUsers, scene: Scene, folder: Path) -> None:
    path = folder / scene.name
    scene.picture.save(path)
    description = ImageDescription(credit=ORIGIN, licence=LICENCE)
    import_image(project=users.project, name=scene.name, data=path.read_bytes(), description=description)


def _import_objects(users: DemoUsers, scenes: list[Scene], folder: Path) -> None:
    """Write the objects of the scenes to a file, as a detector would, and import it."""
    by_name = {(scene.film, scene.number): scene for scene in scenes}
    frames = {
        frame.image_id: (frame.clip.movie, int(frame.time_seconds // SECONDS_PER_SCENE))
        for frame in Frame.objects.filter(clip__project=users.project).select_related("clip")
    }
    by_photo_name = {scene.name: scene for scene in scenes}
    path = folder / "objects.jsonl"
    size = {"width": WIDTH, "height": HEIGHT}
    with path.open("w", encoding="utf-8") as file:
        for image in Image.objects.filter(project=users.project):
            scene = by_name[frames[image.pk]] if image.pk in frames else by_photo_name[image.name]
            file.write(json.dumps({"image": image.name, **object_fields(scene.objects), **size}) + "\n")
    wait_for_job(request_detections_import(project=users.project, by=users.researcher, path=path))


def launch_exam(users: DemoUsers) -> Batch:
    """Launch the exam for the writer and the reviewer."""
    images = [[image.pk] for image in list_usable_images(users.project)[:2]]
    found, job = launch_qualification_round(
        project=users.project,
        image_sets=images,
        applicants=2,
        by=users.researcher,
        name=f"{users.project.name}: exam",
    )
    wait_for_job(job)
    return found.batch


def launch_writing(users: DemoUsers) -> Batch:
    """Launch one writing task for each frame, for one worker."""
    kind = registry.get_kind(KIND)
    planner = planner_of(kind)
    assert planner is not None
    images = [image.pk for image in list_usable_images(users.project)]
    units = [PlannedUnit(kind.unit_key(unit), unit) for unit in planner.units(users.project, images)]
    terms = LaunchTerms(redundancy=1)
    cost = estimate_cost(kind=kind, terms=terms, units=len(units))
    batch, job = launch_batch(
        project=users.project,
        kind_name=KIND,
        name=f"{users.project.name}: questions",
        units=units,
        by=users.researcher,
        terms=replace(terms, confirmed_cents=cost.max_cents),
    )
    wait_for_job(job)
    return batch


def launch_review(users: DemoUsers, reviewer: str) -> Batch:
    """Launch the review of one submission by a worker. A real project reviews one in fifty."""
    worker = Worker.objects.get(worker_id=_worker_id(reviewer))
    _, job = set_reviewer(
        project=users.project, worker=worker, is_reviewer=True, reason="Writes well", by=users.researcher
    )
    wait_for_job(job)
    every = approved_submission_count(users)
    for seed in range(100 * every):
        launched = launch_work_review(
            project=users.project,
            by=users.researcher,
            every=every,
            seed=seed,
            name=f"{users.project.name}: work review",
        )
        if launched.batch is not None and launched.job is not None:
            wait_for_job(launched.job)
            return launched.batch
    raise PlayError("no submission was sampled for a review")


def approved_submission_count(users: DemoUsers) -> int:
    """Return the number of submissions with an approved triplet."""
    return approved_records(users.project, "triplet").values("submission").distinct().count()


def _worker_id(username: str) -> str:
    from hits.marketplace.models import Worker as Account  # noqa: PLC0415 - the demo alone knows both sides

    return Account.objects.get(user__username=username).worker_id


def build_question_set(users: DemoUsers) -> QuestionSet:
    """Match the wrong choices and accept the set. If an audit is over its limit, give a reason first."""
    options = QuestionSetOptions(folds=len(FILMS))
    wait_for_job(request_question_set(users.project, QUESTION_SET_NAME, options, users.researcher))
    found = QuestionSet.objects.get(project=users.project, name=QUESTION_SET_NAME)
    if audits_over_limit(found):
        waive_audits(question_set=found, reason=WAIVER, by=users.researcher)
    accept_question_set(question_set=found, by=users.researcher)
    return found


def launch_choice_round(
    users: DemoUsers, question_set: QuestionSet, stage: Stage
) -> tuple[ChoiceRound, Batch]:
    """Launch one stage of a sample of questions, as a pilot."""
    options = ChoiceRoundOptions(stage=stage, sample=SAMPLE_SIZE, purpose="pilot")
    found, job = launch_choice(
        question_set=question_set,
        options=options,
        by=users.researcher,
        name=f"{users.project.name}: {stage.value}s",
        terms=LaunchTerms(redundancy=JUDGES_PER_STAGE),
    )
    wait_for_job(job)
    return found, found.batch


def right_texts(users: DemoUsers) -> dict[bytes, list[Any]]:
    """Return the right responses of each question, by ``choice_key``. A worker can write the same question twice."""
    found: dict[bytes, list[Any]] = defaultdict(list)
    for record in Record.objects.filter(project=users.project, type="triplet", image__isnull=False):
        fields, image = record.fields, record.image_id
        assert image is not None
        found[choice_key(image, fields["question"], None)].append(fields["answer"])
        found[choice_key(image, fields["question"], fields["answer"])].append(fields["rationale"])
    return found


def evaluate_people(users: DemoUsers, question_set: QuestionSet) -> ChoiceEvaluation:
    """Evaluate the majority vote of the scripted workers."""
    evaluation = request_people_evaluation(question_set=question_set, split="", by=users.researcher)
    job = evaluation.job
    assert isinstance(job, Job)
    wait_for_job(job)
    evaluation.refresh_from_db()
    return evaluation
