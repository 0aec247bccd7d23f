"""Turn invalid input into one line that names the file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from curation.records import InvalidInput
from hits.management.base import input_error, interrupt_error


@contextmanager
def input_errors(**files: Path | None) -> Iterator[None]:
    """Raise invalid input and Ctrl-C, in a command that writes only at its end, as one line and an exit status.

    files: paths by the names used in checks, with ``_`` for a space.
    """
    try:
        yield
    except InvalidInput as error:
        raise input_error(_add_path(str(error), files)) from error
    except KeyboardInterrupt as error:
        raise interrupt_error() from error


def _add_path(message: str, files: Mapping[str, Path | None]) -> str:
    """Return the message with the path after the input's name.

    Checks of arrays and keys do not know the files: "features: row 4 is all zeros" becomes
    "features (F.npy): row 4 is all zeros". files: paths by the names used in checks, with ``_`` for a space.
    """
    for name, path in files.items():
        label = name.replace("_", " ")
        if path is not None and message.startswith(f"{label}:"):
            return f"{label} ({path}){message.removeprefix(label)}"
    return message
