"""Store generated images, and people's picks among them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Max

from curation.models import (
    GeneratedImage,
    ImagePick,
    ImportedRow,
    ModelCall,
    ModelRun,
    PickOrigin,
    PromptSet,
    SafetyRelease,
    Scene,
)
from curation.selectors.triplets.images import ROLES, SceneImages, hidden_images, scene_images
from curation.services.image_files import measure_file
from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.images.import_image import ImageDescription, import_image

MAX_NOTE = 400


@dataclass(frozen=True, slots=True)
class Provenance:
    """Everything known of an image's origin. ``licence`` is of the output, "unknown" if nobody knows it.

    ``seed`` is the one really used; ``None`` if the generator tells none. Micro-dollars, seconds.
    """

    generator: str
    model: str = ""
    revision: str = ""
    licence: str = ""
    prompt: str = ""
    revised_prompt: str = ""
    negative_prompt: str = ""
    seed: int | None = None
    parent: GeneratedImage | None = None
    mask: Sequence[Mapping[str, int]] = ()
    strength: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    cost_micro: int = 0
    seconds: float | None = None
    flags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ImageOrigin:
    """Whose image it is: a call of a run, or a row of an import."""

    run: ModelRun | None = None
    call: ModelCall | None = None
    imported_row: ImportedRow | None = None
    prompts: PromptSet | None = None


def store_generated_image(
    *, scene: Scene, role: str, image: Image, provenance: Provenance, origin: ImageOrigin
) -> GeneratedImage:
    """Store an image of the project as a candidate of a role. A call's image is stored once.

    The figures of its pixels are measured, so that people can see how near candidates are in style; nobody chooses
    among images of an imported triplet.
    """
    figures = None if origin.imported_row else asdict(measure_file(image))
    with transaction.atomic():
        Scene.objects.select_for_update().get(pk=scene.pk)
        if origin.call is not None:
            earlier = GeneratedImage.objects.filter(call=origin.call).first()
            if earlier is not None:
                return earlier
        rows = GeneratedImage.objects.filter(scene=scene, role=role)
        number = (rows.aggregate(last=Max("number"))["last"] or 0) + 1
        fields = {name: getattr(provenance, name) for name in Provenance.__dataclass_fields__}
        fields |= {name: list(fields[name]) for name in ("mask", "flags")}
        fields |= {name: dict(fields[name]) for name in ("parameters", "usage")}
        return GeneratedImage.objects.create(
            scene=scene,
            role=role,
            number=number,
            image=image,
            run=origin.run,
            call=origin.call,
            imported_row=origin.imported_row,
            prompt_set=origin.prompts,
            figures=figures,
            **fields,
        )


def store_image_file(*, project: Project, data: bytes, licence: str, suffix: str = ".png") -> Image:
    """Store an image file. Its name is random, and it has neither alternative text nor credit: they could tell gold.

    Raises:
        BadFile: the bytes are no usable image.
        StorageFull: the disk is full.
    """
    image, _ = import_image(
        project=project,
        name=f"{uuid.uuid4().hex}{suffix}",
        data=data,
        description=ImageDescription(licence=licence),
    )
    return image


def pick_image(
    *,
    scene: Scene,
    role: str,
    image: GeneratedImage | None,
    by: AbstractBaseUser | None,
    origin: PickOrigin = PickOrigin.QUEUE,
    note: str = "",
    seen: int | None = None,
) -> SceneImages:
    """Pick a candidate for a role; ``None`` takes the pick back. Returns the scene's images.

    ``seen`` is the newest pick that the person's page showed.

    Raises:
        Refused: the image belongs to another role or scene, was taken down, is hidden, or shows another role, too.
        Conflict: somebody picked after the page was opened.
    """
    if role not in ROLES:
        raise Refused(f"role: {role!r} is not known; use {', '.join(ROLES)}")
    if len(note) > MAX_NOTE:
        raise Refused(f"note: use at most {MAX_NOTE} characters")
    with transaction.atomic():
        Scene.objects.select_for_update().get(pk=scene.pk)
        before = scene_images([scene])[scene.pk]
        if image is not None and image not in before.shown(role):
            raise Refused(
                "image: is no candidate for this role, was taken down, or is hidden until a person releases it"
            )
        if seen is not None and seen != before.seen:
            raise Conflict("scene: somebody picked an image after you opened the page; reload the page")
        if image is not None and (other := same_picture(before, role, image)):
            raise Refused(f"image: is the same picture as the one picked for {other}; pick another one")
        newest = before.newest.get(role)
        if (newest.image_id if newest else None) != (image.pk if image else None):
            ImagePick.objects.create(
                scene=scene,
                role=role,
                image=image,
                origin=origin.value,
                note=note,
                by_id=by.pk if by else None,
            )
            audit.record(project=scene.project, actor=by, action="image.pick", subject=scene.pk, role=role)
        return scene_images([scene])[scene.pk]


def same_picture(images: SceneImages, role: str, image: GeneratedImage) -> str:
    """Return the other role whose pick is the same picture; empty if there is none."""
    same = (name for name, row in images.picks.items() if name != role and row.image_id == image.image_id)
    return next(same, "")


@transaction.atomic
def release_image(*, image: GeneratedImage, is_safe: bool, by: AbstractBaseUser, note: str = "") -> None:
    """Show an image that a safety checker flagged, or keep it hidden, after a person looked at it.

    Raises:
        Refused: nothing flagged the image.
    """
    if not image.flags:
        raise Refused("image: nothing flagged it, so it is shown already")
    if hidden_images([image]) and not is_safe and image.releases.exists():
        return
    SafetyRelease.objects.create(image=image, is_safe=is_safe, note=note[:MAX_NOTE], by_id=by.pk)
    audit.record(
        project=image.scene.project,
        actor=by,
        action="image.release",
        subject=image.pk,
        is_safe=is_safe,
    )
