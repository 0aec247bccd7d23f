"""Audits of shortcuts on a sealed version: what texts alone give, as rows beside any evaluation."""

import io
import json
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from curation.evaluation.shortcuts import LABELS, Shortcut
from curation.families.sherlock.evaluation_plan import EvaluationSetOptions
from curation.models import DatasetVersion, Evaluation, EvaluationSource
from curation.pipelines.evaluation import evaluate_shortcuts
from curation.selectors.evaluations import predictions_file, read_comparison_scores
from curation.services import versions as services
from curation.services.evaluations import (
    EvaluationOptions,
    request_baseline_evaluation,
    request_file_evaluation,
)
from curation.services.shortcuts import ShortcutOptions, request_shortcuts
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.curation.sealed import CANDIDATES, LetterSentences, inference_of, sealed_version
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


WORDS = (
    "kite",
    "bread",
    "ladder",
    "violin",
    "snow",
    "ferry",
    "lamp",
    "goat",
    "brick",
    "piano",
    "tent",
    "whale",
)


def answer(number: int, *, same: bool) -> dict[str, Any]:
    return {
        "observations": [
            {
                "index": at,
                "clue": f"a {WORDS[(number + 4 * at) % 12]} {WORDS[(3 * number + at) % 12]} {number}",
                "inference": f"a {WORDS[(number + 4 * at) % 12]} {WORDS[(3 * number + at) % 12]} {number}"
                if same
                else f"somebody will see the {WORDS[(5 * number + 7 * at) % 12]} {number * at} tomorrow.",
                "confidence": at,
                "boxes": [{"left": 2 * at, "top": at, "width": 10 + at, "height": 9}],
            }
            for at in (1, 2, 3)
        ]
    }


def version_of(work: Work, *, same: bool, photos: int = 6, name: str = "v1") -> DatasetVersion:
    for seed in range(1, photos + 1):
        image = work.image(seed, split="test", source_url=f"https://photos.example/{name}/{seed}.png")
        work.observed(image, worker=f"W{seed % 3}", answer=answer(seed, same=same))
    return services.create_sealed_version(project=work.project, name=name, by=None)


@pytest.fixture(autouse=True)
def _by_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate_shortcuts, "sentence_encoder", LetterSentences)


def audited(version: DatasetVersion, *which: Shortcut, seed: int = 0) -> Job:
    options = ShortcutOptions(split="test", seed=seed, which=tuple(one.value for one in which))
    return jobs.run_in_process(job=request_shortcuts(version=version, options=options, by=None, queue=False))


def measured(version: DatasetVersion, *which: Shortcut, seed: int = 0) -> list[Evaluation]:
    job = audited(version, *which, seed=seed)
    assert job.state == JobState.DONE, job.error
    return list(Evaluation.objects.filter(pk__in=job.result["evaluations"]).order_by("pk"))


def test_clues_that_reveal_the_inference_are_detected(work: Work) -> None:
    (row,) = measured(version_of(work, same=True), Shortcut.TEXT_ONLY)
    assert row.figures["retrieval"]["p_at_1"]["value"] == 100.0
    assert row.figures["retrieval"]["im2txt"]["value"] == 1.0
    assert row.figures["localization"]["gt_accuracy"]["value"] == 100.0
    assert row.figures["localization"]["auto_accuracy"]["value"] is None
    assert (row.source, row.label) == (EvaluationSource.BASELINE, LABELS[Shortcut.TEXT_ONLY])
    assert row.provenance["sentence_encoder"] == "letters"
    assert "comparison" not in row.figures


def test_unrelated_clues_are_not_detected(work: Work) -> None:
    (row,) = measured(version_of(work, same=False), Shortcut.TEXT_ONLY)
    assert row.figures["retrieval"]["p_at_1"]["value"] < 50


def test_a_prior_over_inferences_ranks_each_at_its_own_place_whatever_the_image(work: Work) -> None:
    (row,) = measured(version_of(work, same=True), Shortcut.ANSWER_PRIOR)
    retrieval = row.figures["retrieval"]
    n = retrieval["instances"]
    assert retrieval["im2txt"]["value"] == pytest.approx((n + 1) / 2)
    assert retrieval["txt2im"]["value"] == pytest.approx((n + 1) / 2)
    assert retrieval["p_at_1"]["value"] == pytest.approx(100 / n)
    assert row.figures["localization"]["gt_accuracy"]["value"] < 100  # an assignment is drawn, not read off


