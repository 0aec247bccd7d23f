"""The option ``--selection``: a file that states which records a version or comparison round contains."""

import json
from argparse import ArgumentParser
from pathlib import Path

from curation.records import InvalidInput
from curation.versions.selection import Selection
from hits.management.base import input_error


def add_selection_option(parser: ArgumentParser) -> None:
    """Add the option ``--selection``."""
    parser.add_argument(
        "--selection",
        type=Path,
        help='JSON file that selects approved records, such as {"decisions": {"run": 4, '
        '"dimensions": ["reasonable"], "not_judged": "out", "undecided": "out"}}; default: all approved records',
    )


def read_selection(path: Path | None) -> Selection:
    """Return the selection in a file, or of all approved records without a file. Raises CommandError."""
    if path is None:
        return Selection()
    try:
        raw = json.loads(path.read_text("utf-8"))
        if raw is None:
            raise InvalidInput("is null; write {} for all approved records")
        return Selection.from_json(raw)
    except OSError as error:
        raise input_error(f"--selection {path}: cannot be read ({error.strerror}); check the path") from error
    except (ValueError, RecursionError) as error:
        is_own = isinstance(error, InvalidInput)
        problem = str(error) if is_own else f"no valid JSON ({error}); correct the file"
        raise input_error(f"--selection {path}: {problem}") from error
