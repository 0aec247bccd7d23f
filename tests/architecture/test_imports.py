"""The direction of imports: the contracts of .importlinter hold, and each would notice being broken."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Modules of curation that the web process may load; each that exists is a source of the lean-web contract.
WEB_MODULES = ("admin", "leaderboard", "models", "selectors", "services", "urls", "views")

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"

# One import that must not be, by the contract that has to report it.
PLANTED = {
    "apps": ("hits.domain", "import curation.records"),
    "annotation-site": ("annotation_site.views", "import annotation_site.demo"),
    "hits": ("hits.models", "import hits.services"),
    "validation": ("validation.domain", "import validation.services.judging"),
    "curation": ("curation.records", "import curation.services"),
    "leaderboard": ("curation.leaderboard.models", "import curation.leaderboard.services.boards"),
    "kinds": ("validation.kinds.likert_comparison", "import validation.kinds.observation_review"),
    "families": ("curation.families.other", "import curation.families.sherlock.family"),
    "acyclic": ("curation.versions.selection", "import curation.versions.plan"),
    "judging-kinds": ("validation.kinds.likert_comparison", "import hits.models"),
    "marketplace-imports": ("hits.marketplace", "import hits.selectors"),
    "marketplace-importers": ("hits.selectors", "import hits.marketplace"),
    "pure": ("curation.evaluation", "import django"),
    "scorer": ("curation.scorer.config", "import django"),
    "torch": ("annotation_site.settings", "def late():\n    import torch"),
    "lean-web": ("hits.selectors", "import sklearn"),
    "boto": ("curation.services", "import boto3"),
    "films": ("curation.video", "import av"),
    "generators": ("curation.pipelines.encoders", "def late():\n    import diffusers"),
    "generation": ("curation.services.versions", "import curation.generation.chat"),
    "port": ("hits.services", "import hits.mturk.boto"),
}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "300", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def contracts(root: Path) -> dict[str, configparser.SectionProxy]:
    """Contract id -> its section of .importlinter."""
    config = configparser.ConfigParser()
    config.read(root / ".importlinter")
    prefix = "importlinter:contract:"
    return {name.removeprefix(prefix): config[name] for name in config.sections() if name.startswith(prefix)}


@pytest.fixture
def copied_sources(root: Path, production_sources: list[Path], tmp_path: Path) -> Path:
    for source in production_sources:
        target = tmp_path / source.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    shutil.copy(root / ".importlinter", tmp_path)
    return tmp_path


def append(folder: Path, module: str, lines: str) -> None:
    path = folder / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    before = source.read_text() if source.is_file() else ""  # "other" is a family that there is not
    source.write_text(f"{before}\n{lines}\n")


def test_contracts_hold(root: Path) -> None:
    result = lint_imports(root)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_contract_reports_a_planted_violation(root: Path, copied_sources: Path) -> None:
    for module, lines in PLANTED.values():
        append(copied_sources, module, lines)
    output = lint_imports(copied_sources).stdout
    broken = set(re.findall(r"^(.*) BROKEN", output, flags=re.MULTILINE))
    sections = contracts(root)
    assert PLANTED.keys() == sections.keys(), "a contract without a planted import, or the other way round"
    assert broken == {section["name"] for section in sections.values()}, output


@pytest.mark.parametrize("package", ["hits", "validation", "curation"])
def test_a_module_outside_the_layers_is_reported(copied_sources: Path, package: str) -> None:
    (copied_sources / package / "unplaced.py").touch()
    result = lint_imports(copied_sources)
    assert result.returncode == 1
    assert f"- {package}.unplaced" in result.stdout


def test_lean_web_covers_every_web_module(root: Path) -> None:
    covered = contracts(root)["lean-web"]["source_modules"].split()
    existing = [
        f"curation.{name}"
        for name in WEB_MODULES
        if (root / "curation" / name).is_dir() or (root / "curation" / f"{name}.py").is_file()
    ]
    assert set(existing) <= set(covered)
