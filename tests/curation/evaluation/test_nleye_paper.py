"""Published figures on image triplets: each number was typed a second time here, from the tables of the paper."""

import math

import pytest

from curation.evaluation.exact_tests import binomial_p
from curation.evaluation.nleye_pairs import pair_chance
from curation.evaluation.nleye_paper import ORIGIN, PaperRow, paper_figures, paper_rows

NAMES = {
    "people": "People",
    "gemini": "Gemini-1.5-Pro",
    "gpt4v": "GPT-4V",
    "gpt4": "GPT-4",
    "gpt4o": "GPT-4o",
    "claude": "Claude-3.5-Sonnet",
    "opus": "Claude-3-Opus",
    "llava": "LLaVA-1.6",
    "fuyu": "Fuyu-8B",
    "bart": "BART-L-MNLI",
    "deberta": "DeBERTa-v3-NLI",
    "blip2": "BLIP-2",
    "instructblip": "InstructBLIP",
    "minicpm": "MiniCPM-V-2.6",
    "onevision": "LLaVA-OneVision-7B",
    "random": "Random",
    "pixel": "Dumb pixel",
    "average": "Average",
    "winogavil": "WinoGAViL",
    "riddles": "Visual Riddles",
}
TYPED = {
    ("main", "people"): "people 85 83 95",
    ("main", "separate"): "gemini 51 42 38 34; gpt4v 46 40 39 37; gpt4o 16 50 23 23; claude 49 38 50 26",
    ("main", "combined"): "gemini 43 39 40 33; gpt4v 41 34 37 27; gpt4o 60 45 44 40; claude 28 36 42 21; "
    "opus 15 33 26 6; llava 14 42 15 4; fuyu 4 44 10 2",
    ("main", "baseline"): "random 25 45; pixel 50 50",
    ("orders", "separate"): "gemini 50.57 56.0 75.14; gpt4v 45.71 59.14 66.0; gpt4o 16.29 97.43 16.29; "
    "claude 49.28 65.9 59.31",
    ("orders", "combined"): "opus 15.14 30.57 72.86; claude 28.29 76.86 30.29; llava 14.86 53.14 26.0; "
    "gemini 42.57 46.29 81.43; gpt4v 41.14 54.57 67.14; gpt4o 60.0 76.0 69.14; fuyu 4.58 42.98 13.75",
    ("orders", "text-only"): "gpt4 78.0 86.86 82.86; gpt4o 80.0 83.14 88.57; gemini 65.8 72.99 79.02; "
    "opus 80.57 85.43 87.43; claude 79.43 82.29 89.43; bart 68 68 68; deberta 65 65 65",
    ("captions", "GPT-4o"): "gemini 29; gpt4v 32; claude 39; opus 33; llava 29; blip2 40; instructblip 35",
    ("captions", "Claude-3.5-Sonnet"): "gemini 50; gpt4v 44; llava 36; blip2 42; instructblip 36",
    ("open_models", "separate"): "minicpm 12; onevision 18",
    ("open_models", "combined"): "minicpm 36; onevision 23",
    ("prompts", "answer-first"): "gpt4v 46",
    ("prompts", "explain-first"): "gpt4v 43",
    ("prompts", "step-by-step"): "gpt4v 49",
    ("prompts", "role"): "gpt4v 44",
    ("photographs", "photographs"): "gpt4v 58",
    ("photographs", "generated"): "gpt4v 68",
    (
        "scores",
        "separate",
    ): "gpt4o 50 1.48 37 2.54 .42; gpt4v 40 1.60 44 3.12 .58; gemini 42 1.71 43 3.16 .65; "
    "claude 38 1.33 41 2.49 .60",
    (
        "scores",
        "combined",
    ): "gpt4o 45 1.30 37 2.27 .50; gpt4v 34 1.28 48 2.52 .62; gemini 39 1.73 45 3.29 .71; "
    "llava 42 2.38 27 3.31 1.69; fuyu 44 2.58 17 3.25 2.04",
    ("votes", "people"): "people 5 9 25 60",
    ("votes", "separate"): "gpt4o 77 8 5 9; gpt4v 61 8 6 25; gemini 62 9 7 23; claude 50 12 12 25",
    ("votes", "combined"): "gpt4o 56 6 8 31; gpt4v 63 8 11 18; gemini 60 7 12 21; claude 58 8 10 24; "
    "opus 74 12 5 9; llava 85 9 5 1; fuyu 90 8 2 1",
    ("candidates", "people"): "people 840",
    ("candidates", "separate"): "gemini 282; gpt4v 278; gpt4o 340; claude 265",
    ("candidates", "combined"): "opus 309; claude 276; llava 224; gemini 298; gpt4v 281; gpt4o 298; fuyu 181",
    ("people", "separate"): "claude 44 5 10 40; gemini 46 5 11 38; gpt4v 41 4 11 42; average 44 5 11 40",
    ("failures", "separate"): "claude 3 16 24 30 27; gemini 8 32 19 14 27; gpt4v 19 25 14 19 22",
    ("related", "related"): "winogavil 3500 90 52; riddles 400 82 40",
}


