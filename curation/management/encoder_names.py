"""Names of encoders on a command line, as a job keeps them."""

from os.path import sep

from curation.selectors.scorers import PREFIX
from hits.management.jobs import absolute_model


def absolute_encoder(given: str) -> str:
    """Return an encoder's name with its folder's absolute path; a scorer's name stays as it is.

    So does that of a scorer which is called like a folder in sight, such as the one that it was imported from.
    """
    place = given.removeprefix(PREFIX)
    return given if place != given and sep not in place else absolute_model(given)
