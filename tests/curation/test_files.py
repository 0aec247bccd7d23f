"""A folder that is made beside its place is there whole, or nothing is."""

from pathlib import Path

import pytest

from curation.files import partial_folder


def test_renamed_folder_is_kept(tmp_path: Path) -> None:
    with partial_folder(tmp_path / "made") as partial:
        partial.mkdir()
        (partial / "a").write_text("whole")
        assert not (tmp_path / "made").exists()
        partial.rename(tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert (tmp_path / "made" / "a").read_text() == "whole"


def test_any_exception_removes_the_folder(tmp_path: Path) -> None:
    def die() -> None:
        with partial_folder(tmp_path / "made") as partial:
            partial.mkdir()
            (partial / "a").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        die()
    assert list(tmp_path.iterdir()) == []
