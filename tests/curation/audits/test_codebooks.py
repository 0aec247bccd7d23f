"""Codebooks, samples, answers and figures of close readings, without a database."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from curation.audits import figures as measured
from curation.audits.answers import SETTLEMENT_KEY, parse_answers
from curation.audits.codebook import Codebook, ShownText
from curation.audits.export import csv_columns, csv_rows, figures_document, json_rows
from curation.audits.figures import CodeFigures, LabelledItem, count_by_state
from curation.audits.labels import (
    ItemLabels,
    ItemState,
    ReaderLabel,
    assign_letters,
    order_queue,
    reader_start_position,
)
from curation.audits.parsing import MAX_BYTES, builtin_codebooks, codebook_from_row, parse_codebook
from curation.audits.sampling import CandidatePair, SampleRecipe, SamplingMethod, draw_sample
from curation.records import InvalidInput
from validation.domain.agreement.cohen import grader_agreement
from validation.domain.agreement.krippendorff import Metric, krippendorff_alpha
from validation.domain.judging.ratings import RatingTable
from validation.domain.reports.planner import wilson_interval

GOOD: dict[str, Any] = {
    "id": "mine",
    "title": "Mine",
    "version": 2,
    "codes": [
        {"id": "person", "question": "A person?", "kind": "yes-no"},
        {
            "id": "who",
            "question": "Who?",
            "kind": "single",
            "choices": [{"value": "child", "words": "A child"}, {"value": "adult", "words": "An adult"}],
            "asked_when": {"code": "person", "is": ["yes"]},
        },
        {
            "id": "doing",
            "question": "Doing what?",
            "kind": "multiple",
            "choices": [
                {"value": "work", "words": "Work", "key": "w"},
                {"value": "play", "words": "Play"},
                {"value": "none", "words": "Neither", "alone": True},
            ],
        },
    ],
}


def sample_codebook() -> Codebook:
    return parse_codebook(json.dumps(GOOD), "mine.json")


class TestCodebook:
    def test_three_built_in_codebooks_match_the_papers_samples(self) -> None:
        found = builtin_codebooks()
        assert list(found) == ["protected-characteristics", "grounded-on-people", "toxicity-reading"]
        assert [codebook.pairs for codebook in found.values()] == [250, 150, 150]
        assert [codebook.pairs_per_split for codebook in found.values()] == [None, None, 50]
        assert found["grounded-on-people"].shows is ShownText.CLUE
        (figure, *_) = found["protected-characteristics"].published
        assert (figure.code, figure.value, figure.count, figure.of) == ("direct", "no", 243, 250)

    def test_the_paper_s_toxic_cases_add_up(self) -> None:
        cases = [figure.count for figure in builtin_codebooks()["toxicity-reading"].published]
        assert sum(count for count in cases if count) == 150
        assert round(100 * cases[0] / 150) == 89

    @pytest.mark.parametrize("name", sorted(builtin_codebooks()))
    def test_a_row_gives_the_same_codebook_and_hash_again(self, name: str) -> None:
        codebook = builtin_codebooks()[name]
        again = codebook_from_row(json.loads(json.dumps(codebook.as_row())))
        assert again == codebook
        assert again.sha256 == codebook.sha256

    def test_keys_are_digits_where_none_is_given(self) -> None:
        assert [choice.key for choice in sample_codebook().codes[2].choices] == ["w", "1", "2"]
        assert [choice.words for choice in sample_codebook().codes[0].choices] == ["Yes", "No"]

    def test_toml_and_json_are_equivalent(self) -> None:
        toml = """
            id = "mine"
            title = "Mine"
            version = 2
            [[codes]]
            id = "person"
            question = "A person?"
            kind = "yes-no"
            [[codes]]
            id = "who"
            question = "Who?"
            kind = "single"
            asked_when = { code = "person", is = ["yes"] }
            choices = [{ value = "child", words = "A child" }, { value = "adult", words = "An adult" }]
            [[codes]]
            id = "doing"
            question = "Doing what?"
            kind = "multiple"
            choices = [
              { value = "work", words = "Work", key = "w" },
              { value = "play", words = "Play" },
              { value = "none", words = "Neither", alone = true },
            ]"""
        assert parse_codebook(toml, "mine.toml") == sample_codebook()

    @pytest.mark.parametrize(
        ("path", "value", "why"),
        [
            (["id"], "My book", "mine.json: id: 'My book' is not a valid name"),
            (["title"], None, "mine.json: title: is missing; add it"),
            (["title"], " ", "mine.json: title: is empty"),
            (["title"], 7, "mine.json: title: is a number; write a text in quotes"),
            (["title"], "x" * 161, "mine.json: title: has 161 characters; use 160 or fewer"),
            (["version"], "2", "mine.json: version: is a text; write a whole number"),
            (["version"], True, "mine.json: version: is true or false"),
            (["version"], 0, "mine.json: version: 0 is out of range; use 1 or more"),
            (["shows"], "photo", "mine.json: shows: 'photo' is not known; use pair, clue, inference"),
            (["codes"], [], "mine.json: codes: there are none"),
            (["codes"], {"id": "x"}, "mine.json: codes: is a table; write a list, as"),
            (["titel"], "x", "mine.json: titel: is not known; use codes, id"),
            (["codes", 0], "x", "codes[1]: is a text; write a table of fields"),
            (["codes", 0, "id"], "who", "codes[2].id: 'who' is a duplicate"),
            (["codes", 0, "kind"], "free", "codes[1].kind: 'free' is not known; use yes-no, single"),
            (["codes", 0, "choices"], [{"value": "a", "words": "A"}], "codes[1].choices: a yes-no code has"),
            (["codes", 1, "choices"], [], "codes[2].choices: there is none; give two or more"),
            (
                ["codes", 1, "choices", 1, "value"],
                "child",
                "codes[2].choices[2].value: 'child' is a duplicate",
            ),
            (["codes", 1, "choices", 1, "words"], None, "codes[2].choices[2].words: is missing"),
            (["codes", 1, "choices", 1, "alone"], True, "codes[2].choices[2].alone: only codes of kind"),
            (["codes", 2, "choices", 1, "alone"], "no", "codes[3].choices[2].alone: is a text"),
            (["codes", 2, "choices", 1, "key"], "j", "codes[3].choices[2].key: 'j' is not free"),
            (["codes", 2, "choices", 1, "key"], "W", "codes[3].choices: two have the same key"),
            (["codes", 1, "asked_when", "code"], "doing", "codes[2].asked_when.code: 'doing' is not known"),
            (
                ["codes", 1, "asked_when", "is"],
                ["maybe"],
                "codes[2].asked_when.is: 'maybe' is not a value of",
            ),
            (["codes", 1, "asked_when", "is"], [], "codes[2].asked_when.is: nothing is not a value of"),
            (["codes", 1, "asked_when", "is"], "yes", "codes[2].asked_when.is: is a text; write a list"),
            (["codes", 1, "asked_when", "not"], ["no"], "codes[2].asked_when.not: is not known"),
            (
                ["published"],
                [{"code": "person", "value": "yes", "words": "x", "count": 3, "of": 2}],
                "published[1].count: 3 is more than its total, 2",
            ),
            (
                ["published"],
                [{"code": "person", "value": "yes", "words": "x", "count": 3}],
                "published[1].of: a count needs a total",
            ),
            (["published"], [{"code": "x", "value": "yes", "words": "x"}], "published[1].code: 'x' is not"),
        ],
    )
    def test_error_names_file_field_and_remedy(self, path: list[Any], value: Any, why: str) -> None:
        data = json.loads(json.dumps(GOOD))
        at = data
        for step in path[:-1]:
            at = at[step]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        with pytest.raises(InvalidInput) as caught:
            parse_codebook(json.dumps(data), "mine.json")
        message = str(caught.value)
        assert why in message
        assert message.startswith("mine.json: ")
        assert "\n" not in message

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("id = ", "mine: not valid TOML: "),
            ("{", "mine: not valid JSON: "),
            ("[" * 5000, "mine: "),
            ('{"a":' * 5000, "mine: "),
            ("x" * (MAX_BYTES + 1), "mine: over 64,000 bytes"),
            ("", "mine: id: is missing"),
        ],
    )
    def test_non_codebook_is_refused(self, text: str, why: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            parse_codebook(text, "mine")
        assert str(caught.value).startswith(why) or "codes: there are none" in str(caught.value)


class TestAnswers:
    def test_they_are_kept_in_the_codebook_s_order(self) -> None:
        found = parse_answers(
            sample_codebook(), {"doing": ["play", "work"], "person": ["yes"], "who": ["adult"]}
        )
        assert found.errors == {}
        assert list(found.answers.items()) == [
            ("person", "yes"),
            ("who", "adult"),
            ("doing", ["work", "play"]),
        ]

    def test_inapplicable_codes_are_neither_required_nor_stored(self) -> None:
        found = parse_answers(sample_codebook(), {"person": ["no"], "who": ["nonsense"], "doing": ["none"]})
        assert (found.answers, found.errors) == ({"person": "no", "doing": ["none"]}, {})

    def test_every_missing_answer_is_reported(self) -> None:
        found = parse_answers(sample_codebook(), {"person": ["yes", "no"], "doing": ["none", "work"]})
        assert found.errors == {
            "person": "choose only one",
            "doing": "“Neither” excludes all other answers; choose only it, or remove it",
        }

    def test_no_code_can_have_the_mark_s_name(self) -> None:
        data = GOOD | {"codes": [GOOD["codes"][0] | {"id": SETTLEMENT_KEY}]}
        with pytest.raises(InvalidInput, match="is not a valid name"):
            parse_codebook(json.dumps(data), "mine")


def pool(count: int, split: str = "", start: int = 0) -> list[CandidatePair]:
    return [CandidatePair(start + n, f"id-{start + n:04d}", split, float(n % 7)) for n in range(count)]


class TestSampling:
    def test_the_order_of_the_rows_changes_nothing(self) -> None:
        pairs = pool(300)
        recipe = SampleRecipe(SamplingMethod.RANDOM, 250, seed=11)
        sample = draw_sample(pairs, recipe)
        assert sample == draw_sample(pairs[::-1], recipe)
        assert len({pair.key for pair in sample.pairs}) == 250
        assert sample.missing == 0
        assert draw_sample(pairs, SampleRecipe(SamplingMethod.RANDOM, 250, seed=12)).pairs != sample.pairs

    def test_every_pair_is_as_likely(self) -> None:
        pairs = pool(20)
        drawn = np.zeros(20)
        for seed in range(600):
            for pair in draw_sample(pairs, SampleRecipe(SamplingMethod.RANDOM, 5, seed=seed)).pairs:
                drawn[pair.key] += 1
        assert abs(drawn / 600 - 0.25).max() < 0.08  # four and a half standard errors

    def test_top_of_each_split_in_random_order(self) -> None:
        pairs = [*pool(60, "train"), *pool(60, "val", 60), *pool(3, "test", 120)]
        sample = draw_sample(pairs, SampleRecipe(SamplingMethod.TOP, 10, seed=5, analysis=1))
        by_split = {
            split: sorted(pair.score for pair in sample.pairs if pair.split == split)
            for split in ("train", "val", "test")
        }
        assert by_split == {"train": [5] * 2 + [6] * 8, "val": [5] * 2 + [6] * 8, "test": [0, 1, 2]}
        assert sample.missing == 7
        scores = [pair.score for pair in sample.pairs]
        assert scores != sorted(scores, reverse=True)
        train = [pair.instance_id for pair in sample.pairs if (pair.split, pair.score) == ("train", 5)]
        assert sorted(train) == ["id-0005", "id-0012"]  # of equals the smaller ids

    def test_pairs_without_a_score_are_never_the_top(self) -> None:
        pairs = [CandidatePair(1, "a", "", None), CandidatePair(2, "b", "", 0.0)]
        assert [
            pair.key for pair in draw_sample(pairs, SampleRecipe(SamplingMethod.TOP, 2, analysis=1)).pairs
        ] == [2]
        with pytest.raises(InvalidInput, match="pairs: there are none"):
            draw_sample(pairs[:1], SampleRecipe(SamplingMethod.TOP, 2, analysis=1))

    def test_so_many_of_each_split(self) -> None:
        pairs = [*pool(30, "train"), *pool(4, "val", 30)]
        sample = draw_sample(pairs, SampleRecipe(SamplingMethod.PER_SPLIT, 5, seed=1))
        assert sum(pair.split == "val" for pair in sample.pairs) == 4
        assert (len(sample.pairs), sample.missing) == (9, 1)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"n": 0}, "n: 0 is out of range"),
            ({"n": 5001}, "n: 5001 is out of range; use 1 to 5,000"),
            ({"seed": -1}, "seed: -1 is out of range"),
            ({"analysis": 3}, "analysis: required for the top pairs"),
            ({"method": SamplingMethod.TOP}, "analysis: required for the top pairs"),
        ],
    )
    def test_invalid_recipe_is_refused(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInput, match=message):
            SampleRecipe(**({"method": SamplingMethod.RANDOM, "n": 3} | changes))

    def test_a_recipe_is_kept_as_a_row(self) -> None:
        for recipe in (
            SampleRecipe(SamplingMethod.RANDOM, 3, 4, split=""),
            SampleRecipe(SamplingMethod.TOP, 50, 1, analysis=9),
        ):
            assert SampleRecipe.from_row(json.loads(json.dumps(recipe.as_row()))) == recipe


def reading(who: str, person: str, *, settles: bool = False) -> ReaderLabel:
    answers: dict[str, Any] = {"person": person, "doing": ["none"]}
    if person == "yes":
        answers["who"] = "child"
    return ReaderLabel(who, answers | ({SETTLEMENT_KEY: True} if settles else {}))


def of(*rows: ReaderLabel, readers: int = 2) -> ItemLabels:
    return ItemLabels.from_labels(rows, readers)


class TestReadings:
    def test_counted_and_surplus_labels(self) -> None:
        found = of(reading("A", "no"), reading("B", "no"), reading("C", "yes"))
        assert (list(found.counted), list(found.surplus)) == (["A", "B"], ["C"])
        assert found.state(sample_codebook()) is ItemState.AGREED
        assert found.surplus["C"].code_answers["person"] == "yes"

    def test_corrections_before_it_is_complete_are_blind_too(self) -> None:
        found = of(reading("A", "no"), reading("A", "yes"), reading("B", "yes"), reading("A", "no"))
        assert found.blind["A"].code_answers["person"] == "yes"
        assert found.counted["A"].code_answers["person"] == "no"
        assert found.state(sample_codebook()) is ItemState.DIFFERS

    def test_a_code_that_one_was_not_asked_is_open(self) -> None:
        found = of(reading("A", "no"), reading("B", "yes"))
        assert found.differing_codes(sample_codebook()) == ["person", "who"]
        assert found.agreed_answers(sample_codebook()) == {"doing": ["none"]}

    def test_latest_settling_label_counts(self) -> None:
        found = of(
            reading("A", "no"),
            reading("B", "yes"),
            reading("C", "yes", settles=True),
            reading("A", "no", settles=True),
        )
        assert found.state(sample_codebook()) is ItemState.SETTLED
        assert found.agreed_answers(sample_codebook()) == {"person": "no", "doing": ["none"]}
        assert list(found.surplus) == []

    def test_nothing_is_agreed_before_it_is_complete(self) -> None:
        found = of(reading("A", "no"))
        assert (found.state(sample_codebook()), found.agreed_answers(sample_codebook())) == (
            ItemState.INCOMPLETE,
            {},
        )

    def test_letters(self) -> None:
        assert list(assign_letters(range(28)).values())[25:] == ["Z", "AA", "AB"]

    def test_later_readers_start_at_other_positions(self) -> None:
        starts = [reader_start_position(rank, 2, 250) for rank in range(8)]
        assert starts == [0, 0, 154, 154, 59, 59, 213, 213]
        assert order_queue([1, 2, 200, 3], 155) == [200, 1, 2, 3]


def items(answers: Sequence[tuple[str, str]], split: str = "train") -> list[LabelledItem]:
    """Return pairs that A and B read so."""
    return [
        LabelledItem(f"{split}-{n}", n + 1, split, None, of(reading("A", first), reading("B", second)))
        for n, (first, second) in enumerate(answers)
    ]


def measure(found: list[LabelledItem], how: SamplingMethod = SamplingMethod.RANDOM) -> list[CodeFigures]:
    return measured.code_figures(found, sample_codebook(), method=how, rng=np.random.default_rng(0))


class TestFigures:
    ANSWERS = [("no", "no")] * 12 + [("yes", "yes")] * 5 + [("yes", "no")] * 2 + [("no", "yes")]

    def test_they_are_the_coefficients_of_the_judging_report(self) -> None:
        (person, _, doing) = measure(items(self.ANSWERS))
        (found,) = person.agreement
        assert found.cohen == grader_agreement(self.ANSWERS)
        rows = [
            (n, who, word)
            for n, answers in enumerate(self.ANSWERS)
            for who, word in zip("AB", answers, strict=True)
        ]
        assert found.alpha.value == krippendorff_alpha(
            RatingTable.from_rows(rows, ("yes", "no")), Metric.NOMINAL
        )
        assert found.percent.value == pytest.approx(17 / 20)
        assert found.table is not None
        assert found.table.tolist() == [[5, 2], [1, 12]]
        assert found.reader_pair == ("A", "B")
        assert [row.choice for row in doing.agreement] == ["work", "play", "none"]

    def test_shares_are_of_agreed_answers_with_wilson_s_interval(self) -> None:
        (person, who, _) = measure(items(self.ANSWERS))
        yes, no = person.values
        assert ((yes.overall.count, yes.overall.total), (no.overall.count, person.differing)) == (
            (5, 17),
            (12, 3),
        )
        assert no.overall.interval == wilson_interval(17, 12 / 17)
        assert (who.agreed, who.values[0].overall.count) == (5, 5)

    def test_243_of_250(self) -> None:
        (person, *_) = measure(items([("no", "no")] * 243 + [("yes", "yes")] * 7))
        no = person.values[1].overall
        assert (no.count, no.total, round(100 * (no.share or 0), 1)) == (243, 250, 97.2)
        assert no.interval is not None
        assert (round(no.interval.low, 4), round(no.interval.high, 4)) == (0.9433, 0.9864)

    def test_only_random_samples_have_intervals(self) -> None:
        found = [*items(self.ANSWERS[:10]), *items(self.ANSWERS[10:], "val")]
        for how, in_all, within in (
            (SamplingMethod.RANDOM, True, True),
            (SamplingMethod.PER_SPLIT, False, True),
            (SamplingMethod.TOP, False, False),
        ):
            (person, *_) = measure(found, how)
            no = person.values[1]
            assert (no.overall.interval is not None, no.by_split["val"].interval is not None) == (
                in_all,
                within,
            )

    def test_three_readers_have_alpha_and_no_kappa(self) -> None:
        answers = [("no", "no", "no"), ("yes", "yes", "yes"), ("no", "yes", "no")]
        rows = [[reading(who, word) for who, word in zip("ABC", words, strict=True)] for words in answers]
        found = [LabelledItem(str(n), n, "", None, of(*row, readers=3)) for n, row in enumerate(rows)]
        (person, *_) = measure(found)
        assert person.agreement[0].cohen is None
        assert person.agreement[0].alpha.value == pytest.approx(0.6)

    def test_single_reader_has_no_agreement(self) -> None:
        found = [LabelledItem("a", 1, "", None, of(reading("A", "no"), readers=1))]
        (person, *_) = measure(found)
        assert person.agreement[0].percent.items == 0
        assert person.values[1].overall.count == 1

    def test_nothing_read_is_no_error(self) -> None:
        assert [row.agreed for row in measure([])] == [0, 0, 0]
        assert count_by_state([], sample_codebook())[ItemState.AGREED] == 0


class TestExport:
    def test_a_line_per_pair_and_code(self) -> None:
        found = items([("no", "no"), ("no", "yes")])
        rows = list(csv_rows(found, sample_codebook(), ["A", "B"], is_open=False))
        assert csv_columns(["A", "B"])[-4:] == ["state", "reader_A", "reader_B", "agreed"]
        assert rows[0] == ["train-0", "train", 1, "", "mine", 2, "person", "agreed", "no", "no", "no"]
        assert rows[4][6:] == ["who", "differs", "", "child", ""]
        assert len(rows) == 6

    def test_incomplete_pairs_are_hidden_while_audit_is_open(self) -> None:
        found = [LabelledItem("a", 1, "", 0.5, of(reading("A", "yes")))]
        assert [row[8] for row in csv_rows(found, sample_codebook(), ["A"], is_open=True)] == ["", "", ""]
        assert [row[8] for row in csv_rows(found, sample_codebook(), ["A"], is_open=False)] == [
            "yes",
            "child",
            "none",
        ]
        assert next(json_rows(found, sample_codebook(), is_open=True))["readings"] == []

    def test_correction_keeps_blind_label(self) -> None:
        found = of(reading("A", "no"), reading("B", "yes"), reading("B", "no"))
        (row,) = json_rows([LabelledItem("a", 1, "", None, found)], sample_codebook(), is_open=True)
        assert row["readings"][1]["answers"]["person"] == "no"
        assert row["readings"][1]["blind_answers"]["person"] == "yes"
        assert "blind_answers" not in row["readings"][0]

    def test_figures_are_plain_json(self) -> None:
        text = json.dumps(figures_document(measure(items(TestFigures.ANSWERS))), allow_nan=False)
        (person, *_) = json.loads(text)
        assert person["agreement"][0]["cohen_kappa"]["same"] == 17
        assert person["values"][1]["by_split"]["train"] == {"count": 12, "of": 17}
