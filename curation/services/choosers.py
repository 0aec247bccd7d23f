"""Request the training of choosers. A pipeline does the work."""

import re
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from curation.chooser.config import ChooserConfig, ModelKind
from curation.features.encoder import is_hub_id
from curation.models import Chooser, QuestionSet
from curation.selectors import choosers as chooser_selectors
from curation.selectors.choice_evaluations import evaluated_splits
from curation.selectors.jobs import TRAIN_CHOOSER
from curation.services.named_rows import first_free_name, validate_name
from curation.services.questions import check_built
from curation.versions.splits import Split
from hits.models import Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

TRAIN_FILE, VAL_FILE = "train.jsonl", "val.jsonl"
IMAGE_FOLDERS = ("vcr1images", "images")
OPEN_SPLITS = (Split.TRAIN.value, Split.VAL.value)
_MAX_TITLE = 160


def request_set_training(
    *,
    question_set: QuestionSet,
    by: AbstractBaseUser | None,
    name: str,
    config: ChooserConfig,
    recipe: str = "",
    queue: bool = True,
) -> Chooser:
    """Return a new chooser whose training on a question set is queued; its ``job`` can be cancelled and resumed.

    The set's questions of the split train are trained on, those of val select the best model. Held splits are never
    used.

    Args:
        queue: False when this process runs the job (``jobs.run_in_process``).

    Raises:
        Conflict: the set is not built yet.
        Refused: it lacks a split, or the name is taken or invalid.
    """
    check_built(question_set)
    counts = dict(evaluated_splits(question_set))
    for split in OPEN_SPLITS:
        if not counts.get(split):
            known = ", ".join(counts) or "none"
            raise Refused(
                f"set {question_set.name}: has no questions of {split}, which training needs; it has {known}"
            )
    return _create_chooser(
        project=question_set.project,
        by=by,
        queue=queue,
        name=name,
        recipe=recipe,
        config=config,
        question_set=question_set,
        source=question_set.name,
        provenance={"question_set": question_set.name, "rehearsal": question_set.rehearsal},
    )


def request_folder_training(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    folder: Path,
    name: str,
    config: ChooserConfig,
    recipe: str = "",
    queue: bool = True,
) -> Chooser:
    """Return a new chooser whose training on a published folder is queued.

    Args:
        folder: contains ``train.jsonl``, ``val.jsonl``, and the images with their metadata in ``vcr1images`` or
            ``images``; for ``visual=features`` also ``features``. The worker must be able to read it.

    Raises:
        Refused: the folder lacks a file, or the name is taken or invalid.
    """
    for file in (TRAIN_FILE, VAL_FILE):
        if not (folder / file).is_file():
            raise Refused(f"{folder}: has no {file}; give a folder in the published layout")
    if config.kind in {ModelKind.R2C, ModelKind.CLIP_CHOICE}:
        find_image_folder(folder)
    return _create_chooser(
        project=project,
        by=by,
        queue=queue,
        name=name,
        recipe=recipe,
        config=config,
        source=folder.name,
        provenance={"data": folder.name, "rehearsal": project.is_rehearsal},
        data=str(folder.absolute()),
    )


def find_image_folder(folder: Path) -> Path:
    """Return the folder with images and metadata within a published folder.

    Raises:
        Refused: there is none.
    """
    found = next((folder / name for name in IMAGE_FOLDERS if (folder / name).is_dir()), None)
    if found is None:
        raise Refused(f"{folder}: has no {IMAGE_FOLDERS[0]}, the folder with images and their metadata")
    return found


def next_free_chooser_name(project: Project, source: str, config: ChooserConfig) -> str:
    """Return the first free name made of the training data and the kind of model."""
    base = re.sub(r"[^A-Za-z0-9 ._-]+", "-", f"{source[:30]} {config.kind}").strip(" ._-")
    return first_free_name(base, chooser_selectors.choosers(project).values_list("name", flat=True))


def _create_chooser(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    queue: bool,
    name: str,
    config: ChooserConfig,
    source: str,
    data: str = "",
    **facts: Any,
) -> Chooser:
    """Create the row with ``facts`` and its job. source: a name of the training data."""
    _check_starting_weights(config)
    chosen = validate_name(name or next_free_chooser_name(project, source, config))
    try:
        with transaction.atomic():
            row = Chooser.objects.create(
                project=project,
                name=chosen,
                config=config.as_json(),
                created_by_id=by.pk if by else None,
                **facts,
            )
            row.path = f"choosers/{project.pk}/{row.pk}"
            row.job = jobs.enqueue(
                task=TRAIN_CHOOSER,
                title=f"Train the chooser {chosen} on {source}"[:_MAX_TITLE],
                project=project,
                by=by,
                exclusive_key=f"chooser:{row.pk}",
                resumable=True,
                queue=queue,
                chooser=row.pk,
                data=data,
            )
            row.save(update_fields=["path", "job"])
            audit.record(project=project, actor=by, action="chooser.train", subject=chosen)
    except IntegrityError as error:
        if not Chooser.objects.filter(project=project, name=chosen).exists():
            raise
        raise Refused(f"name: there is a chooser {chosen} already; choose another name") from error
    return row


def _check_starting_weights(config: ChooserConfig) -> None:
    """Refuse names that no worker could load; whether weights are available is checked by the worker."""
    if config.kind is ModelKind.CLIP_CHOICE:
        source = config.start.removeprefix("clip:")
        is_clip = source != config.start and (is_hub_id(source) or Path(source).is_dir())
        if config.start != "tiny" and not is_clip:
            raise Refused(
                f"model: {config.start!r} is not known; use tiny, clip:openai/clip-vit-base-patch16, or clip: and a "
                "folder of saved weights"
            )
