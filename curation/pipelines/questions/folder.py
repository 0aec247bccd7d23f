"""The folder of a question set: the triplets of each fold, the inputs and results of each bucket, and its models."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from curation.files import write_text
from curation.models import QuestionSet
from curation.records import InvalidInput
from hits.domain.hashing import canonical_json, content_sha256


@dataclass(frozen=True, slots=True)
class SetFolder:
    """Paths of a question set's files.

    plan.json               folds and buckets; written last
    folds/<fold>.jsonl      the triplets of a fold, in the order of their match indices
    inputs/<sha256>.json    what a bucket's matching depends on; the name is the hash of its content
    buckets/<sha256>.json   the result for the inputs of the same name
    models/<sha256>/        a fine-tuned relevance model
    """

    path: Path

    @classmethod
    def of(cls, question_set: QuestionSet) -> "SetFolder":
        """Return the folder of a set."""
        return cls(Path(settings.MEDIA_ROOT) / question_set.path)

    @property
    def plan(self) -> Path:
        """The plan's file."""
        return self.path / "plan.json"

    def triplets(self, fold: str) -> Path:
        """Return the file with a fold's triplets."""
        return self.path / "folds" / f"{fold}.jsonl"

    def inputs(self, sha256: str) -> Path:
        """Return the file with a bucket's inputs."""
        return self.path / "inputs" / f"{sha256}.json"

    def result(self, sha256: str) -> Path:
        """Return the file with a bucket's result."""
        return self.path / "buckets" / f"{sha256}.json"

    def model(self, sha256: str) -> Path:
        """Return the folder of a fine-tuned model."""
        return self.path / "models" / sha256

    def write_inputs(self, content: dict[str, Any]) -> str:
        """Write a bucket's inputs, and return the hash that names them."""
        sha256 = content_sha256(content)
        if not self.inputs(sha256).is_file():
            write_json(self.inputs(sha256), content)
        return sha256


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write canonical JSON atomically: equal content gives equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, [canonical_json(content).decode(), "\n"])


def read_json(path: Path) -> dict[str, Any]:
    """Return a file's JSON object.

    Raises:
        InvalidInput: the file was lost or damaged.
    """
    with refuse_damaged_file(path):
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


@contextmanager
def refuse_damaged_file(path: Path) -> Iterator[None]:
    """Turn errors of reading a file of a set, which builds write whole, into InvalidInput."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path.parent.name}/{path.name}: was lost or damaged after this set had written it; delete the set and "
            "build it again"
        ) from error
