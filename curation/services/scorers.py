"""Request training runs and imports of scorers, and record their results. A pipeline does the work."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from curation.features.encoder import is_hub_id
from curation.models import DatasetVersion, Scorer, ScorerOrigin
from curation.scorer.config import TINY, TrainingConfig
from curation.selectors import scorers as scorer_selectors
from curation.selectors.jobs import IMPORT_SCORER, TRAIN_SCORER
from curation.selectors.scorers import SCORER_PREFIX
from curation.services.named_rows import first_free_name, validate_name
from curation.services.scorer_splits import VAL_SHARE, check_batch_size, choose_splits
from curation.services.splits import check_sealed, check_version_in_project
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

CLIP_PREFIX = "clip:"
PUBLISHED_MODEL = "clip:openai/clip-vit-base-patch16"


def request_training(  # noqa: PLR0913 - the columns of one row, by keyword
    *,
    project: Project,
    by: AbstractBaseUser | None,
    version: DatasetVersion,
    name: str,
    config: TrainingConfig,
    train_split: str | None = None,
    val_split: str | None = None,
    val_share: float = VAL_SHARE,
    recipe: str = "",
    queue: bool = True,
) -> Scorer:
    """Return a new scorer whose training is queued; its ``job`` can be cancelled and resumed.

    Args:
        version: a sealed version of the project. config: when ``model`` is ``scorer:<name or number>``, training
            starts from that scorer, which becomes the new one's parent. train_split, val_split: the splits to use; by
            default train and val if the version has them. If only one split is available, or both are the same, a
            share of its photos is held out for validation.
        val_share: that share, above 0 and below 1. recipe: the recipe (``curation.scorer.recipes``) that this
            reproduces, if any.
        queue: False when this process runs the job (``jobs.run_in_process``).

    Raises:
        Refused: the version is a draft, a split is empty, the model is unknown, the name is taken, there are fewer
            pairs than a batch, or the parent was trained on a rehearsal and the version was not.
    """
    _check_version(project, version)
    parent, config = _resolve_initial_model(project, config)
    if parent is not None and is_from_rehearsal(parent) and not version.rehearsal:
        raise Refused(
            f"model: {parent.name} was trained on a rehearsal, whose answers may be simulated; "
            "choose another model for a real version"
        )
    counts = scorer_selectors.split_counts(version)
    splits = choose_splits(counts, train_split, val_split, share=val_share, seed=config.seed)
    check_batch_size(config, math.ceil(counts[splits.train].pairs * (1 - splits.share)))
    return _create_scorer(
        project=project,
        by=by,
        queue=queue,
        name=validate_name(name),
        version=version,
        splits=splits.as_json(),
        parent=parent,
        recipe=recipe[:40],
        config=config.as_json(),
        provenance=training_provenance(version, parent),
    )


def _check_version(project: Project, version: DatasetVersion) -> None:
    check_version_in_project(project, version)
    check_sealed(version)
    if version.rehearsal != project.is_rehearsal:
        raise Refused(f"version: {version.name} and {project.name} must both be real or both be rehearsals")


def _resolve_initial_model(project: Project, config: TrainingConfig) -> tuple[Scorer | None, TrainingConfig]:
    """Return the parent scorer, if any, and the configuration that names it by its number."""
    if config.model.startswith(SCORER_PREFIX):
        parent = get_ready_scorer(project, config.model, field="model")
        return parent, replace(config, model=parent.encoder_name)
    source = config.model.removeprefix(CLIP_PREFIX)
    is_clip = source != config.model and (is_hub_id(source) or Path(source).is_dir())
    if config.model != TINY and not is_clip:
        raise Refused(
            f"model: {config.model!r} is not known; use {PUBLISHED_MODEL}, clip: with a folder of saved weights, "
            f"{SCORER_PREFIX} with a scorer's name, or {TINY}"
        )
    return None, config


def get_ready_scorer(project: Project, name_or_number: str, *, field: str) -> Scorer:
    """Return the ready scorer named by ``scorer:<name or number>``.

    Args:
        field: the field name in the error message, such as ``encoder``.

    Raises:
        Refused: there is no such scorer, or it is not ready; the message lists those that are.
    """
    requested = name_or_number.removeprefix(SCORER_PREFIX)
    found = scorer_selectors.find_scorer(project, requested)
    if found is None or not found.is_ready:
        known = (
            ", ".join(f"{SCORER_PREFIX}{scorer.name}" for scorer in scorer_selectors.ready_scorers(project))
            or "none yet"
        )
        problem = "has not finished training" if found else "is no scorer of this project"
        raise Refused(f"{field}: {requested!r} {problem}; ready are {known}")
    return found


def resolve_encoder(project: Project, name: str) -> str:
    """Return an encoder's name as jobs store it: a scorer by its number, any other unchanged.

    Raises:
        Refused: ``scorer:`` names no ready scorer of the project.
    """
    if not name.startswith(SCORER_PREFIX):
        return name
    return get_ready_scorer(project, name, field="encoder").encoder_name


def next_free_name(project: Project, base: str) -> str:
    """Return the first of ``base 1``, ``base 2`` … that no scorer of the project has."""
    return first_free_name(base, scorer_selectors.scorers(project).values_list("name", flat=True))


def short_model_name(model: str) -> str:
    """Return the last part of the model's name, for use in a scorer's name: ``clip-vit-base-patch16``."""
    short = re.sub(r"[^A-Za-z0-9._-]+", "-", model.partition(":")[2].rstrip("/").rpartition("/")[2] or model)
    return short.strip("-")[:30] or "scorer"


def training_provenance(version: DatasetVersion, parent: Scorer | None) -> dict[str, Any]:
    """Return a scorer's provenance: the version with its checksum, and its parent scorer."""
    facts: dict[str, Any] = {
        "version": version.name,
        "version_seal": version.manifest_sha256,
        "rehearsal": version.rehearsal,
    }
    if parent is not None:
        facts |= {"parent": parent.name, "parent_weights_sha256": parent.weights_sha256}
        facts["rehearsal"] = facts["rehearsal"] or is_from_rehearsal(parent)
    return facts


