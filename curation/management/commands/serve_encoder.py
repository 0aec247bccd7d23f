"""``manage.py serve_encoder``: compares the meanings of texts for live hints. ``serve`` and ``demo`` start it."""

import fcntl
import logging
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings

from curation.features.encoder import EncoderUnavailable
from hits.management.base import DeerstalkerCommand, input_error


class Command(DeerstalkerCommand):
    """Answer requests over a Unix socket until Ctrl-C or SIGTERM."""

    help = "Answer requests on the socket VAR_DIR/encoder.sock: compare the meanings of texts for live hints."

    def handle(self, *args: Any, **options: Any) -> None:
        """Load the models, listen, and clean up at the end."""
        signal.signal(signal.SIGTERM, _handle_stop)
        path: Path = settings.HINTS_SOCKET
        try:
            with suppress(KeyboardInterrupt), _socket_lock(path):
                self._serve(path)
        finally:
            # Nothing is left to clean up. Ctrl-C in a terminal sends SIGINT, and the parent process sends SIGTERM:
            # the second signal must not cause a traceback while the interpreter exits.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)

    def _serve(self, path: Path) -> None:
        # A request has one short sentence: a second thread gains little and takes a core from the web server.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
        from curation.features.contradiction import ContradictionClassifier
        from curation.features.sentence import SentenceEncoder
        from curation.pipelines.hint_encoder import CachedSimilarity, HintServer

        try:
            nli = settings.HINTS_NLI_MODEL
            contradict = ContradictionClassifier(Path(nli)).probabilities if nli else None
            similarity = CachedSimilarity(SentenceEncoder())
        except EncoderUnavailable as error:
            raise input_error(str(error)) from error
        similarity([("warm", "up")])  # the first request is slow, so make it before any page needs it
        try:
            server = HintServer(path, {"similar": similarity, "contradict": contradict})
        except OSError as error:
            raise input_error(f"{path}: {error.strerror or error}") from error
        with server:
            self.stderr.write(f"Live hints are answered at {path}.", style_func=str)
            try:
                server.serve_forever(poll_interval=0.2)
            finally:
                path.unlink(missing_ok=True)


@contextmanager
def _socket_lock(path: Path) -> Iterator[None]:
    """Lock the socket's path; remove a socket that an earlier process left there.

    Raises:
        CommandError: an encoder runs there already, or the path is another kind of file.
    """
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise input_error(f"{path}: an encoder runs here already; stop it first") from error
        if path.exists() or path.is_symlink():
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise input_error(f"{path}: is not a socket; move it away")
            if _is_answering(path):
                raise input_error(f"{path}: an encoder runs here already; stop it first")
            path.unlink()
        yield


def _is_answering(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _handle_stop(number: int, frame: FrameType | None) -> None:
    # A second signal while the process ends would cause a traceback.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
