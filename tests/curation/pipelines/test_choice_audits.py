"""Audits of whole sets: planted leaks are flagged, each by its own audit, and a clean set is within all limits."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from curation.evaluation.choice_items import ChoiceItem, Stage, Text, replace_responses, stage_questions
from curation.pipelines.choice_audits import audit_items
from curation.pipelines.choice_classifiers import (
    cross_fit_questions,
    cross_fit_responses,
    cross_fit_tags,
    fold_groups,
)
from hits.services.errors import Refused
from tests.support.vcr.choice_items import Change, add_words, make_items, plant, share_tags, use_pronoun

FOLDS = {"train-0": 150, "val-0": 150, "test-0": 150}
RULES = {"tag_overlap", "longest", "pronoun_agreement"}
PLANTED_SHARE = 0.5
LEAKS = [
    (share_tags, "tag_overlap", False),
    (use_pronoun, "pronoun_agreement", True),
    (add_words, "longest", True),
]
"""A planted leak, the rule that must flag it, and whether the classifier that sees the responses alone must, too."""


@pytest.fixture(scope="module")
def items() -> list[ChoiceItem]:
    return make_items(FOLDS)


def _over(items: Sequence[ChoiceItem]) -> set[str]:
    return set(audit_items(items)["over"])


def test_set_without_a_leak_is_within_all_limits(items: list[ChoiceItem]) -> None:
    audits = audit_items(items)
    assert audits["over"] == []
    assert audits["questions"] == {"answer": 450, "rationale": 450}
    for stage in Stage:
        sources = audits["sources"][stage]
        assert sources["times"] == {"3": 450}
        assert sources["without_sources"] == 0
        assert audits["response_only"][stage]["groups"] == 3
        assert 0.22 <= audits["response_only"][stage]["expected_on_ties"] <= 0.28


@pytest.mark.parametrize(("change", "rule", "is_response_only"), LEAKS)
def test_planted_leak_is_flagged_by_its_own_audit(
    items: list[ChoiceItem], change: Change, rule: str, is_response_only: bool
) -> None:
    over = _over(plant(items, change, share=PLANTED_SHARE))
    for stage in Stage:
        assert {name for name in RULES if f"{name} ({stage})" in over} == {rule}
        if is_response_only:
            assert f"response_only ({stage})" in over


def test_classifier_cross_fitted_within_a_fold_is_misled(items: list[ChoiceItem]) -> None:
    # Each wrong response is the right one of another question of the fold: a film's texts give the others away.
    planted = plant(items, use_pronoun, share=0.1)
    by_film = [replace(item, fold=item.movie) for item in planted]
    for stage in Stage:
        across = cross_fit_responses(stage_questions(planted, stage)).shares.expected_on_ties
        within = cross_fit_responses(stage_questions(by_film, stage)).shares.expected_on_ties
        assert across is not None
        assert within is not None
        assert within < 0.22
        assert across > 0.28


def test_classifier_with_the_question_finds_what_texts_share(items: list[ChoiceItem]) -> None:
    # The rationale repeats a made-up word of its question.
    share = cross_fit_questions(stage_questions(items, Stage.RATIONALE)).shares.expected_on_ties
    assert share is not None
    assert share > 0.6


def test_classifier_of_tags_finds_what_shared_tags_do_not_show(items: list[ChoiceItem]) -> None:
    # All wrong responses tag one object, the right one another; the query tags neither.
    planted = [_agree_in_wrong_tags(item, item.annot_id) for item in items]
    audits = audit_items(planted)
    assert audits["tag_overlap"]["answer"]["expected_on_ties"] == 0.25
    assert audits["tags_only"]["answer"]["expected_on_ties"] > 0.6
    without_tags = [_without_tags(item) for item in items]
    found = cross_fit_tags(stage_questions(without_tags, Stage.ANSWER))
    assert found.shares.expected_on_ties == 0.25


def _agree_in_wrong_tags(item: ChoiceItem, seed: str) -> ChoiceItem:
    found = item.stages[Stage.ANSWER]
    right, wrong = random.Random(seed).sample(range(len(item.objects)), 2)
    responses = tuple(
        (*_words_of(text), (right if position == found.label else wrong,))
        for position, text in enumerate(found.responses)
    )
    return replace_responses(replace(item, question=_words_of(item.question)), {Stage.ANSWER: responses})


def _without_tags(item: ChoiceItem) -> ChoiceItem:
    responses = tuple(_words_of(text) for text in item.stages[Stage.ANSWER].responses)
    return replace_responses(replace(item, question=_words_of(item.question)), {Stage.ANSWER: responses})


def _words_of(text: Text) -> Text:
    return tuple(token for token in text if isinstance(token, str))


def test_folds_of_files_without_them_are_the_components_of_shared_texts(items: list[ChoiceItem]) -> None:
    def mark(item: ChoiceItem) -> ChoiceItem:
        texts = {
            stage: tuple((*text, item.fold) for text in found.responses)
            for stage, found in item.stages.items()
        }
        return replace_responses(replace(item, fold=""), texts)

    questions = stage_questions(map(mark, items), Stage.RATIONALE)
    groups, reason = fold_groups(questions)
    assert reason == ""
    by_fold = {item.fold: group for item, group in zip(items, groups.tolist(), strict=True)}
    assert [by_fold[item.fold] for item in items] == groups.tolist()
    assert len(set(by_fold.values())) == 3
    # A text that two folds share joins them.
    own, other = questions[0], questions[200]
    responses = (other.responses[0], *own.responses[1:])
    joined = replace(own, choices=replace(own.choices, responses=responses))
    groups, _ = fold_groups([joined, *questions[1:]])
    assert len(set(groups.tolist())) == 2


def test_one_fold_only_is_not_measurable(items: list[ChoiceItem]) -> None:
    fold = [item for item in items if item.fold == "val-0"]
    audits = audit_items(fold)
    for name in ("response_only", "question_response", "tags_only"):
        found = audits[name]["answer"]
        assert found["expected_on_ties"] is None
        assert found["reason"] == "not measurable: all questions are in one match fold"


def test_response_that_is_wrong_too_often_is_over_the_limit(items: list[ChoiceItem]) -> None:
    choices = items[0].stages[Stage.ANSWER]
    changed = tuple((source + 1) % 150 if source else source for source in choices.sources)
    broken = replace(
        items[0], stages=dict(items[0].stages) | {Stage.ANSWER: replace(choices, sources=changed)}
    )
    assert _over([broken, *items[1:]]) == {"sources (answer)"}


def test_positions_that_are_not_uniform_are_over_the_limit(items: list[ChoiceItem]) -> None:
    def first(item: ChoiceItem) -> ChoiceItem:
        choices = item.stages[Stage.ANSWER]
        order = sorted(range(4), key=lambda position: position != choices.label)
        moved = replace(
            choices,
            label=0,
            responses=tuple(choices.responses[position] for position in order),
            sources=tuple(choices.sources[position] for position in order),
        )
        return replace(item, stages=dict(item.stages) | {Stage.ANSWER: moved})

    assert "labels (answer)" in _over([first(item) for item in items])


def test_lists_are_cut_where_they_are_stored(items: list[ChoiceItem]) -> None:
    copies = [
        replace(item, stages={Stage.ANSWER: replace(found, responses=(found.responses[0],) * 4)})
        for item in items
        for found in [item.stages[Stage.ANSWER]]
    ]
    found = audit_items(copies, listed=5)["near_copies"]["answer"]
    assert found["count"] == 3 * 450
    assert len(found["cases"]) == 5


def test_questions_without_labels_are_refused(items: list[ChoiceItem]) -> None:
    held = [
        replace(item, stages={stage: replace(found, label=None) for stage, found in item.stages.items()})
        for item in items
    ]
    with pytest.raises(Refused, match="none has a label"):
        audit_items(held)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 6))
def test_planted_leaks_of_many_sets_are_flagged_by_their_own_audits(seed: int) -> None:
    clean = make_items(FOLDS, seed=seed)
    assert _over(clean) == set()
    for change, rule, is_response_only in LEAKS:
        over = _over(plant(clean, change, share=PLANTED_SHARE, seed=seed))
        for stage in Stage:
            assert {name for name in RULES if f"{name} ({stage})" in over} == {rule}
            assert not is_response_only or f"response_only ({stage})" in over


@pytest.mark.nightly
def test_weak_leaks_of_a_large_set_are_over_the_fixed_limits() -> None:
    clean = make_items({"train-0": 1_668, "val-0": 1_666, "test-0": 1_666})
    audits = audit_items(clean)
    assert audits["over"] == []
    assert {row["high"] for row in audits["limits"]} == {0.27, 0.28}
    for change, rule, is_response_only in LEAKS:
        over = _over(plant(clean, change, share=0.2))
        for stage in Stage:
            assert {name for name in RULES if f"{name} ({stage})" in over} == {rule}
            assert not is_response_only or f"response_only ({stage})" in over
