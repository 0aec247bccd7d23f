"""A judge that grades explanations: what it is asked, its repeats, and its agreement with people."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median_low
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.evaluation.bertscore import greedy_f1, rescale_to_baseline
from curation.families.nleye import rows as version_rows
from curation.generation.canned import MadeUpReplies
from curation.generation.chat import ChatReply, ChatRequest
from curation.models import (
    ExplanationGrade,
    ExplanationSource,
    ImageTriplet,
    ModelCall,
    TripletEvaluation,
    TripletExplanation,
)
from curation.pipelines.evaluation.evaluate_bertscore import BertScoreOptions, TokenEncoder
from curation.selectors.triplets.explanations import judged_explanations
from curation.services.triplets.judging import take_in_model_explanations
from curation.services.triplets.triplets import write_gold_explanation
from curation.services.versions import create_sealed_version
from hits.models import Project
from tests.support.curation.fakes import save_tiny_bert
from tests.support.nleye_jobs import VERSION, evaluate, evaluate_first, grade, refusal, sealed_triplets
from tests.support.nleye_stored import explain, judge_explanations, store_triplets
from tests.support.undone import undone

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ChatRequest]:
    """Return the requests to the made-up replies in their order."""
    requests: list[ChatRequest] = []
    real = MadeUpReplies.reply

    def note(self: MadeUpReplies, request: ChatRequest) -> ChatReply:
        requests.append(request)
        return real(self, request)

    monkeypatch.setattr(MadeUpReplies, "reply", note)
    return requests


def prepare(project: Project, by: User, count: int) -> None:
    """Seal triplets, evaluate the made-up replies, and let three people tick half of the explanations."""
    sealed_triplets(project, count, by, choices=("right", "right", "wrong"))
    evaluate_first(project)
    judge_explanations(project, by, lambda ids: sorted(ids)[::2])


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Return Cohen's kappa by its definition."""
    n = len(pairs)
    same = sum(one == other for one, other in pairs) / n
    ours, theirs = sum(one for one, _ in pairs) / n, sum(other for _, other in pairs) / n
    chance = ours * theirs + (1 - ours) * (1 - theirs)
    return None if chance == 1 else (same - chance) / (1 - chance)


def test_agreement_and_flips_are_those_of_the_stored_grades(project: Project, researcher: User) -> None:
    prepare(project, researcher, 4)
    figures = grade(project, repeats=3)["figures"]["judge"]
    grades: dict[int, list[int | None]] = defaultdict(list)
    for row in ExplanationGrade.objects.filter(purpose="candidate"):
        grades[row.explanation_id].append(row.grade)
    votes = {row.row.pk: row.votes for row in judged_explanations(project)}
    pairs, flips = [], 0
    for key, given in grades.items():
        assert len(given) == 3
        known = [value for value in given if value is not None]
        if votes[key].voters:
            pairs.append((median_low(known) == 2, votes[key].valid > 0))
        flips += len({value == 2 for value in known}) > 1
    assert figures["explanations"] == figures["repeated"] == len(grades) == 4
    assert figures["compared"] == len(pairs) == 4
    assert figures["agreement"] == pytest.approx(100 * sum(one == other for one, other in pairs) / len(pairs))
    assert figures["cohen_kappa"] == pytest.approx(kappa(pairs))
    assert figures["judge_valid_people_not"] == pairs.count((True, False))
    assert figures["people_valid_judge_not"] == pairs.count((False, True))
    assert figures["flips"] == flips


def test_the_judge_sees_texts_only_and_never_its_candidate_among_the_references(
    project: Project, researcher: User, asked: list[ChatRequest]
) -> None:
    prepare(project, researcher, 3)
    asked.clear()
    found = grade(project, repeats=2)
    rows = {row.row.pk: row for row in judged_explanations(project)}
    assert len(asked) == found["grades"] == ExplanationGrade.objects.count()
    assert not any(request.images for request in asked)
    by_key = {(row.purpose, row.repeat, row.explanation_id): row for row in ExplanationGrade.objects.all()}
    purposes = {purpose for purpose, _, _ in by_key}
    assert purposes == {"candidate", "other_triplet", "people"}
    for (purpose, _, key), grade_row in by_key.items():
        assert grade_row.call is not None
        question = grade_row.call.request["messages"][1]["parts"][0]
        candidate = rows[key].row
        shown = parts(question)
        own = _references(candidate.triplet)
        assert shown[2] == candidate.text
        if purpose == "candidate":
            assert sorted(shown[1]) == sorted(own)
        elif purpose == "people":
            assert sorted(shown[1]) == sorted(set(own) - {candidate.text})
        else:
            other = ImageTriplet.objects.get(project=project, scene__premise=shown[0])
            assert other != candidate.triplet
            assert candidate.source == ExplanationSource.GOLD
            assert sorted(shown[1]) == sorted(_references(other))


