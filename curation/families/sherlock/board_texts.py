"""What pages say about Sherlock's leaderboards."""

from curation.models import Part
from curation.versions.board import BoardTexts

BOARD_TEXTS = BoardTexts(
    part=Part.OBSERVATION,
    measures_source="Hessel et al. 2022",
    measures_doi="10.1007/978-3-031-20059-5_32",
    layout_template="leaderboard/_layout.html",
    data_note=(
        "An instance is a photo, a region and a text to score. The sorted ids give the order of the scores. "
        "The answer keys stay on the server."
    ),
    interval_note="the n values of its column",
    references={
        "human": "one judge’s ratings measured against those of the other judge",
        "random": "random scores",
    },
    has_proposals=True,
)
