"""Read a kind's units from a file, store an uploaded file until its launch, write example files."""

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
    MAX_KEY,
    UnitFileError,
    UnitLine,
    photo_names,
    read_lines_and_problems,
    resolve_photos,
)
from hits.kind import HitKind, InvalidUnit
from hits.models import Project, UnitFile
from hits.selectors.images.images import usable_images
from hits.services.errors import BadFile

QUERY_BATCH_SIZE = 500
RETENTION = timedelta(days=1)  # time between an upload and its launch
MAX_NAME = 200
MAX_KEY_SHOWN = 20
UnitKey = Callable[[dict[str, Any]], str]
ParsedUnits = Sequence[tuple[str, dict[str, Any]]]
UnitCheck = Callable[[ParsedUnits], Iterable[tuple[int, str]]]


class BadUnitFile(BadFile):
    """An unusable file of units; ``problems`` names line, field and fix of the first ones."""

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
    check: UnitCheck | None = None,
) -> list[tuple[str, dict[str, Any]]]:
    """Return the units of a file as (key, unit), checked by the kind's schema; ``photo:NAME`` becomes a photo's id.

    NAME is the photo's file name, or the SHA-256 of its uploaded or served file. ``key`` names a unit in its batch,
    by default the kind's ``unit_key``. ``check`` yields (index from 0, problem) for errors that no schema finds.

    Raises:
        BadUnitFile: at least one unusable line, with line, field and fix.
    """
    try:
        lines, problems = read_lines_and_problems(file)
        units = _UnitReader(project, kind, key or kind.unit_key)
        units.read(lines)
        if check is not None:
            units.add_check_problems(check)
        if problems or units.problems:
            raise UnitFileError(sorted(problems + units.problems, key=_line_number))
    except UnitFileError as error:
        raise BadUnitFile(name, error) from error
    return units.found


def _line_number(problem: str) -> int:
    return int(problem.split(":", 1)[0].removeprefix("line "))


class _UnitReader:
    """Reads the units of a file one after the other."""

    def __init__(self, project: Project, kind: HitKind, key: UnitKey) -> None:
        self.project, self.kind, self.key = project, kind, key
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.problems: list[str] = []
        self.lines: list[UnitLine] = []

    def read(self, lines: Sequence[UnitLine]) -> None:
        """Read all lines and collect their problems."""
        names = {name for line in lines for name in photo_names(line.content)}
        photos = _find_photos(self.project, names)
        shown: dict[int, list[int]] = {}
        first: dict[str, int] = {}
        for line in lines:
            unit = self._parse_unit_line(line, photos)
            if unit is None:
                continue
            key = self.key(unit)
            if not 0 < len(key) <= MAX_KEY:
                self._add_problem(
                    line, f"key {_shorten_key(key)} has {len(key)} characters; use 1 to {MAX_KEY}"
                )
                continue
            if key in first:
                self._add_problem(line, f"is the same unit as line {first[key]}; leave one of them out")
                continue
            first[key] = line.number
            self.found.append((key, unit))
            self.lines.append(line)
            for image in self.kind.image_ids(unit):
                shown.setdefault(image, []).append(line.number)
        self._check_images(shown)

    def add_check_problems(self, check: UnitCheck) -> None:
        """Add the problems that ``check`` finds."""
        for position, problem in check(self.found):
            self._add_problem(self.lines[position], problem)

    def _parse_unit_line(self, line: UnitLine, photos: Mapping[str, list[int]]) -> dict[str, Any] | None:
        try:
            return self.kind.parse_unit(
                resolve_photos(line.content, lambda name: _single_photo(photos[name], name))
            )
        except InvalidUnit as error:
            for field_error in error.errors:
                self._add_problem(line, f"{field_error.field}: {field_error.message}")
        except ValueError as error:
            self._add_problem(line, str(error))
        return None

    def _check_images(self, shown: Mapping[int, list[int]]) -> None:
        usable = usable_images(self.project).only("pk").in_bulk(shown)
        for image in sorted(shown.keys() - usable.keys()):
            for number in shown[image]:
                self.problems.append(
                    f"line {number}: photo {image} is not in this project, is a duplicate, or was taken down"
                )

    def _add_problem(self, line: UnitLine, problem: str) -> None:
        self.problems.append(f"line {line.number}: {problem}")