def test_a_replaced_gold_explanation_is_no_reference(
    project: Project, researcher: User, asked: list[ChatRequest]
) -> None:
    triplets = store_triplets(project, 2, researcher)
    for triplet in triplets:
        write_gold_explanation(triplet=triplet, text=f"Replaced of {triplet.pk}.", by=researcher)
    explain(triplets, researcher)
    with patch.object(version_rows, "MIN_ANSWERS", 0):
        create_sealed_version(project=project, name=VERSION, by=researcher)
    evaluate_first(project)
    asked.clear()
    grade(project, repeats=1)
    assert asked
    assert not [text for request in asked for text in request.texts if "Replaced of" in text]
    assert ExplanationGrade.objects.filter(purpose="other_triplet").count() == len(triplets)


def parts(text: str) -> tuple[str, list[str], str]:
    """Return premise, references and candidate of a question to the judge."""
    lines = text.splitlines()
    references = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    start = "Explanation to grade: "
    premise = next(line for line in lines if line.startswith("premise: ")).removeprefix("premise: ")
    return premise, references, next(line for line in lines if line.startswith(start)).removeprefix(start)


def _references(triplet: ImageTriplet) -> list[str]:
    """Return the gold explanation and those of people with a vote."""
    voted = {row.row.pk for row in judged_explanations(triplet.project) if row.votes.valid}
    rows = TripletExplanation.objects.filter(triplet=triplet)
    return [
        row.text
        for row in rows
        if row.source == ExplanationSource.GOLD or (row.source == ExplanationSource.CROWD and row.pk in voted)
    ]


def test_repeats_are_calls_of_their_own_and_a_second_run_makes_none(
    project: Project, researcher: User, asked: list[ChatRequest]
) -> None:
    sealed_triplets(project, 2, researcher)
    evaluate_first(project)
    for seed in (0, None):
        asked.clear()
        options: dict[str, Any] = {"repeats": 3, "seed": seed}
        found = grade(project, **options)
        assert len(asked) == found["calls"] == found["grades"]
        again = grade(project, **options)
        assert (again["calls"], again["figures"]) == (0, found["figures"])
        assert len(asked) == found["grades"]
        assert {request.seed for request in asked} == ({0, 1, 2} if seed == 0 else {None})


def test_only_explanations_of_right_answers_are_candidates_one_for_a_triplet(
    project: Project, researcher: User
) -> None:
    sealed_triplets(project, 4, researcher)
    for _ in range(2):  # the same replies again, whose explanations are not judged twice
        evaluate(project)
        take_in_model_explanations(project)
    row = TripletEvaluation.objects.earliest("pk")
    golds = dict(ImageTriplet.objects.values_list("public_id", "gold"))
    right = defaultdict(list)
    for prediction in row.predictions.order_by("pk"):
        first = 1 if prediction.presentation == "as_listed" else 2
        meant = {"first": first, "second": 3 - first}.get(prediction.choice)
        if meant == golds[prediction.instance_id]:
            right[prediction.instance_id].append(prediction)
    stored = TripletExplanation.objects.filter(source=ExplanationSource.MODEL)
    expected = {key: (rows[0].presentation, rows[0].explanation) for key, rows in right.items()}
    assert {
        found.triplet.public_id: (found.prediction.presentation, found.text)  # type: ignore[union-attr]
        for found in stored.select_related("triplet", "prediction")
    } == expected
    assert len(expected) <= 4


GRADES = [
    ("2", 2),
    ('{"grade": 3}', None),
    ('{"grade": true}', None),
    ("Grade two.", None),
    ('{"grade": 0}', 0),
]


