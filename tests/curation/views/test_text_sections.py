"""Numbers in the sections of text analyses: negative values have a minus sign on pages."""

from typing import Any

from curation.models import AnalysisKind, TextAnalysis
from curation.views import text_sections
from hits.models import Project


def topics(coherence: float) -> dict[str, Any]:
    """Return one side of a topic analysis with two topics."""
    rows = [{"words": [[word, 0.5]], "texts": 3, "share": 0.5, "coherence": coherence} for word in "ab"]
    return {"words": 2, "coherence": coherence, "perplexity": 8.0, "without_words": 0, "topics": rows}


def test_negative_coherence_has_a_minus_sign() -> None:
    result = {
        "clues": topics(-0.7249),
        "inferences": topics(0.2),
        "flow": [[2, 1], [1, 2]],
        "times_chance": [[1.3, 0.7], [0.7, 1.3]],
        "in_flow": 6,
        "pairs": 6,
        "examples": [],
    }
    row = TextAnalysis(kind=AnalysisKind.TOPICS, result=result)
    project = Project(pk=1)
    summary = text_sections.summary_section(project, row, "Topics")
    assert ("Coherence", "−0.725 and 0.200") in summary.facts
    sections, (fit,) = text_sections.topic_sections(project, row, [])  # type: ignore[arg-type]
    assert ("Coherence, clues", "−0.725") in fit.facts
    (table,) = next(section.tables for section in sections if section.title == "Clues")
    assert [cells[-1].text for cells in table.rows] == ["−0.72", "−0.72"]
