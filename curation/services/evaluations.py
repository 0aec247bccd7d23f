"""Request evaluations, and store their results. A pipeline computes them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.evaluation.shortcuts import LABELS, Shortcut
from curation.families.sherlock.evaluation_plan import ALL, EvaluationSetOptions, resolve_proposal_run
from curation.features.encoder import POOLED_ENCODER
from curation.models import DatasetVersion, Evaluation, EvaluationSource, Scorer
from curation.selectors.evaluations import SHORTCUT_OPTION
from curation.selectors.jobs import EVALUATE
from curation.selectors.scorers import scorer_by_encoder
from curation.services.options import check_at_least, check_one_of
from curation.services.refusals import refuse_invalid_input
from curation.services.scorers import resolve_encoder
from curation.services.splits import check_split_has_pairs, check_version_in_project
from curation.versions.splits import UnknownSplit, parse_split
from hits.domain.hashing import content_sha256
from hits.domain.images.region_drawing import RegionMode
from hits.models import Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

JUDGMENTS_LABEL = "People"
INFERENCE = "inference"
MAX_LABEL_LENGTH, MAX_TITLE_LENGTH = 80, 160
_FILE_SUFFIXES = (".zip", ".npy", ".json")


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """Options of an evaluation besides version and split.

    sets: options of the tasks. proposals: run of proposed boxes; absent is the newest complete one, 0 is none.
    region_mode: how regions are shown; empty is as trained, else highlighted. label: name in tables; empty is the
    scorer's name. extra_facts: further facts stored with the row, such as its recipe.
    """

    sets: EvaluationSetOptions = field(default_factory=EvaluationSetOptions)
    proposals: int | None = None
    region_mode: str = ""
    label: str = ""
    extra_facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.region_mode:
            check_one_of("region_mode", self.region_mode, RegionMode)


@dataclass(frozen=True, slots=True)
class _EvaluationSubject:
    """The subject of an evaluation: source of its scores, label, and facts for the row's options."""

    source: EvaluationSource
    label: str
    facts: dict[str, Any]
    scorer: Scorer | None = None


def request_evaluation(  # noqa: PLR0913 - the columns of one row, by keyword
    *,
    project: Project,
    by: AbstractBaseUser | None,
    version: DatasetVersion,
    split: str,
    encoder: str,
    texts: str = "",
    region_mode: str = "",
    options: EvaluationOptions | None = None,
    queue: bool = True,
) -> Evaluation:
    """Create and queue an evaluation of an encoder or scorer; its ``job`` can be cancelled and resumed.

    Args:
        split: train, val or test; empty or ``all`` is the whole version.
        encoder: an encoder name of ``curation.features``, or ``scorer:<name or number>``.
        texts, region_mode: replace those of ``options`` if given.
        queue: false when this process runs the job (``jobs.run_in_process``).

    Raises:
        Refused: a draft, a split without pairs, an encoder that is not known or has no texts, or options that do not
            fit.
        Conflict: the same evaluation is running.
    """
    if encoder == POOLED_ENCODER:
        raise Refused(f"encoder: {POOLED_ENCODER} encodes images only; use another encoder")
    name = resolve_encoder(project, encoder)
    scorer = scorer_by_encoder(name)
    chosen = _override_options(options or EvaluationOptions(), texts, region_mode)
    source = EvaluationSource.SCORER if scorer else EvaluationSource.ENCODER
    subject = _EvaluationSubject(
        source,
        chosen.label or (scorer.name if scorer else name),
        {"encoder": name, "region_mode": chosen.region_mode},
        scorer,
    )
    return _create_and_queue(project, by, version, split, chosen, subject, queue=queue)


def request_file_evaluation(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    version: DatasetVersion,
    split: str,
    predictions: Path,
    options: EvaluationOptions,
    queue: bool = True,
) -> Evaluation:
    """Create and queue an evaluation of a file: a zip in the leaderboard's layout, or one task's .npy or .json.

    The options name its label. The worker must be able to read the file.

    Raises:
        Refused: as ``request_evaluation``; or there is no such file, no label, or the file's kind is not known.
        Conflict: the same evaluation is running.
    """
    if not options.label:
        raise Refused("label: is missing; name these predictions")
    if predictions.suffix not in _FILE_SUFFIXES:
        raise Refused(
            f"{predictions}: must end in {', '.join(_FILE_SUFFIXES)}; zip the folder of predictions"
        )
    if not predictions.is_file():
        raise Refused(f"{predictions}: there is no such file; check the path")
    facts = {"predictions": str(predictions.absolute())}
    subject = _EvaluationSubject(EvaluationSource.PREDICTIONS, options.label, facts)
    return _create_and_queue(project, by, version, split, options, subject, queue=queue)


