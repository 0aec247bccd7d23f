"""Import images that were made elsewhere, such as by Midjourney, as candidates of scenes; all of them or none."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from curation.models import GeneratedImage, Import, ImportedRow, Scene
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
from hits.services.errors import Refused, StorageFull
from hits.services.jobs.jobs import Progress
from hits.services.uploads import upload_path

FORMAT = "generated"
GENERATOR = "import"
ROLES: Mapping[str, str] = {PREMISE: "premise", FIRST: "a", SECOND: "b"}


@dataclass(frozen=True, slots=True)
class ImportedImages:
    """An import, and how many of its images are new: none of a folder that was imported before."""

    source: Import
    new: int
    missing: tuple[str, ...] = ()


def import_generated(
    *,
    project: Project,
    path: Path,
    by: AbstractBaseUser | None,
    called: str = "",
    report: Callable[[int, int], None] = lambda done, total: None,
) -> ImportedImages:
    """Store the images of a folder or zip as candidates; the same files again store nothing.

    Every image is decoded before anything is stored. ``called`` is its name in messages, by default that of the path.
    ``report`` is told after each image how many of two passes over all images are done; it may raise to stop.

    Raises:
        Refused: the folder cannot be used, or names a scene that the project lacks or does not keep; a picture was
            taken down here, or shows two roles of a scene.
    """
    called = called or path.name
    hashes: dict[str, str] = {}
    stored: dict[str, Image] = {}
    with refuse_invalid_input():
        folder = read_folder(path, called)
        scenes = _scenes(project, folder)
        for row in folder.images:
            hashes[row.location] = hashlib.sha256(row.to_png().data).hexdigest()
            report(len(hashes), 2 * len(folder.images))
    sha256 = content_sha256(
        sorted([row.scene_id, row.role, hashes[row.location], row.origin.model] for row in folder.images)
    )
    if (earlier := _find_earlier(project, sha256)) is not None:
        return ImportedImages(earlier, 0, folder.missing)
    _check_pictures(scenes, folder, hashes)
    for row in folder.images:
        data = row.to_png().data
        stored[row.location] = store_image_file(project=project, data=data, licence=row.origin.licence)
        report(len(hashes) + len(stored), 2 * len(folder.images))
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        if (earlier := _find_earlier(project, sha256)) is not None:  # by another process, at this moment
            return ImportedImages(earlier, 0, folder.missing)
        source = Import.objects.create(
            project=project,
            format=FORMAT,
            name=called[:200],
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


def _find_earlier(project: Project, sha256: str) -> Import | None:
    return Import.objects.filter(project=project, format=FORMAT, sha256=sha256).first()


def _check_pictures(scenes: Mapping[str, Scene], folder: ImportedFolder, hashes: Mapping[str, str]) -> None:
    """Refuse pictures that were taken down here, and those of another role of the same scene."""
    project = next(iter(scenes.values())).project_id
    for location, sha256 in hashes.items():
        known = Image.objects.filter(project=project, original_sha256=sha256)
        if known.exclude(taken_down_at=None).exists():
            raise Refused(f"{location}: was taken down here; leave it out, or put the image back first")
    keys = [scene.pk for scene in scenes.values()]
    stored = GeneratedImage.objects.filter(scene__in=keys)
    roles = {
        (row.scene.public_id, row.image.original_sha256): (row.role, f"the {row.role} of this scene")
        for row in stored.select_related("scene", "image").order_by("-pk")
    }
    for row in folder.images:
        picture = (row.scene_id, hashes[row.location])
        role, other = roles.setdefault(picture, (ROLES[row.role], row.location))
        if role != ROLES[row.role]:
            raise Refused(f"{row.location}: is the same picture as {other}; give each role its own")


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


def run_import(progress: Progress) -> dict[str, Any]:
    """Run a job: import the zip that somebody uploaded, and delete it.

    Raises:
        Refused: the zip cannot be used, or its copy on the server is gone.
    """
    job = progress.job
    assert job.project is not None
    path, called = upload_path(str(job.args["zip"])), str(job.args["called"])
    if not path.exists():
        raise Refused(f"{called}: its copy on the server was deleted; upload it again")
    try:
        found = import_generated(
            project=job.project, path=path, by=job.created_by, called=called, report=progress.advance
        )
    except StorageFull:
        raise  # the job resumes with this copy when there is space
    except Refused:
        path.unlink()
        raise
    path.unlink()
    return {"import": found.source.pk, "images": found.source.rows, "new": found.new}
