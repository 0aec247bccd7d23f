"""``manage.py analyse_texts duplicates|topics|toxicity|captions --project P``: the paper's analyses of texts."""

from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path
from typing import Any

from curation.dedup.cuts import Linkage
from curation.models import AnalysisKind, PairText
from curation.selectors.jobs import ANALYSE_TEXTS
from curation.services.texts import (
    CAPTION_SOURCES,
    FROM_FILE,
    MAX_FILE_BYTES,
    MODEL_PREFIX,
    OPTION_TYPES,
    REGION_CHOICES,
    WORD_LIST,
    request_analysis,
    store_file,
)
from curation.texts.captions import Measure
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_model
from hits.management.lookups import find_project
from hits.models import Job

# The option of a file, and the option that selects reading it.
FILE_OPTIONS = {AnalysisKind.TOXICITY: "scorer", AnalysisKind.CAPTIONS: "source"}


class Command(JobCommand):
    """Analyse a project's approved pairs; nothing is removed."""

    help = "Find copies, topics, toxic texts, or similarity to captions among a project's approved pairs."
    tasks = (ANALYSE_TEXTS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; defaults are the paper's values, or those in the help."""
        super().add_arguments(parser)
        parser.add_argument("kind", nargs="?", choices=[kind.value for kind in AnalysisKind])
        parser.add_argument("--project", help="short name of the project")
        parser.add_argument("--split", help="only that split (all)")
        parser.add_argument("--seed", type=int, help="seed of all random choices (0)")
        _add_duplicates_options(parser.add_argument_group("duplicates"))
        _add_topics_options(parser.add_argument_group("topics"))
        _add_toxicity_options(parser.add_argument_group("toxicity"))
        _add_captions_options(parser.add_argument_group("captions"))
        parser.add_argument(
            "--file",
            type=Path,
            help="CSV or JSON lines: id, field, score (toxicity) or image, caption (captions)",
        )

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Return the job; options of other analyses are refused."""
        if options["kind"] is None or options["project"] is None:
            raise input_error("give an analysis and a project: analyse_texts topics --project SLUG")
        kind = AnalysisKind(options["kind"])
        project = find_project(options["project"])
        given = {name: options[name] for name in _option_names() if options.get(name) is not None}
        known = {field.name for field in fields(OPTION_TYPES[kind])}
        foreign = sorted(set(given) - known)
        if foreign:
            raise input_error(
                f"--{foreign[0].replace('_', '-')}: {kind.value} has no such option; leave it out"
            )
        if options["file"] is not None:
            given |= _store_file(kind, options["file"])
        return request_analysis(project=project, options=OPTION_TYPES[kind](**given), by=None, queue=queue)


def _option_names() -> list[str]:
    names = [field.name for made in OPTION_TYPES.values() for field in fields(made)]
    return [name for name in dict.fromkeys(names) if name not in ("file", "file_name")]


def _store_file(kind: AnalysisKind, path: Path) -> dict[str, str]:
    if kind not in FILE_OPTIONS:
        raise input_error(f"--file {path}: {kind.value} reads no file; leave it out")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise input_error(
                f"--file {path}: is over {MAX_FILE_BYTES // 2**20} MiB; split it into smaller files"
            )
        data = path.read_bytes()
    except OSError as error:
        raise input_error(f"--file {path}: {error.strerror}; choose another") from error
    return {FILE_OPTIONS[kind]: FROM_FILE, "file": store_file(data=data), "file_name": path.name[:120]}


def _add_duplicates_options(group: Any) -> None:
    group.add_argument("--field", choices=[field.value for field in PairText], help="which texts (inference)")
    group.add_argument("--share", type=float, help="of the texts that soft de-duplication leaves (0.8)")
    group.add_argument(
        "--distance",
        type=float,
        help="end groups there instead, whatever share is left: 1 - cosine, such as 0.2",
    )
    group.add_argument("--linkage", choices=[linkage.value for linkage in Linkage], help="(average)")
    group.add_argument("--cap", type=int, help="exact copies to keep (3)")


def _add_topics_options(group: Any) -> None:
    group.add_argument("--topics", type=int, help="of clues, and as many of inferences (10)")
    group.add_argument("--passes", type=int, help="times that the fit sees every text (10)")
    group.add_argument("--least-texts", type=int, help="words in fewer texts are ignored (2)")


def _add_toxicity_options(group: Any) -> None:
    group.add_argument(
        "--scorer",
        type=absolute_model,
        help=f"{WORD_LIST}, or {MODEL_PREFIX}<folder or hub id> ({WORD_LIST})",
    )
    group.add_argument("--label", help="the classifier's label that means toxic")
    group.add_argument("--sample", type=int, help="pairs of each split, 0 for all (10000)")
    group.add_argument("--top", type=int, help="texts of each split to be read (50)")


def _add_captions_options(group: Any) -> None:
    group.add_argument("--source", choices=CAPTION_SOURCES[:-1], help="of the captions (auto)")
    group.add_argument("--against", choices=REGION_CHOICES, help="which region descriptions (overlap)")
    group.add_argument("--measure", choices=[measure.value for measure in Measure], help="(mean)")
    group.add_argument("--most", type=int, help="maximum captions per pair (5)")
    group.add_argument("--images", type=int, help="size of a random sample, 0 for all (2000)")
