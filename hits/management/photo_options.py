"""Options that choose the photos of a launch, for every command that plans units from photos."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from hits.domain.images.image_selection import ImageSelection, ImageSelectionError, SelectionMethod
from hits.domain.units.planner_options import PlannerOption
from hits.kind import HitKind
from hits.management.base import input_error
from hits.management.lookups import validate_image_limit
from hits.models import Project
from hits.selectors.images.image_selection import count_photos, select_photos
from hits.selectors.unit_planners import all_planner_options, planner_of

_FLAG_BY_FIELD = {"n": "random", "names": "photo"}


def add_photo_options(parser: ArgumentParser) -> None:
    """Declare the options; ``choose_photos`` reads them."""
    parser.add_argument("--limit", type=int, help="maximum number of images; default: all")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--random", type=int, metavar="N", help="random sample of N photos, drawn with --seed")
    which.add_argument(
        "--photo", action="append", default=[], metavar="NAME", help="file name of a photo; repeatable"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of --random; default 1")
    parser.add_argument("--split", default="", help="only photos of this split")
    parser.add_argument("--source", default="", help="only photos of this source")
    parser.add_argument(
        "--again", action="store_true", help="include photos that a batch of this kind already used"
    )
    for option in all_planner_options():
        parser.add_argument(option.flag, type=int if option.is_whole else float, help=option.help)


def given_photo_flags(options: dict[str, Any]) -> list[str]:
    """Return the flags of this module that were given, for commands with another source of units."""
    names = ("limit", "random", "photo", "split", "source", "again")
    flags = [f"--{name}" for name in names if options[name] not in (None, [], "", False)]
    return flags + [option.flag for option in all_planner_options() if options[option.name] is not None]


def choose_photos(
    project: Project, kind: HitKind, options: dict[str, Any]
) -> tuple[list[int], dict[str, Any]]:
    """Return the ids of the chosen photos, and the choice as a batch stores it."""
    planner = planner_of(kind)
    if planner is None:
        raise input_error(f"kind {kind.name}: its units are not made from photos; launch them from a file")
    limit = validate_image_limit(options["limit"])
    selection = _read_image_selection(options, planner.options, kind)
    try:
        _check_unused(project, kind, selection)
        photos = select_photos(project, kind.name, selection)[:limit]
    except ImageSelectionError as error:
        flag = _FLAG_BY_FIELD.get(error.field, error.field).replace("_", "-")
        raise input_error(f"--{flag}: {error}") from error
    return photos, selection.as_row() | ({"limit": limit} if limit else {})


def _check_unused(project: Project, kind: HitKind, selection: ImageSelection) -> None:
    unused, usable = count_photos(project, kind.name, selection.options)
    planner = planner_of(kind)
    if usable and not unused and not selection.again:
        raise input_error(
            f"project {project.slug}: every photo is in a batch of {kind.name} already; "
            "resume a stopped batch with resume_batch, or use the same photos again with --again"
        )
    if not usable and planner is not None and planner.options:
        raise input_error(
            f"project {project.slug}: no photo can be used for {kind.name}; {planner.no_photos_message}"
        )


def _read_image_selection(
    options: dict[str, Any], own: Sequence[PlannerOption], kind: HitKind
) -> ImageSelection:
    how = (
        SelectionMethod.RANDOM
        if options["random"] is not None
        else SelectionMethod.NAMED
        if options["photo"]
        else SelectionMethod.ALL
    )
    return ImageSelection(
        how=how,
        n=options["random"],
        seed=options["seed"] if how is SelectionMethod.RANDOM else None,
        names=tuple(options["photo"]),
        split=options["split"],
        source=options["source"],
        again=options["again"],
        options=_read_planner_options(options, {option.name for option in own}, kind),
    )


def _read_planner_options(options: dict[str, Any], own: set[str], kind: HitKind) -> dict[str, Any]:
    given = {
        option: options[option.name] for option in all_planner_options() if options[option.name] is not None
    }
    for option, value in given.items():
        if option.name not in own:
            raise input_error(f"{option.flag} {value:g}: is no option of {kind.name}; leave it out")
    return {option.name: value for option, value in given.items()}
