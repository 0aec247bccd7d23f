"""Our own retries, and the pace of calls. No test waits: sleep and clock are given."""

import threading

import pytest

from curation.generation.errors import AskDifferently, BadReply, ContentRefused, Permanent, Transient
from curation.generation.pace import Pace
from curation.generation.retries import RetryPolicy, call_with_retries


class Calls:
    """A call that fails as told, then succeeds; it keeps the numbers of its calls and the waits."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.numbers: list[int] = []
        self.waits: list[float] = []

    def send(self, number: int) -> str:
        self.numbers.append(number)
        if self.failures:
            raise self.failures.pop(0)
        return "reply"

    def run(self, **options: object) -> str:
        return call_with_retries(self.send, sleep=self.waits.append, **options)  # type: ignore[arg-type]


def test_a_call_that_succeeds_is_sent_once() -> None:
    calls = Calls()
    assert calls.run() == "reply"
    assert (calls.numbers, calls.waits) == ([1], [])


def test_waits_double_and_retry_after_wins_up_to_a_cap() -> None:
    calls = Calls(Transient("a"), Transient("b", retry_after=0.25), Transient("c", retry_after=3600))
    assert calls.run(policy=RetryPolicy(max_wait=60)) == "reply"
    assert (calls.numbers, calls.waits) == ([1, 2, 3, 4], [1.0, 0.25, 60.0])
    assert [RetryPolicy().wait_after(number, None) for number in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert RetryPolicy().wait_after(1, -5.0) == 0.0


def test_four_tries_are_the_end() -> None:
    failures = [Transient(f"try {number}") for number in range(1, 8)]
    calls = Calls(*failures)
    with pytest.raises(Transient, match="try 4"):
        calls.run()
    assert (len(calls.numbers), len(calls.waits)) == (4, 3)


@pytest.mark.parametrize("failure", [Permanent("a"), ContentRefused("b"), BadReply("c"), ValueError("d")])
def test_other_failures_are_never_repeated(failure: Exception) -> None:
    calls = Calls(failure)
    with pytest.raises(type(failure)):
        calls.run()
    assert calls.numbers == [1]


def test_asking_differently_is_no_failed_try_and_waits_for_nothing() -> None:
    calls = Calls(
        *(AskDifferently(f"no {k}", retry_after=0.0) for k in range(3)), *(Transient("x") for _ in range(3))
    )
    assert calls.run() == "reply"
    assert calls.numbers == [1, 2, 3, 4, 5, 6, 7]
    assert calls.waits == [1.0, 2.0, 4.0]


def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    calls = Calls(*(AskDifferently("no", retry_after=0.0) for _ in range(100)))
    with pytest.raises(AskDifferently):
        calls.run()
    assert len(calls.numbers) == 9


def test_the_caller_hears_of_each_wait_and_may_stop() -> None:
    heard: list[tuple[str, float]] = []

    def hear(error: Transient, seconds: float) -> None:
        heard.append((str(error), seconds))
        if len(heard) == 2:
            raise KeyboardInterrupt

    calls = Calls(Transient("one"), Transient("two"), Transient("three"))
    with pytest.raises(KeyboardInterrupt):
        calls.run(before_wait=hear)
    assert heard == [("one", 1.0), ("two", 2.0)]
    assert calls.waits == [1.0]


def test_a_pace_spaces_calls_evenly() -> None:
    now = [100.0]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(round(seconds, 6))
        now[0] += seconds

    pace = Pace(30, clock=lambda: now[0], sleep=sleep)
    for _ in range(3):
        pace.wait()
    now[0] += 10
    pace.wait()
    pace.wait()
    assert waits == [2.0, 2.0, 2.0]


def test_a_pace_is_shared_by_threads() -> None:
    waits: list[float] = []
    pace = Pace(60, clock=lambda: 0.0, sleep=waits.append)
    threads = [threading.Thread(target=pace.wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_without_a_limit_nobody_waits() -> None:
    pace = Pace(None, clock=lambda: 0.0, sleep=lambda seconds: pytest.fail("waited"))
    assert [pace.wait() for _ in range(5)] == [0.0] * 5
