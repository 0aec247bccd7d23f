"""The encoder process of live hints: what it answers, whom it refuses, and that it leaves nothing behind."""

import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation_site.management.commands.serve import encoder_command
from curation.features.contradiction import ContradictionClassifier
from curation.features.encoder import EncoderUnavailable
from curation.pipelines.hint_encoder import CachedSimilarity, HintServer
from hits.hints import wire
from hits.hints.client import EncoderClient
from tests.support.children import ROOT
from tests.support.curation.pair_models import save_tiny_pair_model
from tests.support.waiting import wait_until


class Letters:
    """Texts as directions: two texts are near when they share letters. Counts what it is asked."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += texts
        rows = np.zeros((len(texts), 26), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter in text:
                row[ord(letter) % 26] = 1
        return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def letters() -> Letters:
    """Return the stand-in model."""
    return Letters()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the socket is."""
    return tmp_path / "encoder.sock"


@pytest.fixture
def listening(path: Path, letters: Letters) -> Iterator[Path]:
    """Serve with the stand-in model and without a model for contradictions."""
    with HintServer(path, {"similar": CachedSimilarity(letters), "contradict": None}) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def _sent(path: Path, raw: bytes) -> dict[str, Any] | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(10)
        line.connect(str(path))
        line.sendall(raw)
        return wire.read_message(line.recv)


def test_encoder_process_answers_only_its_user(listening: Path) -> None:
    client = EncoderClient(listening)
    same, other = client.score_similarity([("abc", "cba"), ("abc", "xyz")], 10.0) or [0, 0]
    assert (round(same, 3), round(other, 3)) == (1.0, 0.0)
    assert client.score_contradiction([("a", "b")], 10.0) is None
    assert stat.S_IMODE(listening.lstat().st_mode) == 0o600


def test_a_text_is_encoded_once(listening: Path, letters: Letters) -> None:
    client = EncoderClient(listening)
    for text in ("abc", "abd"):
        client.score_similarity([(text, "xyz"), (text, "uvw")], 10.0)
    assert sorted(letters.seen) == ["abc", "abd", "uvw", "xyz"]


def test_cache_evicts_least_recently_used_texts(letters: Letters) -> None:
    similarity = CachedSimilarity(letters, cache_size=2)
    similarity([("a", "b")])
    similarity([("a", "c")])
    similarity([("a", "b")])
    assert letters.seen == ["a", "b", "c", "b"]


def test_clients_are_answered_concurrently(listening: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.connect(str(listening))  # a silent client delays no other client
        with ThreadPoolExecutor(8) as pool:
            pairs = [[(f"text {n}", f"text {n}")] for n in range(40)]
            answers = list(
                pool.map(lambda pair: EncoderClient(listening).score_similarity(pair, 10.0), pairs)
            )
    assert [round((answer or [0])[0], 3) for answer in answers] == [1.0] * 40


def test_connection_serves_several_requests(listening: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(10)
        line.connect(str(listening))
        for text in ("ab", "cd"):
            line.sendall(wire.pack_message({"do": "similar", "pairs": [[text, text]]}))
            assert wire.read_message(line.recv) == {"scores": [pytest.approx(1.0)]}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (struct.pack(">I", wire.MAX_BYTES + 1), "bytes"),
        (struct.pack(">I", 3) + b"abc", "not JSON"),
        (wire.pack_message({"do": "delete", "pairs": []}), "do: "),
        (wire.pack_message({"do": ["similar"], "pairs": []}), "do: "),
        (wire.pack_message({"do": "similar"}), "pairs: "),
        (wire.pack_message({"do": "similar", "pairs": [["a", "b"]] * 65}), "pairs: "),
        (wire.pack_message({"do": "similar", "pairs": [["a"]]}), "two texts"),
        (wire.pack_message({"do": "similar", "pairs": [["a", 3]]}), "two texts"),
        (wire.pack_message({"do": "similar", "pairs": [["a", "x" * 1001]]}), "1000 characters"),
    ],
)
def test_invalid_request_is_refused_and_the_next_is_answered(
    listening: Path, raw: bytes, message: str
) -> None:
    answer = _sent(listening, raw)
    assert answer is not None
    assert message in answer["error"]
    assert EncoderClient(listening).score_similarity([("a", "a")], 10.0) == [pytest.approx(1.0)]


