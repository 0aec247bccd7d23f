"""Names of encoders on a command line, as stored in jobs."""

from os.path import sep

from curation.selectors.scorers import SCORER_PREFIX
from hits.management.jobs import absolute_model


def absolute_encoder(given: str) -> str:
    """Return an encoder's name with its folder's absolute path; a scorer's name is unchanged.

    That includes a scorer with the name of an existing folder, such as the one it was imported from.
    """
    without_prefix = given.removeprefix(SCORER_PREFIX)
    return given if without_prefix != given and sep not in without_prefix else absolute_model(given)
