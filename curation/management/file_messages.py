"""Turn invalid input into one line that names the file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from curation.records import InvalidInput
from hits.management.base import input_error, interrupt_error


@contextmanager
def convert_input_errors(**files: Path | None) -> Iterator[None]:
    """Turn InvalidInput and Ctrl-C into errors of the command: one line and an exit status.

    files: paths by the names that messages use, with ``_`` for a space.
    """
    try:
        yield
    except InvalidInput as error:
        raise input_error(_add_path(str(error), files)) from error
    except KeyboardInterrupt as error:
        raise interrupt_error() from error


def _add_path(message: str, files: Mapping[str, Path | None]) -> str:
    """Return the message with the path after the input's name.

    Checks of arrays and keys do not have the path: "features: row 4 is all zeros" becomes
    "features (F.npy): row 4 is all zeros". files: paths by the names that messages use, with ``_`` for a space.
    """
    for name, path in files.items():
        label = name.replace("_", " ")
        if path is not None and message.startswith(f"{label}:"):
            return f"{label} ({path}){message.removeprefix(label)}"
    return message