def test_grades_are_read_and_raw_replies_kept(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed_triplets(project, 2, researcher)
    evaluate_first(project)
    for text, value in GRADES:
        reply = ChatReply(text, "stop", "canned", raw={"text": text})
        monkeypatch.setattr(MadeUpReplies, "reply", lambda *_, reply=reply: reply)
        with undone():
            found = grade(project, repeats=1)
            assert set(ExplanationGrade.objects.values_list("grade", flat=True)) == {value}, text
            judge = found["figures"]["judge"]
            assert judge["missing"] == (judge["explanations"] if value is None else 0), text
            assert judge["auto_score"]["value"] == (100.0 if value == 2 else 0.0), text
            assert found["calls"] == found["grades"] * (1 if value is not None else 2), text
            calls = ModelCall.objects.filter(run__purpose="judge")
            assert {json.dumps(call.reply) for call in calls} == {json.dumps({"text": text})}


def test_nothing_to_grade_is_one_line(project: Project, researcher: User) -> None:
    sealed_triplets(project, 1, researcher)
    text = refusal("judge_explanations", version_name=VERSION, project=project.slug)
    assert "explanations: none is there to grade; evaluate a model in the setup triplet first" in text
    assert "repeats: 10; use at most 9" in refusal(
        "judge_explanations", version_name=VERSION, project=project.slug, repeats=10
    )


def test_bertscore_is_that_of_the_nearest_reference(
    project: Project, researcher: User, client: Client, tmp_path: Path
) -> None:
    prepare(project, researcher, 3)
    folder = save_tiny_bert(tmp_path / "bert")
    options: dict[str, Any] = {"bertscore": str(folder), "bertscore_layer": 2, "bertscore_baseline": 0.5}
    found = grade(project, repeats=2, **options)
    figures = found["figures"]
    encoder = TokenEncoder(BertScoreOptions(str(folder), layer=2, baseline=0.5))
    by_purpose: dict[str, dict[int, float]] = defaultdict(dict)
    for row in ExplanationGrade.objects.select_related("explanation", "call"):
        assert row.call is not None
        _, references, text = parts(row.call.request["messages"][1]["parts"][0])
        first, *others = encoder.encode([text, *references])
        best = max(rescale_to_baseline(greedy_f1(first, other), 0.5) for other in others)
        by_purpose[row.purpose][row.explanation_id] = 100 * best
    judge = figures["judge"]
    assert judge["bertscore"]["value"] == pytest.approx(mean(by_purpose["candidate"].values()), abs=1e-3)
    for name in ("other_triplet", "people"):
        expected = mean(by_purpose[name].values())
        assert judge["checks"][name]["bertscore"]["value"] == pytest.approx(expected, abs=1e-3)
    (model,) = figures["models"].values()
    assert model["bertscore"] == judge["bertscore"], "one model has all candidates"
    row = TripletEvaluation.objects.get(pk=found["evaluation"])
    assert row.provenance["bertscore"] == "bert, layer 2, baseline 0.5"
    client.force_login(researcher)
    comparison = reverse("triplet-evaluations", args=[project.slug]) + "?view=explanations"
    for address in (reverse("triplet-evaluation", args=[project.slug, row.pk]), comparison):
        page = client.get(address).content.decode()
        assert "BERTScore" in page
        assert f'value="{judge["bertscore"]["value"]!r}"' in page


def test_bertscore_is_left_out_without_a_language_model(
    project: Project, researcher: User, client: Client
) -> None:
    prepare(project, researcher, 2)
    found = grade(project, repeats=1)
    assert "bertscore" not in json.dumps(found["figures"])
    client.force_login(researcher)
    page = client.get(reverse("triplet-evaluation", args=[project.slug, found["evaluation"]]))
    assert "BERTScore" not in page.content.decode()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"bertscore": "nowhere"}, "nowhere has no model; give a folder with saved weights"),
        ({"bertscore": "bert", "bertscore_layer": 3}, "layer 3 is not between 0 and 2 of this model"),
        ({"bertscore": "bert", "bertscore_baseline": 1.0}, "bertscore_baseline: 1; use a number below 1"),
    ],
)
def test_an_unusable_language_model_is_refused_before_a_call(
    project: Project, researcher: User, tmp_path: Path, asked: list[ChatRequest], options: Any, line: str
) -> None:
    prepare(project, researcher, 1)
    save_tiny_bert(tmp_path / "bert")
    asked.clear()
    options = {"bertscore_layer": 2} | options | {"bertscore": str(tmp_path / options["bertscore"])}
    found = refusal("judge_explanations", version_name=VERSION, project=project.slug, **options)
    assert line in found
    assert not asked
    assert not TripletEvaluation.objects.filter(source="judge").exists()
