"""Which clips a job extracts: their films. No clip is decoded."""

from pathlib import Path

import pytest

from curation.pipelines.extract_frames import plan_clips
from curation.records import MAX_MOVIE_LENGTH, InvalidInput
from curation.services.frames import ExtractionSpec

LONG = "m" * (MAX_MOVIE_LENGTH + 1)
LSMDC = (
    f"{'m' * (MAX_MOVIE_LENGTH - 5)}_00.00.10.000-00.00.12.000"  # with the prefix, its film is one too long
)


@pytest.mark.parametrize("name", [f"{LONG}/a.mp4", f"{LSMDC}.mp4"])
def test_film_name_that_is_too_long_is_refused_by_file_with_the_fix(tmp_path: Path, name: str) -> None:
    clip = tmp_path / name
    clip.parent.mkdir(exist_ok=True)
    clip.write_bytes(b"a clip")
    spec = ExtractionSpec(str(tmp_path), "CC0", "made for this test")
    with pytest.raises(InvalidInput) as raised:
        plan_clips(spec)
    message = str(raised.value)
    assert message.startswith(f"{clip}: movie: ")
    assert message.endswith(
        "has 121 characters; use at most 120; rename the file or its folder, or give --movie"
    )
