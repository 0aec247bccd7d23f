"""Celery tasks: fetch a row by id, call a pipeline. Only workers import pipelines, inside the tasks.

A pipeline is imported after the job is claimed, so that a missing library fails the job instead of leaving it queued.
"""

# ruff: noqa: PLC0415 - pipelines load model libraries

from celery import shared_task

from curation.models import DatasetVersion, DetectionRun, Evaluation, ProposalRun
from curation.selectors import jobs as tasks
from curation.selectors import rounds
from curation.services import versions
from curation.services.comparison import RoundOptions
from curation.services.dedup import DedupOptions
from curation.services.drafts import store_draft_summary
from curation.services.frames import ExtractionSpec
from curation.services.leakage import LeakageOptions
from curation.services.sources import import_source, options_from_json, spec_from_json
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress, job_task


@job_task(tasks.IMPORT_SOURCE)
def import_collection(progress: Progress) -> None:
    """Import a published collection."""
    job = progress.job
    assert job.project is not None
    found = import_source(
        project=job.project,
        spec=spec_from_json(job.args["source"], job.args["wanted"]),
        options=options_from_json(job.args["options"]),
        by=job.created_by,
        progress=progress,
    )
    jobs.set_result(job=job, **found)


@job_task(tasks.EXTRACT_FRAMES)
def extract_frames(progress: Progress) -> None:
    """Extract the middle frames of clips' shots."""
    from curation.pipelines.extract_frames import extract_frames as run_extraction

    job = progress.job
    assert job.project is not None
    spec = ExtractionSpec(**job.args["options"])
    counts = run_extraction(project=job.project, spec=spec, by=job.created_by, progress=progress)
    jobs.set_result(job=job, **counts)


@job_task(tasks.LEAKAGE)
def check_leakage(progress: Progress) -> None:
    """Find near-identical images in different splits."""
    from curation.pipelines import leakage

    job = progress.job
    assert job.project is not None
    options = LeakageOptions(**job.args["options"])
    found = leakage.check_leakage(project=job.project, options=options, by=job.created_by, progress=progress)
    jobs.set_result(job=job, **found)


@job_task(tasks.DEDUPLICATE)
def deduplicate_images(progress: Progress) -> None:
    """Find a project's near-duplicates, and mark them if requested."""
    from curation.pipelines import deduplicate

    job = progress.job
    assert job.project is not None
    found = deduplicate.deduplicate_images(
        project=job.project,
        options=DedupOptions(**job.args["options"]),
        by=job.created_by,
        progress=progress,
    )
    jobs.set_result(job=job, **found.summary())


@job_task(tasks.FEATURES)
def make_features(progress: Progress) -> None:
    """Plan a feature set, start a subjob for each shard, and seal the set when all shards are made."""
    from curation.pipelines import features

    jobs.set_result(job=progress.job, **features.make_features(progress))


@job_task(tasks.FEATURE_SHARD)
def make_feature_shard(progress: Progress) -> None:
    """Compute the vectors of one shard of a feature set."""
    from curation.pipelines import features

    features.run_shard_subjob(progress)


def _get_proposal_run(progress: Progress) -> ProposalRun:
    return ProposalRun.objects.select_related("project").get(pk=progress.job.args["run"])


@job_task(tasks.PROPOSALS)
def propose_boxes(progress: Progress) -> None:
    """Fill a run with boxes, from a file or by a detector's subjobs, and measure its recall."""
    from curation.pipelines import proposals

    run = _get_proposal_run(progress)
    recall = proposals.fill_proposal_run(run=run, last_photo_key=progress.job.args["last"], progress=progress)
    jobs.set_result(job=progress.job, **proposals.summarise_run(run, recall))


@job_task(tasks.PROPOSALS_SUBJOB)
def propose_subjob_boxes(progress: Progress) -> None:
    """Propose the boxes of one subjob's photos."""
    from curation.pipelines import proposals

    bounds = {name: progress.job.args[name] for name in ("first", "last")}
    proposals.run_proposal_subjob(run=_get_proposal_run(progress), progress=progress, **bounds)


@job_task(tasks.OVERLAPS)
def measure_proposals(progress: Progress) -> None:
    """Measure a run's recall against the currently accepted pairs."""
    from curation.pipelines import proposals

    run = _get_proposal_run(progress)
    recall = proposals.measure_run_recall(run=run, progress=progress)
    jobs.set_result(job=progress.job, **proposals.summarise_run(run, recall))


