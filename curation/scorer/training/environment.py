"""What a run was made with, so that its figures can be understood later: no names of hosts or people, no paths."""

import json
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from curation.features.encoder import Precision
from curation.files import write_text
from curation.scorer.config import TrainingConfig
from curation.scorer.training.distributed import World
from curation.scorer.training.journal import ENVIRONMENT

FORMAT = "deerstalker-environment/1"
_PACKAGES = ("numpy", "transformers", "pillow", "safetensors")
_PATH = re.compile(r"(?<![\w.\-])(?:[A-Za-z]:)?[/\\][^\s\"']*[/\\]")


def environment(
    config: TrainingConfig, *, precision: Precision, device: torch.device, world: World, step: int
) -> dict[str, Any]:
    """Return plain values. step: what the run had done before this start."""
    return {
        "format": FORMAT,
        "config": without_paths(config.as_json()),
        "command": without_paths(sys.argv),
        "from_step": step,
        "processes": world.size,
        "precision": precision.value,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        # torch names its build, such as +cu130, which its metadata may leave out
        "packages": {name: version(name) for name in _PACKAGES} | {"torch": str(torch.__version__)},
        "cuda": torch.version.cuda,
        "commit": commit(),
    }


def write_environment(run: Path, found: dict[str, Any]) -> None:
    """Write ``environment.json``; what earlier starts of the run wrote stays under ``earlier``."""
    path = run / ENVIRONMENT
    try:
        before = json.loads(path.read_text("utf-8"))
        earlier = [*before.pop("earlier", []), before]
    except (OSError, ValueError):
        earlier = []
    write_text(path, [json.dumps({**found, "earlier": earlier}, indent=1, ensure_ascii=False) + "\n"])


def cpu_name() -> str:
    """Return the processor's name, as far as the system says."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text("utf-8").splitlines() if known.is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def commit() -> str:
    """Return the commit of the code, with a plus sign if files differ from it; empty outside of a repository."""
    here = Path(__file__).parent
    try:
        found = _git("rev-parse", "HEAD", folder=here)
        return found + ("+" if _git("status", "--porcelain", "--untracked-files=no", folder=here) else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def without_paths(value: Any) -> Any:
    """Return plain values in which absolute paths are cut to their last names: others tell of people and machines."""
    if isinstance(value, str):
        return _PATH.sub("", value)
    if isinstance(value, list):
        return [without_paths(one) for one in value]
    if isinstance(value, dict):
        return {key: without_paths(one) for key, one in value.items()}
    return value


def _git(*words: str, folder: Path) -> str:
    done = subprocess.run(  # noqa: S603 - fixed words
        ["git", "-C", str(folder), *words],  # noqa: S607 - whichever git there is
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()
