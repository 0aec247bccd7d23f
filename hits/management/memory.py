"""The peak memory of this process."""

import resource
from pathlib import Path

KIB_PER_MIB = 1024


def peak_mib() -> float:
    """Return the peak resident memory of this program in MiB.

    Linux reports it per program; ``ru_maxrss`` on other systems includes the process that it was forked from.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
    kib = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if kib is None else kib) / KIB_PER_MIB
