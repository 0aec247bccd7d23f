"""The real web server, loaded once and forked for each test: a new interpreter would load the site for seconds.

Run as a program it loads the site, listens on ``PORT`` and obeys its standard input, a word a line:
``start`` forks a gunicorn and ``stop`` ends it; each is answered by a line when it is done. When its input ends, so
does it.
"""

import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from gunicorn.app.base import BaseApplication

HOST = "127.0.0.1"


class ReadyServer:
    """One port of this machine on which a server can be started again and again, each time with nothing in memory."""

    def __init__(self, port: int, media: Path, environment: dict[str, str], folder: Path) -> None:
        """``media`` is where the server's environment has its media folder: a link to the one of the test."""
        self.base = f"http://localhost:{port}"
        self._media = media
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.ready_server"],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @contextmanager
    def running(self, media: Path) -> Iterator[str]:
        """Run the server on a media folder; yields its address on the public origin."""
        self._media.unlink(missing_ok=True)
        self._media.symlink_to(media, target_is_directory=True)
        self._send("start")
        try:
            yield self.base
        finally:
            self._send("stop")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        self._media.unlink(missing_ok=True)

    def _send(self, word: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        if self._process.stdout.readline() != "done\n":
            raise AssertionError(f"the server at {self.base} did not {word}")


class _Site(BaseApplication):  # type: ignore[misc]
    """The loaded site under gunicorn, on a socket that is open already."""

    def __init__(
        self, application: Callable[..., Any], descriptor: int, when_ready: Callable[..., None]
    ) -> None:
        self._application = application
        self._options = {
            "bind": f"fd://{descriptor}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": 8,
            "timeout": 0,  # a worker that the machine holds up is not one that hangs
            "loglevel": "critical",
            "post_worker_init": when_ready,
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        return self._application


def _start(application: Callable[..., Any], listener: socket.socket) -> int:
    """Fork a server, and return its process id once its worker takes requests."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        sys.stdin.close()
        try:
            _Site(application, listener.fileno(), lambda _: os.write(writing, b"!")).run()
        except Exception:
            traceback.print_exc()
        finally:  # gunicorn's own forks come by here too, and must not go back to reading our input
            os._exit(0)
    os.close(writing)
    try:
        if os.read(reading, 1) != b"!":
            raise RuntimeError("the server ended before it took requests")
    finally:
        os.close(reading)
    return child


def _stop(child: int) -> None:
    """End a server and its workers at once: a gunicorn that is asked to stop can wait for half a minute."""
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main() -> None:
    """Obey standard input until it ends."""
    child = 0
    # The port is taken before the site is loaded: in those seconds somebody else could take it.
    with socket.create_server((HOST, int(os.environ["PORT"]))) as listener:
        application = import_module("annotation_site.wsgi").application
        import_module(settings.ROOT_URLCONF)
        for line in sys.stdin:
            if line == "start\n":
                child = _start(application, listener)
            elif child:
                _stop(child)
                child = 0
            sys.stdout.write("done\n")
            sys.stdout.flush()
    if child:
        _stop(child)


if __name__ == "__main__":
    main()
