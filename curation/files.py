"""Write files whole or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write an array beside its place and rename it, so that nobody meets half a file.

    Raises:
        InvalidInput: the folder is missing or not writable.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".npy")
        with os.fdopen(handle, "wb") as file:
            np.save(file, array, allow_pickle=False)
        Path(name).replace(path)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror}); choose another place") from error
