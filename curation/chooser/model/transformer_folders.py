"""The folders of models of the ``transformers`` library by their names in settings."""

from pathlib import Path

from curation.features.sentence import find_minilm_folder
from curation.records import InvalidInput
from curation.scorer.config import TINY

MINILM, FOLDER_PREFIX = "gt-minilm", "hf:"


def find_folder(source: str, setting: str) -> Path:
    """Return the folder that ``gt-minilm`` or ``hf:<folder>`` names.

    Args:
        setting: the setting with this value, for messages.

    Raises:
        EncoderUnavailable: the package of all-MiniLM-L6-v2 is not installed.
        InvalidInput: the name is not known.
    """
    if source == MINILM:
        return find_minilm_folder()
    if not source.startswith(FOLDER_PREFIX):
        raise InvalidInput(
            f"{setting}: {source!r} is not known; use {TINY}, {MINILM}, or {FOLDER_PREFIX} and a folder"
        )
    return Path(source.removeprefix(FOLDER_PREFIX))
