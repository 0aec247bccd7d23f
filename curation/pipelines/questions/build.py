"""The jobs that build a question set: plan, fine-tune, match each bucket, and store the questions.

A job is called again after its subjobs; each call continues with what is missing. So a killed or cancelled build
resumes, and the files of its buckets are the same, bit for bit.
"""

from collections.abc import Mapping
from typing import Any

from curation.models import QuestionSet, Stage
from curation.pipelines.choice_audits import audit_question_set
from curation.pipelines.questions.bucket_job import match_bucket
from curation.pipelines.questions.finish import AuditFacts, FoldWriter, Match
from curation.pipelines.questions.folder import SetFolder, read_json
from curation.pipelines.questions.plan import BucketPlan, FoldPlan, ModelPlan, SetPlan, make_plan, read_plan
from curation.pipelines.questions.relevance_models import fine_tune_model
from curation.pipelines.questions.report import provenance_of_set, set_figures
from curation.pipelines.questions.triplets import TEXTS_OF_STAGE, read_triplets
from curation.records import InvalidInput
from curation.selectors.choice_audits import OVER
from curation.selectors.jobs import QUESTION_BUCKET, QUESTION_MODEL
from curation.services.named_rows import merge_facts
from curation.services.questions import (
    QuestionSetOptions,
    discard_refused_set,
    finish_question_set,
    store_questions,
)
from curation.services.refusals import refuse_invalid_input
from hits.services.errors import JobCannotStart, Refused
from hits.services.jobs.jobs import Progress
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs


def build_question_set(progress: Progress) -> dict[str, Any]:
    """Run a job: plan the set, start subjobs for missing models and buckets, then store and audit the questions.

    Returns the result for the job's page.

    Raises:
        SplitIntoSubjobs: models or buckets are missing; the job is called again when they exist.
        JobCannotStart: the triplets do not allow a set; nothing of it remains.
        Refused: files are missing or were changed.
    """
    question_set = _question_set(progress)
    folder = SetFolder.of(question_set)
    plan = read_plan(folder) or _plan_or_discard(question_set, folder, progress)
    _start_missing_models(question_set, folder, plan)
    _start_missing_buckets(question_set, folder, plan)
    with refuse_invalid_input():
        return _finish(question_set, folder, plan, progress)


def run_bucket_subjob(progress: Progress) -> None:
    """Run a subjob: match one bucket."""
    question_set = _question_set(progress)
    folder = SetFolder.of(question_set)
    plan = _existing_plan(folder)
    with refuse_invalid_input():
        match_bucket(
            folder, progress.job.args["sha256"], plan.vectors, QuestionSetOptions(**question_set.options)
        )
    progress.advance(progress.job.total, progress.job.total)


