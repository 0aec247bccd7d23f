"""A RabbitMQ node of a test's own, so that its settings and queues disturb nobody."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # not the wrapper, which runs as the system's own user
START_SECONDS = 120


@contextmanager
def node(folder: Path, **settings: str) -> Iterator[str]:
    """Run a node with its files in ``folder``, and yield its address; skips loudly where there is none to run."""
    if not SERVER.exists() or shutil.which("erl") is None:
        pytest.skip("RabbitMQ is not installed: ITS TESTS ARE SKIPPED")
    port, distribution = _free_port(), _free_port()
    (folder / "rabbitmq.conf").write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    (folder / "plugins").write_text("[].\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RABBITMQ_")} | {
        "HOME": str(folder),  # the cookie's place
        "RABBITMQ_NODENAME": f"test{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(distribution),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
    }
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(
            [str(SERVER)], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            _wait(port, process, folder / "output.log")
            yield f"amqp://guest:guest@127.0.0.1:{port}//"
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()


def _wait(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    wait_until(
        lambda: process.poll() is not None or _answers(port),
        START_SECONDS,
        f"RabbitMQ did not start; see {log}",
    )
    assert process.poll() is None, f"RabbitMQ did not start: {log.read_text()[-2000:]}"


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        try:
            probe.connect(("127.0.0.1", port))
            probe.sendall(b"AMQP\x00\x00\x09\x01")  # it answers once it is really there
            return bool(probe.recv(1))
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
