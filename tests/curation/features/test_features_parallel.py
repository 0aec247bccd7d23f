"""Batches in several threads: ordered, bounded, and complete at the end."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
import torch

from curation.features.parallel import map_in_threads
from tests.support.waiting import wait_until


def ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("features")]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads: int) -> None:
    done = [threading.Event() for _ in range(20)]

    def work(n: int) -> int:
        if threads > 1 and n % 2 == 0:
            assert done[n + 1].wait(60)  # every second batch overtakes the one before it
        done[n].set()
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
    failing = threading.Event()

    def work(n: int) -> int:
        if n == 2:
            failing.set()
            raise OSError("photo 2 is broken")
        assert n < 2 or failing.wait(60)  # later batches are in progress while it fails
        return n

    results = map_in_threads(work, range(99), threads=3)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(OSError, match="photo 2"):
        next(results)
    assert not ours()


def test_early_exit_waits_for_running_batches_and_starts_none() -> None:
    started: list[int] = []
    finished: list[int] = []
    leaving = threading.Event()

    def work(n: int) -> int:
        started.append(n)
        assert n == 0 or leaving.wait(60)
        finished.append(n)
        return n

    with closing(map_in_threads(work, range(99), threads=2)) as results:
        assert next(results) == 0
        wait_until(lambda: len(started) == 3)  # two batches are in progress
        leaving.set()
    assert not ours()
    assert sorted(finished) == sorted(started)
    count = len(started)
    assert count <= 4
    assert list(map_in_threads(lambda n: n, range(9), threads=2)) == list(range(9))  # later work of others
    assert len(started) == count


def test_each_batch_uses_one_core_and_torch_threads_are_restored(two_threads: None) -> None:
    found = list(map_in_threads(lambda n: torch.get_num_threads(), range(4), threads=2))
    assert found == [1, 1, 1, 1]
    assert torch.get_num_threads() == 2
