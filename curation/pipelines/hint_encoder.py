"""The encoder process of live hints: it returns the semantic similarity of texts over a Unix socket.

The web process loads no models, so it queries this process. The messages are those of ``hits.hints.wire``:
``{"do": "similar" | "contradict", "pairs": [[text, text], …]}`` is answered by ``{"scores": [number, …]}``, by
``{"scores": null}`` where there is no such model, or by ``{"error": text}``.
"""

import socket
import socketserver
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hits.hints import wire
from hits.hints.card import MAX_TEXT, TextPair

CACHE_SIZE = 4096
IDLE_SECONDS = 10.0
MAX_CLIENTS = 32
PairScorer = Callable[[Sequence[TextPair]], list[float]]


class UnitVectorEncoder(Protocol):
    """Encodes texts as vectors of length 1."""

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, d) rows of length 1."""
        ...


class CachedSimilarity:
    """Cosines of pairs. Vectors are cached: between two requests of a page mostly one text changes."""

    def __init__(self, encoder: UnitVectorEncoder, *, cache_size: int = CACHE_SIZE) -> None:
        self._encoder = encoder
        self._cache_size = cache_size
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, pairs: Sequence[TextPair]) -> list[float]:
        """Return a cosine for each pair."""
        with self._lock:  # one request at a time: parallel ones would only share the same cores
            vectors = self._get_vectors({text for pair in pairs for text in pair})
        return [float(vectors[a] @ vectors[b]) for a, b in pairs]

    def _get_vectors(self, texts: set[str]) -> dict[str, NDArray[np.float32]]:
        new = sorted(texts - self._vectors.keys())
        for text, row in zip(new, self._encoder.encode_texts(new), strict=True):
            self._vectors[text] = row
        found = {}
        for text in texts:
            self._vectors.move_to_end(text)
            found[text] = self._vectors[text]
        while len(self._vectors) > self._cache_size:
            self._vectors.popitem(last=False)
        return found


class HintServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens at ``path`` while ``serve_forever`` runs, with one thread per client, up to MAX_CLIENTS."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path: Path, scorers: dict[str, PairScorer | None]) -> None:
        """scorers: by request type; ``None`` if there is no such model."""
        self.scorers = scorers
        self._client_slots = BoundedSemaphore(MAX_CLIENTS)
        super().__init__(str(path), _ClientHandler)

    def server_bind(self) -> None:
        """Create the socket with access for this user only."""
        super().server_bind()
        Path(str(self.server_address)).chmod(0o600)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, or close the connection if all slots are in use: no answer means no hint."""
        if not self._client_slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, then release the slot."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._client_slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected."""

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one message.

        Raises:
            WireError: an unknown or malformed request.
        """
        request_type = message.get("do")
        if not isinstance(request_type, str) or request_type not in self.scorers:
            raise wire.WireError(f"do: use {', '.join(sorted(self.scorers))}")
        pairs = _parse_pairs(message.get("pairs"))
        score_pairs = self.scorers[request_type]
        return {"scores": score_pairs(pairs) if score_pairs else None}


class _ClientHandler(socketserver.BaseRequestHandler):
    server: HintServer
    request: socket.socket

    def handle(self) -> None:
        """Answer messages until the client disconnects or sends an invalid one."""
        self.request.settimeout(IDLE_SECONDS)
        try:
            while (message := wire.read_message(self.request.recv)) is not None:
                self.request.sendall(wire.pack_message(self.server.reply(message)))
        except wire.WireError as error:
            self.request.sendall(wire.pack_message({"error": str(error)}))


def _parse_pairs(raw: Any) -> list[TextPair]:
    if not isinstance(raw, list) or len(raw) > wire.MAX_PAIRS:
        raise wire.WireError(f"pairs: send a list of {wire.MAX_PAIRS} pairs or fewer")
    for pair in raw:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):  # noqa: PLR2004
            raise wire.WireError("pairs: each is two texts")
        if any(len(text) > MAX_TEXT for text in pair):
            raise wire.WireError(f"pairs: a text has more than {MAX_TEXT} characters")
    return [(first, second) for first, second in raw]
