"""Import triplets in the published layout: a table and a folder of images, all of them or none."""

import hashlib
import io
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.families.nleye.columns import ColumnMap
from curation.families.nleye.export import ENDING, IMAGES
from curation.families.nleye.origins import ImageSource, read_provenance
from curation.families.nleye.read import PublishedTable, PublishedTriplet, read_table
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
from curation.services.triplets.import_terms import check_import_terms
from curation.services.triplets.scenes import SceneTexts, draw_hypotheses
from curation.versions.export import REHEARSAL
from curation.versions.splits import UnknownSplit, parse_split
from hits.domain.answers.scene_facets import PARALLEL
from hits.domain.answers.storable_json import find_unstorable
from hits.domain.hashing import content_sha256
from hits.domain.images.decoding import UnusableImage, decode_image
from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import BadFile, Refused
from hits.services.images.import_image import ImageDescription, import_image

FORMAT = "nleye"
GENERATOR = "import"  # of an image whose generator the folder does not tell
UNKNOWN = "unknown"
MAX_TEXT, MAX_DOMAIN, MAX_DURATION, MAX_EXPLANATION = 2000, 60, 10, 5000
ProgressReport = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """A folder in the published layout, with the licence and the citation that the person who imports it typed."""

    path: Path
    columns: ColumnMap | None = None
    licence: str = ""
    citation: str = ""


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image of the project, and what the folder tells of its origin."""

    image: Image
    origin: ImageSource


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
        StorageFull: the disk is full.
    """
    if project.family != FORMAT:
        raise Refused(
            f"project {project.slug}: its family is {project.family}; use a project of family {FORMAT}"
        )
    licence, citation = check_import_terms(folder.licence, folder.citation)
    _check_rehearsal(project, folder.path)
    with refuse_invalid_input():
        table = read_table(folder.path, folder.columns)
        origins = read_provenance(folder.path)
    _check_values(table)
    total = 2 * len(table.triplets)
    hashes = {}
    for done, row in enumerate(table.triplets):
        report_progress(done, total)
        hashes[row.sample_id] = _check_images(project, row)
    sha256 = _folder_sha256(folder.path, hashes)
    if (earlier := _find_earlier(project, sha256)) is not None:
        return ImportedTriplets(earlier, 0, table.unread)
    images = {}
    for done, row in enumerate(table.triplets, start=len(table.triplets)):
        report_progress(done, total)
        images[row.sample_id] = _store_images(project, row, table.splits[row.sample_id], origins, licence)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        if (earlier := _find_earlier(project, sha256)) is not None:  # by another process, at this moment
            return ImportedTriplets(earlier, 0, table.unread)
        source = Import.objects.create(
            project=project,
            format=FORMAT,
            name=folder.path.resolve().name[:200],
            sha256=sha256,
            licence=licence,
            citation=citation,
            rows=len(table.triplets),
            options={"unread_columns": list(table.unread)},
            by_id=by.pk if by else None,
        )
        for row in table.triplets:
            _store_triplet(source, row, images[row.sample_id], by)
        audit.record(
            project=project,
            actor=by,
            action="triplets.import",
            subject=source.pk,
            triplets=len(table.triplets),
        )
    return ImportedTriplets(source, len(table.triplets), table.unread)


def _check_rehearsal(project: Project, folder: Path) -> None:
    if not project.is_rehearsal and (folder / REHEARSAL).exists():
        raise Refused(
            f"{folder}: has {REHEARSAL}, so it is an export of a rehearsal and no data; import it into a rehearsal"
        )


def _find_earlier(project: Project, sha256: str) -> Import | None:
    return Import.objects.filter(project=project, format=FORMAT, sha256=sha256).first()


def _check_values(table: PublishedTable) -> None:
    for row in table.triplets:
        limits = {f"{name}_description": MAX_TEXT for name in IMAGES}
        limits |= {"domain": MAX_DOMAIN, "gold_explanation": MAX_EXPLANATION, "time_duration": MAX_DURATION}
        texts = {name: row.values[name] for name in limits}
        texts |= {f"explanation {number}": text for number, text in enumerate(row.explanations, start=1)}
        for name, text in texts.items():
            limit = limits.get(name, MAX_EXPLANATION)
            if len(text) > limit:
                raise Refused(f"{row.location}, {name}: is longer than {limit:,} characters; shorten it")
        for name, problem in find_unstorable({**texts, **row.values, "other columns": dict(row.extra)}):
            raise Refused(f"{row.location}, {name}: {problem}")
    for split in sorted(set(table.splits.values())):
        try:
            parse_split(split)
        except UnknownSplit as error:
            raise Refused(f"{split}{ENDING}: {error}") from error


def _check_images(project: Project, row: PublishedTriplet) -> dict[str, str]:
    """Decode a triplet's images, and return the hash of each as it will be stored."""
    found = {}
    for name, path in row.images.items():
        found[name] = hashlib.sha256(_read_png(row, path)).hexdigest()
        known = Image.objects.filter(project=project, original_sha256=found[name])
        if known.exclude(taken_down_at=None).exists():
            raise Refused(f"{row.location}: {_place(row, path)} was taken down here; leave the triplet out")
    if len(set(found.values())) < len(found):
        raise Refused(f"{row.location}: two of its images are the same file; give each role its own")
    return found


