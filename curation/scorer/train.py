"""Train a scorer from a run's folder: ``python -m curation.scorer.train RUN``, or several processes by ``torchrun``.

Model (``towers``) and loop (``loop``) are independent; ``components`` combines them. A stopped run resumes from its
checkpoint, and ends with the same weights and losses as an uninterrupted run (bit for bit on a CPU).

Where the published code and the paper (Hessel et al. 2022 §5 and appendix B) differ:
- the best checkpoint has the best P@1 in validation, every ``checkpoint_every`` updates, as in the paper; the
  published code takes the lowest loss of an epoch, and computes no P@1;
- views turn grey at random, as in the paper; in the published code that line is commented out;
- the published code divides the rate by 10 on a plateau, the paper does not mention it: an option, off by default.
Unlike both, a last batch that is not full is dropped, so that every update has equally many negatives.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from curation.scorer.training.components import TrainingResult, TrainingRun, remove_pixels
from curation.scorer.training.distributed import join_process_group
from curation.scorer.training.inputs import read_inputs
from curation.scorer.training.process import (
    BAD_INPUT,
    INTERRUPTED,
    ProgressCallback,
    check_processes,
    load_own_checkpoint,
    lock_run,
    run_command,
)
from curation.scorer.training.resumable_run import RESULT_FILE, read_result

__all__ = ["BAD_INPUT", "INTERRUPTED", "main", "train"]
MODULE = "curation.scorer.train"


def train(run: Path, *, report_progress: ProgressCallback = lambda *_: None) -> TrainingResult:
    """Train a run to its end, from its checkpoint if there is one, and return its result.

    Args:
        report_progress: called with (updates done, total) after each update and while pixels are prepared. If it
            raises, the state is saved first.

    Raises:
        InvalidInput: the folder, its pairs or an image cannot be used, settings or pairs changed since the
            checkpoint, or the loss became NaN or infinite.
    """
    inputs = read_inputs(run)
    if (run / RESULT_FILE).is_file() and load_own_checkpoint(run, inputs.sha256) is not None:
        remove_pixels(run)
        return read_result(run, TrainingResult)
    with join_process_group(inputs.config.device) as (world, device):
        check_processes(inputs.config.processes, world, MODULE)
        with lock_run(run, world):
            checkpoint = load_own_checkpoint(run, inputs.sha256)
            TrainingRun(run, inputs, world, device).run_to_end(checkpoint, report_progress)
    return read_result(run, TrainingResult)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description="Train a scorer from a run's folder. A stopped run resumes at its last checkpoint.",
        epilog=(
            "RUN contains run.json (settings and the image folder), train.jsonl and val.jsonl (one pair per line). "
            "Output: losses.csv, validation.csv, environment.json, checkpoint/, best/ (a scorer), done.json. "
            f"Several processes: torchrun --nproc-per-node N -m {MODULE} RUN, N as in run.json."
        ),
    )
    return run_command(parser, arguments, lambda run, report: train(run, report_progress=report), _describe)


def _describe(result: TrainingResult) -> str:
    figures = "" if result.p_at_1 is None else f", P@1 {result.p_at_1:.1f} at step {result.best_step}"
    return f"{result.steps} steps{figures}"


if __name__ == "__main__":
    raise SystemExit(main())
