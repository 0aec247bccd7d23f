"""Question sets built from a project's triplets, end to end."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from curation.models import Question, QuestionSet, QuestionSetState, Stage
from curation.pipelines.questions.choice_order import ORDERS, choice_order
from curation.selectors.object_lists import objects_of_records
from hits.domain.tagged_text import copy_key, mentions
from hits.models import Project, Record
from tests.support.vcr.built_sets import build_set, files_of, store_synthetic_project

pytestmark = pytest.mark.django_db
ROUNDS = {1, 2, 3}


@pytest.fixture
def built(project: Project) -> QuestionSet:
    """Return a set of 120 made-up triplets in three folds."""
    store_synthetic_project(project)
    return build_set(project)


def fields_of(question: Question, text: str) -> Any:
    return question.triplet.fields[text]


def test_built_set_has_the_invariants_of_the_published_one(built: QuestionSet) -> None:
    check_choices(built)
    check_each_response_is_wrong_three_times(built)
    check_wrong_tags(built)
    check_published_ids(built)


def check_choices(built: QuestionSet) -> None:
    """Two questions of four choices for each triplet; the right choice is as it was written."""
    assert built.state == QuestionSetState.DRAFT
    assert built.questions.count() == 240
    for question in built.questions.select_related("triplet"):
        assert [choice["round"] for choice in question.choices].count(0) == 1
        assert {choice["round"] for choice in question.choices} == {0, *ROUNDS}
        right = question.choices[question.label or 0]
        assert (right["round"], right["source"]) == (0, question.match_index)
        assert right["text"] == fields_of(question, question.stage)
        assert right["similarity"] == 1


def check_each_response_is_wrong_three_times(built: QuestionSet) -> None:
    for stage in Stage:
        for fold in ("train-0", "val-0", "test-0"):
            rows = list(built.questions.filter(stage=stage, fold=fold))
            assert [row.match_index for row in rows] == list(range(40))
            wrong = Counter(choice["source"] for row in rows for choice in row.choices if choice["round"])
            assert wrong == dict.fromkeys(range(40), 3)
            for row in rows:
                assert len({choice["source"] for choice in row.choices}) == 4


def check_wrong_tags(built: QuestionSet) -> None:
    """Foreign tags become objects of the same class, or words; nothing else of a text changes."""
    names = object_names(built.project)
    rows = list(built.questions.select_related("triplet"))
    by_source = {(row.stage, row.fold, row.match_index): row for row in rows}
    for row in rows:
        own = names[row.triplet_id]
        for choice in row.choices:
            assert all(index < len(own) for index in mentions(choice["text"]))
            source = by_source[row.stage, row.fold, choice["source"]]
            for old, new in choice["remapped"]:
                assert names[source.triplet_id][old] == own[new]
            if not choice["words"]:
                original = copy_key(fields_of(source, row.stage), names[source.triplet_id])
                assert copy_key(choice["text"], own) == original


def object_names(project: Project) -> dict[int, list[str]]:
    """Return the class of each object by record."""
    records = list(Record.objects.filter(project=project, type="triplet"))
    return {pk: [found.name for found in objects] for pk, objects in objects_of_records(records).items()}


def check_published_ids(built: QuestionSet) -> None:
    """Ids count within splits, and questions within images; both stages have the same id."""
    rows = built.questions.filter(stage=Stage.ANSWER).select_related("triplet")
    assert sorted(row.annot_id for row in rows if row.split == "val") == sorted(f"val-{n}" for n in range(40))
    by_image: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        by_image.setdefault(row.triplet.image_id or 0, []).append((row.triplet_id, row.question_number))
    for members in by_image.values():
        assert [number for _, number in sorted(members)] == list(range(len(members)))
    other = {row.triplet_id: row.annot_id for row in built.questions.filter(stage=Stage.RATIONALE)}
    assert other == {row.triplet_id: row.annot_id for row in rows}


def test_built_set_has_certificates_shares_models_and_audits_but_no_secret(built: QuestionSet) -> None:
    for bucket in built.figures["buckets"]:
        assert [found["round"] for found in bucket["rounds"]] == [1, 2, 3]
        assert all(found["feasible"] for found in bucket["rounds"])
        assert all(found["min_reduced_cost"] >= -1e-6 for found in bucket["rounds"])
        assert all(found["gap"] <= 1e-6 * bucket["size"] for found in bucket["rounds"])
    assert len(built.figures["shares"]) == 6
    for share in built.figures["shares"]:
        assert share["tag_overlap"] <= share["at_zero"]
    assert "stands in for" in built.provenance["relevance"]["stand_in"]
    assert "stands in for" in built.provenance["similarity"]["stand_in"]
    written = json.dumps([built.figures, built.provenance, built.audits, built.options])
    assert built.secret not in written
    folder = Path(settings.MEDIA_ROOT) / built.path
    assert all(built.secret.encode() not in path.read_bytes() for path in folder.rglob("*.json*"))

    check_audits(built)


def check_audits(built: QuestionSet) -> None:
    assert built.audits["questions"] == {"answer": 120, "rationale": 120}
    assert built.audits["tag_overlap"]["answer"]["expected_on_ties"] == pytest.approx(0.25, abs=0.02)
    assert built.audits["hubs"]["answer"]
    assert not built.audits["sources"]["answer"]["exceptions"]["count"]


def test_the_same_triplets_and_seed_give_the_same_files(built: QuestionSet) -> None:
    other = build_set(built.project, "second")
    assert files_of(built) == files_of(other)
    assert files_of(built)
    assert other.secret != built.secret
    sources = [[choice["source"] for choice in sorted_choices(row)] for row in built.questions.all()]
    assert sources == [[choice["source"] for choice in sorted_choices(row)] for row in other.questions.all()]
    assert [row.label for row in built.questions.all()] != [row.label for row in other.questions.all()]


def sorted_choices(question: Question) -> list[dict[str, Any]]:
    return sorted(question.choices, key=lambda choice: choice["round"])


def test_options_of_a_set_are_used_as_given(project: Project) -> None:
    store_synthetic_project(project)
    built = build_set(project, share=0.0, same_image="forbidden")
    assert {share["share"] for share in built.figures["shares"]} == {0.0}
    assert built.audits["tag_overlap"]["answer"]["expected_on_ties"] > 0.3
    assert "tag_overlap (answer)" in built.audits["over"]
    rows = list(built.questions.select_related("triplet"))
    image = {(row.stage, row.fold, row.match_index): row.triplet.image_id for row in rows}
    for row in rows:
        for choice in row.choices:
            if choice["round"]:
                assert image[row.stage, row.fold, choice["source"]] != row.triplet.image_id


def test_labels_are_uniform_and_depend_on_secret_id_and_stage() -> None:
    secret = bytes(range(32))
    orders = Counter(choice_order(secret, f"train-{n}", "answer") for n in range(24_000))
    assert set(orders) == set(ORDERS)
    chi_squared = sum((count - 1000) ** 2 / 1000 for count in orders.values())
    assert chi_squared < 49.7, "23 degrees of freedom, p > .001"
    drawn = [choice_order(secret, f"train-{n}", "answer") for n in range(50)]
    assert drawn != [choice_order(secret, f"train-{n}", "rationale") for n in range(50)]
    assert drawn != [choice_order(bytes(32), f"train-{n}", "answer") for n in range(50)]
