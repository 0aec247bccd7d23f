"""The web process loads no model library: what pages import, imports none."""

import json
import os
import subprocess
import sys

import pytest

from curation.views.command_lines import COMMANDS

HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "numba",
    "scipy",
    "av",
    "openai",
    "diffusers",
)
PROGRAM = """
import json, sys, django
django.setup()
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([name for name in {heavy!r} if name in sys.modules]))
"""


# The page of jobs reads the options of these commands.
COMMAND_MODULES = [
    f"curation.management.commands.{name}"
    for name in ("import_vcr", "import_proposals", *(named for named, _ in COMMANDS.values()))
    if isinstance(name, str)
]


@pytest.mark.parametrize(
    "module",
    [
        " ".join(
            f"curation.services.{name}" for name in ("comparison", "dedup", "drafts", "features", "versions")
        ),
        "curation.tasks",
        "curation.urls",
        "curation.selectors",
        "validation.urls",
        " ".join(COMMAND_MODULES),
    ],
)
def test_no_model_library_is_loaded(module: str) -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "annotation_site.settings"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(heavy=HEAVY), *module.split()],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []
