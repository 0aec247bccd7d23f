"""Models of the ``transformers`` library from folders; nothing is downloaded, and pickled weights are never read."""

from pathlib import Path
from typing import Any

from curation.features.encoder import EncoderUnavailable
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


def load_model(folder: Path, class_name: str, **options: Any) -> Any:
    """Return a model of a folder with its weights.

    Args:
        class_name: of ``transformers``, such as ``AutoModel``.

    Raises:
        EncoderUnavailable: a file is missing or damaged.
    """
    import transformers  # noqa: PLC0415 - takes seconds
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    if not (folder / "config.json").is_file():
        raise EncoderUnavailable(
            f"{folder}: has no config.json; give the folder of a transformers model with its weights"
        )
    load = getattr(transformers, class_name).from_pretrained
    try:
        return load(folder, local_files_only=True, use_safetensors=True, **options)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise EncoderUnavailable(f"{folder}: {str(error).strip().splitlines()[0]}") from error


def load_fast_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a folder.

    Raises:
        EncoderUnavailable: it is missing or damaged, or has no fast version.
    """
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise EncoderUnavailable(f"{folder}: {str(error).strip().splitlines()[0]}") from error
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise EncoderUnavailable(f"{folder}: its tokenizer has no fast version; save it with one")
    return tokenizer
