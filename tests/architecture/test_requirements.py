"""requirements.txt, the .in files, the extras and the locks tell the same story, and the locks name no place."""

import ast
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LAYERS = ("base", "ml", "generation", "dev", "video")
OPTIONAL = ("generation", "video")  # may not be installed
REQUIRED = {
    "django",
    "djangorestframework",
    "boto3",
    "celery",
    "pillow",
    "torch",
    "sentence-transformers",
    "scikit-learn",
}


def asked(path: Path) -> dict[str, Requirement]:
    """Name -> requirement of a file written by hand; comments and -c lines are left out."""
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    requirements = [Requirement(line) for line in lines if line and not line.startswith("-c ")]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def locked(path: Path) -> dict[str, str]:
    """Name -> version of a lock; each entry must be one pinned package with at least one hash."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    pins = {}
    for line in filter(None, text.splitlines()):
        requirement, *hashes = line.split(" --hash=sha256:")
        assert hashes, f"{path.name}: no hash: {requirement}"
        parsed = Requirement(requirement)
        pinned = re.fullmatch(r"==(\S+)", str(parsed.specifier))
        assert pinned, f"{path.name}: not pinned: {requirement}"
        assert parsed.url is None, requirement
        pins[canonicalize_name(parsed.name)] = pinned[1]
    return pins


@pytest.fixture
def locks(root: Path) -> dict[str, dict[str, str]]:
    return {layer: locked(root / "requirements" / f"{layer}.txt") for layer in LAYERS}


def test_requirements_txt_is_the_runtime(root: Path) -> None:
    short = asked(root / "requirements.txt")
    base, ml = (asked(root / "requirements" / f"{layer}.in") for layer in ("base", "ml"))
    pinned_for_torch = {name for name, requirement in ml.items() if not requirement.specifier}
    layered = {**base, **{name: asked for name, asked in ml.items() if name not in pinned_for_torch}}
    torch = short.pop("torch")
    assert {name: str(requirement) for name, requirement in short.items()} == {
        name: str(requirement) for name, requirement in layered.items()
    }
    assert {"torch", *short} >= REQUIRED
    assert f"TORCH={next(iter(torch.specifier)).version} " in (root / "scripts/setup.sh").read_text()


def test_extras_match_the_in_files(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = {name: set(asked) for name, asked in project["optional-dependencies"].items()}
    layers = {
        layer: {
            str(requirement)
            for requirement in asked(root / "requirements" / f"{layer}.in").values()
            if requirement.specifier
        }
        for layer in LAYERS
    }
    assert {name: {str(Requirement(line)) for line in lines} for name, lines in extras.items()} == {
        "site": layers["base"],
        "ml": layers["ml"] | {"torch==2.13.0"},
        "dev": layers["dev"],
        "video": layers["video"],
        "generation": layers["generation"],
    }
    assert {str(Requirement(line)) for line in project["dependencies"]} <= layers["base"] | layers["ml"]


@pytest.mark.parametrize("layer", LAYERS)
def test_locks_satisfy_the_requirements(root: Path, locks: dict[str, dict[str, str]], layer: str) -> None:
    for name, requirement in asked(root / "requirements" / f"{layer}.in").items():
        assert name in locks[layer], f"{name} is asked for but not locked: scripts/lock.sh"
        assert requirement.specifier.contains(locks[layer][name]), f"{name}: scripts/lock.sh"


def test_locks_agree(locks: dict[str, dict[str, str]]) -> None:
    together: dict[str, set[str]] = {}
    for pins in locks.values():
        for name, version in pins.items():
            together.setdefault(name, set()).add(version)
    assert {name: versions for name, versions in together.items() if len(versions) > 1} == {}


def test_torch_is_in_no_lock(locks: dict[str, dict[str, str]]) -> None:
    heavy = re.compile(r"torch|torchvision|triton|nvidia-.*|cuda-.*")
    assert [name for pins in locks.values() for name in pins if heavy.fullmatch(name)] == []


def test_locks_name_no_index(root: Path) -> None:
    place = re.compile(r"--index|--extra-index|--find-links|--trusted|^-[fi]\b|://|file:", re.MULTILINE)
    files = [root / "requirements.txt", *(root / "requirements").iterdir()]
    assert [path.name for path in files if place.search(path.read_text())] == []


LIBRARY = ("curation/dedup", "curation/negatives", "curation/evaluation")


def imported(source: Path) -> set[str]:
    """The first parts of what a file imports by whole names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def with_what_they_require(names: set[str]) -> set[str]:
    """Names of distributions, and of those that they always bring: botocore comes with boto3."""
    brought = {
        canonicalize_name(Requirement(line).name)
        for name in names
        for line in metadata.requires(name) or []
        if "extra ==" not in line
    }
    return names | brought


def test_every_imported_package_is_required(root: Path, production_sources: list[Path]) -> None:
    owners = metadata.packages_distributions()
    layers = {name for layer in ("base", "ml") for name in asked(root / "requirements" / f"{layer}.in")}
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    optional = {name for layer in OPTIONAL for name in asked(root / "requirements" / f"{layer}.in")}
    site = with_what_they_require(layers | {"torch"}) | optional
    library = with_what_they_require(
        {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    )
    missing = set()
    for source in production_sources:
        path = source.relative_to(root).as_posix()
        allowed = library if path.startswith(LIBRARY) else site
        for name in imported(source) & set(owners):
            if not {canonicalize_name(owner) for owner in owners[name]} & allowed:
                missing.add(f"{path}: {name}")
    assert sorted(missing) == []
