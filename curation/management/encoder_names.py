"""Convert names of encoders on a command line to the names that jobs store."""

from os.path import sep
from pathlib import Path

from curation.selectors.scorers import SCORER_PREFIX
from hits.management.jobs import absolute_model_folder


def make_encoder_path_absolute(given: str) -> str:
    """Return an encoder's name with its folder's absolute path.

    A scorer's name is unchanged, even if a folder has the same name. A name may have several prefixes, such as
    ``clip-choice:clip:<folder>``.
    """
    without_prefix = given.removeprefix(SCORER_PREFIX)
    if without_prefix != given and sep not in without_prefix:
        return given
    kind, colon, name = given.partition(":")
    if ":" in name and not Path(name).is_dir():
        return f"{kind}{colon}{make_encoder_path_absolute(name)}"
    return absolute_model_folder(given)