def _group(row: PaperRow) -> str:
    return row.predictor or row.variant or row.strategy


def test_every_published_number_is_there_and_no_other() -> None:
    typed = {
        (table, group, NAMES[name]): [float(value) for value in values]
        for (table, group), text in TYPED.items()
        for name, *values in (row.split() for row in text.split("; "))
    }
    found = {
        (table, _group(row), row.model): list(map(float, row.figures.values()))
        for table, rows in paper_figures().tables.items()
        for row in rows
    }
    assert found == typed
    assert dict(paper_figures().single) == {
        "explanations_of_people_section_1": 94,
        "explanations_of_people_section_5": 95,
        "unanimity": 67.6,
        "model_right_when_people_wrong": 30,
        "model_errors_shared_with_people": 21,
    }


def test_rows_are_marked_as_the_papers_and_name_their_versions() -> None:
    rows = [row for table in paper_figures().tables.values() for row in table]
    assert {row.origin for row in rows} == {ORIGIN} == {"paper"}
    versions = {row.model: row.version for row in rows if row.version}
    assert versions == {
        "Gemini-1.5-Pro": "gemini-1.5-pro",
        "GPT-4o": "gpt-4o-2024-08-06",
        "GPT-4V": "gpt-4-1106-vision-preview",
        "Claude-3-Opus": "claude-3-opus-20240229",
        "Claude-3.5-Sonnet": "claude-3-5-sonnet-20240620",
    }
    assert paper_figures().judge == "gpt-4o-2024-08-06"
    assert {row.source for row in paper_rows("related")} == {
        "Bitton et al. 2022, arXiv:2207.12576",
        "Bitton-Guetta et al. 2024, arXiv:2407.19474",
    }


def test_tables_agree_where_they_state_the_same() -> None:
    """Table 2 rounds table 7, except two rows that it cuts off, which a note names; votes give the people's score."""
    main = {(row.strategy, row.model): row.figures for row in paper_rows("main")}
    odd = []
    for row in paper_rows("orders"):
        if row.strategy != "text-only":
            rounded = math.floor(row.figures["consistency"] + 0.5)
            if rounded != main[row.strategy, row.model]["triplet"]:
                odd.append(row.model)
    assert odd == ["LLaVA-1.6", "Fuyu-8B"]
    assert all(any(name.split("-")[0] in note for note in paper_figures().notes) for name in odd)
    for row in paper_rows("votes"):
        valid = sum(row.figures[f"votes_{count}"] for count in (1, 2, 3))
        assert main[row.strategy, row.model]["human"] == pytest.approx(valid, abs=2)
    for row in paper_rows("scores"):
        figures = row.figures
        assert figures["pairs"] == main[row.strategy, row.model]["pairs"]
        right = figures["pairs"] / 100
        mixed = right * figures["right"] + (1 - right) * figures["wrong"]
        assert figures["difference"] == pytest.approx(mixed, abs=0.02)
    assert main["baseline", "Random"]["pairs"] == 100 * pair_chance(10)


def test_candidates_follow_from_the_orders_of_table_7() -> None:
    """One explanation is judged for each triplet that is right in any order."""
    orders = {(row.strategy, row.model): row.figures for row in paper_rows("orders")}
    for row in paper_rows("candidates"):
        if row.strategy != "people":
            figures = orders[row.strategy, row.model]
            either = figures["gold_first"] + figures["gold_second"] - figures["consistency"]
            expected = either / 100 * paper_figures().triplets
            assert row.figures["explanations"] == pytest.approx(expected, abs=2)


def test_the_published_position_bias_is_beyond_doubt() -> None:
    row = next(row for row in paper_rows("orders") if row.model == "GPT-4o" and row.strategy == "separate")
    n = paper_figures().triplets
    # Where gold is first the answer is the first position; where it is second, a wrong answer is.
    firsts = round(n * row.figures["gold_first"] / 100) + n - round(n * row.figures["gold_second"] / 100)
    assert binomial_p(firsts, 2 * n) < 1e-100
