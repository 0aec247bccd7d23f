"""The files that curation's rows refer to: the manifest or card of each folder, and the files it lists."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from curation.models import Chooser, Evaluation, FeatureSet, Scorer
from curation.selectors.choice_evaluations import choice_evaluation_files
from curation.selectors.choosers import BEST_FOLDER
from curation.selectors.scorers import WEIGHTS_FOLDER
from hits.selectors.images.stored_files import StoredFile

MANIFEST, CARD, CHOOSER_CARD = "manifest.json", "scorer.json", "chooser.json"
FileLister = Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]


def curation_files() -> Iterator[StoredFile]:
    """Yield every file of feature sets, scorers, choosers and evaluations that has a hash."""
    for made in FeatureSet.objects.filter(is_complete=True).iterator():
        yield from _folder_files("vectors", f"set {made.pk}", made.path, MANIFEST, made.sha256, _shard_files)
    for scorer in Scorer.objects.filter(is_ready=True).iterator():
        folder = f"{scorer.path}/{WEIGHTS_FOLDER}"
        yield from _folder_files("scorer", scorer.name, folder, CARD, scorer.weights_sha256, _weight_files)
    for chooser in Chooser.objects.filter(is_ready=True).iterator():
        for stage, figures in chooser.figures.items():
            folder, sha256 = f"{chooser.path}/{stage}/{BEST_FOLDER}", figures["weights_sha256"]
            yield from _folder_files("chooser", chooser.name, folder, CHOOSER_CARD, sha256, _weight_files)
    for evaluation in Evaluation.objects.exclude(path="").iterator():
        yield from _folder_files(
            "evaluation", f"{evaluation.pk}", evaluation.path, MANIFEST, evaluation.sha256, _manifest_files
        )
    yield from choice_evaluation_files()


def _folder_files(
    kind: str, owner: str, folder: str, listing: str, sha256: str, list_files: FileLister
) -> Iterator[StoredFile]:
    """Yield a folder's manifest, and the files it lists. If it is broken, only itself: its hash reveals that."""
    yield StoredFile(kind, owner, f"{folder}/{listing}", sha256)
    try:
        found = json.loads((Path(settings.MEDIA_ROOT) / folder / listing).read_text("utf-8"))
        for name, digest in list_files(found):
            yield StoredFile(kind, owner, f"{folder}/{name}", digest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # the manifest itself is reported


def _shard_files(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for entry in (*manifest["shards"], manifest["items"]):
        yield entry["file"], entry["sha256"]


def _weight_files(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for entry in card["files"].values():
        yield entry["file"], entry["sha256"]


def _manifest_files(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from manifest["files"].items()
