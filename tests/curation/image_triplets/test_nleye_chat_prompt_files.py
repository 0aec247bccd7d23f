"""Files with other prompts for chat models: what cannot be read is refused in one line."""

from pathlib import Path

import pytest

from curation.image_triplets.chat_prompts import read_prompts
from curation.records import InvalidInput


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 5000, "a = ", 'a = "\xff"'])
def test_unreadable_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(text.encode("latin-1"))
    for given in (path, tmp_path / "none.toml", tmp_path / "a\0b.toml"):
        with pytest.raises(InvalidInput, match=r"^[^\n]*\.toml: is no readable TOML file [^\n]*$"):
            read_prompts(given)
