"""What pages say about leaderboards of multiple-choice questions."""

from curation.evaluation.choice_paper import CITATION, CITATION_DOI
from curation.families.vcr.rows import QUESTION
from curation.versions.board import BoardTexts

BOARD_TEXTS = BoardTexts(
    part=QUESTION,
    measures_source=CITATION,
    measures_doi=CITATION_DOI,
    layout_template="vcr/board_layout.html",
    data_note=(
        "An instance is a question with four answers and four rationales, in the published layout without labels. "
        "metadata.jsonl has the objects of each photo, to which the tags point. The labels stay on the server."
    ),
    interval_note="the photos of the n questions",
    references={
        "human": "the majority of five people",
        "random": "one of four, and of sixteen",
    },
    details_template="vcr/board_details.html",
)
