"""A job in which a chat model grades explanations against references, text only (Ventura et al. 2025 §4.2).

Beside the grades of candidates stand checks of the judge: gold explanations of other triplets (about 0), and people's
own explanations, each against the other references.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from curation.evaluation.nleye_explanations import GradedExplanation, judge_figures
from curation.evaluation.nleye_replies import PARSER_VERSION, read_grade
from curation.generation.chat import STOP
from curation.generation.errors import CallFailed
from curation.models import ExplanationGrade, TripletEvaluation
from curation.pipelines.triplets.calls import ProviderRefused, run_parallel
from curation.pipelines.triplets.chat_runner import ChatRunner, load_runner, summarize_calls
from curation.pipelines.triplets.explanation_similarity import ReferenceSimilarity
from curation.pipelines.triplets.judge_tasks import CANDIDATE, OTHER, PEOPLE, JudgeTask, judge_tasks
from curation.selectors.triplets.evaluations import EvaluatedTriplet, version_triplets
from curation.selectors.triplets.explanations import JudgedExplanation, judged_explanations
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.evaluations import finish_evaluation
from curation.services.triplets.explanation_rounds import take_in_crowd_explanations
from curation.services.triplets.judging import JudgeOptions, store_grades, take_in_model_explanations
from curation.services.triplets.model_calls import CapReached, lose_calls
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"grade": {"type": "integer", "minimum": 0, "maximum": 2}},
    "required": ["grade"],
    "additionalProperties": False,
}


def judge_explanations(progress: Progress) -> dict[str, Any]:
    """Run a job: collect the missing grades, then compute the judge's figures.

    Raises:
        Refused: there is nothing to grade, or a call failed for good.
    """
    rows = TripletEvaluation.objects.select_related("project", "version", "run")
    evaluation = rows.get(pk=progress.job.args["evaluation"])
    assert evaluation.version is not None
    assert evaluation.run is not None
    options = JudgeOptions(**evaluation.options)
    take_in_crowd_explanations(evaluation.project)
    take_in_model_explanations(evaluation.project)
    triplets = {row.id: row for row in version_triplets(evaluation.version)}
    explained = _explanations_by_triplet(evaluation, triplets)
    tasks = list(judge_tasks(triplets, explained, options.repeats))
    if not any(task.purpose == CANDIDATE for task in tasks):
        raise Refused("explanations: none is there to grade; evaluate a model in the setup triplet first")
    with refuse_invalid_input():
        similarity = ReferenceSimilarity(options) if options.bertscore else None  # before a call costs
    lose_calls(run=evaluation.run)
    graded = ExplanationGrade.objects.filter(evaluation=evaluation)
    done = set(graded.values_list("explanation", "purpose", "repeat"))
    waiting = [task for task in tasks if task.slot not in done]
    models = (
        graded.exclude(call__model="").exclude(call=None).values_list("call__model", flat=True).distinct()
    )
    stopped = ""
    with refuse_invalid_input():
        runner = load_runner(evaluation.run, options, progress, models=models)
        try:
            grades = run_parallel(
                waiting, lambda task: _grade(evaluation, runner, task), threads=options.threads
            )
            for number, grade in enumerate(grades, start=len(done) + 1):
                store_grades(grades=[grade])
                progress.advance(number, len(tasks))
        except CapReached as error:
            stopped = str(error)
    prompt = runner.prompts["judge"]
    finish_evaluation(
        evaluation=evaluation,
        figures=_figures(evaluation, explained, similarity.measure(tasks) if similarity else {}),
        provenance={
            **({"bertscore": similarity.provenance} if similarity else {}),
            "models": sorted(runner.models),
            "prompts": {prompt.version: prompt.sha256},
            "parser": PARSER_VERSION,
            "stopped": stopped,
        },
    )
    return {
        "evaluation": evaluation.pk,
        "grades": graded.count(),
        **summarize_calls(evaluation.run, stopped),
    }


def _explanations_by_triplet(
    evaluation: TripletEvaluation, triplets: Mapping[str, EvaluatedTriplet]
) -> dict[str, list[JudgedExplanation]]:
    found: dict[str, list[JudgedExplanation]] = defaultdict(list)
    for row in judged_explanations(evaluation.project):
        if row.row.triplet.public_id in triplets:
            found[row.row.triplet.public_id].append(row)
    return found


def _grade(evaluation: TripletEvaluation, runner: ChatRunner, task: JudgeTask) -> ExplanationGrade:
    prompt, row = runner.prompts["judge"], task.triplet.row
    references = list(task.references)
    # Another order in each repeat, so that a grade does not depend on the place of a reference.
    seed = hashlib.sha256(f"{task.triplet.id} {task.explanation.row.public_id} {task.repeat}".encode())
    Random(seed.digest()).shuffle(references)  # noqa: S311 - an order, no secret
    text = prompt.text(
        premise=row["premise_description"],
        h1=row["hypothesis1_description"],
        h2=row["hypothesis2_description"],
        gold=str(row["gold"]),
        references="\n".join(f"- {reference}" for reference in references),
        candidate=task.explanation.row.text,
    )
    grade, call = None, None
    try:
        asked = runner.ask(
            (text,),
            system=prompt.system,
            schema=SCHEMA,
            subject=f"grade {task.purpose} {task.explanation.row.public_id}, {task.repeat}",
            is_readable=lambda found: read_grade(found.text, found.finish or STOP).value is not None,
            repeat=task.repeat - 1,
        )
        call = asked.last
        value = read_grade(call.text, call.finish or STOP).value
        grade = None if value is None else int(value)
    except ProviderRefused as refusal:
        call = refusal.call  # a missing grade, which is counted
    except CallFailed as error:
        raise Refused(f"{error}; to go on later, resume the job") from error
    return ExplanationGrade(
        evaluation=evaluation,
        explanation=task.explanation.row,
        purpose=task.purpose,
        repeat=task.repeat,
        grade=grade,
        call=call,
    )


def _figures(
    evaluation: TripletEvaluation,
    explained: Mapping[str, Sequence[JudgedExplanation]],
    similarity: Mapping[tuple[str, int], float],
) -> dict[str, Any]:
    """Return the judge's figures over all candidates, and its score of each evaluated model.

    similarity: BERTScore by purpose and explanation; empty if it is not measured.
    """
    grades: dict[tuple[str, int], list[int | None]] = defaultdict(list)
    for row in ExplanationGrade.objects.filter(evaluation=evaluation).order_by("repeat"):
        grades[row.purpose, row.explanation_id].append(row.grade)
    known = {row.row.pk: row for rows in explained.values() for row in rows}
    by_purpose: dict[str, list[GradedExplanation]] = defaultdict(list)
    by_model: dict[str, list[GradedExplanation]] = defaultdict(list)
    for (purpose, key), given in sorted(grades.items()):
        found = known.get(key)
        if found is None:
            continue
        votes = found.votes.valid if found.votes.voters else None
        words = len(found.row.text.split())
        graded = GradedExplanation(tuple(given), votes, words, similarity.get((purpose, key)))
        by_purpose[purpose].append(graded)
        prediction = found.row.prediction
        if purpose == CANDIDATE and prediction is not None:
            parts = (prediction.evaluation.label, prediction.evaluation.strategy)
            by_model[", ".join(filter(None, parts))].append(graded)
    checks = {name: by_purpose[name] for name in (OTHER, PEOPLE)}
    return {
        "judge": judge_figures(by_purpose[CANDIDATE], checks),
        "models": {name: judge_figures(rows) for name, rows in sorted(by_model.items())},
    }