@job_task(tasks.DETECT_OBJECTS)
def detect_objects(progress: Progress) -> None:
    """Detect the objects of photos, or import them."""
    from curation.pipelines import objects

    job = progress.job
    run = DetectionRun.objects.select_related("project").get(pk=job.args["run"])
    result = objects.fill_detection_run(run=run, last_photo_key=job.args["last"], progress=progress)
    jobs.set_result(job=job, **result)


@job_task(tasks.ANALYSE_TEXTS)
def analyse_texts(progress: Progress) -> None:
    """Run one analysis of a project's texts."""
    from curation.pipelines.texts import text_analysis

    job = progress.job
    assert job.project is not None
    options = text_analysis.parse_options(job.args["kind"], job.args["options"])
    project, by = job.project, job.created_by
    found = text_analysis.analyse_texts(project=project, options=options, by=by, progress=progress)
    jobs.set_result(job=job, analysis=found.pk, kind=found.kind, pairs=found.pairs)


@job_task(tasks.COMPARISON_ROUND)
def build_comparison_round(progress: Progress) -> None:
    """Build a comparison round."""
    from curation.pipelines import comparison

    job = progress.job
    assert job.project is not None
    found = rounds.round_of_job(job) or comparison.build_comparison_round(
        project=job.project,
        options=RoundOptions(**job.args["options"]),
        encoder=job.args.get("encoder", ""),
        by=job.created_by,
        progress=progress,
        job=job,
    )
    jobs.set_result(job=job, round=found.pk, sets=found.sets.count(), skipped=found.skip_counts)


def _get_version(progress: Progress) -> DatasetVersion:
    return DatasetVersion.objects.select_related("project").get(pk=progress.job.args["version"])


@job_task(tasks.SEAL)
def seal_version(progress: Progress) -> None:
    """Seal a version and write its files for download."""
    job = progress.job
    version = versions.seal_version(version=_get_version(progress), by=job.created_by, progress=progress)
    versions.ensure_export_folder(version=version)
    jobs.set_result(job=job, version=version.name, seal=version.manifest_sha256)


@job_task(tasks.PLAN)
def plan_version(progress: Progress) -> None:
    """Compute the content of a draft, and store the summary with the job."""
    store_draft_summary(job=progress.job, version=_get_version(progress), progress=progress)


@job_task(tasks.TRAIN_SCORER)
def train_scorer(progress: Progress) -> None:
    """Train a scorer, or resume its training."""
    from curation.pipelines.training import train_scorer

    jobs.set_result(job=progress.job, **train_scorer.train_scorer(progress))


@job_task(tasks.TRAIN_CHOOSER)
def train_chooser(progress: Progress) -> None:
    """Train a chooser on a question set or a folder."""
    from curation.pipelines.training import train_chooser

    jobs.set_result(job=progress.job, **train_chooser.train_chooser(progress))


@job_task(tasks.IMPORT_SCORER)
def import_scorer(progress: Progress) -> None:
    """Import a scorer's folder."""
    from curation.pipelines.training import scorer_import

    jobs.set_result(job=progress.job, **scorer_import.import_scorer(progress))


@job_task(tasks.EVALUATE)
def evaluate(progress: Progress) -> None:
    """Run an evaluation on one split of a sealed version."""
    from curation.pipelines.evaluation.evaluate import run_evaluation

    rows = Evaluation.objects.select_related("project", "version", "scorer")
    row = rows.get(pk=progress.job.args["evaluation"])
    jobs.set_result(job=progress.job, **run_evaluation(evaluation=row, progress=progress))


@job_task(tasks.ABLATIONS)
def run_ablations(progress: Progress) -> None:
    """Train and evaluate the rows of the tables of Hessel et al. 2022 that a job names."""
    from curation.pipelines import ablations

    jobs.set_result(job=progress.job, **ablations.run_ablations(progress))


@job_task(tasks.SHORTCUTS)
def audit_shortcuts(progress: Progress) -> None:
    """Evaluate baselines that do not use the image."""
    from curation.pipelines import shortcuts

    jobs.set_result(job=progress.job, **shortcuts.audit_shortcuts(progress))


@job_task(tasks.ERROR_ANALYSIS)
def analyse_errors(progress: Progress) -> None:
    """Analyse an evaluation's errors."""
    from curation.pipelines.evaluation import error_analysis

    jobs.set_result(job=progress.job, **error_analysis.analyse_errors(progress))


@job_task(tasks.TRAIN_INTEREST)
def train_interest(progress: Progress) -> None:
    """Train a model of interestingness."""
    from curation.pipelines.interest import train

    jobs.set_result(job=progress.job, **train.train_interest(progress))


