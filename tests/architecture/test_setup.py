"""make's set-up says in one line what a machine lacks, and leaves nothing behind."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """A folder with only what set-up reads."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("scripts", "requirements"):
        shutil.copytree(root / name, folder / name)
    shutil.copy(root / "Makefile", folder)
    return folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder first on PATH, for stand-ins."""
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


def stand_in(tools: Path, name: str, script: str) -> str:
    path = tools / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def run(checkout: Path, tools: Path, *command: str, python: str) -> subprocess.CompletedProcess[str]:
    # Under `make test`, an inner make would take itself for a part of the outer one.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    env = {**inherited, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHON": python}
    return subprocess.run(
        command, cwd=checkout, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode != 0
    assert result.stdout == "", "set-up speaks on stderr"
    lines = [line for line in result.stderr.splitlines() if not line.startswith("make: ***")]
    assert len(lines) == 1, result.stderr
    return lines[0]


def test_setup_without_python_fails(checkout: Path, tools: Path) -> None:
    old = stand_in(tools, "python-old", "exit 1")
    line = one_line(run(checkout, tools, "scripts/setup.sh", "runtime", python=old))
    assert "no Python 3.11, 3.12 or 3.13 found" in line
    assert not (checkout / ".venv").exists()


def test_setup_without_venv_module_fails(checkout: Path, tools: Path) -> None:
    bare = stand_in(
        tools, "python-bare", f'case "$2" in *ensurepip*) exit 1;; *) exec {sys.executable} "$@";; esac'
    )
    line = one_line(run(checkout, tools, "scripts/setup.sh", "runtime", python=bare))
    assert line == "setup: python3-venv is missing: apt-get install python3-venv"
    assert not (checkout / ".venv").exists()


def test_setup_with_little_disk_space_fails(checkout: Path, tools: Path) -> None:
    stand_in(
        tools, "df", "echo Filesystem 1024-blocks Used Available Capacity Mounted; echo d 9 9 5242880 9% /"
    )
    line = one_line(run(checkout, tools, "scripts/setup.sh", "runtime", python=sys.executable))
    assert "less than 6 GB of disk are free here (5 GB)" in line
    assert not (checkout / ".venv").exists()


def test_no_node(checkout: Path, tools: Path) -> None:
    stand_in(tools, "node", "exit 127")
    line = one_line(run(checkout, tools, "make", "test", python=sys.executable))
    assert "Node.js 18 or newer is missing" in line


def test_setup_without_changes_is_quick_and_silent(checkout: Path, tools: Path) -> None:
    pip = checkout / ".venv" / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text(f"#!{checkout}/.venv/bin/python\n")
    packages = checkout / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (checkout / ".venv/bin/python").symlink_to(sys.executable)
    (checkout / ".venv/.torch.stamp").write_text("2.13.0\n")
    for name in ("base", "ml", "generation", "dev"):
        digest = subprocess.run(
            ["sha256sum", checkout / "requirements" / f"{name}.txt"],
            capture_output=True,
            text=True,
            check=True,
        )
        (checkout / f".venv/.{name}.stamp").write_text(digest.stdout.split()[0] + "\n")
    result = run(checkout, tools, "scripts/setup.sh", "dev", python="/nowhere")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    found = (packages / "deerstalker.pth").read_text()
    assert found == f"{checkout}\n", "so that .venv/bin/pytest finds the packages of its checkout"


def run_chromium(checkout: Path, tools: Path, user: int) -> subprocess.CompletedProcess[str]:
    """scripts/chromium.sh on a machine where only `tools` is on PATH."""
    stand_in(tools, "id", f"echo {user}")
    driver = checkout / ".venv/lib/python3.11/site-packages/playwright/driver"
    driver.mkdir(parents=True)
    stand_in(driver, "node", "exit 0")
    for name in ("bash", "dirname", "timeout"):
        (tools / name).symlink_to(str(shutil.which(name)))
    command = [str(tools / "bash"), "scripts/chromium.sh"]
    return subprocess.run(
        command, cwd=checkout, env={"PATH": str(tools)}, capture_output=True, text=True, check=False
    )


def test_missing_chromium_without_root_prints_a_warning(checkout: Path, tools: Path) -> None:
    result = run_chromium(checkout, tools, user=1000)
    assert (result.returncode, result.stdout) == (0, "")
    assert "*** BROWSER TESTS WILL BE SKIPPED: no working Chromium here" in result.stderr


@pytest.mark.parametrize("offered", ["chromium-headless-shell", "chromium"])
def test_missing_chromium_is_installed_by_root(checkout: Path, tools: Path, offered: str) -> None:
    """The headless shell where the system has a package of it, and the whole browser elsewhere."""
    installed = tools / offered
    make = f'echo "#!/bin/sh" >{installed}; /bin/chmod +x {installed}'
    stand_in(tools, "apt-get", f'case "$*" in update*) ;; *" {offered}") {make};; *) exit 100;; esac')
    result = run_chromium(checkout, tools, user=0)
    assert (result.returncode, result.stdout) == (0, "")
    assert "Chromium from the system's packages" in result.stderr
    assert "SKIPPED" not in result.stderr


def test_failed_chromium_installation_prints_a_warning(checkout: Path, tools: Path) -> None:
    stand_in(tools, "apt-get", "exit 100")
    result = run_chromium(checkout, tools, user=0)
    assert (result.returncode, result.stdout) == (0, "")
    assert "SKIPPED: Chromium could not be installed" in result.stderr


@pytest.mark.parametrize("name", ["conformance", "screenshots"])
def test_each_script_can_be_loaded(root: Path, name: str) -> None:
    """A script is run once in a while, so that nobody would see its imports break."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "annotation_site.settings"}
    subprocess.run([sys.executable, "-c", f"import scripts.{name}"], cwd=root, env=environment, check=True)
