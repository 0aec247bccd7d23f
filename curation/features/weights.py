"""Which weights a name means and which were loaded, so that a manifest names exactly what was used."""

import hashlib
from pathlib import Path

from curation.features.encoder import is_hub_id
from curation.files import file_sha256
from curation.records import InvalidInput

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


def folder_of(source: str, unavailable: type[InvalidInput]) -> Path | None:
    """Return the folder that is meant, or ``None`` for a hub id.

    What is absolute or starts with a dot is a folder, anything else a hub id: which of both a name means never
    depends on where a worker happens to stand.

    Raises:
        unavailable: it is neither, or a hub id that is also a folder here, which would be read in its stead.
    """
    if Path(source).is_absolute() or source.startswith("."):
        return Path(source).absolute()
    if not is_hub_id(source):
        raise unavailable(
            f"model {source!r} is neither a hub id such as openai/clip-vit-base-patch32 nor a folder's path; write a "
            f"folder as its absolute path or as ./{source}"
        )
    if Path(source).exists():
        raise unavailable(
            f"model {source!r} is a hub id, and {Path(source).absolute()} lies here, which would be read in its "
            "stead; name the folder by that path, or start the worker in another folder"
        )
    return None


def hub_commit(source: str) -> str:
    """Return the hub's present commit of a model, or, where the hub cannot be asked, the one that was fetched last.

    Raises OSError when there is none. ``transformers`` itself no longer says which commit it loaded.
    """
    from transformers.utils import cached_file  # noqa: PLC0415 - takes seconds

    config = cached_file(source, "config.json")
    if config is None:
        raise OSError(f"{source}: has no config.json")
    return Path(config).parent.name  # …/snapshots/<commit>/config.json
