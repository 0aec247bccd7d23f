"""Queries on curation's jobs, by the name of their Celery task."""

from hits.models import Job, Project

DEDUPLICATE = "curation.deduplicate_images"
COMPARISON_ROUND = "curation.build_comparison_round"
SEAL = "curation.seal_version"
PLAN = "curation.plan_version"
FEATURES = "curation.make_features"
FEATURE_SHARD = "curation.make_feature_shard"
IMPORT_SOURCE = "curation.import_source"
LEAKAGE = "curation.check_leakage"
EXTRACT_FRAMES = "curation.extract_frames"
DETECT_OBJECTS = "curation.detect_objects"
PROPOSALS = "curation.propose_boxes"
PROPOSALS_SUBJOB = "curation.propose_boxes_of_part"
OVERLAPS = "curation.measure_proposals"
ANALYSE_TEXTS = "curation.analyse_texts"
TRAIN_SCORER = "curation.train_scorer"
TRAIN_CHOOSER = "curation.train_chooser"
IMPORT_SCORER = "curation.import_scorer"
EVALUATE = "curation.evaluate"
ERROR_ANALYSIS = "curation.analyse_errors"
ABLATIONS = "curation.run_ablations"
SHORTCUTS = "curation.audit_shortcuts"
TRAIN_INTEREST = "curation.train_interest"
SELECT_INTERESTING = "curation.select_interesting"
AUDIT_CHOICES = "curation.audit_choices"
EVALUATE_CHOICES = "curation.evaluate_choices"
QUESTION_SET = "curation.build_question_set"
QUESTION_BUCKET = "curation.match_question_bucket"
QUESTION_MODEL = "curation.fine_tune_relevance"


def latest_job(project: Project, task: str) -> Job | None:
    """Return the project's newest job of a task."""
    return Job.objects.filter(project=project, task=task).order_by("-pk").first()