def _read_png(row: PublishedTriplet, path: Path) -> bytes:
    """Return an image file as PNG, so that an export holds what its name says; a PNG stays as it is."""
    place = f"{row.location}: {_place(row, path)}"
    try:
        data = path.read_bytes()
        picture, source_format = decode_image(
            place, data, max_bytes=settings.MAX_IMAGE_BYTES, max_pixels=settings.MAX_IMAGE_PIXELS
        )
    except OSError as error:
        raise BadFile(f"{place}: cannot be read: {error.strerror or error}; check the file") from error
    except UnusableImage as error:
        raise BadFile(str(error)) from error
    if source_format == "PNG":
        return data
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _place(row: PublishedTriplet, path: Path) -> str:
    return f"images/{row.sample_id}/{path.name}"


def _folder_sha256(folder: Path, hashes: Mapping[int, Mapping[str, str]]) -> str:
    """Return a hash of the tables and of all images."""
    tables = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob(f"*{ENDING}")}
    images = [[number, sorted(found.items())] for number, found in sorted(hashes.items())]
    return content_sha256([sorted(tables.items()), images])


def _store_images(
    project: Project, row: PublishedTriplet, split: str, origins: Mapping[str, ImageSource], licence: str
) -> dict[str, StoredImage]:
    """Store the images of a triplet; they have random names, so that nothing tells what they show."""
    found = {}
    for name, path in row.images.items():
        origin = origins.get(hashlib.sha256(path.read_bytes()).hexdigest(), ImageSource())
        image, _ = import_image(
            project=project,
            name=f"{secrets.token_hex(16)}.png",
            data=_read_png(row, path),
            description=ImageDescription(licence=origin.licence.strip() or licence, split=split),
        )
        found[name] = StoredImage(image, origin)
    return found


def _store_triplet(
    source: Import, row: PublishedTriplet, images: Mapping[str, StoredImage], by: AbstractBaseUser | None
) -> None:
    hashes = {name: stored.image.original_sha256 for name, stored in images.items()}
    origin = ImportedRow.objects.create(
        source=source,
        instance_id=hashlib.sha256(f"{source.sha256} {row.sample_id}".encode()).hexdigest()[:32],
        sha256=content_sha256([dict(row.values), hashes]),
        location=row.location[-200:],
        extra=dict(row.extra),
    )
    scene = _store_scene(source, origin, row)
    first = scene.plausible if row.gold == 1 else ("b" if scene.plausible == "a" else "a")
    roles = {"premise": "premise", "hypothesis1": first, "hypothesis2": "b" if first == "a" else "a"}
    candidates = {
        role: _store_candidate(source, origin, scene, role, images[name]) for name, role in roles.items()
    }
    triplet = ImageTriplet.objects.create(
        project=source.project,
        scene=scene,
        **candidates,
        first=first,
        gold=row.gold,
        imported_row=origin,
        created_by_id=by.pk if by else None,
    )
    TripletCheck.objects.create(
        triplet=triplet, **_facets(row), domain=row.values["domain"], by_id=by.pk if by else None
    )
    TripletExplanation.objects.create(
        triplet=triplet, text=row.values["gold_explanation"], source=ExplanationSource.GOLD.value
    )
    for text in row.explanations:
        TripletExplanation.objects.create(
            triplet=triplet, text=text, source=ExplanationSource.REFERENCE.value
        )


def _facets(row: PublishedTriplet) -> dict[str, str]:
    """Return the facets as the table has them; published parallel triplets may have a duration, which is kept."""
    values = row.values
    direction = values["time_direction"].strip().lower()
    duration = values["time_duration"] if direction == PARALLEL else values["time_duration"].strip().lower()
    category = values["reasoning_category"].strip().lower()
    return {"category": category, "direction": direction, "duration": duration}


def _store_scene(source: Import, origin: ImportedRow, row: PublishedTriplet) -> Scene:
    texts = [row.values[f"hypothesis{number}_description"] for number in (1, 2)]
    plausible, implausible = texts if row.gold == 1 else texts[::-1]
    facets = _facets(row)
    if facets["direction"] == PARALLEL:
        facets["duration"] = ""
    return Scene.objects.create(
        project=source.project,
        imported_row=origin,
        **facets,
        domain=row.values["domain"],
        licence=source.licence,
        **draw_hypotheses(SceneTexts(row.values["premise_description"], plausible, implausible)),
    )


def _store_candidate(
    source: Import, origin: ImportedRow, scene: Scene, role: str, stored: StoredImage
) -> GeneratedImage:
    known = asdict(stored.origin)
    known["generator"] = known["generator"] or GENERATOR
    known["model"] = known["model"] or UNKNOWN
    known["licence"] = known["licence"].strip() or source.licence or UNKNOWN
    return store_generated_image(
        scene=scene,
        role=role,
        image=stored.image,
        provenance=Provenance(**known),
        origin=ImageOrigin(imported_row=origin),
    )
