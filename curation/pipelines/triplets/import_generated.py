"""Import images that were made elsewhere, such as by Midjourney, as candidates of scenes; all of them or none."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.generation.folder_import import (
    FIRST,
    PREMISE,
    SECOND,
    ImportedFolder,
    ImportedImage,
    read_folder,
)
from curation.models import Import, ImportedRow, Scene
from curation.selectors.triplets.prompts import prompt_states
from curation.selectors.triplets.scenes import SceneState, scene_outcomes
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.images import (
    ImageOrigin,
    Provenance,
    store_generated_image,
    store_image_file,
)
from hits.domain.hashing import content_sha256
from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import Refused

FORMAT = "generated"
GENERATOR = "import"
ROLES: Mapping[str, str] = {PREMISE: "premise", FIRST: "a", SECOND: "b"}


@dataclass(frozen=True, slots=True)
class ImportedImages:
    """An import, and how many of its images are new: none of a folder that was imported before."""

    source: Import
    new: int
    missing: tuple[str, ...] = ()


def import_generated(*, project: Project, path: Path, by: AbstractBaseUser | None) -> ImportedImages:
    """Store the images of a folder or zip as candidates; the same files again store nothing.

    Every image is decoded before anything is stored.

    Raises:
        Refused: the folder cannot be used, or names a scene that the project lacks or does not keep.
    """
    with refuse_invalid_input():
        folder = read_folder(path)
        scenes = _scenes(project, folder)
        hashes = {row.location: hashlib.sha256(row.to_png().data).hexdigest() for row in folder.images}
    sha256 = content_sha256(
        sorted([row.scene_id, row.role, hashes[row.location], row.origin.model] for row in folder.images)
    )
    earlier = Import.objects.filter(project=project, format=FORMAT, sha256=sha256).first()
    if earlier is not None:
        return ImportedImages(earlier, 0, folder.missing)
    stored = {
        row.location: store_image_file(project=project, data=row.to_png().data, licence=row.origin.licence)
        for row in folder.images
    }
    with transaction.atomic():
        source = Import.objects.create(
            project=project,
            format=FORMAT,
            name=path.name[:200],
            sha256=sha256,
            rows=len(folder.images),
            options={"missing": list(folder.missing)[:100]},
            by_id=by.pk if by else None,
        )
        for row in folder.images:
            _store(source, scenes[row.scene_id], row, stored[row.location])
        audit.record(
            project=project, actor=by, action="images.import", subject=source.pk, images=len(folder.images)
        )
    return ImportedImages(source, len(folder.images), folder.missing)


def _scenes(project: Project, folder: ImportedFolder) -> dict[str, Scene]:
    ids = list(dict.fromkeys(row.scene_id for row in folder.images))
    found = Scene.objects.filter(project=project).in_bulk(ids, field_name="public_id")
    outcomes = scene_outcomes(project)
    for row in folder.images:
        scene = found.get(row.scene_id)
        if scene is None:
            raise Refused(
                f"{row.location}: this project has no scene {row.scene_id}; name the folder by the scene's id"
            )
        if outcomes[scene.pk].state is not SceneState.KEPT:
            raise Refused(f"{row.location}: scene {row.scene_id} is not kept; decide about it first")
    return found


def _store(source: Import, scene: Scene, row: ImportedImage, image: Image) -> None:
    origin = ImportedRow.objects.create(
        source=source,
        instance_id=hashlib.sha256(f"{source.sha256} {row.scene_id} {row.role}".encode()).hexdigest()[:32],
        sha256=image.sha256,
        location=row.location[-200:],
    )
    state = prompt_states([scene])[scene.pk]
    store_generated_image(
        scene=scene,
        role=ROLES[row.role],
        image=image,
        provenance=Provenance(
            generator=GENERATOR,
            model=row.origin.model,
            licence=row.origin.licence,
            prompt=row.origin.prompt,
            seed=row.origin.seed,
        ),
        origin=ImageOrigin(imported_row=origin, prompts=state.prompts),
    )
