"""Convert names of encoders on a command line to the names that jobs store."""

from os.path import sep

from curation.selectors.scorers import SCORER_PREFIX
from hits.management.jobs import absolute_model_folder


def make_encoder_path_absolute(given: str) -> str:
    """Return an encoder's name with its folder's absolute path.

    A scorer's name is unchanged, even if a folder has the same name.
    """
    without_prefix = given.removeprefix(SCORER_PREFIX)
    return given if without_prefix != given and sep not in without_prefix else absolute_model_folder(given)