def run_model_subjob(progress: Progress) -> None:
    """Run a subjob: fine-tune the relevance model of one fold and stage."""
    question_set = _question_set(progress)
    folder = SetFolder.of(question_set)
    stage, fold = Stage(progress.job.args["stage"]), progress.job.args["fold"]
    others = [
        triplet
        for other in _existing_plan(folder).folds
        if other.name != fold
        for triplet in read_triplets(folder.triplets(other.name))
    ]
    others.sort(key=lambda triplet: triplet.id)
    with refuse_invalid_input():
        fine_tune_model(
            folder,
            progress.job.args["model"],
            QuestionSetOptions(**question_set.options),
            {text: [triplet.class_text(text) for triplet in others] for text in TEXTS_OF_STAGE[stage]},
            stage,
            lambda done, total: progress.advance(progress.job.total * done // total, progress.job.total),
        )


def _question_set(progress: Progress) -> QuestionSet:
    rows = QuestionSet.objects.select_related("project")
    return rows.get(pk=progress.job.args["question_set"])


def _existing_plan(folder: SetFolder) -> SetPlan:
    plan = read_plan(folder)
    if plan is None:
        raise Refused(f"{folder.plan}: is missing; build the set again")
    return plan


def _plan_or_discard(question_set: QuestionSet, folder: SetFolder, progress: Progress) -> SetPlan:
    """Plan a set. A refusal frees its name, because the same triplets would be refused again."""
    try:
        return make_plan(question_set, folder, progress)
    except (InvalidInput, Refused) as error:
        discard_refused_set(question_set=question_set)
        raise JobCannotStart(str(error)) from error


def _start_missing_models(question_set: QuestionSet, folder: SetFolder, plan: SetPlan) -> None:
    missing = [
        model
        for model in plan.models
        if "model" in model.facts and not folder.model(model.facts["model"]).is_dir()
    ]
    if missing:
        raise SplitIntoSubjobs(
            task=QUESTION_MODEL, subjobs=[_model_subjob(question_set, plan, model) for model in missing]
        )


def _model_subjob(question_set: QuestionSet, plan: SetPlan, model: ModelPlan) -> PlannedSubjob:
    own = next(fold.triplets for fold in plan.folds if fold.name == model.fold)
    return PlannedSubjob(
        title=f"Fine-tune the relevance of {model.stage}s for {model.fold}",
        total=plan.triplets - own,
        args={
            "question_set": question_set.pk,
            "stage": model.stage,
            "fold": model.fold,
            "model": model.facts["model"],
        },
    )


def _start_missing_buckets(question_set: QuestionSet, folder: SetFolder, plan: SetPlan) -> None:
    missing = [bucket for bucket in plan.buckets if not folder.result(bucket.sha256).is_file()]
    if missing:
        total = sum(bucket.size for bucket in plan.buckets)
        raise SplitIntoSubjobs(
            task=QUESTION_BUCKET,
            subjobs=[_bucket_subjob(question_set, bucket) for bucket in missing],
            done=total - sum(bucket.size for bucket in missing),
        )


def _bucket_subjob(question_set: QuestionSet, bucket: BucketPlan) -> PlannedSubjob:
    return PlannedSubjob(
        title=f"Match {bucket.stage}s of {bucket.fold}, {bucket.name}",
        total=bucket.size,
        args={"question_set": question_set.pk, "sha256": bucket.sha256},
    )


def _finish(
    question_set: QuestionSet, folder: SetFolder, plan: SetPlan, progress: Progress
) -> dict[str, Any]:
    """Store the questions fold by fold, then the figures; the set becomes a draft last."""
    shares = []
    facts = AuditFacts()
    for fold in plan.folds:
        progress.advance(progress.job.done, progress.job.total)  # notices a cancellation
        writer = FoldWriter(question_set, fold, read_triplets(folder.triplets(fold.name)))
        for stage in Stage:
            matches = _fold_matches(folder, plan, fold, stage)
            finished = writer.finish_stage(stage, matches)
            store_questions(questions=finished.questions)
            shares.append({"stage": stage.value, "fold": fold.name} | finished.share_figures())
            facts.add(stage, finished, matches)
    merge_facts(
        question_set,
        figures=set_figures(folder, plan, shares),
        provenance=provenance_of_set(question_set, folder, plan),
    )
    audit_question_set(
        question_set,
        by=progress.job.created_by,
        facts=facts.by_stage(),
        report=lambda done, total: progress.advance(progress.job.done, progress.job.total),
    )
    finish_question_set(question_set=question_set)
    return {
        "question_set": question_set.pk,
        "triplets": plan.triplets,
        "set_aside": question_set.figures["set_aside"],
        "audits_over_limit": question_set.audits[OVER],
    }


def _fold_matches(folder: SetFolder, plan: SetPlan, fold: FoldPlan, stage: Stage) -> Mapping[int, Match]:
    """Return what the fold's buckets gave each triplet, by match index."""
    found: dict[int, Match] = {}
    for bucket in plan.buckets:
        if bucket.fold != fold.name or bucket.stage != stage:
            continue
        members = read_json(folder.inputs(bucket.sha256))["members"]
        result = read_json(folder.result(bucket.sha256))
        for position, index in enumerate(members):
            columns, mean = result["columns"][position], result["mean_relevance"][position]
            if columns is None:
                found[index] = Match(bucket.name, mean, reason=result["set_aside"][str(position)])
            else:
                found[index] = Match(
                    bucket.name,
                    mean,
                    tuple(members[column] for column in columns),
                    tuple(result["relevance"][position]),
                    tuple(result["similarity"][position]),
                    tuple(result["cosines"][position]),
                )
    return found