def request_judgments_evaluation(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    version: DatasetVersion,
    split: str,
    options: EvaluationOptions | None = None,
    queue: bool = True,
) -> Evaluation:
    """Create and queue an evaluation of people: agreement on candidates, and matching inferences to regions.

    Raises:
        Refused, Conflict: as ``request_evaluation``; or clues are requested, which nobody judged.
    """
    chosen = options or EvaluationOptions()
    if chosen.sets.texts != INFERENCE:
        raise Refused(f"texts: people judged inferences only; use {INFERENCE}")
    subject = _EvaluationSubject(EvaluationSource.JUDGMENTS, chosen.label or JUDGMENTS_LABEL, {})
    return _create_and_queue(project, by, version, split, chosen, subject, queue=queue)


def request_baseline_evaluation(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    version: DatasetVersion,
    split: str,
    shortcut: Shortcut = Shortcut.RANDOM,
    seed: int = 0,
    options: EvaluationOptions | None = None,
    queue: bool = True,
) -> Evaluation:
    """Create and queue an evaluation of a text-only baseline, by default random scores drawn from ``seed``.

    Raises:
        Refused, Conflict: as ``request_evaluation``; the seed is negative, or a text-only baseline is requested for
        clues.
    """
    check_at_least("seed", seed, 0)
    chosen = options or EvaluationOptions()
    if shortcut is not Shortcut.RANDOM:
        if chosen.sets.texts != INFERENCE:
            raise Refused(f"texts: {LABELS[shortcut]} ranks inferences only; use {INFERENCE}")
        chosen = replace(chosen, proposals=0)  # a proposed box has no clue to read
    label = chosen.label or (f"{LABELS[shortcut]} (seed {seed})" if seed else LABELS[shortcut])
    subject = _EvaluationSubject(
        EvaluationSource.BASELINE, label, {SHORTCUT_OPTION: shortcut.value, "seed": seed}
    )
    return _create_and_queue(project, by, version, split, chosen, subject, queue=queue)


def store_evaluation_result_if_missing(
    *, evaluation: Evaluation, figures: dict[str, Any], provenance: dict[str, Any], path: str, sha256: str
) -> bool:
    """Store an evaluation's result unless it has one; return whether it was stored."""
    rows = Evaluation.objects.filter(pk=evaluation.pk, sha256="")
    return bool(rows.update(figures=figures, provenance=provenance, path=path, sha256=sha256))


def evaluation_set_options(evaluation: Evaluation) -> EvaluationSetOptions:
    """Return the set options of an evaluation."""
    return EvaluationSetOptions(**evaluation.options["sets"])


def _override_options(options: EvaluationOptions, texts: str, region_mode: str) -> EvaluationOptions:
    """Return the options with the given texts and region mode."""
    with refuse_invalid_input():
        sets = replace(options.sets, texts=texts or options.sets.texts)
    return replace(options, sets=sets, region_mode=region_mode or options.region_mode)


def _create_and_queue(
    project: Project,
    by: AbstractBaseUser | None,
    version: DatasetVersion,
    split: str,
    options: EvaluationOptions,
    subject: _EvaluationSubject,
    *,
    queue: bool,
) -> Evaluation:
    resolved_split = _resolve_split(project, version, split)
    stored_options = {
        **options.extra_facts,
        **subject.facts,
        "sets": asdict(options.sets),
        "proposals": _resolve_proposal_run(version, options),
    }
    split_label = resolved_split or "all splits"
    key = content_sha256([version.pk, resolved_split, subject.source, subject.label, stored_options])[:32]
    with transaction.atomic():
        row = Evaluation.objects.create(
            project=project,
            version=version,
            split=resolved_split,
            source=subject.source.value,
            scorer=subject.scorer,
            label=subject.label[:MAX_LABEL_LENGTH],
            texts=options.sets.texts,
            options=stored_options,
            created_by_id=by.pk if by else None,
        )
        row.job = jobs.enqueue(
            task=EVALUATE,
            title=f"Evaluate {subject.label} on {version.name}, {split_label}"[:MAX_TITLE_LENGTH],
            project=project,
            by=by,
            exclusive_key=f"evaluate:{project.pk}:{key}",
            resumable=True,
            queue=queue,
            evaluation=row.pk,
        )
        row.save(update_fields=["job"])
        audit.record(project=project, actor=by, action="evaluation.request", subject=row.pk, label=row.label)
    return row


def _resolve_split(project: Project, version: DatasetVersion, split: str) -> str:
    """Check that the version can be evaluated, and return the split as rows spell it."""
    check_version_in_project(project, version)
    try:
        resolved = str(parse_split("" if split == ALL else split))
    except UnknownSplit as error:
        raise Refused(str(error)) from error
    check_split_has_pairs(version, resolved)
    return resolved


def _resolve_proposal_run(version: DatasetVersion, options: EvaluationOptions) -> int | None:
    """Return the run of proposals to use; it is fixed when the evaluation is requested."""
    with refuse_invalid_input():
        run = resolve_proposal_run(version, options.proposals)
    return run.pk if run else None
