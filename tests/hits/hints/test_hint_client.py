"""The web process's side of the encoder: whatever the other side does, there is an answer in time or none."""

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hits.hints import wire
from hits.hints.client import EncoderClient
from tests.support import children

PAIRS = [("a cup", "a mug"), ("a cup", "rain")]


@contextmanager
def server(path: Path, answer: Callable[[socket.socket], None]) -> Iterator[list[int]]:
    """Listen at ``path`` and treat every client as told; yields a list that grows by one a client."""
    clients: list[int] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                clients.append(1)
                with line:
                    answer(line)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield clients
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def replies_with(raw: bytes) -> Callable[[socket.socket], None]:
    """Return a server that reads the question and sends these bytes."""

    def answer(line: socket.socket) -> None:
        wire.read_message(line.recv)
        line.sendall(raw)

    return answer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the socket is."""
    return tmp_path / "encoder.sock"


def test_client_returns_valid_scores(path: Path) -> None:
    asked = []

    def answer(line: socket.socket) -> None:
        asked.append(wire.read_message(line.recv))
        line.sendall(wire.pack_message({"scores": [0.9, 0]}))

    with server(path, answer):
        assert EncoderClient(path).score_similarity(PAIRS, 5.0) == [0.9, 0.0]
    assert asked == [{"do": "similar", "pairs": [list(pair) for pair in PAIRS]}]


def test_client_without_socket_returns_none(path: Path, tmp_path: Path) -> None:
    assert EncoderClient(path).score_similarity(PAIRS, 5.0) is None
    path.write_text("no socket")
    assert EncoderClient(path).score_similarity(PAIRS, 5.0) is None
    assert EncoderClient(tmp_path / ("x" * 200)).score_similarity(PAIRS, 5.0) is None


def test_silent_server_costs_one_budget(path: Path) -> None:
    over = threading.Event()
    with server(path, lambda line: over.wait(30) and None) as clients:
        client = EncoderClient(path)
        assert client.score_similarity(PAIRS, 0.2) is None
        assert client.score_similarity(PAIRS, 0.2) is None
        over.set()
        assert len(clients) == 1, "after a failure it asks nobody for a while"


def test_slow_server_costs_one_budget(path: Path) -> None:
    """Each byte comes in time, the whole never: the budget is for the whole."""
    over = threading.Event()

    def drip(line: socket.socket) -> None:
        try:
            line.sendall(struct.pack(">I", 200_000))
            while not over.wait(0.02):
                line.sendall(b" ")
        except OSError:
            return

    with server(path, drip):
        assert EncoderClient(path).score_similarity(PAIRS, 0.3) is None
        over.set()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00",
        b"HTTP/1.1 200 OK\r\n\r\n",
        struct.pack(">I", 5) + b"abc",
        struct.pack(">I", 3) + b"abc",
        struct.pack(">I", 2**32 - 1),
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 4) + b"\xff\xfe\xfd\xfc",
        struct.pack(">I", 20_000) + b"[" * 20_000,
        wire.pack_message({}),
        wire.pack_message({"error": "no"}),
        wire.pack_message({"scores": [1]}),
        wire.pack_message({"scores": [1, "x"]}),
        wire.pack_message({"scores": [1, True]}),
        wire.pack_message({"scores": {"0": 1, "1": 1}}),
        struct.pack(">I", 21) + b'{"scores": [NaN, NaN]}'[:21],
        struct.pack(">I", 22) + b'{"scores": [NaN, 1.0]}',
        struct.pack(">I", 24) + b'{"scores": [1e999, 1.0]}',
    ],
)
def test_invalid_answer_gives_none_without_error(path: Path, raw: bytes) -> None:
    with server(path, replies_with(raw)):
        assert EncoderClient(path).score_similarity(PAIRS, 5.0) is None


def test_client_retries_after_the_pause(path: Path) -> None:
    now = [0.0]
    client = EncoderClient(path, pause=5.0, clock=lambda: now[0])
    assert client.score_similarity(PAIRS, 1.0) is None
    with server(path, replies_with(wire.pack_message({"scores": [1, 1]}))) as clients:
        now[0] = 4.9
        assert client.score_similarity(PAIRS, 1.0) is None
        assert clients == []
        now[0] = 5.0
        assert client.score_similarity(PAIRS, 1.0) == [1.0, 1.0]


def test_missing_model_is_not_a_failure(path: Path) -> None:
    with server(path, replies_with(wire.pack_message({"scores": None}))) as clients:
        client = EncoderClient(path)
        assert client.score_contradiction(PAIRS, 5.0) is None
        assert client.score_contradiction(PAIRS, 5.0) is None
        assert len(clients) == 2


def test_too_many_or_no_pairs_are_not_sent(path: Path) -> None:
    with server(path, replies_with(wire.pack_message({"scores": []}))) as clients:
        client = EncoderClient(path)
        assert client.score_similarity([], 5.0) is None
        assert client.score_similarity(PAIRS * 40, 5.0) is None
        assert client.score_similarity(PAIRS, 0.0) is None
        assert clients == []


def test_client_loads_neither_numpy_nor_a_model() -> None:
    code = "import sys, hits.hints.client; print(sorted({'numpy', 'torch', 'django'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=children.ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_hints_of_the_page_load_no_model(db: None) -> None:
    code = "import sys, hits.api.hints; print(sorted({'torch', 'curation.features'} & set(sys.modules)))"
    done = children.run(code)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
