"""Record a run's software and hardware for later reference, without host names, user names or paths."""

import json
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import torch

from curation.features.encoder import Precision
from curation.files import write_text
from curation.scorer.training.distributed import World
from curation.scorer.training.journal import ENVIRONMENT_FILE

FORMAT = "deerstalker-environment/1"
_PACKAGES = ("numpy", "transformers", "pillow", "safetensors")
_ABSOLUTE_FOLDER_PATTERN = re.compile(r"(?<![\w.\-])(?:[A-Za-z]:)?[/\\][^\s\"']*[/\\]")


class Settings(Protocol):
    """The settings of a run."""

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        ...


def describe_environment(
    config: Settings, *, precision: Precision, device: torch.device, world: World, step: int
) -> dict[str, Any]:
    """Return plain values. step: updates done before this start."""
    return {
        "format": FORMAT,
        "config": shorten_paths(config.as_json()),
        "command": shorten_paths(sys.argv),
        "from_step": step,
        "processes": world.size,
        "precision": precision.value,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        # torch reports its build, such as +cu130, which its metadata may lack
        "packages": {name: version(name) for name in _PACKAGES} | {"torch": str(torch.__version__)},
        "cuda": torch.version.cuda,
        "commit": current_git_commit(),
    }


def write_environment(run: Path, environment: dict[str, Any]) -> None:
    """Write ``environment.json``; the records of earlier starts stay under ``earlier``."""
    path = run / ENVIRONMENT_FILE
    try:
        previous = json.loads(path.read_text("utf-8"))
        earlier = [*previous.pop("earlier", []), previous]
    except (OSError, ValueError):
        earlier = []
    write_text(path, [json.dumps({**environment, "earlier": earlier}, indent=1, ensure_ascii=False) + "\n"])


def cpu_name() -> str:
    """Return the processor's name; empty if the system does not report it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def current_git_commit() -> str:
    """Return the commit of the code, with a plus sign if files differ from it; empty outside a repository."""
    folder = Path(__file__).parent
    try:
        commit = _git("rev-parse", "HEAD", folder=folder)
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no", folder=folder) else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def describe_training(config: Settings, *, rehearsal: bool) -> dict[str, Any]:
    """Return what the card of a trained model says about its training."""
    described: dict[str, Any] = {"training": shorten_paths(config.as_json())}
    return described | ({"rehearsal": True} if rehearsal else {})


def shorten_paths(value: Any) -> Any:
    """Cut absolute paths to their last names in plain values: full paths may identify people and machines."""
    if isinstance(value, str):
        return _ABSOLUTE_FOLDER_PATTERN.sub("", value)
    if isinstance(value, list):
        return [shorten_paths(item) for item in value]
    if isinstance(value, dict):
        return {key: shorten_paths(item) for key, item in value.items()}
    return value


def _git(*arguments: str, folder: Path) -> str:
    result = subprocess.run(  # noqa: S603 - fixed arguments
        ["git", "-C", str(folder), *arguments],  # noqa: S607 - the git on the path
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return result.stdout.strip()
