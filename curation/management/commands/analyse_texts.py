"""``manage.py analyse_texts duplicates|topics|toxicity|captions --project P``: analyse the texts of pairs."""

from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path
from typing import Any

from curation.dedup.cuts import Linkage
from curation.models import AnalysisKind, PairText
from curation.selectors.jobs import ANALYSE_TEXTS
from curation.services import texts
from curation.texts.captions import CaptionMeasure
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_model_folder
from hits.management.lookups import find_project
from hits.models import Job

# The field of an analysis's options that is set to FROM_FILE if a file is given.
FILE_OPTIONS = {AnalysisKind.TOXICITY: "scorer", AnalysisKind.CAPTIONS: "source"}


class Command(JobCommand):
    """Analyse the texts of a project's approved pairs; no text is removed."""

    help = "Find copies, topics, toxic texts, or similarity to captions among a project's approved pairs."
    tasks = (ANALYSE_TEXTS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options. The help states the defaults."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("kind", nargs="?", choices=[kind.value for kind in AnalysisKind])
        add("--project", help="short name of the project")
        add("--split", help="analyse only this split (all)")
        add("--seed", type=int, help="seed of all random choices (0)")
        _add_analysis_options(parser)
        columns = "CSV or JSON lines with id, field, score (for toxicity) or image, caption (for captions)"
        add("--file", type=Path, help=columns)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job; refuse options of other analyses."""
        if options["kind"] is None or options["project"] is None:
            raise input_error("give an analysis and a project: analyse_texts topics --project SLUG")
        kind = AnalysisKind(options["kind"])
        project = find_project(options["project"])
        given = {name: options[name] for name in _analysis_option_names() if options.get(name) is not None}
        known = {field.name for field in fields(texts.OPTION_TYPES[kind])}
        foreign = sorted(set(given) - known)
        if foreign:
            flag = foreign[0].replace("_", "-")
            raise input_error(f"--{flag}: {kind.value} has no such option; leave it out")
        if options["file"] is not None:
            given |= _store_file(kind, options["file"])
        chosen = texts.OPTION_TYPES[kind](**given)
        return texts.request_analysis(project=project, options=chosen, by=None, queue=queue)


def _analysis_option_names() -> list[str]:
    names = [field.name for option_type in texts.OPTION_TYPES.values() for field in fields(option_type)]
    return [name for name in dict.fromkeys(names) if name not in ("file", "file_name")]


def _store_file(kind: AnalysisKind, path: Path) -> dict[str, str]:
    if kind not in FILE_OPTIONS:
        raise input_error(f"--file {path}: {kind.value} reads no file; leave it out")
    try:
        if path.stat().st_size > texts.MAX_FILE_BYTES:
            limit = f"{texts.MAX_FILE_BYTES // 2**20} MiB"
            raise input_error(f"--file {path}: is over {limit}; split it into smaller files")
        data = path.read_bytes()
    except OSError as error:
        raise input_error(f"--file {path}: {error.strerror}; choose another") from error
    stored = {"file": texts.store_uploaded_file(data=data), "file_name": path.name[:120]}
    return {FILE_OPTIONS[kind]: texts.FROM_FILE, **stored}


def _add_analysis_options(parser: ArgumentParser) -> None:
    """Add a group of options for each analysis."""
    add = parser.add_argument_group("duplicates").add_argument
    add("--field", choices=[field.value for field in PairText], help="texts to compare (inference)")
    add("--share", type=float, help="share of the texts that soft de-duplication keeps (0.8)")
    until = "group texts up to this distance, 1 - cosine, instead of keeping a share; for example 0.2"
    add("--distance", type=float, help=until)
    add(
        "--linkage",
        choices=[linkage.value for linkage in Linkage],
        help="linkage of the clustering (average)",
    )
    add("--cap", type=int, help="copies of one exact text to keep (3)")
    add = parser.add_argument_group("topics").add_argument
    add("--topics", type=int, help="number of topics of clues, and of inferences (10)")
    add("--passes", type=int, help="passes over the texts (10)")
    add("--least-texts", type=int, help="ignore words that occur in fewer texts than this (2)")
    add = parser.add_argument_group("toxicity").add_argument
    scorers = f"{texts.WORD_LIST}, or {texts.MODEL_PREFIX}<folder or hub id> ({texts.WORD_LIST})"
    add("--scorer", type=absolute_model_folder, help=scorers)
    add("--label", help="the label by which the classifier marks toxic texts")
    add("--sample", type=int, help="pairs to sample from each split, 0 for all (10000)")
    add("--top", type=int, help="texts of each split to review (50)")
    add = parser.add_argument_group("captions").add_argument
    add("--source", choices=texts.CAPTION_SOURCES[:-1], help="source of the captions (auto)")
    add("--against", choices=texts.REGION_CHOICES, help="region descriptions to compare with (overlap)")
    add(
        "--measure",
        choices=[measure.value for measure in CaptionMeasure],
        help="how similarities are combined (mean)",
    )
    add("--most", type=int, help="maximum captions per pair (5)")
    add("--images", type=int, help="size of a random sample, 0 for all (2000)")
