"""What pages say about leaderboards of image triplets."""

from curation.families.nleye.rows import TRIPLET
from curation.versions.board import BoardTexts

CITATION, CITATION_DOI = "Ventura et al. 2025", "10.48550/arXiv.2410.02613"
BOARD_TEXTS = BoardTexts(
    part=TRIPLET,
    measures_source=CITATION,
    measures_doi=CITATION_DOI,
    layout_template="nleye/board_layout.html",
    data_note=(
        "An instance is a triplet of pictures in one of two orders, or a pair of premise and hypothesis, under a "
        "random id. Texts, facets and gold stay on the server. Equal pictures show which instances belong together; "
        "answer each instance by itself."
    ),
    interval_note="the n triplets",
    references={
        "human": "the majority of three people",
        "random": "a guess in each order, and of ten points",
    },
)
