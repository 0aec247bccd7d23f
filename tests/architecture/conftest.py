"""What the tests of the repository itself look at: its files, and the sources that ship."""

import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGES = ("annotation_site", "hits", "validation", "curation")
UNTRACKED = {".git", ".venv", "var", "node_modules", "__pycache__"}


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def repository_files() -> list[Path]:
    """Every file that is, or is about to be, under version control (ignored files are left out)."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:  # an unpacked archive
        paths = [path for path in ROOT.rglob("*") if not UNTRACKED & set(path.relative_to(ROOT).parts)]
    return sorted(path for path in set(paths) if path.is_file() and not path.is_symlink())


@pytest.fixture(scope="session")
def repository_texts(repository_files: list[Path]) -> dict[str, bytes]:
    """Content of every text file by its path from the root; a file with a NUL byte is not text."""
    contents = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in repository_files}
    return {name: content for name, content in contents.items() if b"\0" not in content}


@pytest.fixture(scope="session")
def production_sources(repository_files: list[Path]) -> list[Path]:
    """Python files of the four packages, without their tests and migrations."""
    return [
        path
        for path in repository_files
        if path.suffix == ".py"
        and path.relative_to(ROOT).parts[0] in PACKAGES
        and not {"tests", "migrations"} & set(path.relative_to(ROOT).parts)
    ]
