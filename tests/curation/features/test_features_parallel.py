"""Batches in several threads: ordered, bounded, and complete at the end."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
import torch

from curation.features.parallel import map_in_threads


def ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("features")]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads: int) -> None:
    def work(n: int) -> int:
        time.sleep(0.01 * (n % 3))
        return n * n

    assert list(map_in_threads(work, range(20), threads=threads)) == [n * n for n in range(20)]
    assert not ours()


def test_at_most_threads_plus_one_batches_run() -> None:
    requested: list[int] = []

    def batches() -> Iterator[int]:
        for n in range(50):
            requested.append(n)
            yield n

    with closing(map_in_threads(lambda n: n, batches(), threads=2)) as results:
        for n in results:
            assert len(requested) <= n + 1 + 3


def test_error_is_raised_in_order_and_no_thread_remains() -> None:
    def work(n: int) -> int:
        time.sleep(0.02)
        if n == 2:
            raise OSError("photo 2 is broken")
        return n

    results = map_in_threads(work, range(99), threads=3)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(OSError, match="photo 2"):
        next(results)
    assert not ours()


def test_early_exit_waits_for_running_batches_and_starts_none() -> None:
    started: list[int] = []

    def work(n: int) -> int:
        started.append(n)
        time.sleep(0.05)
        return n

    with closing(map_in_threads(work, range(99), threads=2)) as results:
        assert next(results) == 0
    assert not ours()
    count = len(started)
    assert count <= 4
    time.sleep(0.1)
    assert len(started) == count


def test_each_batch_uses_one_core_and_torch_threads_are_restored() -> None:
    before = torch.get_num_threads()
    found = list(map_in_threads(lambda n: torch.get_num_threads(), range(4), threads=2))
    assert found == [1, 1, 1, 1]
    assert torch.get_num_threads() == before
