"""Error analyses: asked for, made from an evaluation's scores, shown with photos that still stand."""

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from numpy.typing import NDArray

from curation.models import ErrorAnalysis, Evaluation, EvaluationSource
from curation.pipelines.evaluation import error_analysis
from curation.selectors.error_analyses import comparison_items, gallery
from curation.services.error_analysis import ErrorOptions, request_error_analysis
from hits.domain.states import JobState
from hits.models import Image, Project
from hits.selectors.jobs import can_resume, is_refused
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support.curation.fakes import Colours
from tests.support.curation.sealed import LetterSentences, sealed_version
from validation.domain.reports import leaderboard

pytestmark = pytest.mark.django_db
PHOTOS = 13


class Pictures(Colours):
    """Colours as vectors of length 1."""

    def encode_images(self, pictures: Any) -> NDArray[np.floating]:
        rows = super().encode_images(pictures)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scores_of(evaluation: Evaluation) -> dict[str, float]:
    """Candidates ordered as people do on the first seven photos, the other way round on the rest."""
    scores = {}
    for at, (name, one) in enumerate(comparison_items(evaluation.version).items()):
        for place, candidate in enumerate(one.row["candidates"]):
            way = 1 if at < 7 else -1
            scores[leaderboard.make_test_id(name, candidate["source_iid"])] = (
                way * candidate["annot1"] + (place - at) / 100
            )
    return scores


@pytest.fixture
def evaluation(
    project: Project, make_image: Callable[..., Image], monkeypatch: pytest.MonkeyPatch
) -> Evaluation:
    """Scores of rated sets, one of each photo, on whose order two people agree."""
    version = sealed_version(project, [make_image(seed=seed) for seed in range(PHOTOS)])
    monkeypatch.setattr(error_analysis, "comparison_scores", scores_of)
    return Evaluation.objects.create(
        project=project,
        version=version,
        split="test",
        source=EvaluationSource.BASELINE.value,
        label="Half right",
        figures={"comparison": {"images": PHOTOS}, "retrieval": {}},
        path="evaluations/1",
        sha256="ef" * 32,
    )


