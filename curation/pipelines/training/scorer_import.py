"""Import a scorer's folder: read it completely, copy it, then write its row."""

import json
import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from curation.files import partial_folder, rename_folder_durably
from curation.models import Scorer
from curation.records import InvalidInput
from curation.scorer.model.folder import LoadedScorer, list_scorer_files, load_scorer
from curation.scorer.training.inputs import RUN_FILE
from curation.selectors.scorers import WEIGHTS_FOLDER, find_scorer, scorer_folder
from curation.services.refusals import refuse_invalid_input
from curation.services.scorers import store_imported_scorer
from hits.services.jobs.jobs import Progress

STEPS = 3  # read, copied, read again
_SETTINGS = ("region_mode", "text_mode", "crop")


def import_scorer(progress: Progress) -> dict[str, Any]:
    """Run a job. Repeating it after its row was written changes nothing.

    Raises:
        Refused: the folder is not a complete scorer, it cannot be copied, or the name was taken meanwhile.
    """
    job = progress.job
    assert job.project is not None
    source, name = Path(job.args["folder"]), job.args["name"]
    with refuse_invalid_input():
        loaded = load_scorer(source)
        progress.advance(1, STEPS)
        existing = find_scorer(job.project, name)
        if existing is not None and existing.weights_sha256 == loaded.sha256:
            return _summary(existing)
        row = _import_folder(progress, source, loaded)
    progress.log(f"{name} is imported; its card's sha256 is {loaded.sha256}")
    return _summary(row)


def _import_folder(progress: Progress, source: Path, loaded: LoadedScorer) -> Scorer:
    """Copy the folder, verify the copy, and publish it together with its row."""
    job = progress.job
    assert job.project is not None
    scorers_folder = Path(settings.MEDIA_ROOT) / "scorers" / str(job.project.pk)
    with partial_folder(scorers_folder / "import") as partial:
        _copy_files(source, partial / WEIGHTS_FOLDER)
        progress.advance(2, STEPS)
        if load_scorer(partial / WEIGHTS_FOLDER).sha256 != loaded.sha256:
            raise InvalidInput(f"{source}: was changed while it was copied; import it again")
        progress.advance(STEPS, STEPS)
        with transaction.atomic():
            row = store_imported_scorer(
                project=job.project,
                by=job.created_by,
                name=job.args["name"],
                facts=_describe_scorer(source, loaded),
                weights_sha256=loaded.sha256,
            )
            folder = scorer_folder(row)
            shutil.rmtree(folder, ignore_errors=True)  # left by a row that was never committed
            rename_folder_durably(partial, folder)
        return row


def _copy_files(source: Path, target: Path) -> None:
    """Copy the card and the files that it names, and no other files."""
    names = list_scorer_files(source)
    try:
        target.mkdir(parents=True)
        for name in names:
            shutil.copyfile(source / name, target / name)
    except OSError as error:
        raise InvalidInput(
            f"{source}: cannot be copied ({error.strerror}); free disk space or check the permissions"
        ) from error


def _describe_scorer(source: Path, loaded: LoadedScorer) -> dict[str, Any]:
    card = loaded.card.as_json()
    facts = card["made"].items()
    made = {name: value for name, value in facts if isinstance(value, str | int | float | bool)}
    return {
        "config": {name: card[name] for name in _SETTINGS},
        "provenance": {
            "folder": source.name,
            **made,
            "dim": loaded.card.dim,
            "side": loaded.card.side,
            "parameters": sum(parameter.numel() for parameter in loaded.model.parameters()),
            "rehearsal": bool(card["made"].get("rehearsal")) or _is_rehearsal_run(source.parent),
        },
    }


def _is_rehearsal_run(folder: Path) -> bool:
    """Whether a scorer's folder is in the folder of a rehearsal's run: an imported copy is marked too."""
    try:
        run = json.loads((folder / RUN_FILE).read_text("utf-8"))
        return bool(run["provenance"]["rehearsal"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _summary(row: Scorer) -> dict[str, Any]:
    return {"scorer": row.pk, "name": row.name, "weights_sha256": row.weights_sha256}