def is_from_rehearsal(scorer: Scorer) -> bool:
    """Whether a scorer or one of its ancestors was trained on a rehearsal."""
    return bool(scorer.provenance.get("rehearsal"))


def _create_scorer(
    *, project: Project, by: AbstractBaseUser | None, queue: bool, name: str, **facts: Any
) -> Scorer:
    try:
        with transaction.atomic():
            row = Scorer.objects.create(
                project=project,
                name=name,
                origin=ScorerOrigin.TRAINED,
                created_by_id=by.pk if by else None,
                **facts,
            )
            row.path = scorer_path(row)
            row.job = jobs.enqueue(
                task=TRAIN_SCORER,
                title=f"Train the scorer {name} on {row.version}",
                project=project,
                by=by,
                exclusive_key=f"scorer:{row.pk}",
                resumable=True,
                queue=queue,
                scorer=row.pk,
            )
            row.save(update_fields=["path", "job"])
            audit.record(project=project, actor=by, action="scorer.train", subject=name)
    except IntegrityError as error:
        if not Scorer.objects.filter(project=project, name=name).exists():
            raise
        raise _name_taken_error(name) from error
    return row


def _name_taken_error(name: str) -> Refused:
    return Refused(f"name: there is a scorer {name} already; choose another name")


def scorer_path(row: Scorer) -> str:
    """Return a scorer's folder, relative to the media folder."""
    return f"scorers/{row.project_id}/{row.pk}"


def request_scorer_import(
    *, project: Project, by: AbstractBaseUser | None, folder: Path, name: str, queue: bool = True
) -> Job:
    """Queue the import of a scorer's folder, as written by ``convert_scorer``; its row is created at the end.

    Raises:
        Refused: there is no such folder, or the name is invalid or taken.
        Conflict: a scorer of this name is being imported.
    """
    chosen = validate_name(name)
    if not (folder / "scorer.json").is_file():
        raise Refused(f"{folder}: is not a scorer's folder (no scorer.json); create one with convert_scorer")
    if scorer_selectors.scorers(project).filter(name=chosen).exists():
        raise _name_taken_error(chosen)
    return jobs.enqueue(
        task=IMPORT_SCORER,
        title=f"Import the scorer {chosen}",
        project=project,
        by=by,
        exclusive_key=f"import-scorer:{project.pk}:{chosen}",
        resumable=True,
        queue=queue,
        folder=str(folder.absolute()),
        name=chosen,
    )


def store_imported_scorer(
    *, project: Project, by: AbstractBaseUser | None, name: str, facts: Mapping[str, Any], weights_sha256: str
) -> Scorer:
    """Create an imported scorer; call this in the transaction that moves its folder into place.

    Args:
        facts: ``config`` and ``provenance``.

    Raises:
        Refused: the name has been taken meanwhile.
    """
    try:
        with transaction.atomic():
            row = Scorer.objects.create(
                project=project,
                name=name,
                origin=ScorerOrigin.IMPORTED,
                weights_sha256=weights_sha256,
                is_ready=True,
                created_by_id=by.pk if by else None,
                **facts,
            )
            row.path = scorer_path(row)
            row.save(update_fields=["path"])
            audit.record(project=project, actor=by, action="scorer.import", subject=name)
    except IntegrityError as error:
        raise _name_taken_error(name) from error
    return row


def scorer_provenance(scorer: Scorer) -> dict[str, Any]:
    """Return the provenance, for rounds and versions, of the scorer that chose the candidates."""
    version = scorer.version
    return {
        "scorer": scorer.name,
        "scorer_weights_sha256": scorer.weights_sha256,
        "scorer_version": version.name if version else "",
        "scorer_version_seal": version.manifest_sha256 if version else "",
        "scorer_rehearsal": is_from_rehearsal(scorer),
    }


def known_pairs_warning(scorer: Scorer, split: str = "") -> str:
    """Return a warning when a scorer chooses candidates for pairs it was trained on; empty if there are none."""
    known, pairs = scorer_selectors.count_known_and_accepted_pairs(scorer, split)
    if not known:
        return ""
    amount = f"all {pairs:,}" if known == pairs else f"{known:,} of {pairs:,}"
    return (
        f"{scorer.name} was trained or validated on {amount} approved pairs. It rates the inferences of these "
        "pairs as very plausible, so it will find few other inferences more plausible. Use the scorer for unseen "
        "pairs, or interpret the sets with care."
    )
