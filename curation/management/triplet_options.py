"""What commands about image triplets have in common: finding the project, launching a round, calling a chat model."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management import CommandError

from curation.image_triplets.scene_files import SceneFileError
from curation.services.triplets.round_launch import RoundLaunch
from hits.kind import HitKind
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.jobs import absolute_path
from hits.management.launch_options import add_terms_options, read_terms
from hits.management.lookups import find_project
from hits.management.publishing import print_live_hit_count, publish_launched_batch
from hits.models import Batch, Job, Project
from validation.domain.judging.quality_check_types import CheckRates, QualityCheckError

FAMILY = "nleye"
Launcher = Callable[[RoundLaunch], tuple[Batch, Job]]


def find_triplet_project(slug: str | None) -> Project:
    """Return the project with this short name.

    Raises:
        CommandError: there is none, or it is of another family.
    """
    project = find_project(slug)
    if project.family != FAMILY:
        raise input_error(
            f"--project {slug}: its family is {project.family}; use a project of family {FAMILY}"
        )
    return project


def add_round_options(parser: ArgumentParser, *, checks: bool = False) -> None:
    """Add the options of a command that launches a round; with ``checks``, the shares of quality checks."""
    parser.add_argument("--project", required=True, help="the project's short name")
    add_terms_options(parser, reward_needed=False)
    parser.add_argument(
        "--name", default="", help="name of the batch; workers see it in the task's description"
    )
    for role in ("gold", "attention") if checks else ():
        parser.add_argument(
            f"--{role}",
            type=int,
            default=0,
            metavar="PERCENT",
            help=f"quality checks of type {role}, in percent of the units, 0 (default) to 50",
        )


def launch_and_publish(
    command: DeerstalkerCommand,
    project: Project,
    kind: HitKind,
    launcher: Launcher,
    options: dict[str, Any],
    *,
    reward_cents: int | None = None,
) -> None:
    """Launch a round with the terms of the options, publish it, and print how many HITs are live.

    ``reward_cents`` is the round's default reward, if it is not the kind's.
    """
    if options["reward_cents"] is None:
        options = {**options, "reward_cents": reward_cents}
    try:
        rates = CheckRates(options.get("gold", 0), options.get("attention", 0), 0)
    except QualityCheckError as error:
        raise input_error(f"--{error}") from error
    terms = read_terms(project, kind, options)
    batch, _ = launcher(RoundLaunch(name=options["name"], terms=terms, rates=rates))
    print_live_hit_count(command, options, publish_launched_batch(batch))


def add_chat_options(parser: ArgumentParser, *, defaults: Any) -> None:
    """Add the options of ``ChatOptions`` but the cap in dollars; ``defaults`` is an instance of it."""
    add = parser.add_argument
    model = "canned (default: made-up replies), canned:FILE.jsonl (recorded ones), or openai:MODEL at CHAT_API_URL"
    add("--model", default=defaults.model, help=model)
    add("--cap-calls", type=int, help="the most calls; default: no limit")
    add("--price-unknown", action="store_true", help="call a model that the price table does not have")
    add("--per-minute", type=float, help="calls a minute; default: no limit")
    add("--threads", type=int, default=defaults.threads, help="calls at once; default: 1")
    add(
        "--prompts",
        type=absolute_path,
        default="",
        help="a TOML file with other prompts than the built-in ones",
    )
    add(
        "--record",
        type=Path,
        metavar="FILE.jsonl",
        help="also write the replies of the model, which canned:FILE.jsonl repeats",
    )
    add("--seed", type=int, default=defaults.seed, help="sent if the server takes one; default: 0")
    add("--fresh", default="", metavar="NAME", help="do not use replies that were stored under another name")


def read_file(path: Path, flag: str) -> bytes:
    """Return a file's bytes. Raises CommandError if it cannot be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise input_error(f"{flag} {path}: cannot be read: {why}") from error


def list_problems(message: str, error: SceneFileError | None) -> CommandError:
    """Return the error of a file; its further problems follow, one a line."""
    first = input_error(message)
    return CommandError(
        "\n".join([str(first), *(error.problems[1:] if error else [])]), returncode=first.returncode
    )
