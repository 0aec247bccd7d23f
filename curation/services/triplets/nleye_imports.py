"""Import triplets in the published layout: a table and a folder of images, all of them or none."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.families.nleye.columns import ColumnMap
from curation.families.nleye.export import ENDING, IMAGES
from curation.families.nleye.read import PublishedTable, PublishedTriplet, read_provenance, read_table
from curation.models import (
    ExplanationSource,
    GeneratedImage,
    ImageTriplet,
    Import,
    ImportedRow,
    Scene,
    TripletCheck,
    TripletExplanation,
)
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.images import ImageOrigin, Provenance, store_generated_image
from curation.services.triplets.scenes import SceneTexts, draw_hypotheses
from curation.versions.splits import UnknownSplit, parse_split
from hits.domain.answers.scene_facets import PARALLEL
from hits.domain.hashing import content_sha256
from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.images.import_image import ImageDescription, IncomingFile, import_image, prepare_image

FORMAT = "nleye"
UNKNOWN = "unknown"
MAX_TEXT, MAX_DOMAIN, MAX_EXPLANATION = 2000, 60, 5000
ProgressReport = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """A folder in the published layout, with the licence and the citation that the person who imports it typed."""

    path: Path
    columns: ColumnMap | None = None
    licence: str = ""
    citation: str = ""


@dataclass(frozen=True, slots=True)
class ImportedTriplets:
    """An import, how many of its triplets are new (none of a folder that was imported before), and unread columns."""

    source: Import
    new: int
    unread: tuple[str, ...]


def import_nleye(
    *,
    project: Project,
    folder: PublishedFolder,
    by: AbstractBaseUser | None,
    report_progress: ProgressReport = lambda done, total: None,
) -> ImportedTriplets:
    """Store the triplets of a folder in the order of their numbers; the same folder again stores nothing.

    Every image is decoded before anything is stored. Images are stored first, then all rows in one transaction, so
    that a process that dies leaves images without triplets and the next import goes on from there.

    Raises:
        Refused: the project is of another family, or a table, a value or an image cannot be used.
    """
    if project.family != FORMAT:
        raise Refused(
            f"project {project.slug}: its family is {project.family}; use a project of family {FORMAT}"
        )
    with refuse_invalid_input():
        table = read_table(folder.path, folder.columns)
        origins = read_provenance(folder.path)
    _check_lengths(table)
    total = 2 * len(table.triplets)
    hashes = {}
    for done, row in enumerate(table.triplets):
        report_progress(done, total)
        hashes[row.sample_id] = _check_images(row)
    sha256 = _folder_sha256(folder.path, hashes)
    earlier = Import.objects.filter(project=project, format=FORMAT, sha256=sha256).first()
    if earlier is not None:
        return ImportedTriplets(earlier, 0, table.unread)
    for done, row in enumerate(table.triplets, start=len(table.triplets)):
        report_progress(done, total)
        _store_images(project, row, table.splits[row.sample_id], folder.licence)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        source = Import.objects.create(
            project=project,
            format=FORMAT,
            name=folder.path.name[:200],
            sha256=sha256,
            licence=folder.licence[:120],
            citation=folder.citation[:400],
            rows=len(table.triplets),
            options={"unread_columns": list(table.unread)},
            by_id=by.pk if by else None,
        )
        for row in table.triplets:
            _store_triplet(source, row, hashes[row.sample_id], origins, by)
        audit.record(
            project=project,
            actor=by,
            action="triplets.import",
            subject=source.pk,
            triplets=len(table.triplets),
        )
    return ImportedTriplets(source, len(table.triplets), table.unread)


def _check_lengths(table: PublishedTable) -> None:
    for row in table.triplets:
        limits = {f"{name}_description": MAX_TEXT for name in IMAGES}
        limits |= {"domain": MAX_DOMAIN, "gold_explanation": MAX_EXPLANATION}
        for name, limit in limits.items():
            if len(row.values[name]) > limit:
                raise Refused(f"{row.location}, {name}: is longer than {limit:,} characters; shorten it")
        if "\0" in "".join(row.values.values()):
            raise Refused(f"{row.location}: has a null character; save the table again")
    for split in sorted(set(table.splits.values())):
        try:
            parse_split(split)
        except UnknownSplit as error:
            raise Refused(f"{split}{ENDING}: {error}") from error


def _check_images(row: PublishedTriplet) -> dict[str, str]:
    """Decode a triplet's images, and return the hash of each file."""
    found = {}
    for name, path in row.images.items():
        data = path.read_bytes()
        prepare_image(IncomingFile(_place(row, path), data), frozenset())
        found[name] = hashlib.sha256(data).hexdigest()
    return found


