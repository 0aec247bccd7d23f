"""The web process's client of the encoder process: it uses a Unix socket, waits briefly, and never raises."""

import math
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hits.hints import wire
from hits.hints.card import TextPair

PAUSE_SECONDS = 5.0  # without requests after a failure


class EncoderClient:
    """Implements ``card.SimilarityModel`` and ``card.ContradictionModel``; returns ``None`` without a valid reply.

    After a failure it sends no request for ``pause`` seconds, so that a hanging process costs one budget, not one per
    request. Threads may share a client: its only state is one number.
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
        return self._request_scores("similar", pairs, budget)

    def score_contradiction(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        """Return the probability that the texts of each pair contradict, or ``None``."""
        return self._request_scores("contradict", pairs, budget)

    def _request_scores(self, operation: str, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        if not pairs or len(pairs) > wire.MAX_PAIRS or budget <= 0 or self._clock() < self._quiet_until:
            return None
        try:
            answer = self._send({"do": operation, "pairs": [list(pair) for pair in pairs]}, budget)
            return _parse_scores(answer, len(pairs))
        # No socket, a timeout, a closed connection, invalid JSON, or a refused request.
        except (OSError, ValueError):
            self._quiet_until = self._clock() + self._pause
            return None

    def _send(self, message: dict[str, Any], budget: float) -> dict[str, Any]:
        deadline = self._clock() + budget
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:

            def set_timeout() -> None:
                seconds_left = deadline - self._clock()
                if seconds_left <= 0:
                    raise TimeoutError
                connection.settimeout(seconds_left)

            def receive(length: int) -> bytes:
                set_timeout()
                return connection.recv(length)

            set_timeout()
            connection.connect(str(self._path))
            set_timeout()
            connection.sendall(wire.pack_message(message))
            answer = wire.read_message(receive)
        if answer is None:
            raise wire.WireError("no answer")
        return answer


def _parse_scores(answer: dict[str, Any], number: int) -> list[float] | None:
    """Return the scores, or ``None`` if the process has no such model, which is not a failure.

    Raises:
        WireError: not ``number`` finite numbers.
    """
    scores = answer.get("scores", "")
    if scores is None:
        return None
    if not isinstance(scores, list) or len(scores) != number:
        raise wire.WireError("the number of scores differs from the number of pairs")
    if any(isinstance(s, bool) or not isinstance(s, int | float) or not math.isfinite(s) for s in scores):
        raise wire.WireError("a score is not a number")
    return [float(score) for score in scores]