# --- The command


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Return a function that starts the command on a folder of its own."""
    started = []

    def go(**more: str) -> "subprocess.Popen[str]":
        environment = os.environ | {"DEERSTALKER_VAR": str(tmp_path), "LOG_LEVEL": "ERROR"} | more
        process = subprocess.Popen(
            encoder_command(),
            env=environment,
            cwd=ROOT,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield go
    for process in started:
        process.kill()
        process.communicate()


def _until_it_listens(process: "subprocess.Popen[str]", path: Path) -> EncoderClient:
    client = EncoderClient(path, pause=0)

    def listens() -> bool:
        assert process.poll() is None, process.communicate()[1]
        return client.score_similarity([("warm", "up")], 5.0) is not None

    wait_until(listens, 180, "the encoder did not start", step=0.1)
    return client


def _end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=200)
    return process.returncode, stderr


@pytest.mark.long
def test_process_replaces_a_stale_socket_and_stops_cleanly(
    start: Callable[..., "subprocess.Popen[str]"], path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))  # as a killed process leaves it
    process = start()
    client = _until_it_listens(process, path)
    scores = client.score_similarity(
        [("a man is riding a horse", "someone on horseback"), ("a man is riding a horse", "stock market")],
        10.0,
    )
    assert scores is not None
    near, far = scores
    assert near > 0.5
    assert far < 0.2
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    second = start()
    _, stderr = second.communicate(timeout=200)
    assert second.returncode == 2
    assert stderr.strip() == f"CommandError: {path}: an encoder runs here already; stop it first"
    code, stderr = _end(process)
    assert (code, "Traceback" in stderr, path.exists()) == (0, False, False)


@pytest.mark.parametrize("kind", ["file", "foreign"])
def test_existing_file_at_the_socket_path_is_kept(
    start: Callable[..., "subprocess.Popen[str]"], path: Path, kind: str
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as foreign:
        if kind == "file":
            path.write_text("mine")
        else:
            foreign.bind(str(path))
            foreign.listen()
        process = start()
        _, stderr = process.communicate(timeout=200)
    assert process.returncode == 2
    assert len(stderr.strip().splitlines()) == 1
    assert path.exists()


def test_invalid_model_folder_is_refused_in_one_line(
    start: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    process = start(HINTS_NLI_MODEL=str(tmp_path / "nowhere"))
    _, stderr = process.communicate(timeout=200)
    assert process.returncode == 2
    assert "HINTS_NLI_MODEL" in stderr.strip().splitlines()[-1]


# --- A model for contradictions: real loading code, a model without meaning


def _save_model(folder: Path, labels: list[str]) -> Path:
    return save_tiny_pair_model(folder, labels, ["rich", "poor"])


def test_a_cross_encoder_is_loaded_from_its_folder(tmp_path: Path) -> None:
    model = ContradictionClassifier(_save_model(tmp_path / "nli", ["ENTAILMENT", "Contradiction", "neutral"]))
    pairs = [("rich", "poor"), ("poor", "rich"), ("x " * 600, "")]
    found = model.probabilities(pairs)
    assert all(0 < share < 1 for share in found)
    assert found[0] == pytest.approx(found[1]), "the order of a pair says nothing"
    assert model.probabilities([]) == []


def test_model_without_the_label_is_refused(tmp_path: Path) -> None:
    folder = _save_model(tmp_path / "nli", ["LABEL_0", "LABEL_1", "LABEL_2"])
    with pytest.raises(EncoderUnavailable, match="none of its labels is called contradiction"):
        ContradictionClassifier(folder)
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(EncoderUnavailable, match="HINTS_NLI_MODEL"):
        ContradictionClassifier(folder)


@pytest.mark.long
def test_process_answers_with_the_cross_encoder(
    start: Callable[..., "subprocess.Popen[str]"], path: Path, tmp_path: Path
) -> None:
    folder = _save_model(tmp_path / "nli", ["contradiction", "entailment", "neutral"])
    process = start(HINTS_NLI_MODEL=str(folder))
    client = _until_it_listens(process, path)
    (share,) = client.score_contradiction([("rich", "poor")], 10.0) or [None]
    assert share is not None
    assert 0 < share < 1


def test_command_line_uses_this_interpreter() -> None:
    assert encoder_command()[0] == sys.executable
