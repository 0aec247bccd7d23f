"""Train choosers from a run's folder: ``python -m curation.chooser.train RUN``, or several processes by ``torchrun``.

A run trains one model for each of its stages, one after the other: answers, and rationales given the right answer
(Zellers et al. 2019 §6). A stopped run resumes from its checkpoint, and ends with the same weights and losses as an
uninterrupted run (bit for bit on a CPU). Loop, checkpoints and log are the scorer's (``curation.scorer``).

Where the published code and the paper differ, or are silent: a validation's accuracy "on a plateau" means two epochs
in a row, in both; the code stops after more than three epochs without a better accuracy, the paper always trains 20.
Here training stops after ``patience`` validations. A last batch that is not full is dropped, as in the code.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from curation.chooser.config import ChooserConfig
from curation.chooser.training.components import StageResult, StageRun, remove_prepared
from curation.chooser.training.inputs import read_inputs, read_run_settings
from curation.evaluation.choice_items import Stage
from curation.scorer.training.distributed import World, join_process_group
from curation.scorer.training.process import (
    ProgressCallback,
    check_processes,
    load_own_checkpoint,
    lock_run,
    run_command,
)
from curation.scorer.training.resumable_run import RESULT_FILE, read_result

MODULE = "curation.chooser.train"
QUESTIONS = "questions"


def train(run: Path, *, report_progress: ProgressCallback = lambda *_: None) -> dict[Stage, StageResult]:
    """Train all stages of a run to their end, from their checkpoints if there are any, and return their results.

    Args:
        report_progress: called with (updates done, total) of all stages after each update and while inputs are
            prepared. If it raises, the state is saved first.

    Raises:
        InvalidInput: the folder, its questions or an image cannot be used, settings or questions changed since the
            checkpoint, or the loss became NaN or infinite.
    """
    config = ChooserConfig.from_json(read_run_settings(run).config)
    stages = config.stage.stages
    with join_process_group(config.device) as (world, device):
        check_processes(config.processes, world, MODULE)
        with lock_run(run, world):
            for number, stage in enumerate(stages):

                def report(done: int, total: int, number: int = number) -> None:
                    report_progress(number * total + done, len(stages) * total)

                _train_stage(run, stage, world, device, report)
    return {stage: read_result(run / stage, StageResult) for stage in stages}


def _train_stage(
    run: Path, stage: Stage, world: World, device: torch.device, report_progress: ProgressCallback
) -> None:
    inputs = read_inputs(run, stage)
    folder = run / stage
    folder.mkdir(exist_ok=True)
    checkpoint = load_own_checkpoint(folder, inputs.sha256, items=QUESTIONS)
    if checkpoint is not None and (folder / RESULT_FILE).is_file():
        remove_prepared(folder)
        return
    StageRun(folder, inputs, world, device).run_to_end(checkpoint, report_progress)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description="Train choosers from a run's folder. A stopped run resumes at its last checkpoint.",
        epilog=(
            "RUN contains run.json (settings and the image folder), train.jsonl and val.jsonl (questions in the "
            "published layout). Output, for each stage in a folder of its name: losses.csv, validation.csv, "
            "environment.json, checkpoint/, best/ (a chooser), done.json. "
            f"Several processes: torchrun --nproc-per-node N -m {MODULE} RUN, N as in run.json."
        ),
    )
    return run_command(parser, arguments, lambda run, report: train(run, report_progress=report), _describe)


def _describe(results: dict[Stage, StageResult]) -> str:
    return "; ".join(
        f"{stage}: {result.steps} steps"
        + (
            ""
            if result.accuracy is None
            else f", accuracy {result.accuracy:.1f} % at step {result.best_step}"
        )
        for stage, result in results.items()
    )


if __name__ == "__main__":
    raise SystemExit(main())
