"""What depends on time holds wherever the machine believes to be."""

import os
import subprocess
import sys

import pytest

from tests.support import children

# The farthest ahead of UTC and, nearly, the farthest behind: for most of a day they have different dates.
EXTREMES = ["Pacific/Kiritimati", "America/Los_Angeles"]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("zone", EXTREMES)
def test_tests_of_time_pass_in_extreme_time_zones(zone: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DEERSTALKER_TEST")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "clock and not long",
            "-p",
            "no:cacheprovider",
            "-n",
            "2",
        ],
        cwd=children.ROOT,
        env=environment | {"TZ": zone},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
