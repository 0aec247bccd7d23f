"""A child process for a test of kills: train RUN on one thread, killed with SIGKILL after an update."""

import os
import signal
import sys
from pathlib import Path

import torch

from curation.chooser.train import train


def main() -> None:
    torch.set_num_threads(1)
    run, step = Path(sys.argv[1]), int(sys.argv[2])
    train(run, report_progress=lambda done, _: os.kill(os.getpid(), signal.SIGKILL) if done == step else None)


if __name__ == "__main__":
    main()
