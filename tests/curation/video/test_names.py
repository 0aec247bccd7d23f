"""Names of clips and frames."""

import pytest

from curation.records import InvalidInput
from curation.video.names import (
    check_clip_name,
    check_movie_name,
    frame_path,
    parse_lsmdc_clip,
)

LSMDC_CLIP = "0001_American_Beauty_00.23.57.935-00.24.00.783"


def test_frames_have_the_published_names() -> None:
    path = frame_path("lsmdc_0001_American_Beauty", LSMDC_CLIP, 3)
    assert path == f"lsmdc_0001_American_Beauty/{LSMDC_CLIP}@3.jpg"


def test_lsmdc_clip_carries_its_film_and_times() -> None:
    assert parse_lsmdc_clip(LSMDC_CLIP) == ("0001_American_Beauty", 1437.935, 1440.783)
    assert parse_lsmdc_clip("0001_American_Beauty_00.23.57.935") is None
    assert parse_lsmdc_clip("vjKmLdXyPRc") is None


@pytest.mark.parametrize("name", ["", " ", "..", "a/b", "a\\b", "a@b", "a\x00b", " a", "x" * 400])
def test_names_that_cannot_be_files_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="clip: "):
        check_clip_name(name)
    with pytest.raises(InvalidInput, match="movie: "):
        check_movie_name(name)


def test_names_of_films_and_clips_are_kept() -> None:
    assert check_clip_name(LSMDC_CLIP) == LSMDC_CLIP
    assert check_movie_name("Der Fänger (1951)") == "Der Fänger (1951)"
