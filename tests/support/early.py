"""What has to stand in the environment before Django reads its settings, and before torch and numpy are loaded."""

import os

os.environ.setdefault("EXTRA_KIND_PACKAGES", "tests.kinds")
os.environ.setdefault("EXTRA_FAMILY_PACKAGES", "tests.families")

# Test processes beside each other use one thread each for sums: more threads than processors wait for one another,
# and small models then take six times as long. A process alone, as in ``make nightly``, uses what the machine has.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
