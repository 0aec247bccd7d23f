"""requirements.txt, the .in files and the locks tell the same story, and the locks name no place."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LAYERS = ("base", "ml", "dev")
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


def test_the_short_file_is_the_runtime(root: Path) -> None:
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


@pytest.mark.parametrize("layer", LAYERS)
def test_a_lock_satisfies_what_is_asked(root: Path, locks: dict[str, dict[str, str]], layer: str) -> None:
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


def test_locks_name_no_place(root: Path) -> None:
    place = re.compile(r"--index|--extra-index|--find-links|--trusted|^-[fi]\b|://|file:", re.MULTILINE)
    files = [root / "requirements.txt", *(root / "requirements").iterdir()]
    assert [path.name for path in files if place.search(path.read_text())] == []
