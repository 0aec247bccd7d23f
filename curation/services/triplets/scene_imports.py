"""Import scenes from a file, all of them or none."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.image_triplets.scene_files import MAX_ROWS, WrittenScene, parse_scenes
from curation.models import Import, ImportedRow, Scene
from curation.selectors.triplets.settings import offered_domains, triplet_settings
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.import_terms import check_import_terms
from curation.services.triplets.scenes import SceneTexts, draw_hypotheses
from hits.domain.hashing import content_sha256
from hits.models import Project
from hits.selectors.records import id_chunks
from hits.services import audit
from hits.services.errors import Refused

FORMAT = "scenes"
_FACETS = ("category", "direction", "duration", "domain", "culture", "why", "language", "licence")
_CHUNK_SIZE = 500


@dataclass(frozen=True, slots=True)
class SceneFile:
    """A file of scenes, with the licence and the citation that the person who imports it typed.

    ``max_rows`` is a lower limit where somebody waits for the reply.
    """

    name: str
    content: bytes
    licence: str = ""
    citation: str = ""
    max_rows: int = MAX_ROWS


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An import, and how many of its rows are new: none if the same file was imported before."""

    source: Import
    new: int


def import_scenes(*, project: Project, file: SceneFile, by: AbstractBaseUser | None) -> ImportResult:
    """Store the scenes of a file; the same file again stores nothing.

    Raises:
        Refused: the file cannot be used, or a row revises a scene that the project lacks or that has a revision.
    """
    licence, citation = check_import_terms(file.licence, file.citation)
    sha256 = hashlib.sha256(file.content).hexdigest()
    with refuse_invalid_input():
        domains = offered_domains(triplet_settings(project))
        rows = parse_scenes(file.content, file.name, domains=domains, max_rows=file.max_rows)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        earlier = Import.objects.filter(project=project, format=FORMAT, sha256=sha256).first()
        if earlier is not None:
            return ImportResult(earlier, 0)
        replaced = _replaced_scenes(project, file.name, rows)
        source = Import.objects.create(
            project=project,
            format=FORMAT,
            name=file.name[:200],
            sha256=sha256,
            licence=licence,
            citation=citation,
            rows=len(rows),
            by_id=by.pk if by else None,
        )
        origins = ImportedRow.objects.bulk_create(
            (_imported_row(source, file.name, row) for row in rows), batch_size=_CHUNK_SIZE
        )
        Scene.objects.bulk_create(
            (
                _scene(source, origin, row, replaced.get(row.replaces), by)
                for origin, row in zip(origins, rows, strict=True)
            ),
            batch_size=_CHUNK_SIZE,
        )
        audit.record(project=project, actor=by, action="scene.import", subject=source.pk, scenes=len(rows))
    return ImportResult(source, len(rows))


def _imported_row(source: Import, name: str, row: WrittenScene) -> ImportedRow:
    return ImportedRow(
        source=source,
        instance_id=hashlib.sha256(f"{source.sha256} {row.row}".encode()).hexdigest()[:32],
        sha256=content_sha256(asdict(row)),
        location=f"{name}, row {row.row}"[-200:],
    )


def _scene(
    source: Import,
    origin: ImportedRow,
    row: WrittenScene,
    replaced: Scene | None,
    by: AbstractBaseUser | None,
) -> Scene:
    """Return the scene of a row; a revision keeps the author of the scene that it replaces."""
    facets = {name: getattr(row, name) for name in _FACETS}
    return Scene(
        project=source.project,
        imported_row=origin,
        author=replaced.author if replaced else None,
        simulated=replaced.simulated if replaced else False,
        replaces=replaced,
        created_by_id=by.pk if by else None,
        **facets | {"licence": row.licence or source.licence},
        **draw_hypotheses(SceneTexts(row.premise, row.plausible, row.implausible)),
    )


def _replaced_scenes(project: Project, name: str, rows: Sequence[WrittenScene]) -> dict[str, Scene]:
    """Return the scenes that rows revise, by public id."""
    replaced = {row.replaces: row for row in rows if row.replaces}
    found: dict[str, Scene] = {}
    for chunk in id_chunks(sorted(replaced)):
        scenes = Scene.objects.filter(project=project, public_id__in=chunk).select_related(
            "replaced_by", "author"
        )
        found |= {scene.public_id: scene for scene in scenes}
    for key, row in replaced.items():
        if key not in found:
            raise Refused(
                f"{name}, row {row.row}, replaces: this project has no scene {key}; leave the cell empty"
            )
        if getattr(found[key], "replaced_by", None) is not None:
            raise Refused(
                f"{name}, row {row.row}, replaces: scene {key} has a revision already; name the revision"
            )
    return found
