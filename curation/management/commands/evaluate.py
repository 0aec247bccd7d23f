"""``manage.py evaluate retrieval|localization|comparison --predictions P --answer-key K [--instance-ids I]``."""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.evaluation.comparison import parse_comparison_key, score_comparison
from curation.evaluation.inputs import read_answer_key, read_predictions
from curation.evaluation.localization import parse_localization_key, score_localization
from curation.evaluation.retrieval import parse_retrieval_key, score_retrieval
from curation.management.file_messages import convert_input_errors
from hits.management.base import DeerstalkerCommand


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


class Command(DeerstalkerCommand):
    """Score predictions on one of the three tasks of the Sherlock leaderboard."""

    help = "Score predictions against an answer key, as the Sherlock leaderboard does."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the task and its files."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("task", choices=sorted(TASKS))
        add("--predictions", type=Path, required=True, help=".npy of scores, or .json {id: score}")
        add("--answer-key", type=Path, required=True)
        add(
            "--instance-ids",
            type=Path,
            help="ids in the order of the .npy; default: all ids of the key, sorted",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Score the predictions and print the figures."""
        task = TASKS[options["task"]]
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
