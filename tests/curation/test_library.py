"""The numerical packages as somebody uses them who installed the project and has no Django: docs/library.md runs."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "library.md"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "var", "tests", "node_modules", "__pycache__", ".*_cache", "build"
)

# Runs the page's examples on what was installed, in a process in which nothing of Django can be imported.
RUN_PAGE = """
import doctest, sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "rest_framework", "celery", "boto3"}:
            raise ImportError(f"{name} was asked for by the numerical packages")

sys.meta_path.insert(0, Refusing())
installed, page = sys.argv[1:]
sys.path.insert(0, installed)
import curation
assert curation.__file__.startswith(installed), curation.__file__
result = doctest.testfile(page, module_relative=False)
print(result.attempted)
sys.exit(bool(result.failed))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as ``pip install .`` leaves it, from a copy of the sources, without its dependencies."""
    source = tmp_path_factory.mktemp("source") / "project"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    target = tmp_path_factory.mktemp("installed")
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--disable-pip-version-check", "--no-compile", "--target", str(target), str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def test_pip_install_puts_the_four_packages_with_their_files_in_place(installed: Path) -> None:
    packages = {path.name for path in installed.iterdir() if path.is_dir() and not path.name.endswith("info")}
    assert packages == {"annotation_site", "hits", "validation", "curation"}
    for package in sorted(packages):
        shipped = {
            path.relative_to(ROOT)
            for folder in ("templates", "static")
            for path in (ROOT / package).rglob(f"{folder}/**/*")
            if path.is_file() and "tests" not in path.parts
        }
        assert [str(path) for path in sorted(shipped) if not (installed / path).is_file()] == []
    assert (installed / "curation/scorer/paper.toml").is_file()
    assert not list(installed.rglob("test_*.py"))


@pytest.mark.long
def test_every_example_of_the_page_runs_without_django(installed: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-c", RUN_PAGE, str(installed), str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) == len(doctest.DocTestParser().get_examples(PAGE.read_text()))
    assert len(re.findall(r"^## ", PAGE.read_text(), re.MULTILINE)) == 4