def test_other_seed_is_a_separate_labelled_row(work: Work) -> None:
    version = version_of(work, same=True)
    (first,) = measured(version, Shortcut.RANDOM)
    (other,) = measured(version, Shortcut.RANDOM, seed=5)
    assert (first.label, other.label) == ("Random", "Random (seed 5)")
    assert other.figures != first.figures


def test_a_baseline_is_one_row_however_often_it_is_measured(work: Work) -> None:
    version = version_of(work, same=True)
    first = measured(version, Shortcut.RANDOM, Shortcut.TEXT_ONLY)
    again = measured(version, Shortcut.RANDOM, Shortcut.TEXT_ONLY)
    assert [row.pk for row in first] == [row.pk for row in again]
    assert Evaluation.objects.filter(project=work.project).count() == 2


def test_separately_evaluated_chance_is_the_same_row(work: Work) -> None:
    version = version_of(work, same=True)
    row = request_baseline_evaluation(
        project=work.project, by=None, version=version, split="test", queue=False
    )
    assert row.job is not None
    jobs.run_in_process(job=row.job)
    assert [one.pk for one in measured(version, Shortcut.RANDOM)] == [row.pk]


def test_scores_can_be_taken_along_and_score_the_same_as_a_submission(work: Work) -> None:
    (row,) = measured(version_of(work, same=True), Shortcut.TEXT_ONLY)
    path = predictions_file(row)
    assert path is not None
    again = request_file_evaluation(
        project=work.project, by=None, version=row.version, split="test", predictions=path,
        options=EvaluationOptions(label="sent in", proposals=0), queue=False,
    )  # fmt: skip
    assert again.job is not None
    job = jobs.run_in_process(job=again.job)
    assert job.state == JobState.DONE, job.error
    again.refresh_from_db()
    assert again.figures == row.figures


def test_candidates_are_scored_by_the_clue_of_their_region(work: Work) -> None:
    images = [work.image(seed, split="test") for seed in range(1, 9)]
    version = sealed_version(work.project, images)
    (row,) = measured(version, Shortcut.TEXT_ONLY)
    scores = read_comparison_scores(row)
    assert len(scores) == 8 * CANDIDATES
    assert row.figures["comparison"]["images"] == 8
    (pair, other), score = next(iter(scores.items()))
    vectors = LetterSentences().encode_texts([f"thing {int(pair, 16)}", inference_of(int(other, 16))])
    assert score == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)


def test_answer_prior_does_not_rank_clues(work: Work) -> None:
    version = version_of(work, same=True)
    with pytest.raises(Refused, match="ranks inferences only; use inference"):
        request_baseline_evaluation(
            project=work.project, by=None, version=version, split="test", shortcut=Shortcut.TEXT_ONLY,
            options=EvaluationOptions(sets=EvaluationSetOptions(texts="clue")), queue=False,
        )  # fmt: skip


