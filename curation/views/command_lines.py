"""Build the command line that requests the same work as a job, from the job's arguments and the command's parser.

Options with default values are omitted. A job has no command line if it read an uploaded file, whose path is not
stored, if it has arguments of an earlier release, or if no command does the same, as for sealing.
"""

import shlex
from argparse import Action
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.core.management import load_command_class

from curation.chooser.recipes import PUBLISHED, make_config
from curation.families.sherlock.evaluation_plan import ALL
from curation.models import (
    AnalysisKind,
    Chooser,
    DatasetVersion,
    DetectionRun,
    ErrorAnalysis,
    ProposalRun,
    QuestionSet,
    Scorer,
    Source,
    TripletEvaluation,
)
from curation.scorer.config import TrainingConfig
from curation.scorer.recipes import default_model
from curation.selectors import jobs as tasks
from curation.services.interest import FEATURES_PREFIX
from curation.services.proposals import FILE_PREFIX
from curation.services.shortcuts import ShortcutOptions
from curation.services.source_images import AcceptedSizes, BadImageAction
from curation.services.texts import FROM_FILE, OPTION_TYPES
from curation.sources.records import MissingImagePolicy
from hits.models import Job
from hits.selectors.jobs import can_resume

Values = dict[str, Any]  # by the ``dest`` of the command's options


class NoCommandLine(Exception):
    """No command line requests the same work."""


def command_lines(jobs: Sequence[Job]) -> list[str]:
    """Return the command line that repeats or resumes each job; empty if there is none."""
    return [_command_line_or_empty(job) for job in jobs]


def _command_line_or_empty(job: Job) -> str:
    if job.task not in COMMANDS or job.project is None:
        return ""
    try:
        name_of, values_of = COMMANDS[job.task]
        name = name_of if isinstance(name_of, str) else name_of(job)
        arguments = ["--resume", str(job.pk)] if can_resume(job) else _command_arguments(name, values_of(job))
    except (NoCommandLine, ObjectDoesNotExist, LookupError, TypeError, ValueError):
        return ""  # for instance, arguments of an earlier release
    return shlex.join(["manage.py", name, *arguments])


@cache
def _command_actions(name: str) -> Mapping[str, Action]:
    """Return a command's options by ``dest``, in the order of its help."""
    parser = load_command_class("curation", name).create_parser("manage.py", name)
    return {action.dest: action for action in parser._actions}


def _command_arguments(name: str, given: Values) -> list[str]:
    """Return the arguments for options that differ from the command's defaults; ``None`` means the default.

    Raises:
        NoCommandLine: the command has no option for a value.
    """
    actions = _command_actions(name)
    if set(given) - set(actions):
        raise NoCommandLine
    shown = ((action, given.get(dest)) for dest, action in actions.items())
    changed = ((action, value) for action, value in shown if value not in (None, action.default))
    return [argument for action, value in changed for argument in _format_option(action, value)]


