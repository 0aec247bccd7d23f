"""What a benchmark's figures depend on."""

import os
import platform
import sys
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Return processor, cores and Python of this machine."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.is_file() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "cpu": model or platform.processor(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
    }
