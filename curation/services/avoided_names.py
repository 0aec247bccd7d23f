"""Set the names that workers are advised not to use, such as those of a film's actors (Zellers et al. 2019 §B.3)."""

from collections.abc import Iterable

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import AvoidedNames
from curation.selectors.clips import movie_names
from hits.domain.answers.text import TextError
from hits.domain.images.objects_unit import MAX_NAMES, clean_names
from hits.models import Project
from hits.services import audit
from hits.services.errors import Refused

MAX_LISTED_NAMES = MAX_NAMES // 2  # a unit has the names of its film and those of the project


def set_avoided_names(
    *, project: Project, names: Iterable[str], by: AbstractBaseUser | None, movie: str = ""
) -> list[str]:
    """Replace the names of a film, or without one those for all photos; return the new ones.

    Tasks that are launched later have them; launched tasks keep theirs.

    Args:
        names: one name a line; empty lines and repetitions are left out.

    Raises:
        Refused: the project has no clip of the film, or a name or their number is too long.
    """
    if movie and movie not in (known := movie_names(project)):
        raise Refused(f"movie {movie}: no clip is of that film; known films: {', '.join(known) or 'none'}")
    try:
        cleaned = clean_names(names, maximum=MAX_LISTED_NAMES)
    except TextError as error:
        raise Refused(f"names: {error}") from error
    with transaction.atomic():
        AvoidedNames.objects.update_or_create(project=project, movie=movie, defaults={"names": cleaned})
        audit.record(project=project, actor=by, action="names.set", subject=movie[:80], names=len(cleaned))
    return cleaned
