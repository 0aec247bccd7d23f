"""Names of encoders on a command line, as a job keeps them."""

from os.path import sep

from curation.selectors.scorers import SCORER_PREFIX
from hits.management.jobs import absolute_model


def absolute_encoder(given: str) -> str:
    """Return an encoder's name with its folder's absolute path; a scorer's name stays as it is.

    So does that of a scorer which is called like a folder in sight, such as the one that it was imported from.
    """
    without_prefix = given.removeprefix(SCORER_PREFIX)
    return given if without_prefix != given and sep not in without_prefix else absolute_model(given)
