"""Read a kind's units from a file, keep a file that was sent until its launch is confirmed, write examples."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, BinaryIO

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.utils import timezone

from hits import registry
from hits.domain.units.unit_files import (
    LONGEST_KEY,
    Line,
    UnitFileError,
    photo_names,
    read_lines,
    with_photos,
)
from hits.kind import HitKind, InvalidUnit
from hits.models import Project, UnitFile
from hits.selectors.images.images import usable_images
from hits.services.errors import BadFile

AT_ONCE = 500
KEPT_FOR = timedelta(days=1)  # so long may somebody think about a launch
MAX_NAME = 200
SHOWN_OF_KEY = 20
UnitKey = Callable[[dict[str, Any]], str]
Found = Sequence[tuple[str, dict[str, Any]]]
Check = Callable[[Found], Iterable[tuple[int, str]]]


class BadUnits(BadFile):
    """A file of units that cannot be used; ``problems`` names line, field and mend of the first of them."""

    def __init__(self, name: str, error: UnitFileError) -> None:
        super().__init__(f"{name}: {error}")
        self.problems = error.problems


def read_units(
    *,
    project: Project,
    kind: HitKind,
    file: BinaryIO,
    name: str,
    key: UnitKey | None = None,
    check: Check | None = None,
) -> list[tuple[str, dict[str, Any]]]:
    """Return the units of a file as (key, unit), checked by the kind's schema; a text ``photo:NAME`` is a photo's id.

    NAME is the photo's file name, or the SHA-256 of its file as it came or as it is served. ``key`` names a unit in
    its batch; the kind's own names are taken without it. ``check`` gives the position in what was found, from 0, and
    the fault of each unit that is wrong for a reason that no schema sees.

    Raises:
        BadUnits: any line that cannot be used, with line, field and mend; nothing is taken then.
    """
    try:
        lines, problems = read_lines(file)
        units = _Units(project, kind, key or kind.unit_key)
        units.read(lines)
        if check is not None:
            units.check(check)
        if problems or units.problems:
            raise UnitFileError(sorted(problems + units.problems, key=_line_number))
    except UnitFileError as error:
        raise BadUnits(name, error) from error
    return units.found


def _line_number(problem: str) -> int:
    return int(problem.split(":", 1)[0].removeprefix("line "))


class _Units:
    """The units of a file, read one after the other."""

    def __init__(self, project: Project, kind: HitKind, key: UnitKey) -> None:
        self.project, self.kind, self.key = project, kind, key
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.problems: list[str] = []
        self.lines: list[Line] = []

    def read(self, lines: Sequence[Line]) -> None:
        """Read all, and collect what is wrong."""
        names = {name for line in lines for name in photo_names(line.content)}
        photos = _photos_called(self.project, names)
        shown: dict[int, list[int]] = {}
        first: dict[str, int] = {}
        for line in lines:
            unit = self._unit(line, photos)
            if unit is None:
                continue
            key = self.key(unit)
            if not 0 < len(key) <= LONGEST_KEY:
                self._say(line, f"its key {_short(key)} has {len(key)} characters; use 1 to {LONGEST_KEY}")
                continue
            if key in first:
                self._say(line, f"is the same unit as line {first[key]}; leave one of them out")
                continue
            first[key] = line.number
            self.found.append((key, unit))
            self.lines.append(line)
            for image in self.kind.image_ids(unit):
                shown.setdefault(image, []).append(line.number)
        self._check_images(shown)

    def check(self, check: Check) -> None:
        """Add what ``check`` finds."""
        for position, problem in check(self.found):
            self._say(self.lines[position], problem)

    def _unit(self, line: Line, photos: Mapping[str, list[int]]) -> dict[str, Any] | None:
        try:
            return self.kind.parse_unit(with_photos(line.content, lambda name: _only(photos[name], name)))
        except InvalidUnit as error:
            for one in error.errors:
                self._say(line, f"{one.field}: {one.message}")
        except ValueError as error:
            self._say(line, str(error))
        return None

    def _check_images(self, shown: Mapping[int, list[int]]) -> None:
        known: set[int] = set()
        wanted = sorted(shown)
        for start in range(0, len(wanted), AT_ONCE):
            rows = usable_images(self.project).filter(pk__in=wanted[start : start + AT_ONCE])
            known.update(rows.values_list("pk", flat=True))
        for image in wanted:
            if image not in known:
                for number in shown[image]:
                    self.problems.append(
                        f"line {number}: photo {image} is not in this project, is a duplicate, or was taken down"
                    )

    def _say(self, line: Line, what: str) -> None:
        self.problems.append(f"line {line.number}: {what}")


def _short(key: str) -> str:
    return repr(key if len(key) <= SHOWN_OF_KEY else f"{key[:SHOWN_OF_KEY]}…")


def _photos_called(project: Project, names: Iterable[str]) -> dict[str, list[int]]:
    """Return the photos of each name or hash; none for a name that no photo has."""
    wanted = sorted(names)
    found: dict[str, list[int]] = {name: [] for name in wanted}
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        rows = usable_images(project).filter(
            Q(name__in=some) | Q(sha256__in=some) | Q(original_sha256__in=some)
        )
        for pk, *columns in rows.values_list("pk", "name", "sha256", "original_sha256"):
            for name in {str(column) for column in columns} & set(some):
                found[name].append(pk)
    return found


def _only(photos: Sequence[int], name: str) -> int:
    if not photos:
        raise ValueError(f"photo:{name} is no usable photo of this project; see the page Photos for names")
    if len(photos) > 1:
        raise ValueError(f"photo:{name} are {len(photos)} photos; name the one by its SHA-256")
    return photos[0]


# A file that was sent


def keep_file(
    *, project: Project, kind: HitKind, name: str, data: bytes, units: int, by: AbstractBaseUser | None
) -> UnitFile:
    """Keep a file whose units were read, until its launch is confirmed or a day is over."""
    forget_old()
    return UnitFile.objects.create(
        project=project,
        kind=kind.name,
        name=name[-MAX_NAME:],
        sha256=hashlib.sha256(data).hexdigest(),
        units=units,
        content=data.decode("utf-8"),
        uploaded_by_id=by.pk if by else None,
    )


def kept_file(*, project: Project, kind: HitKind, pk: int) -> UnitFile | None:
    """Return a file that is kept for this project and kind."""
    return UnitFile.objects.filter(project=project, kind=kind.name, pk=pk).first()


def content_of(row: UnitFile) -> BinaryIO:
    """Return a kept file to be read."""
    return io.BytesIO(row.content.encode("utf-8"))


def forget_old() -> int:
    """Delete the files that nobody launched within a day; return how many."""
    return UnitFile.objects.filter(uploaded_at__lte=timezone.now() - KEPT_FOR).delete()[0]


# Examples


def kinds_from_units() -> list[HitKind]:
    """Return the kinds that can be launched from a file of units, by title."""
    kinds = (registry.get(name) for name in registry.names())
    return sorted((kind for kind in kinds if kind.launches_from_units), key=lambda kind: kind.title)


def example(*, project: Project, kind: HitKind) -> str:
    """Return a file of units as it should be written, with the names of photos of the project where it has any.

    Raises:
        LookupError: the kind brings no sample.
    """
    sample = kind.sample()
    if sample is None:
        raise LookupError(f"kind {kind.name}: sample.json is missing; write a unit and an answer there")
    photos = list(usable_images(project).values_list("name", "original_sha256")[:AT_ONCE])
    names = [name for name, _ in photos]
    called = [name if names.count(name) == 1 else sha256 for name, sha256 in photos]
    units = [sample["unit"], *sample.get("others", ())]
    return "".join(
        json.dumps(with_photos(unit, lambda n: _named(called, n)), ensure_ascii=False) + "\n"
        for unit in units
    )


def _named(called: Sequence[str], number: str) -> str:
    place = int(number) - 1
    return f"photo:{called[place]}" if place < len(called) else f"photo:photo-{number}.jpg"
