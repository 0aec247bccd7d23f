"""A child process for a test of kills: train RUN on one thread, killed with SIGKILL in the middle.

``step``: after update N. ``save``: while the Nth checkpoint is written. ``best``: before the Nth best is stored.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from curation.scorer.train import train
from curation.scorer.training import checkpoint, components


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def nth_call(function: Callable[..., Any], number: int) -> Callable[..., Any]:
    calls: list[None] = []

    def counted(*args: Any) -> Any:
        calls.append(None)
        return die() if len(calls) == number else function(*args)

    return counted


def main() -> None:
    torch.set_num_threads(1)
    run, where, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if where == "save":
        # Of the file, before it takes its name.
        checkpoint.sync_to_disk = nth_call(checkpoint.sync_to_disk, 2 * number - 1)
    if where == "best":
        components.save_scorer = nth_call(components.save_scorer, number)
    train(run, report_progress=lambda done, _: die() if where == "step" and done == number else None)


if __name__ == "__main__":
    main()
