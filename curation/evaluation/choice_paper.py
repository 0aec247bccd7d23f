"""Published results on multiple-choice questions about images, to stand beside our own. All in percent.

Sources: Zellers et al. 2019, "From Recognition to Cognition: Visual Commonsense Reasoning",
doi:10.1109/CVPR.2019.00688, tables 1, 5 and 6, §5 and appendix G; Ye & Kovashka 2021,
doi:10.1609/aaai.v35i4.16428. In table 1 MUTAN has a Q→AR of 14.6 %, in table 6 one of 14.1 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

VAL, TEST = "val", "test"
CITATION = "Zellers et al. 2019"
CITATION_DOI = "10.1109/CVPR.2019.00688"
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """Q→A, QA→R and Q→AR of a model on each split for which they were published.

    group: the part of the tables that it belongs to. source: where it was published.
    """

    name: str
    group: str
    figures: Mapping[str, Triple]
    source: str


def _both(name: str, group: str, val: Triple, test: Triple) -> PublishedResult:
    return PublishedResult(name, group, {VAL: val, TEST: test}, f"{CITATION}, table 1")


TEXT_ONLY, VQA, OURS, ABLATIONS, WITH_BERT = (
    "Text only",
    "Visual question answering",
    "Recognition to cognition",
    "Ablations of R2C",
    "With BERT",
)
PEOPLE_ROW = "People"
PUBLISHED_RESULTS: Sequence[PublishedResult] = (
    PublishedResult("Chance", "Chance", {VAL: (25.0, 25.0, 6.25), TEST: (25.0, 25.0, 6.25)}, CITATION),
    _both("BERT", TEXT_ONLY, (53.8, 64.1, 34.8), (53.9, 64.5, 35.0)),
    _both("BERT, response only", TEXT_ONLY, (27.6, 26.3, 7.6), (27.7, 26.2, 7.3)),
    _both("ESIM + ELMo", TEXT_ONLY, (45.8, 55.0, 25.3), (45.9, 55.1, 25.6)),
    _both("LSTM + ELMo, response only", TEXT_ONLY, (28.1, 28.7, 8.3), (28.3, 28.5, 8.4)),
    _both("RevisitedVQA", VQA, (39.4, 34.0, 13.5), (40.5, 33.7, 13.8)),
    _both("BottomUpTopDown", VQA, (42.8, 25.1, 10.7), (44.1, 25.1, 11.0)),
    _both("MLB", VQA, (45.5, 36.1, 17.0), (46.2, 36.8, 17.2)),
    _both("MUTAN", VQA, (44.4, 32.0, 14.6), (45.5, 32.2, 14.6)),
    _both("R2C", OURS, (63.8, 67.2, 43.1), (65.1, 67.3, 44.0)),
    PublishedResult(PEOPLE_ROW, "People", {TEST: (91.0, 93.0, 85.0)}, f"{CITATION}, table 1, test"),
    *(
        PublishedResult(name, ABLATIONS, {VAL: figures}, f"{CITATION}, table 2")
        for name, figures in (
            ("R2C, no query", (48.3, 43.5, 21.5)),
            ("R2C, no reasoning", (63.6, 65.7, 42.2)),
            ("R2C, no vision", (53.1, 63.2, 33.8)),
            ("R2C, GloVe", (46.4, 38.3, 18.3)),
        )
    ),
    *(
        PublishedResult(f"{name} with BERT", WITH_BERT, {VAL: figures}, f"{CITATION}, table 6")
        for name, figures in (
            ("RevisitedVQA", (57.5, 63.5, 36.8)),
            ("BottomUpTopDown", (62.3, 63.0, 39.6)),
            ("MLB", (61.8, 65.4, 40.6)),
            ("MUTAN", (61.0, 64.4, 39.3)),
        )
    ),
)
"""The tables' rows in the order of pages."""

PEOPLE: Triple = (91.0, 93.0, 85.0)
"""Five people on each of 200 test questions, the majority of their choices (Zellers et al. 2019, appendix G)."""


@dataclass(frozen=True, slots=True)
class PublishedPrior:
    """How far the texts of a dataset alone predict its answers: responses alone, and with the question.

    with_subtitles: with the question and the film's subtitles. chance: of its multiple choice.
    """

    dataset: str
    response_only: float
    question_response: float
    chance: float = 20.0
    with_subtitles: float | None = None


PUBLISHED_PRIORS: Sequence[PublishedPrior] = (
    PublishedPrior("VCR, Q→A", 27.6, 53.8, 25.0),
    PublishedPrior("VCR, QA→R", 26.3, 64.1, 25.0),
    PublishedPrior("VCR of 9,848 questions, Q→A", 25.5, 39.9, 25.0),
    PublishedPrior("VCR of 9,848 questions, QA→R", 25.3, 50.9, 25.0),
    PublishedPrior("TVQA", 45.0, 47.4, with_subtitles=70.6),
    PublishedPrior("MovieQA", 33.8, 35.4, with_subtitles=36.3),
    PublishedPrior("PororoQA", 43.1, 47.4),
    PublishedPrior("TGIFQA", 45.8, 72.5),
)
"""Zellers et al. 2019, §D and table 5."""


def published_prior(stage: str) -> PublishedPrior:
    """Return the published priors of the whole dataset for a stage, ``answer`` or ``rationale``."""
    return PUBLISHED_PRIORS[0] if stage == "answer" else PUBLISHED_PRIORS[1]


def published_rows(split: str) -> list[tuple[PublishedResult, Triple]]:
    """Return the published results on a split, or on val for another split; those of people are of test alone."""
    named = split if split in (VAL, TEST) else VAL
    found = [(row, row.figures.get(TEST if row.name == PEOPLE_ROW else named)) for row in PUBLISHED_RESULTS]
    return [(row, triple) for row, triple in found if triple is not None]