def _place(row: PublishedTriplet, path: Path) -> str:
    return f"images/{row.sample_id}/{path.name}"


def _folder_sha256(folder: Path, hashes: Mapping[int, Mapping[str, str]]) -> str:
    """Return a hash of the tables and of all images."""
    tables = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob(f"*{ENDING}")}
    images = [[number, sorted(found.items())] for number, found in sorted(hashes.items())]
    return content_sha256([sorted(tables.items()), images])


def _store_images(project: Project, row: PublishedTriplet, split: str, licence: str) -> None:
    """Store the image files; they have random names, so that nothing tells what they show."""
    description = ImageDescription(licence=licence, split=split)
    for path in row.images.values():
        name = f"{secrets.token_hex(16)}{path.suffix}"
        import_image(project=project, name=name, data=path.read_bytes(), description=description)


def _store_triplet(
    source: Import,
    row: PublishedTriplet,
    hashes: Mapping[str, str],
    origins: Mapping[str, Mapping[str, Any]],
    by: AbstractBaseUser | None,
) -> None:
    origin = ImportedRow.objects.create(
        source=source,
        instance_id=hashlib.sha256(f"{source.sha256} {row.sample_id}".encode()).hexdigest()[:32],
        sha256=content_sha256([dict(row.values), dict(hashes)]),
        location=row.location[-200:],
        extra=dict(row.extra),
    )
    scene = _store_scene(source, origin, row)
    first = scene.plausible if row.gold == 1 else ("b" if scene.plausible == "a" else "a")
    roles = {"premise": "premise", "hypothesis1": first, "hypothesis2": "b" if first == "a" else "a"}
    images = {
        role: _store_image(source, origin, scene, role, hashes[name], origins) for name, role in roles.items()
    }
    triplet = ImageTriplet.objects.create(
        project=source.project,
        scene=scene,
        premise=images["premise"],
        a=images["a"],
        b=images["b"],
        first=first,
        gold=row.gold,
        imported_row=origin,
        created_by_id=by.pk if by else None,
    )
    values = row.values
    TripletCheck.objects.create(
        triplet=triplet,
        category=values["reasoning_category"].strip().lower(),
        direction=values["time_direction"].strip().lower(),
        duration=values["time_duration"].strip().lower(),  # published parallel rows may have one: it is kept
        domain=values["domain"],
        by_id=by.pk if by else None,
    )
    TripletExplanation.objects.create(
        triplet=triplet, text=values["gold_explanation"], source=ExplanationSource.GOLD.value
    )
    for text in row.explanations:
        TripletExplanation.objects.create(
            triplet=triplet, text=text, source=ExplanationSource.REFERENCE.value
        )


def _store_scene(source: Import, origin: ImportedRow, row: PublishedTriplet) -> Scene:
    values = row.values
    texts = [values[f"hypothesis{number}_description"] for number in (1, 2)]
    plausible, implausible = texts if row.gold == 1 else texts[::-1]
    direction = values["time_direction"].strip().lower()
    return Scene.objects.create(
        project=source.project,
        imported_row=origin,
        category=values["reasoning_category"].strip().lower(),
        direction=direction,
        duration="" if direction == PARALLEL else values["time_duration"].strip().lower(),
        domain=values["domain"],
        licence=source.licence,
        **draw_hypotheses(SceneTexts(values["premise_description"], plausible, implausible)),
    )


def _store_image(
    source: Import,
    origin: ImportedRow,
    scene: Scene,
    role: str,
    file_sha256: str,
    origins: Mapping[str, Mapping[str, Any]],
) -> GeneratedImage:
    image = Image.objects.get(project=source.project_id, original_sha256=file_sha256)
    known = origins.get(file_sha256, {})
    return store_generated_image(
        scene=scene,
        role=role,
        image=image,
        provenance=Provenance(
            generator=str(known.get("generator") or "import"),
            model=str(known.get("model") or UNKNOWN),
            revision=str(known.get("revision") or ""),
            licence=str(known.get("licence") or source.licence or UNKNOWN),
            prompt=str(known.get("prompt") or ""),
            revised_prompt=str(known.get("revised_prompt") or ""),
            negative_prompt=str(known.get("negative_prompt") or ""),
            seed=known.get("seed"),
            parameters=known.get("parameters") or {},
            cost_micro=int(known.get("cost_micro_usd") or 0),
        ),
        origin=ImageOrigin(imported_row=origin),
    )