def _shorten_key(key: str) -> str:
    return repr(key if len(key) <= MAX_KEY_SHOWN else f"{key[:MAX_KEY_SHOWN]}…")


def _find_photos(project: Project, names: Iterable[str]) -> dict[str, list[int]]:
    """Return the photos of each name or hash; an empty list for an unknown name."""
    sorted_names = sorted(names)
    found: dict[str, list[int]] = {name: [] for name in sorted_names}
    for start in range(0, len(sorted_names), QUERY_BATCH_SIZE):
        chunk = sorted_names[start : start + QUERY_BATCH_SIZE]
        rows = usable_images(project).filter(
            Q(name__in=chunk) | Q(sha256__in=chunk) | Q(original_sha256__in=chunk)
        )
        for pk, *columns in rows.values_list("pk", "name", "sha256", "original_sha256"):
            for name in {str(column) for column in columns} & set(chunk):
                found[name].append(pk)
    return found


def _single_photo(photos: Sequence[int], name: str) -> int:
    if not photos:
        raise ValueError(f"photo:{name} is no usable photo of this project; see the page Photos for names")
    if len(photos) > 1:
        raise ValueError(f"photo:{name} names {len(photos)} photos; name one by its SHA-256")
    return photos[0]


# Uploaded files


def save_unit_file(
    *, project: Project, kind: HitKind, name: str, data: bytes, units: int, by: AbstractBaseUser | None
) -> UnitFile:
    """Store a valid file until its launch, for a day at most."""
    delete_old_unit_files()
    return UnitFile.objects.create(
        project=project,
        kind=kind.name,
        name=name[-MAX_NAME:],
        sha256=hashlib.sha256(data).hexdigest(),
        units=units,
        content=data.decode("utf-8"),
        uploaded_by_id=by.pk if by else None,
    )


def find_unit_file(*, project: Project, kind: HitKind, pk: int) -> UnitFile | None:
    """Return a stored file of this project and kind."""
    return UnitFile.objects.filter(project=project, kind=kind.name, pk=pk).first()


def open_content(row: UnitFile) -> BinaryIO:
    """Open the content of a stored file."""
    return io.BytesIO(row.content.encode("utf-8"))


def delete_old_unit_files() -> int:
    """Delete files that were not launched within a day; return their number."""
    return UnitFile.objects.filter(uploaded_at__lte=timezone.now() - RETENTION).delete()[0]


# Examples


def kinds_launched_from_files() -> list[HitKind]:
    """Return the kinds that launch from a file of units, by title."""
    kinds = (registry.get_kind(name) for name in registry.kind_names())
    return sorted((kind for kind in kinds if kind.launches_from_units), key=lambda kind: kind.title)


def build_example_file(*, project: Project, kind: HitKind) -> str:
    """Return an example file of units, with names of the project's photos if it has any.

    Raises:
        LookupError: the kind has no sample.
    """
    sample = kind.sample()
    if sample is None:
        raise LookupError(f"kind {kind.name}: sample.json is missing; write a unit and an answer there")
    photos = list(usable_images(project).values_list("name", "original_sha256")[:QUERY_BATCH_SIZE])
    names = [name for name, _ in photos]
    photo_names = [name if names.count(name) == 1 else sha256 for name, sha256 in photos]
    units = [sample["unit"], *sample.get("others", ())]
    return "".join(
        json.dumps(resolve_photos(unit, lambda n: _photo_reference(photo_names, n)), ensure_ascii=False)
        + "\n"
        for unit in units
    )


def _photo_reference(photo_names: Sequence[str], number: str) -> str:
    index = int(number) - 1
    return f"photo:{photo_names[index]}" if index < len(photo_names) else f"photo:photo-{number}.jpg"
