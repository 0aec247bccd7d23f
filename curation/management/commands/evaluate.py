"""``manage.py evaluate retrieval|localization|comparison --predictions P --answer-key K [--instance-ids I]``.

``manage.py evaluate nleye --predictions P --answer-key K [--pair-scores S]`` scores answers about image triplets.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.evaluation.comparison import parse_comparison_key, score_comparison
from curation.evaluation.inputs import read_answer_key, read_predictions
from curation.evaluation.localization import parse_localization_key, score_localization
from curation.evaluation.nleye import nleye_figures
from curation.evaluation.nleye_files import read_pair_scores, read_triplet_key, read_triplet_predictions
from curation.evaluation.retrieval import parse_retrieval_key, score_retrieval
from curation.management.file_messages import convert_input_errors
from curation.management.nleye_report import describe_figures
from hits.management.base import DeerstalkerCommand, input_error


@dataclass(frozen=True)
class Task:
    """How a task's answer key is parsed and its predictions are scored, and the figures in its JSON."""

    parse: Callable[[Any], Any]
    score: Callable[[Any, Any], Any]
    figures: tuple[str, ...]


TASKS = {
    "retrieval": Task(parse_retrieval_key, score_retrieval, ("im2txt", "txt2im", "p_at_1")),
    "localization": Task(
        parse_localization_key,
        score_localization,
        ("gt_accuracy", "gt_images", "auto_accuracy", "auto_images", "auto_oracle_accuracy"),
    ),
    "comparison": Task(
        parse_comparison_key, score_comparison, ("human", "model", "random", "oracle", "images")
    ),
}


NLEYE = "nleye"


class Command(DeerstalkerCommand):
    """Score predictions on one of the three tasks of the Sherlock leaderboard, or on image triplets."""

    help = (
        "Score predictions against an answer key, as the leaderboards do. nleye: image triplets; figures are percent "
        "with bootstrap intervals over triplets."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the task and its files."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("task", choices=sorted((*TASKS, NLEYE)))
        add(
            "--predictions",
            type=Path,
            help=".npy of scores, or .json {id: score}; nleye: JSON lines {id, presentation, choice}",
        )
        add("--answer-key", type=Path, required=True)
        add(
            "--instance-ids",
            type=Path,
            help="ids in the order of the .npy; default: all ids of the key, sorted",
        )
        add(
            "--pair-scores",
            type=Path,
            help="nleye: JSON lines {id, hypothesis, score}; higher is more plausible",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Score the predictions and print the figures."""
        if options["task"] == NLEYE:
            self._score_triplets(options)
        else:
            self._score_task(TASKS[options["task"]], options)

    def _score_triplets(self, options: dict[str, Any]) -> None:
        predictions, scores = options["predictions"], options["pair_scores"]
        if options["instance_ids"]:
            raise input_error(
                "--instance-ids: belongs to .npy files; remove it: lines of nleye have their ids"
            )
        if not predictions and not scores:
            raise input_error("give --predictions FILE, --pair-scores FILE or both")
        with convert_input_errors(
            predictions=predictions, pair_scores=scores, answer_key=options["answer_key"]
        ):
            key = read_triplet_key(options["answer_key"])
            figures = nleye_figures(
                key,
                read_triplet_predictions(predictions, key.ids).predictions if predictions else None,
                read_pair_scores(scores, key.ids) if scores else None,
            )
        self.report(options, figures, *describe_figures(figures))

    def _score_task(self, task: Task, options: dict[str, Any]) -> None:
        if options["pair_scores"]:
            raise input_error("--pair-scores: belongs to nleye; remove it")
        if not options["predictions"]:
            raise input_error("give --predictions FILE")
        predictions, ids = options["predictions"], options["instance_ids"]
        with convert_input_errors(predictions=predictions, answer_key=options["answer_key"]):
            key = task.parse(read_answer_key(options["answer_key"]))
            scores = read_predictions(predictions, ids_path=ids, key_ids=key.test_ids)
            measured = asdict(task.score(scores, key))
        result = {name: measured[name] for name in task.figures}
        self.report(options, result, *(f"{name}: {_format_value(value)}" for name, value in result.items()))


def _format_value(value: float | int | None) -> str:
    if value is None:
        return "nothing to measure"
    return str(value) if isinstance(value, int) else f"{value:.4f}"
