"""The web process's side of the encoder: asks over a Unix socket, waits briefly, and never raises."""

import math
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hits.hints import wire
from hits.hints.card import TextPair

PAUSE_SECONDS = 5.0  # seconds without a question after one that failed


class EncoderClient:
    """Answers as ``Encoder`` and ``ContradictionModel``; ``None`` whenever the process does not answer well.

    After a failure nothing is asked for ``pause`` seconds, so that a process that hangs costs one budget, not one
    a request. Safe to share between threads: what they share is one number.
    """

    def __init__(
        self, path: Path, *, pause: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._pause = pause
        self._clock = clock
        self._quiet_until = -math.inf

    def score_similarity(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        """Return a cosine for each pair, or ``None``."""
        return self._scores("similar", pairs, budget)

    def score_contradiction(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        """Return the probability that each pair contradicts itself, or ``None``."""
        return self._scores("contradict", pairs, budget)

    def _scores(self, question: str, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        if not pairs or len(pairs) > wire.MAX_PAIRS or budget <= 0 or self._clock() < self._quiet_until:
            return None
        try:
            answer = self._ask({"do": question, "pairs": [list(pair) for pair in pairs]}, budget)
            return _parse_scores(answer, len(pairs))
        except (
            OSError,
            ValueError,
        ):  # no socket, too slow, broken off, no JSON, or what was asked is refused
            self._quiet_until = self._clock() + self._pause
            return None

    def _ask(self, message: dict[str, Any], budget: float) -> dict[str, Any]:
        ends = self._clock() + budget
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:

            def within_budget() -> None:
                left = ends - self._clock()
                if left <= 0:
                    raise TimeoutError
                line.settimeout(left)

            def receive(length: int) -> bytes:
                within_budget()
                return line.recv(length)

            within_budget()
            line.connect(str(self._path))
            within_budget()
            line.sendall(wire.pack_message(message))
            answer = wire.read_message(receive)
        if answer is None:
            raise wire.WireError("no answer")
        return answer


def _parse_scores(answer: dict[str, Any], number: int) -> list[float] | None:
    """Return the scores; ``None`` when the process has no such model, which is no failure.

    Raises:
        WireError: anything but so many finite numbers.
    """
    scores = answer.get("scores", "")
    if scores is None:
        return None
    if not isinstance(scores, list) or len(scores) != number:
        raise wire.WireError("not as many scores as pairs")
    if any(isinstance(s, bool) or not isinstance(s, int | float) or not math.isfinite(s) for s in scores):
        raise wire.WireError("a score is no number")
    return [float(score) for score in scores]
