"""The command line that asks for the same work as a job, built from the job's own arguments.

What a job leaves at its default is left out of the line. Where no line can ask for the same, there is none: a file
that was read and kept has no path to name, a job of an earlier release may have other arguments, and a seal is no
job on the command line.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from curation.families.sherlock.evaluation_plan import ALL
from curation.models import AnalysisKind, DatasetVersion, ErrorAnalysis, ProposalRun, Scorer, Source
from curation.scorer.config import TrainingConfig
from curation.scorer.recipes import default_model
from curation.selectors import jobs as tasks
from curation.services import DedupOptions, FeatureOptions, RoundOptions
from curation.services.ablations import AblationOptions
from curation.services.error_analysis import ErrorOptions
from curation.services.leakage import LeakageOptions
from curation.services.proposals import FILE_PREFIX, LAYOUTS, ProposalOptions
from curation.services.scorer_splits import VAL_SHARE
from curation.services.shortcuts import ShortcutOptions
from curation.services.source_images import AcceptedSizes, BadImageAction, ImportOptions
from curation.services.sources import CollectionSpec, options_from_json, spec_from_json
from curation.services.texts import FROM_FILE, OPTION_TYPES
from curation.sources.records import MissingPolicy
from curation.sources.vcr import VcrSource
from curation.sources.visual_genome import VisualGenomeSource
from hits.models import Job
from hits.selectors.jobs import can_resume

Words = list[str]
Runs = Mapping[int, ProposalRun]


class NoLine(Exception):
    """No command line asks for the same."""


def command_lines(jobs: Sequence[Job]) -> list[str]:
    """Return for each job the line that asks for the same work, or goes on with it; empty where there is none."""
    proposing = {job.args.get("run") for job in jobs if job.task == tasks.PROPOSALS}
    runs = ProposalRun.objects.in_bulk(sorted(pk for pk in proposing if isinstance(pk, int)))
    return [_line(job, runs) for job in jobs]


def _line(job: Job, runs: Runs) -> str:
    if job.task not in COMMANDS or job.project is None:
        return ""
    name_of, words_of = COMMANDS[job.task]
    try:
        name = name_of(job, runs)
        words = ["--resume", str(job.pk)] if can_resume(job) else words_of(job, runs)
    except (NoLine, LookupError, TypeError, ValueError):
        return ""  # among them: arguments of an earlier release
    return shlex.join(["manage.py", name, *words])


def _project(job: Job) -> Words:
    assert job.project is not None
    return ["--project", job.project.slug]


def _flag(name: str, value: object) -> Words:
    """A flag with its value; a value that begins like a flag is glued to it."""
    flag, text = f"--{name.replace('_', '-')}", str(value)
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]


def _differing(
    given: Mapping[str, Any], defaults: Mapping[str, Any], called: Mapping[str, str] | None = None
) -> Words:
    """The flags of the options that differ from the command's defaults.

    Args:
        given: options by name; ``None`` is one that was not given. called: flags that have another name.

    Raises:
        NoLine: an option that the defaults do not know.
    """
    if set(given) - set(defaults):
        raise NoLine
    return [
        word
        for name, value in given.items()
        if value is not None and value != defaults[name]
        for word in _flag((called or {}).get(name, name), value)
    ]


def _deduplication(job: Job, runs: Runs) -> Words:
    given = dict(job.args["options"])
    set_aside = ["--set-aside"] if given.pop("set_aside", False) else []
    return _project(job) + _differing(given, asdict(DedupOptions()), {"fraction": "share"}) + set_aside


def _features(job: Job, runs: Runs) -> Words:
    return _project(job) + _differing(job.args["options"], asdict(FeatureOptions()), {"subject": "of"})


def _leakage(job: Job, runs: Runs) -> Words:
    return _project(job) + _differing(job.args["options"], asdict(LeakageOptions()))


def _round(job: Job, runs: Runs) -> Words:
    if job.args["options"].get("selection"):
        raise NoLine  # the file of the selection was not kept
    rules = _differing(job.args["options"], asdict(RoundOptions()), {"disqualification": "disqualify"})
    return [*_project(job), *_differing({"encoder": job.args["encoder"]}, {"encoder": ""}), *rules]


def _texts(job: Job, runs: Runs) -> Words:
    kind, options = AnalysisKind(job.args["kind"]), job.args["options"]
    if FROM_FILE in (options.get("scorer"), options.get("source")):
        raise NoLine  # the path of the file was not kept
    return [kind.value, *_project(job), *_differing(options, asdict(OPTION_TYPES[kind]()))]


def _overlaps(job: Job, runs: Runs) -> Words:
    return ["--measure", str(job.args["run"])]


def _proposals(job: Job, runs: Runs) -> Words:
    run = runs[job.args["run"]]
    if not _is_file(run):
        names = ProposalOptions.__dataclass_fields__
        given = {name: value for name, value in run.options.items() if name in names}
        return _project(job) + _differing(given | {"detector": run.detector}, asdict(ProposalOptions()))
    defaults = {"layout": LAYOUTS[0], "limit": ProposalOptions().limit}
    given = {name: run.options[name] for name in defaults}
    return [run.options["file"], *_project(job), *_differing(given, defaults)]


def _proposals_command(job: Job, runs: Runs) -> str:
    return "import_proposals" if _is_file(runs[job.args["run"]]) else "propose_boxes"


def _is_file(run: ProposalRun) -> bool:
    return run.detector.startswith(FILE_PREFIX)


def _source(job: Job, runs: Runs) -> Words:
    wanted = spec_from_json(job.args["source"], job.args["wanted"])
    own = _visual_genome(wanted) if isinstance(wanted, VisualGenomeSource) else _vcr(wanted)
    allowed = [word for path in wanted.allowed for word in _flag("allowed", path)]
    return [
        wanted.folder,
        *_project(job),
        *own,
        *allowed,
        *_how(wanted, options_from_json(job.args["options"])),
    ]


def _visual_genome(wanted: VisualGenomeSource) -> Words:
    lists = {split or "splits": path for split, path in wanted.splits.items()}
    files = {"image_data": wanted.image_data, "regions": wanted.regions, **lists, "rest": wanted.rest}
    return _differing(files, dict.fromkeys(files, ""))


def _vcr(wanted: VcrSource) -> Words:
    given = {"min_entities": wanted.min_entities, "count": wanted.count.value, **wanted.annotations}
    usual = VcrSource("")
    defaults = {"min_entities": usual.min_entities, "count": usual.count.value}
    return _differing(given, defaults | dict.fromkeys(wanted.annotations, ""))


def _how(wanted: CollectionSpec, options: ImportOptions) -> Words:
    switches = {
        "--dry-run": options.dry_run,
        "--strict": options.bad_picture is BadImageAction.STOP,
        "--skip-missing": wanted.missing is MissingPolicy.SKIP,
        "--resized": options.sizes is AcceptedSizes.RESIZED,
    }
    given = {"limit": wanted.limit, "licence": options.licence}
    chosen = [flag for flag, is_on in switches.items() if is_on]
    return _differing(given, {"limit": None, "licence": ""}) + chosen


def _training(job: Job, runs: Runs) -> Words:
    """Asks for another scorer of the same kind: the name of the first is taken."""
    scorer = Scorer.objects.select_related("version").get(pk=job.args["scorer"])
    splits, version, usual = scorer.splits, scorer.version, TrainingConfig(model=default_model()).as_json()
    share = _differing({"val_share": splits["val_share"] or VAL_SHARE}, {"val_share": VAL_SHARE})
    given = {name: value for name, value in scorer.config.items() if not isinstance(value, bool)}
    switched = [name for name in set(scorer.config) - set(given) if scorer.config[name] != usual[name]]
    return [
        *_project(job),
        *_flag("version", version.name if version else ""),
        *_flag("split", splits["train"]),
        *_flag("val_split", splits["val"]),
        *share,
        *_differing({"recipe": scorer.recipe}, {"recipe": ""}),
        *_differing(given, usual),
        *(
            f"--{name if scorer.config[name] else f'no-{name}'}".replace("_", "-")
            for name in sorted(switched)
        ),
    ]


def _taking_in(job: Job, runs: Runs) -> Words:
    return [job.args["folder"], *_project(job), *_flag("name", job.args["name"])]


def _version(job: Job) -> Words:
    """The project, a sealed version and the split of it that is evaluated."""
    name = DatasetVersion.objects.values_list("name", flat=True).get(pk=job.args["version"])
    return [
        *_project(job),
        *_flag("version", name),
        *_flag("split", job.args["options"]["split"] or ALL),
    ]


def _ablations(job: Job, runs: Runs) -> Words:
    given = {name: value for name, value in job.args["options"].items() if name != "split"}
    joined = {name: ",".join(map(str, given[name])) for name in ("recipes", "batch_sizes")}
    usual = asdict(AblationOptions(split="")) | {"recipes": "", "batch_sizes": ""}
    return _version(job) + _differing(given | joined, usual)


def _shortcuts(job: Job, runs: Runs) -> Words:
    options, usual = job.args["options"], ShortcutOptions(split="")
    only = {"only": ",".join(options["which"]), "seed": options["seed"]}
    return _version(job) + _differing(only, {"only": ",".join(usual.which), "seed": usual.seed})


def _errors(job: Job, runs: Runs) -> Words:
    row = ErrorAnalysis.objects.get(pk=job.args["analysis"])
    return [str(row.evaluation_id), *_differing(row.options, asdict(ErrorOptions()))]


def _always(name: str) -> Callable[[Job, Runs], str]:
    return lambda job, runs: name


# By task: the command's name, and the words behind it.
COMMANDS: Mapping[str, tuple[Callable[[Job, Runs], str], Callable[[Job, Runs], Words]]] = {
    tasks.DEDUPLICATE: (_always("deduplicate_photos"), _deduplication),
    tasks.FEATURES: (_always("make_features"), _features),
    tasks.COMPARISON_ROUND: (_always("build_comparison_round"), _round),
    tasks.IMPORT_SOURCE: (lambda job, runs: f"import_{Source(job.args['source']).value}", _source),
    tasks.LEAKAGE: (_always("check_leakage"), _leakage),
    tasks.PROPOSALS: (_proposals_command, _proposals),
    tasks.OVERLAPS: (_always("propose_boxes"), _overlaps),
    tasks.ANALYSE_TEXTS: (_always("analyse_texts"), _texts),
    tasks.TRAIN_SCORER: (_always("train_scorer"), _training),
    tasks.IMPORT_SCORER: (_always("import_scorer"), _taking_in),
    tasks.ABLATIONS: (_always("ablations"), _ablations),
    tasks.SHORTCUTS: (_always("audit_shortcuts"), _shortcuts),
    tasks.ERROR_ANALYSIS: (_always("analyse_errors"), _errors),
}