@pytest.fixture
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoders that need no weights, and few permutations."""
    monkeypatch.setattr(error_analysis, "PERMUTATIONS", 5)
    monkeypatch.setattr(error_analysis, "get_image_encoder", lambda name: Pictures())
    monkeypatch.setattr(error_analysis, "sentence_encoder", LetterSentences)


def analysed(evaluation: Evaluation, **options: Any) -> ErrorAnalysis:
    row = request_error_analysis(evaluation=evaluation, options=ErrorOptions(**options), by=None, queue=False)
    assert row.job is not None
    job = jobs.run_in_process(job=row.job)
    assert job.state == JobState.DONE, job.error
    row.refresh_from_db()
    return row


@pytest.mark.usefixtures("small_models")
def test_analysis_has_aucs_folds_and_provenance(evaluation: Evaluation) -> None:
    row = analysed(evaluation)
    figures = row.figures
    assert (figures["asked"], figures["kept"]) == (PHOTOS, PHOTOS)
    assert figures["above"] == 7
    assert list(figures["predictors"]) == ["image", "text", "agreement"]
    for area in figures["predictors"].values():
        chance = area["chance"]
        assert 0 <= chance["low"] <= chance["high"] <= 100
        assert 1 / 6 <= chance["p"] <= 1
        assert 0 <= area["value"] <= 100
        assert len(area["folds"]) == 5
    assert figures["predictors"]["image"]["paper"] == 55.0
    assert row.provenance["image_encoder"] == "colours"
    assert row.provenance["version_seal"] == evaluation.version.manifest_sha256
    assert row.provenance["evaluation_sha256"] == evaluation.sha256


@pytest.mark.usefixtures("small_models")
def test_analysis_is_deterministic_and_constant_agreement_predicts_nothing(evaluation: Evaluation) -> None:
    first, again = analysed(evaluation), analysed(evaluation)
    assert (first.figures, first.galleries) == (again.figures, again.galleries)
    assert first.figures["predictors"]["agreement"]["value"] == 50.0  # all images have the same agreement
    assert analysed(evaluation, seed=3).figures != first.figures


@pytest.mark.usefixtures("small_models")
def test_galleries_store_ids_and_show_available_photos(evaluation: Evaluation) -> None:
    row = analysed(evaluation)
    kept = row.galleries["false_positives"]
    rows = comparison_items(evaluation.version, "test")
    texts = {text for one in rows.values() for text in one.inferences.values()}
    assert kept
    assert not any(text in json.dumps(row.galleries) for text in texts)
    shown = gallery(row, "false_positives")
    assert [one.instance for one in shown] == [one["instance"] for one in kept]
    first = shown[0]
    assert first.image is not None
    assert first.inference in texts
    assert first.boxes
    assert (first.ratings, first.rank, first.candidates) == ((1.0, 1.0), 1.0, 6)
    Image.objects.filter(pk=first.image.id).update(taken_down_at=evaluation.created_at)
    gone = gallery(row, "false_positives")[0]
    assert (gone.image, gone.inference, gone.gold, gone.boxes) == (None, "", "", ())


@pytest.mark.usefixtures("small_models")
def test_photos_that_were_taken_down_since_are_left_out(evaluation: Evaluation) -> None:
    some = Image.objects.filter(project=evaluation.project).order_by("-pk").first()
    assert some is not None
    Image.objects.filter(pk=some.pk).update(taken_down_at=evaluation.created_at)
    assert analysed(evaluation).figures["asked"] == PHOTOS - 1


@pytest.mark.usefixtures("small_models")
def test_too_few_images_fail_the_job_with_advice(evaluation: Evaluation) -> None:
    some = Image.objects.filter(project=evaluation.project).order_by("pk")[:5]
    Image.objects.filter(pk__in=[image.pk for image in some]).update(taken_down_at=evaluation.created_at)
    row = request_error_analysis(evaluation=evaluation, options=ErrorOptions(), by=None, queue=False)
    assert row.job is not None
    job = jobs.run_in_process(job=row.job)
    assert job.state == JobState.FAILED
    assert job.error.startswith("images: 8 of 8 have human agreement above 30")
    assert is_refused(job)
    assert not can_resume(job), "it would end the same way"


@pytest.mark.usefixtures("small_models")
def test_a_refused_analysis_is_called_refused_and_not_offered_again(
    evaluation: Evaluation, client: Client, researcher: User
) -> None:
    some = Image.objects.filter(project=evaluation.project).order_by("pk")[:5]
    Image.objects.filter(pk__in=[image.pk for image in some]).update(taken_down_at=evaluation.created_at)
    with pytest.raises(CommandError, match="images: 8 of 8 have human agreement") as refusal:
        call_command("analyse_errors", str(evaluation.pk), stderr=io.StringIO())
    assert "--resume" not in str(refusal.value)
    client.force_login(researcher)
    page = client.get(reverse("evaluation", args=[evaluation.project.slug, evaluation.pk])).content.decode()
    assert ", refused: images: 8 of 8" in page
    assert "stopped with an error" not in page


def test_unsuitable_evaluation_is_refused(evaluation: Evaluation) -> None:
    def refused(**changes: Any) -> str:
        Evaluation.objects.filter(pk=evaluation.pk).update(**changes)
        evaluation.refresh_from_db()
        with pytest.raises(Refused) as caught:
            request_error_analysis(evaluation=evaluation, options=ErrorOptions(), by=None, queue=False)
        return str(caught.value)

    without = {key: value for key, value in evaluation.figures.items() if key != "comparison"}
    assert "has no comparison task" in refused(figures=without)
    assert "has no scores of single candidates" in refused(path="")
    assert "human judgments" in refused(source=EvaluationSource.JUDGMENTS.value)
    assert "has no figures yet" in refused(figures={})
    assert not ErrorAnalysis.objects.exists()


def test_one_analysis_of_an_evaluation_at_a_time(evaluation: Evaluation) -> None:
    request_error_analysis(evaluation=evaluation, options=ErrorOptions(), by=None, queue=False)
    with pytest.raises(Conflict, match="is running already"):
        request_error_analysis(evaluation=evaluation, options=ErrorOptions(), by=None, queue=False)
    assert ErrorAnalysis.objects.count() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agreement": 100.0}, "agreement: 100 leaves no image"),
        ({"seed": -1}, "seed: -1"),
        ({"shown": 0}, "shown: 0; use 1 to 48"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as caught:
        ErrorOptions(**options)
    assert str(caught.value).startswith(message)


@pytest.mark.usefixtures("small_models")
def test_command_prints_our_and_the_papers_aucs(evaluation: Evaluation) -> None:
    out = io.StringIO()
    call_command("analyse_errors", str(evaluation.pk), stdout=out, stderr=io.StringIO())
    assert f"{PHOTOS} of {PHOTOS} images" in out.getvalue()
    assert out.getvalue().count("; paper 5") == 3
    with pytest.raises(CommandError, match="evaluation: 999 is not known") as caught:
        call_command("analyse_errors", "999")
    assert caught.value.returncode == 2
