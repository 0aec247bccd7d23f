"""Which weights a model was loaded from, so that a manifest names exactly what was used."""

import hashlib
from pathlib import Path

from curation.features.shards import file_sha256

WEIGHT_SUFFIXES = {".safetensors", ".bin", ".xml"}
SHA = "sha256:"
SHORT = 16  # digits of it that a revision carries; the manifest has all


def folder_sha256(folder: Path) -> str:
    """Return one sha256 over a model folder's files, weights, configuration and vocabulary, by name."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in WEIGHT_SUFFIXES | {".json", ".txt"}:
            digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()