def _format_option(action: Action, value: Any) -> list[str]:
    """Return an option with its values; a value that starts with a hyphen is joined to the option by ``=``."""
    if not action.option_strings:
        return [str(value)]
    flag = action.option_strings[0]
    if isinstance(value, bool):  # --no-augment is the second spelling of --augment
        return [flag if value else action.option_strings[1]]
    texts = [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
    return [part for text in texts for part in ([f"{flag}={text}"] if text.startswith("-") else [flag, text])]


def _options(job: Job, /, **values: Any) -> Values:
    """Return the project and the job's options; ``values`` replace those that differ in the command."""
    assert job.project is not None
    return {"project": job.project.slug, **job.args.get("options", {}), **values}


def _rename_option(given: Values, option: str, dest: str) -> Values:
    return {dest if name == option else name: value for name, value in given.items()}


def _non_default_values(given: Values, defaults: Values) -> Values:
    """Return the values that differ from the job's defaults."""
    return {name: value for name, value in given.items() if value != defaults[name]}


def _feature_options(job: Job) -> Values:
    given = _rename_option(_options(job), "subject", "of")
    return given | {name: given[name] or None for name in ("region_mode", "text")}


def _comparison_round_options(job: Job) -> Values:
    if job.args["options"].get("selection"):
        raise NoCommandLine  # the file of the selection was not kept
    return _options(job, encoder=job.args["encoder"], selection=None)


def _text_analysis_options(job: Job) -> Values:
    kind, options = AnalysisKind(job.args["kind"]), job.args["options"]
    if FROM_FILE in (options.get("scorer"), options.get("source")):
        raise NoCommandLine  # the path of the file was not kept
    assert job.project is not None
    changed = _non_default_values(options, asdict(OPTION_TYPES[kind]()))
    return {"kind": kind.value, "project": job.project.slug, **changed}


def _get_proposal_run(job: Job) -> ProposalRun:
    return ProposalRun.objects.get(pk=job.args["run"])


def _is_imported_run(run: ProposalRun) -> bool:
    return run.detector.startswith(FILE_PREFIX)


def _proposal_options(job: Job) -> Values:
    run = _get_proposal_run(job)
    names = ("file", "layout", "limit") if _is_imported_run(run) else ("limit", "suppress_over")
    detector = {} if _is_imported_run(run) else {"detector": run.detector}
    return _options(job, **detector, **{name: run.options.get(name) for name in names})


def _get_detection_run(job: Job) -> DetectionRun:
    return DetectionRun.objects.get(pk=job.args["run"])


def _is_imported_detection(job: Job) -> bool:
    return _get_detection_run(job).detector.startswith(FILE_PREFIX)


def _detection_options(job: Job) -> Values:
    options = _get_detection_run(job).options
    if _is_imported_detection(job):
        return _options(job, file=options["file"], resized=options["resized"])
    labels = ",".join(options["person_labels"])
    names = ("detector", "min_score", "limit", "suppress_over")
    return _options(job, person_labels=labels, **{name: options[name] for name in names})


def _extraction_options(job: Job) -> Values:
    given = _options(job)
    given.pop("within", None)
    every = "frame" if given["every"] is None else f"{given['every']:g}"
    return given | {"every": every}


def _source_import_options(job: Job) -> Values:
    given = _options(job, **job.args["wanted"])
    given.pop("within", None)
    given["strict"] = given.pop("bad_picture") == BadImageAction.STOP
    given["skip_missing"] = given.pop("missing") == MissingImagePolicy.SKIP
    given["resized"] = given.pop("sizes") == AcceptedSizes.RESIZED
    given |= {split or "splits": path for split, path in given.pop("splits", {}).items()}
    given |= given.pop("annotations", {})
    return given


def _training_options(job: Job) -> Values:
    """Return the options for another scorer with the same settings, without its name, which is taken."""
    scorer = Scorer.objects.select_related("version").get(pk=job.args["scorer"])
    return _options(
        job,
        version=scorer.version.name if scorer.version else "",
        split=scorer.splits["train"],
        val_split=scorer.splits["val"],
        val_share=scorer.splits["val_share"] or None,
        recipe=scorer.recipe,
        **_non_default_values(scorer.config, TrainingConfig(model=default_model()).as_json()),
    )


def _chooser_options(job: Job) -> Values:
    """Return the options for another chooser with the same settings, without its name, which is taken."""
    chooser = Chooser.objects.select_related("question_set").get(pk=job.args["chooser"])
    defaults = make_config(chooser.config["model"], chooser.recipe or PUBLISHED).as_json()
    return _options(
        job,
        set=chooser.question_set.name if chooser.question_set else None,
        data=job.args["data"] or None,
        model=chooser.config["model"],
        recipe=chooser.recipe,
        **_non_default_values(chooser.config, defaults),
    )


def _version_options(job: Job) -> Values:
    """Return the options, with the sealed version and the evaluated split."""
    name = DatasetVersion.objects.values_list("name", flat=True).get(pk=job.args["version"])
    return _options(job, version=name, split=job.args["options"]["split"] or ALL)


def _ablation_options(job: Job) -> Values:
    given = _version_options(job)
    return given | {name: ",".join(map(str, given[name])) for name in ("recipes", "batch_sizes")}


def _shortcut_options(job: Job) -> Values:
    given = _rename_option(_version_options(job), "which", "only")
    is_default = tuple(given["only"]) == ShortcutOptions(split="").which
    return given | {"only": None if is_default else ",".join(given["only"])}


def _error_analysis_options(job: Job) -> Values:
    row = ErrorAnalysis.objects.get(pk=job.args["analysis"])
    return {"evaluation": row.evaluation_id, **row.options}


# By task: the command, and the values of its options.
def _question_set_options(job: Job) -> Values:
    chosen = QuestionSet.objects.get(pk=job.args["question_set"])
    return _options(job, name=chosen.name, **chosen.options)


def _interest_options(job: Job) -> Values:
    given = _options(job)
    kind, encoder = given.pop("kind"), given.pop("encoder")
    return given | {"model": f"{FEATURES_PREFIX}{encoder}" if encoder else kind}


def _triplet_evaluation_options(job: Job) -> Values:
    """Return the options of an evaluation of triplets, or of a judge."""
    row = TripletEvaluation.objects.select_related("version").get(pk=job.args["evaluation"])
    if row.version is None:
        raise NoCommandLine
    return _options(
        job, version_name=row.version.name, **row.options | {"cap_usd": row.options["cap_usd"] or None}
    )


COMMANDS: Mapping[str, tuple[str | Callable[[Job], str], Callable[[Job], Values]]] = {
    tasks.DEDUPLICATE: ("deduplicate_photos", lambda job: _rename_option(_options(job), "fraction", "share")),
    tasks.FEATURES: ("make_features", _feature_options),
    tasks.COMPARISON_ROUND: ("build_comparison_round", _comparison_round_options),
    tasks.QUESTION_SET: ("build_questions", _question_set_options),
    tasks.IMPORT_SOURCE: (lambda job: f"import_{Source(job.args['source']).value}", _source_import_options),
    tasks.LEAKAGE: ("check_leakage", _options),
    tasks.EXTRACT_FRAMES: ("extract_frames", _extraction_options),
    tasks.DETECT_OBJECTS: (
        lambda job: "import_detections" if _is_imported_detection(job) else "detect_objects",
        _detection_options,
    ),
    tasks.PROPOSALS: (
        lambda job: "import_proposals" if _is_imported_run(_get_proposal_run(job)) else "propose_boxes",
        _proposal_options,
    ),
    tasks.OVERLAPS: ("propose_boxes", lambda job: {"measure": job.args["run"]}),
    tasks.ANALYSE_TEXTS: ("analyse_texts", _text_analysis_options),
    tasks.TRAIN_SCORER: ("train_scorer", _training_options),
    tasks.TRAIN_CHOOSER: ("train_chooser", _chooser_options),
    tasks.IMPORT_SCORER: (
        "import_scorer",
        lambda job: _options(job, folder=job.args["folder"], name=job.args["name"]),
    ),
    tasks.ABLATIONS: ("ablations", _ablation_options),
    tasks.SHORTCUTS: ("audit_shortcuts", _shortcut_options),
    tasks.ERROR_ANALYSIS: ("analyse_errors", _error_analysis_options),
    tasks.EVALUATE_TRIPLETS: ("evaluate_triplets", _triplet_evaluation_options),
    tasks.JUDGE_EXPLANATIONS: ("judge_explanations", _triplet_evaluation_options),
    tasks.AUDIT_TRIPLETS: ("audit_triplets", _options),
    tasks.TRAIN_INTEREST: ("train_interest", _interest_options),
    tasks.SELECT_INTERESTING: (
        "select_interesting",
        lambda job: _options(job, model=job.args["model"], **job.args["rules"]),
    ),
}
