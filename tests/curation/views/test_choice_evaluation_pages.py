"""Pages of multiple-choice evaluations: the table beside the published results, one evaluation, and its download."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.evaluation.choices import ChoiceKey, ChoicePredictions
from curation.models import ChoiceEvaluation, Chooser, QuestionSet, Stage
from curation.pipelines.evaluation.evaluate_choices import measure_predictions
from curation.selectors.choice_evaluations import PREDICTIONS_CSV
from curation.selectors.choice_items import question_set_items
from curation.selectors.jobs import EVALUATE_CHOICES
from curation.services.choice_audits import store_audits
from curation.services.choice_rounds import ChoiceRoundOptions, launch_choice
from hits.models import Job, Project
from tests.support.pages import squeezed
from tests.support.vcr.question_sets import store_synthetic_set

pytestmark = pytest.mark.django_db


@pytest.fixture
def question_set(project: Project) -> QuestionSet:
    return store_synthetic_set(project, {"train-0": 14, "val-0": 22, "test-0": 12}).question_set


def _figures(question_set: QuestionSet, split: str, skill: float) -> dict[str, Any]:
    key = ChoiceKey.from_items(question_set_items(question_set, split))
    rng, n = np.random.default_rng(0), len(key.ids)
    scores = ChoicePredictions(rng.normal(size=(n, 4)), rng.normal(size=(n, 4, 4)))
    scores.answers[np.arange(n), key.answers] += skill
    scores.rationales[np.arange(n), :, key.rationales] += skill
    copies = list(key.ids[:5])
    return measure_predictions(key, scores, {"singular": (copies, scores.take(range(5, 10)))})


def _evaluation(
    question_set: QuestionSet, label: str = "Tuned", split: str = "val", *, skill: float = 2.0
) -> ChoiceEvaluation:
    return ChoiceEvaluation.objects.create(
        project=question_set.project,
        question_set=question_set,
        split=split,
        source="predictions",
        label=label,
        figures=_figures(question_set, split, skill),
        provenance={"question_set": question_set.name, "file": "mine.csv"},
    )


def _get(client: Client, name: str, *arguments: Any, query: str = "") -> str:
    response = client.get(reverse(name, args=arguments) + query)
    assert response.status_code == 200
    return squeezed(response)


def test_page_without_evaluations_shows_the_published_results(
    client: Client, researcher: User, project: Project
) -> None:
    client.force_login(researcher)
    page = _get(client, "choice-evaluations", project.slug)
    assert "Nothing evaluated yet" in page
    for text in ("R2C, no vision", "Ablations of R2C", "MUTAN with BERT", "Zellers et al. 2019, table 6"):
        assert text in page


def test_ours_stand_beside_the_published_results_of_the_split(
    client: Client, researcher: User, question_set: QuestionSet
) -> None:
    row, other = _evaluation(question_set), _evaluation(question_set, "On test", "test")
    client.force_login(researcher)
    slug = question_set.project.slug
    page = _get(client, "choice-evaluations", slug, query=f"?of={question_set.pk}:val")
    value = row.figures["choices"]["q_ar"]
    assert f"{value['value']:.1f}" in page
    assert f"{value['low']:.1f} to {value['high']:.1f}" in page
    assert "Q→AR: both are right" in page
    assert "63.8" in page
    assert "65.1" not in page
    assert "People, published 91.0" in page, "the paper has people's figures on test alone"
    of_test = _get(client, "choice-evaluations", slug, query=f"?of={question_set.pk}:test")
    assert "65.1" in of_test
    assert "People, published 91.0" in of_test
    assert reverse("choice-evaluation", args=[slug, other.pk]) in of_test


def test_page_needs_few_queries(
    client: Client, researcher: User, question_set: QuestionSet, django_assert_max_num_queries: Any
) -> None:
    for number in range(6):
        _evaluation(question_set, f"Model {number}")
    client.force_login(researcher)
    address = reverse("choice-evaluations", args=[question_set.project.slug])
    client.get(address)
    with django_assert_max_num_queries(15):
        assert client.get(address).status_code == 200


def test_evaluation_shows_rounds_drops_and_the_joint_choice(
    client: Client, researcher: User, question_set: QuestionSet
) -> None:
    row = _evaluation(question_set)
    client.force_login(researcher)
    page = _get(client, "choice-evaluation", question_set.project.slug, row.pk)
    for text in (
        "Wrong choices by match round",
        "Changed copy: singular",
        "A whole fold chosen together",
        "mine.csv",
        "95% bootstrap intervals over",
    ):
        assert text in page
    assert f"{row.figures['rounds']['answer']['2']['right_above']:.1f}" in page
    assert "Download predictions" not in page


def test_unfinished_evaluation_has_no_figures(
    client: Client, researcher: User, question_set: QuestionSet
) -> None:
    row = ChoiceEvaluation.objects.create(
        project=question_set.project, question_set=question_set, source="judgments", label="People"
    )
    client.force_login(researcher)
    assert "No figures yet" in _get(client, "choice-evaluation", question_set.project.slug, row.pk)
    assert "Not finished" in _get(client, "choice-evaluations", question_set.project.slug)


def test_predictions_are_downloaded(client: Client, researcher: User, question_set: QuestionSet) -> None:
    row = _evaluation(question_set)
    address = reverse("choice-evaluation-predictions", args=[question_set.project.slug, row.pk])
    client.force_login(researcher)
    assert client.get(address).status_code == 404
    folder = Path(settings.MEDIA_ROOT) / "choice-evaluations" / str(row.pk)
    folder.mkdir(parents=True)
    (folder / PREDICTIONS_CSV).write_text("annot_id\n")
    ChoiceEvaluation.objects.filter(pk=row.pk).update(path=f"choice-evaluations/{row.pk}")
    response = client.get(address)
    assert b"".join(response.streaming_content) == b"annot_id\n"  # type: ignore[attr-defined]
    assert "Download predictions" in _get(client, "choice-evaluation", question_set.project.slug, row.pk)


def test_people_are_measured_by_a_form(client: Client, researcher: User, question_set: QuestionSet) -> None:
    address = reverse("choice-evaluations", args=[question_set.project.slug])
    given = {"question_set": question_set.pk, "split": "val"}
    client.force_login(researcher)
    refused = client.post(address, given)
    assert refused.status_code == 400
    assert "people were not asked yet" in refused.content.decode()
    store_audits(question_set=question_set, audits={"over": []}, by=None)
    options = ChoiceRoundOptions(stage=Stage.ANSWER, sample=4, accept_stand_in=True)
    launch_choice(question_set=question_set, options=options, by=None)
    assert client.post(address, given).status_code == 302
    row = ChoiceEvaluation.objects.get()
    assert (row.source, row.split, row.label) == ("judgments", "val", "People")
    assert Job.objects.filter(task=EVALUATE_CHOICES).count() == 1
    assert "Not started" in client.post(address, given).content.decode()  # it is running


def test_chooser_is_evaluated_by_a_form(client: Client, researcher: User, question_set: QuestionSet) -> None:
    chooser = Chooser.objects.create(
        project=question_set.project,
        name="Words",
        question_set=question_set,
        figures={"answer": {}, "rationale": {}},
        weights_sha256="0" * 64,
        is_ready=True,
    )
    address = reverse("choice-evaluations", args=[question_set.project.slug])
    given = {"subject": chooser.pk, "question_set": question_set.pk, "split": "train"}
    client.force_login(researcher)
    refused = client.post(address, given)
    assert refused.status_code == 400
    assert "was trained on the questions of train" in refused.content.decode()
    assert client.post(address, given | {"split": "test"}).status_code == 302
    row = ChoiceEvaluation.objects.get()
    assert (row.source, row.split, row.label) == ("scorer", "test", "Words")


@pytest.mark.parametrize("name", ["choice-evaluations", "choice-evaluation", "choice-evaluation-predictions"])
def test_pages_are_for_members_of_the_project(
    client: Client, make_user: Callable[..., User], outsider: User, question_set: QuestionSet, name: str
) -> None:
    row = _evaluation(question_set)
    arguments = [question_set.project.slug] + ([] if name == "choice-evaluations" else [row.pk])
    address = reverse(name, args=arguments)
    for user in (outsider, make_user("nobody")):
        client.force_login(user)
        assert client.get(address).status_code in {403, 404}
        assert client.post(address, {"question_set": question_set.pk}).status_code in {403, 404, 405}
    client.logout()
    assert client.get(address).status_code == 302
    assert not Job.objects.filter(task=EVALUATE_CHOICES).exists()
