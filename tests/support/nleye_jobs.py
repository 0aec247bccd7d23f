"""Run the commands that call image generators and chat models, in this process, in a fork, or killed in a fork."""

import base64
import hashlib
import io
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from curation.families.nleye import rows
from curation.generation.canned import MadeUpReplies
from curation.generation.chat import STOP, ChatReply, ChatRequest
from curation.generation.drawing import DrawingGenerator
from curation.models import CallState, DatasetVersion, ModelCall
from curation.pipelines.triplets import calls, image_drawer
from curation.services.triplets.settings import SettingsChange, change_settings
from curation.services.versions import create_sealed_version
from hits.domain.crashpoints import EXIT_STATUS
from hits.domain.states import OPEN_JOB_STATES
from hits.models import Job, Project
from tests.support import children
from tests.support.nleye_stored import explain, judged_triplets, store_triplets

CRASH_POINTS = ("model.after_intent", "model.after_call", "model.after_result")
VERSION = "v1"
IMAGE_PRICES = """[images."openai:tiny-1"]
usd_per_image = 0.04
licence = "CC0"

[images.drawing]
usd_per_image = 0.04
"""
CHAT_PRICES = """[chat.canned]
usd_per_million_input_tokens = 2
usd_per_million_output_tokens = 10
tokens_per_image = 100
"""


def set_prices(project: Project, text: str) -> None:
    """Give a project a price table."""
    change_settings(project=project, change=SettingsChange(prices=text), by=None)


def run_json(name: str, *arguments: Any, **options: Any) -> dict[str, Any]:
    """Run a command with ``--json`` and return what it prints."""
    out = io.StringIO()
    call_command(name, *arguments, json=True, stdout=out, stderr=io.StringIO(), **options)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def refusal(name: str, *arguments: Any, **options: Any) -> str:
    """Run a command that is refused, and return its message: one line, with exit status 2."""
    with pytest.raises(CommandError) as caught:
        run_json(name, *arguments, **options)
    assert caught.value.returncode == 2, caught.value
    message = str(caught.value)
    assert message.strip() == message
    assert "\n" not in message
    return message


def killed(name: str, *, at: str, **options: Any) -> None:
    """Run a command in a fork that ends at a crash point, as after ``kill -9``; let the lease of its job run out."""
    assert children.forked(partial(run_json, name, **options), crash_at=at) == EXIT_STATUS
    leases_end()


def leases_end() -> None:
    """Let the time pass after which the jobs of a dead process can be taken over."""
    open_states = [state.value for state in OPEN_JOB_STATES]
    Job.objects.filter(state__in=open_states).update(lease_until=timezone.now() - timedelta(seconds=1))


def newest_job() -> Job:
    """Return the newest job that is no part of another."""
    return Job.objects.filter(parent=None).latest("pk")


def call_states(**filters: Any) -> dict[str, int]:
    """Return how many calls are in each state."""
    found: dict[str, int] = {}
    for state in ModelCall.objects.filter(**filters).values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def states(**counts: int) -> dict[str, int]:
    """Return counts of calls by state, as ``call_states`` returns them."""
    return {CallState[name.upper()].value: count for name, count in counts.items()}


@contextmanager
def no_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Repeat failed calls at once; yield the seconds that would have been waited."""
    waits: list[float] = []
    with monkeypatch.context() as patch:
        patch.setattr(calls, "call_with_retries", partial(calls.call_with_retries, sleep=waits.append))
        yield waits


def forget_generators() -> None:
    """Let the next run load its generator anew, with the environment of its test."""
    image_drawer.load_generator.cache_clear()


class SentCalls:
    """Notes each call to the test drawings and to the made-up replies in a file, also in forks."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        for owner, name in ((DrawingGenerator, "generate"), (MadeUpReplies, "reply")):
            monkeypatch.setattr(owner, name, self._noting(getattr(owner, name)))

    def _noting(self, real: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def noting(model: Any, request: Any) -> Any:
            with self._path.open("a") as file:
                file.write(f"{hashlib.sha256(repr(request).encode()).hexdigest()}\n")
            return real(model, request)

        return noting

    def read(self) -> list[str]:
        """Return a hash of each request that was sent."""
        return self._path.read_text().split() if self._path.exists() else []

    def count(self) -> int:
        """Return how many requests were sent."""
        return len(self.read())


def sealed_triplets(project: Project, count: int, by: User, *, choices: Sequence[str] = ()) -> DatasetVersion:
    """Return a sealed version of explained triplets, judged by people who make ``choices``.

    Without choices nobody judges them, which takes no second; the version is sealed as if three people had.
    """
    if choices:
        judged_triplets(project, count, by, choices=choices)
        return create_sealed_version(project=project, name=VERSION, by=by)
    explain(store_triplets(project, count, by), by)
    with patch.object(rows, "MIN_ANSWERS", 0):
        return create_sealed_version(project=project, name=VERSION, by=by)


def evaluate(project: Project, **options: Any) -> dict[str, Any]:
    """Run an evaluation of the version of ``sealed_triplets``, and return what the command prints."""
    return run_json("evaluate_triplets", version_name=VERSION, project=project.slug, **options)


def grade(project: Project, **options: Any) -> dict[str, Any]:
    """Let a chat model grade explanations about the version of ``sealed_triplets``."""
    return run_json("judge_explanations", version_name=VERSION, project=project.slug, **options)


def find_secret(secret: str, *texts: str) -> list[str]:
    """Return where a secret is found: in texts, in a row of any table, or in a file of this test's folders.

    It is looked for as it is, percent-encoded, in base64 and with JSON's escapes.
    """
    forms = {secret, quote(secret, safe=""), secret.replace("/", r"\/"), secret[4:-4]}
    forms |= {base64.b64encode(secret.encode()).decode().rstrip("=")[:-1]}
    found = [f"text {number}" for number, text in enumerate(texts) if any(form in text for form in forms)]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            if any(form in repr(row) for row in cursor.fetchall() for form in forms):
                found.append(f"table {table}")
    folders = [Path(settings.VAR_DIR), Path(settings.MEDIA_ROOT)]
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        # Another process reads: if this one closed the database's file, it would lose SQLite's locks on it, and the
        # next child that ends would delete the log of what was written (sqlite.org/howtocorrupt.html §2.2).
        content = subprocess.run(["cat", path], check=True, capture_output=True).stdout
        if any(form.encode() in content for form in forms):
            found.append(f"file {path}")
    return found


def evaluate_first(project: Project, **options: Any) -> dict[str, Any]:
    """Evaluate a model that always chooses the first hypothesis: one answer about each triplet is right."""

    def reply(_: MadeUpReplies, request: ChatRequest) -> ChatReply:
        number = hashlib.sha256(repr(request).encode()).hexdigest()[:8]
        text = json.dumps({"choice": 1, "explanation": f"It broke, as part {number} shows."})
        return ChatReply(text, STOP, "canned", raw={"text": text})

    with patch.object(MadeUpReplies, "reply", reply):
        return evaluate(project, **options)