def test_unavailable_model_ends_audit_and_keeps_results(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> LetterSentences:
        raise Refused("all-MiniLM-L6-v2: cannot be loaded")

    monkeypatch.setattr(evaluate_shortcuts, "sentence_encoder", absent)
    version = version_of(work, same=True)
    job = audited(version, Shortcut.RANDOM, Shortcut.TEXT_ONLY)
    assert job.state == JobState.FAILED
    assert "all-MiniLM-L6-v2: cannot be loaded" in job.error
    monkeypatch.setattr(evaluate_shortcuts, "sentence_encoder", LetterSentences)
    assert len(measured(version, Shortcut.RANDOM, Shortcut.TEXT_ONLY)) == 2
    assert Evaluation.objects.filter(project=work.project).count() == 2


def test_too_few_other_pairs_leave_the_trained_baseline_out(work: Work) -> None:
    assert measured(version_of(work, same=True), Shortcut.TEXT_TRAINED) == []


def test_a_trained_map_is_learned_on_other_splits_alone(work: Work) -> None:
    for seed in range(1, 19):
        image = work.image(100 + seed, split="train", source_url=f"https://photos.example/t/{seed}.png")
        work.observed(image, worker="W9", answer=answer(seed + 40, same=True))
    (row,) = measured(version_of(work, same=True), Shortcut.TEXT_TRAINED)
    assert row.provenance["training_pairs"] == 54
    assert row.figures["retrieval"]["p_at_1"]["value"] > 50


def test_pairs_on_photos_taken_down_train_nothing_and_the_other_baselines_go_on(work: Work) -> None:
    for seed in range(1, 19):
        image = work.image(100 + seed, split="train", source_url=f"https://photos.example/t/{seed}.png")
        work.observed(image, worker="W9", answer=answer(seed + 40, same=True))
    version = version_of(work, same=True)
    trained = Image.objects.filter(project=work.project, split="train")
    trained.filter(pk__in=list(trained.values_list("pk", flat=True)[:2])).update(taken_down_at=work.clock)
    (row,) = measured(version, Shortcut.TEXT_TRAINED, Shortcut.ANSWER_PRIOR)
    assert row.label == LABELS[Shortcut.ANSWER_PRIOR]
    assert row.provenance["training_pairs"] == 48
    trained.update(taken_down_at=work.clock)
    (row,) = measured(version, Shortcut.TEXT_ONLY)
    assert row.provenance["training_pairs"] == 0


def test_stopped_evaluation_does_not_hide_finished_one(work: Work) -> None:
    version = version_of(work, same=True)
    (row,) = measured(version, Shortcut.RANDOM)
    stopped = request_baseline_evaluation(
        project=work.project, by=None, version=version, split="test", queue=False
    )
    Job.objects.filter(evaluation=stopped).update(state=JobState.CANCELLED)
    assert measured(version, Shortcut.RANDOM) == [row]
    stopped.refresh_from_db()
    assert not stopped.figures


def test_ratings_are_foretold_across_photos_only(work: Work) -> None:
    rows = [
        {
            "image": {"url": f"u{at}"},
            "candidates": [
                {"inference": f"word {word}", "annot1": 1.0 + (word % 3), "annot2": 1.0 + (word % 3)}
                for word in range(10)
            ],
        }
        for at in range(6)
    ]
    names = sorted({one["inference"] for row in rows for one in row["candidates"]})
    basis = dict(zip(names, np.eye(len(names)), strict=True))
    texts = evaluate_shortcuts._TextVectors(basis)
    values = evaluate_shortcuts._predict_ratings(rows, texts, np.random.default_rng(0))
    assert values is not None
    given = np.array([one["annot1"] for row in rows for one in row["candidates"]])
    assert np.corrcoef(values, given)[0, 1] > 0.99  # the same words are rated alike on every photo
    assert evaluate_shortcuts._predict_ratings(rows[:1], texts, np.random.default_rng(0)) is None


def test_command_prints_figures_and_their_meaning(work: Work) -> None:
    version = version_of(work, same=True)
    out = io.StringIO()
    arguments = ("--project", work.project.slug, "--version", version.name, "--only", "random,text_only")
    call_command("audit_shortcuts", *arguments, "--json", stdout=out, stderr=io.StringIO())
    found = json.loads(out.getvalue())
    assert [row["label"] for row in found["baselines"]] == ["Random", LABELS[Shortcut.TEXT_ONLY]]
    assert "The more a baseline exceeds Random" in found["meaning"]
    out = io.StringIO()
    call_command("audit_shortcuts", *arguments, stdout=out, stderr=io.StringIO())
    assert "P@1 100.0" in out.getvalue()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--only", "guess"), "shortcuts: guess; use random, text_only, text_trained, answer_prior"),
        (("--split", "val"), "split: v1 has no pair in val; it has test"),
        (("--split", "dev2"), "--split 'dev2': use train, val or test"),
        (("--seed=-1",), "seed: -1 is too few"),
    ],
)
def test_bad_input_is_one_line(work: Work, flags: tuple[str, ...], message: str) -> None:
    version = version_of(work, same=True, photos=1)
    with pytest.raises(CommandError) as caught:
        call_command("audit_shortcuts", "--project", work.project.slug, "--version", version.name, *flags)
    assert caught.value.returncode == 2
    assert str(caught.value).startswith(message)


def test_photos_that_were_taken_down_are_not_audited(work: Work) -> None:
    version = version_of(work, same=True)
    Image.objects.filter(project=work.project).update(taken_down_at=work.clock)
    job = audited(version, Shortcut.RANDOM)
    assert "has no pair on an available photo" in job.error


def test_a_draft_is_refused(project: Project) -> None:
    version = services.create_version(project=project, name="v9", by=None)
    with pytest.raises(CommandError, match=r"v9 is a draft"):
        call_command("audit_shortcuts", "--project", project.slug, "--version", version.name)
