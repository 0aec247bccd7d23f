"""What depends on time holds wherever the machine believes to be."""

import os
import subprocess
import sys

import pytest

from tests.support import children

# The farthest ahead of UTC and, nearly, the farthest behind: for most of a day they have different dates.
EXTREMES = [
    pytest.param("Pacific/Kiritimati", marks=pytest.mark.long),
    pytest.param("America/Los_Angeles", marks=pytest.mark.nightly),
]


def _marked_files(config: pytest.Config) -> list[str]:
    """Return the test files with tests of time: collecting all the others would take longer than these tests."""
    folders = [children.ROOT / folder for folder in config.getini("testpaths")]
    files = [path for folder in folders for path in folder.rglob("test_*.py")]
    return sorted(str(path) for path in files if "mark.clock" in path.read_text())


@pytest.mark.timeout(900)
@pytest.mark.parametrize("zone", EXTREMES)
def test_tests_of_time_pass_in_extreme_time_zones(zone: str, pytestconfig: pytest.Config) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DEERSTALKER_TEST")}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "clock and not long", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *_marked_files(pytestconfig)],
        cwd=children.ROOT,
        env=environment | {"TZ": zone},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
