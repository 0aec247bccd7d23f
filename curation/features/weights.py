"""Identify the weights of a model name, and the packages that run it, exactly, for manifests."""

import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from curation.features.encoder import is_hub_id
from curation.files import file_sha256
from curation.records import InvalidInput

WEIGHT_SUFFIXES = {".safetensors", ".bin", ".xml"}
SHA_PREFIX = "sha256:"
SHORT_DIGITS = 16  # digits of the hash in a revision; the manifest has all digits


def folder_sha256(folder: Path) -> str:
    """Return one SHA-256 over the weights, configuration and vocabulary files of a model's folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in WEIGHT_SUFFIXES | {".json", ".txt"}:
            digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()


def folder_revision(folder: Path) -> str:
    """Return the revision of a model's folder: the start of ``folder_sha256``."""
    return SHA_PREFIX + folder_sha256(folder)[:SHORT_DIGITS]


def resolve_model_folder(source: str, error_class: type[InvalidInput]) -> Path | None:
    """Return the folder of a model name, or ``None`` for a hub id.

    A name that is an absolute path or starts with a dot is a folder; any other name is a hub id. So the meaning of a
    name does not depend on a worker's current folder.

    Raises:
        error_class: the name is neither, or is a hub id and also a folder, which the library would read instead.
    """
    if Path(source).is_absolute() or source.startswith("."):
        return Path(source).absolute()
    if not is_hub_id(source):
        raise error_class(
            f"model {source!r} is neither a hub id such as openai/clip-vit-base-patch32 nor a folder's path; give a "
            f"folder as an absolute path or as ./{source}"
        )
    if Path(source).exists():
        raise error_class(
            f"model {source!r} is a hub id, but the folder {Path(source).absolute()} would be read instead; "
            "give the folder by that path, or start the worker in another folder"
        )
    return None


def hub_commit(source: str) -> str:
    """Return the hub's current commit of a model; offline, the commit that was downloaded last.

    Raises OSError if there is none. ``transformers`` does not report the commit that it loads.
    """
    from transformers.utils import cached_file  # noqa: PLC0415 - takes seconds

    config = cached_file(source, "config.json")
    if config is None:
        raise OSError(f"{source}: has no config.json")
    return Path(config).parent.name  # …/snapshots/<commit>/config.json


def package_version_or_empty(package: str) -> str:
    """Return a package's version; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def package_revision(package: str) -> str:
    """Return a package's name and version; only its name if it is not installed."""
    return f"{package} {package_version_or_empty(package)}".rstrip()
