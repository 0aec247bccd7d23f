"""Models of the ``transformers`` library from folders; nothing is downloaded, and pickled weights are never read."""

from pathlib import Path
from typing import Any

from curation.features.encoder import EncoderUnavailable


def load_model(folder: Path, class_name: str, *, where: str = "", **options: Any) -> Any:
    """Return a model of a folder with its weights.

    Args:
        class_name: of ``transformers``, such as ``AutoModel``. where: the start of messages; the folder by default.

    Raises:
        EncoderUnavailable: a file is missing or damaged.
    """
    import transformers  # noqa: PLC0415 - takes seconds
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    if not (folder / "config.json").is_file():
        raise EncoderUnavailable(
            f"{where or folder}: has no config.json; give the folder of a transformers model with its weights"
        )
    load = getattr(transformers, class_name).from_pretrained
    try:
        return load(folder, local_files_only=True, use_safetensors=True, **options)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise EncoderUnavailable(f"{where or folder}: {str(error).strip().splitlines()[0]}") from error


def load_tokenizer(folder: Path, *, where: str = "") -> Any:
    """Return the tokenizer of a folder. where: as for ``load_model``.

    Raises:
        EncoderUnavailable: it is missing or damaged.
    """
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise EncoderUnavailable(f"{where or folder}: {str(error).strip().splitlines()[0]}") from error


def load_fast_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a folder.

    Raises:
        EncoderUnavailable: it is missing or damaged, or has no fast version.
    """
    tokenizer = load_tokenizer(folder)
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise EncoderUnavailable(f"{folder}: its tokenizer has no fast version; save it with one")
    return tokenizer
