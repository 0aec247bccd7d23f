"""Analyses of texts on corpora small enough to reason about."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from curation.records import InvalidInput
from curation.texts import topics
from curation.texts.captions import (
    BINS,
    CaptionMeasure,
    box_iou,
    caption_similarity,
    describe_spread,
    overlapping_regions,
    similarity_among_captions,
)
from curation.texts.files import read_captions, read_scores
from curation.texts.groups import RepeatedText, TextGroup, count_copies, count_group_sizes, largest_groups
from curation.texts.sample import sample_by_split
from curation.texts.toxicity import GROUP_WEIGHTS, HARMLESS_FACTOR, HARMLESS_NEIGHBOURS, WordList
from curation.texts.toxicity import WordGroup as Why
from curation.texts.words import HEDGE_WORDS, topical_words


def test_copies_are_counted_word_for_word() -> None:
    texts = ["it rained", "it rained", "It rained", "a party", "it rained", "a party", "alone"]
    found = count_copies(texts, max_listed=10)
    assert (found.texts, found.distinct, found.repeated) == (7, 4, 2)
    assert found.most_frequent == (RepeatedText(0, 3), RepeatedText(3, 2))
    assert count_copies(texts, max_listed=1).most_frequent == (RepeatedText(0, 3),)


def test_groups_name_their_members_and_who_stays() -> None:
    labels = np.array([0, 1, 1, 2, 0, 1, 3])
    groups = largest_groups(labels, np.array([4, 2, 3, 6]), max_listed=10)
    assert groups == (TextGroup(2, (1, 2, 5)), TextGroup(4, (0, 4)))
    assert count_group_sizes(labels) == {1: 2, 2: 1, 3: 1}
    assert len(largest_groups(labels, np.array([4, 2, 3, 6]), max_listed=1)) == 1
    with pytest.raises(InvalidInput, match="keep one text of each cluster"):
        largest_groups(labels, np.array([4, 2, 3]), max_listed=10)


def test_words_that_name_no_topic_are_left_out() -> None:
    function_words = {"she", "been", "in", "the", "it", "be", "might", "of", "that", "them", *HEDGE_WORDS}
    text = "She's likely been in the Kitchen; it doesn’t matter!"
    assert topical_words(text, function_words) == ["kitchen", "matter"]
    assert topical_words("It might be that 3 of them…", function_words) == []
    assert topical_words("The dog's bowl, let's say", function_words) == ["dog's", "bowl", "say"]


def test_the_flow_counts_each_pair_once() -> None:
    clues = np.array([0, 0, 1, 1, topics.NO_TOPIC, 1])
    inferences = np.array([1, 1, 0, 1, 0, topics.NO_TOPIC])
    counts = topics.topic_flow(clues, inferences, 2, 3)
    assert counts.tolist() == [[0, 2, 0], [1, 1, 0]]
    assert counts.sum() == 4
    chance = topics.lift_over_chance(counts)
    assert chance[0, 1] == pytest.approx(2 / (2 * 3 / 4))
    assert chance[:, 2].tolist() == [0, 0], "an empty column is no division by zero"
    with pytest.raises(InvalidInput, match="give pairs"):
        topics.topic_flow(clues, inferences[:3], 2, 2)


def test_the_likeliest_topic_needs_a_known_word_and_ties_go_low() -> None:
    shares = np.array([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]])
    found = topics.likeliest_topics(shares, np.array([True, True, False]))
    assert found.tolist() == [0, 1, topics.NO_TOPIC]
    assert topics.topics_by_size(np.array([2, 2, 0, topics.NO_TOPIC]), 3).tolist() == [2, 0, 1]


def test_coherence_runs_from_never_to_always_together() -> None:
    together = np.array([[4, 4, 0], [4, 4, 0], [0, 0, 4]])
    assert topics.coherence([0, 1], together, 8) == pytest.approx(1.0)
    assert topics.coherence([0, 2], together, 8) == -1.0
    assert topics.coherence([0, 1, 2], together, 8) == pytest.approx(-1 / 3)
    assert topics.coherence([0], together, 8) is None
    by_chance = np.array([[4, 2], [2, 4]])
    assert topics.coherence([0, 1], by_chance, 8) == pytest.approx(0.0)


def test_examples_are_the_clearest_pairs_and_ties_keep_their_order() -> None:
    clue = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.9, 0.1]])
    inference = np.array([[0.8, 0.2], [0.8, 0.2], [0.1, 0.9], [0.9, 0.1]])
    assert topics.clearest_pairs(clue, inference, (0, 0), 3) == [3, 0, 1]
    assert topics.clearest_pairs(clue, inference, (1, 1), 1) == [2]
    assert topics.clearest_pairs(clue[:0], inference[:0], (0, 0), 3) == []


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("a wooden bench in the sun", 0.0),
        ("a dirty spoon", GROUP_WEIGHTS[Why.SOILED] * HARMLESS_FACTOR),
        ("he is dirty", GROUP_WEIGHTS[Why.SOILED]),
        ("the dead tree", GROUP_WEIGHTS[Why.HARM] * HARMLESS_FACTOR),
        ("she is fat and stupid", 1 - (1 - GROUP_WEIGHTS[Why.STIGMA]) ** 2),
        ("stupid, STUPID", GROUP_WEIGHTS[Why.STIGMA]),
        ("a shitake dish with sextants", 0.0),
    ],
)
def test_the_word_list_grades_whole_words(text: str, score: float) -> None:
    (found,) = WordList().score([text])
    assert found.score == pytest.approx(score, abs=1e-6)


def test_the_paper_s_false_positive_is_marked_as_likely_harmless() -> None:
    (found,) = WordList().score(["Somebody left a dirty spoon"])
    (match,) = found.matches
    assert ("Somebody left a dirty spoon"[match.start : match.end], match.beside) == ("dirty", "spoon")
    assert match.group == "soiled"
    assert 0 < found.score < GROUP_WEIGHTS[Why.SOILED]


def test_what_excuses_a_word_is_about_words_of_the_list() -> None:
    scorer = WordList()
    for word, beside in HARMLESS_NEIGHBOURS.items():
        assert scorer.score([word])[0].score > 0, word
        assert word not in beside
        assert all(part == part.casefold() for part in beside)


def test_a_sample_takes_so_many_of_each_split_and_repeats() -> None:
    splits = ["train"] * 50 + ["val"] * 4 + ["test"] * 20
    first = sample_by_split(splits, 5, np.random.default_rng(3))
    assert [sum(splits[i] == name for i in first) for name in ("train", "val", "test")] == [5, 4, 5]
    assert first == sorted(set(first))
    assert first == sample_by_split(splits, 5, np.random.default_rng(3))
    assert first != sample_by_split(splits, 5, np.random.default_rng(4))
    assert sample_by_split(splits, 0, np.random.default_rng(0)) == list(range(74))


def test_likeness_to_captions() -> None:
    text = np.array([1.0, 0.0])
    captions = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert caption_similarity(text, captions, CaptionMeasure.MEAN) == 0.5
    assert caption_similarity(text, captions, CaptionMeasure.MAX) == 1.0
    assert similarity_among_captions(captions, CaptionMeasure.MEAN) == [0.0, 0.0]
    assert similarity_among_captions(captions[:1], CaptionMeasure.MEAN) == []


def test_a_spread_counts_every_cosine() -> None:
    found = describe_spread([-1.0, 0.0, 0.5, 1.0])
    assert (found.count, found.mean, found.median) == (4, 0.125, 0.25)
    assert sum(found.bins) == 4
    assert found.bins[0] == 1, "what lies below the axis is in the first bin"
    assert found.bins[-1] == 1
    assert describe_spread([]).median is None
    assert len(describe_spread([]).bins) == BINS


def box(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"left": left, "top": top, "width": width, "height": height}


def test_regions_near_a_pair_s_boxes_come_by_overlap() -> None:
    assert box_iou(box(0, 0, 10, 10), box(5, 0, 10, 10)) == pytest.approx(50 / 150)
    assert box_iou(box(0, 0, 10, 10), box(10, 0, 10, 10)) == 0
    regions = [box(100, 100, 5, 5), box(0, 0, 20, 20), box(0, 0, 10, 10), box(49, 49, 10, 10)]
    assert overlapping_regions([box(0, 0, 10, 10), box(50, 50, 10, 10)], regions, 5) == [2, 3, 1]
    assert overlapping_regions([box(0, 0, 10, 10)], regions, 1) == [2]
    assert overlapping_regions([], regions, 5) == []


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_scores_come_from_csv_and_json_lines(tmp_path: Path) -> None:
    expected = {("a" * 32, "clue"): 0.25, ("a" * 32, "inference"): 1.0}
    table = f"\ufefffield,ID,score\nclue,{'a' * 32},0.25\n\ninference,{'a' * 32},1\n"
    assert read_scores(written(tmp_path / "s.csv", table)) == expected
    lines = "\n".join(json.dumps({"id": i, "field": f, "score": s}) for (i, f), s in expected.items())
    assert read_scores(written(tmp_path / "s.jsonl", lines)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: has no column id"),
        ("id,field\nx,clue\n", "row 1: has no column score"),
        ("id,field,score\n", "has no rows"),
        ("id,field,score\nx,clue,high\n", r"row 2, column score: 'high' is not a number from 0 to 1"),
        ("id,field,score\nx,clue,nan\n", "row 2, column score"),
        ("id,field,score\nx,clue,1.5\n", "row 2, column score"),
        ("id,field,score\nx,title,0.5\n", "row 2, column field: 'title'; use clue or inference"),
        ("id,field,score\nx,clue,0.5\nx,clue,0.6\n", "row 3: the clue of x is scored twice"),
        ("id,field,score\nx,clue\n", "row 2: has 2 values, the header has 3"),
        ('id,field,score\n"x,clue,0.5\n', "not a readable CSV"),
        ('{"id": "x", "field": "clue", "score": 0.5}\nno json', "row 2: is not JSON"),
        ('{"id": "x", "field": "clue"}', "row 1: has no score"),
        ('{"id": "x", "field": "clue", "score": true}', "row 1, column score"),
        ('{"id": "x", "field": "clue", "score": 0.5}\n[1]', "row 2: is not a JSON object"),
    ],
)
def test_a_bad_file_of_scores_is_named_by_row_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_scores(written(tmp_path / "scores", text))


def test_binary_or_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"id,field,score\n\xff\xfe,clue,0.5\n")
    with pytest.raises(InvalidInput, match="is not UTF-8 text"):
        read_scores(tmp_path / "bytes")
    with pytest.raises(InvalidInput, match="No such file"):
        read_scores(tmp_path / "nothing")


def test_captions_come_one_a_row(tmp_path: Path) -> None:
    path = written(tmp_path / "c.csv", "image,caption\na.jpg, A dog \nb.jpg,A cat\na.jpg,A brown dog\n")
    assert read_captions(path) == {"a.jpg": ["A dog", "A brown dog"], "b.jpg": ["A cat"]}
    with pytest.raises(InvalidInput, match="row 2, column caption: is empty"):
        read_captions(written(tmp_path / "d.csv", "image,caption\na.jpg,\n"))


def test_no_score_is_beyond_one() -> None:
    worst = " ".join(["fuck", "sexy", "fat", "kill", "dirty"] * 3)
    (found,) = WordList().score([worst])
    assert 0.9 < found.score <= 1
    assert math.isfinite(found.score)