@job_task(tasks.SELECT_INTERESTING)
def select_interesting(progress: Progress) -> None:
    """Score images with a model of interestingness, and count those that it selects."""
    from curation.pipelines.interest import select

    jobs.set_result(job=progress.job, **select.select_interesting(progress))


@job_task(tasks.AUDIT_CHOICES)
def audit_choices(progress: Progress) -> None:
    """Audit a question set, and store the result with it."""
    from curation.pipelines import choice_audits

    jobs.set_result(job=progress.job, **choice_audits.run_audits(progress))


@job_task(tasks.EVALUATE_CHOICES)
def evaluate_choices(progress: Progress) -> None:
    """Measure the choices of a model, of people or of a file on a question set."""
    from curation.pipelines.evaluation.evaluate_choices import run_choice_evaluation

    jobs.set_result(job=progress.job, **run_choice_evaluation(progress))


@job_task(tasks.QUESTION_SET)
def build_question_set(progress: Progress) -> None:
    """Plan a question set, start a subjob for each bucket, and store the questions when all are matched."""
    from curation.pipelines.questions import build

    jobs.set_result(job=progress.job, **build.build_question_set(progress))


@job_task(tasks.QUESTION_BUCKET)
def match_question_bucket(progress: Progress) -> None:
    """Match the responses of one bucket of a question set."""
    from curation.pipelines.questions import build

    build.run_bucket_subjob(progress)


@job_task(tasks.QUESTION_MODEL)
def fine_tune_relevance(progress: Progress) -> None:
    """Fine-tune the relevance model of one fold and stage of a question set."""
    from curation.pipelines.questions import build

    build.run_model_subjob(progress)


@shared_task(name="curation.tend_scenes")
def tend_scenes() -> None:
    """Store the scenes and explanations of approved answers, and tell authors what became of their scenes."""
    from curation.services.triplets import tending

    tending.tend_projects()


@job_task(tasks.SCENE_TWINS)
def find_scene_twins(progress: Progress) -> None:
    """Find the most similar other scene of each scene."""
    from curation.pipelines.triplets import scene_twins

    jobs.set_result(job=progress.job, **scene_twins.find_scene_twins(progress))


@job_task(tasks.AUGMENT_PROMPTS)
def augment_prompts(progress: Progress) -> None:
    """Let a chat model write the prompts of scenes."""
    from curation.pipelines.triplets import augment_prompts as pipeline

    jobs.set_result(job=progress.job, **pipeline.augment_prompts(progress))


@job_task(tasks.GENERATE_IMAGES)
def generate_images(progress: Progress) -> None:
    """Start a subjob for each scene that misses candidate images, and sum up."""
    from curation.pipelines.triplets import generate_images as pipeline

    jobs.set_result(job=progress.job, **pipeline.generate_images(progress))


@job_task(tasks.SCENE_IMAGES)
def generate_scene_images(progress: Progress) -> None:
    """Draw the missing candidates of one scene."""
    from curation.pipelines.triplets import generate_images as pipeline

    pipeline.run_scene_subjob(progress)


@job_task(tasks.EDIT_IMAGE)
def edit_image(progress: Progress) -> None:
    """Draw one more candidate from an existing one."""
    from curation.pipelines.triplets import edit_image as pipeline

    jobs.set_result(job=progress.job, **pipeline.edit_image(progress))


@job_task(tasks.IMPORT_GENERATED)
def import_generated(progress: Progress) -> None:
    """Import images that were made elsewhere from an uploaded zip."""
    from curation.pipelines.triplets import import_generated as pipeline

    jobs.set_result(job=progress.job, **pipeline.run_import(progress))


@job_task(tasks.EVALUATE_TRIPLETS)
def evaluate_triplets(progress: Progress) -> None:
    """Measure a model, a baseline or people on a sealed version's triplets."""
    from curation.pipelines.triplets import evaluate_triplets as pipeline

    jobs.set_result(job=progress.job, **pipeline.evaluate_triplets(progress))


@job_task(tasks.JUDGE_EXPLANATIONS)
def judge_explanations(progress: Progress) -> None:
    """Let a chat model grade explanations."""
    from curation.pipelines.triplets import judge_explanations as pipeline

    jobs.set_result(job=progress.job, **pipeline.judge_explanations(progress))


@job_task(tasks.AUDIT_TRIPLETS)
def audit_triplets(progress: Progress) -> None:
    """Audit a project's triplets for shortcuts."""
    from curation.pipelines.triplets import audit_triplets as pipeline

    jobs.set_result(job=progress.job, **pipeline.audit_triplets(progress))
