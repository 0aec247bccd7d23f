"""The queue on disk: each message is read whole and once, and what cannot be read ends nothing."""

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue
from kombu.simple import SimpleQueue
from kombu.utils.json import dumps

from annotation_site import filesystem_queue
from annotation_site.celery import app
from tests.support import children

QUEUE = Queue("told", Exchange("told"), routing_key="told")
MESSAGES = 4000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("messages", "control"):
        (tmp_path / name).mkdir()
    filesystem_queue.Transport.global_state.clear()  # what this process has declared, in whatever folder
    return tmp_path


@pytest.fixture
def queue(folder: Path) -> Iterator[SimpleQueue]:
    with _connection(folder) as connection, SimpleQueue(connection, QUEUE) as queue:
        yield queue


def _connection(folder: Path) -> Connection:
    return Connection(
        "filesystem://localhost//",
        transport="annotation_site.filesystem_queue:Transport",
        transport_options={
            "data_folder_in": str(folder / "messages"),
            "data_folder_out": str(folder / "messages"),
            "control_folder": str(folder / "control"),
            "polling_interval": 0.005,
        },
    )


def _names(folder: Path) -> list[str]:
    return [file.name for file in (folder / "messages").iterdir()]


def _next(queue: SimpleQueue) -> Any:
    """Return the next message's content, or ``None`` when there is none now."""
    try:
        message = queue.get(block=False)
    except queue.Empty:
        return None
    message.ack()
    return message.payload


def test_settings_name_this_transport() -> None:
    with app.connection_for_write() as connection:
        assert isinstance(connection.transport, filesystem_queue.Transport)


def test_message_is_invisible_until_complete(
    queue: SimpleQueue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    write = Path.write_text

    def look_while_writing(path: Path, text: str, **options: Any) -> int:
        write(path, text[:5], **options)
        seen.append((_names(folder), _next(queue)))
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", look_while_writing)
    queue.put({"number": 1})
    [(names, during)] = seen
    assert len(names) == 1  # the look was worth something: a file was there
    assert not names[0].endswith(".msg")  # which no reader takes for a message, kombu's own neither
    assert (during, _next(queue), _next(queue)) == (None, {"number": 1}, None)


def test_thousands_of_messages_are_each_read_once(folder: Path) -> None:
    def write() -> None:
        with _connection(folder) as connection, SimpleQueue(connection, QUEUE) as queue:
            for number in range(MESSAGES):
                queue.put({"number": number})

    with _connection(folder) as connection, SimpleQueue(connection, QUEUE) as queue:
        connection.connect()
        writer = children.start(write)
        read = [queue.get(timeout=30) for _ in range(MESSAGES)]
        assert children.wait(writer) == 0
        assert sorted(message.payload["number"] for message in read) == list(range(MESSAGES))
        for message in read:
            message.ack()
    assert _names(folder) == []


def test_message_goes_to_one_of_two_readers(queue: SimpleQueue, folder: Path) -> None:
    queue.put({"number": 1})
    [message] = (folder / "messages").iterdir()
    content = message.read_bytes()
    with _connection(folder) as connection, SimpleQueue(connection, QUEUE) as other:

        class Slow(type(message)):  # type: ignore[misc]
            """Its file is taken by the other reader after it was read."""

            def read_bytes(self) -> bytes:
                assert _next(other) == {"number": 1}
                return content

        assert filesystem_queue._pop_message(Slow(message)) is None


@pytest.mark.parametrize(
    "content", [b"", b'{"body": "W10', b"\xff", b"null", b'{"properties": {}}'], ids=range(5)
)
def test_unreadable_message_is_set_aside_after_a_minute(
    queue: SimpleQueue, folder: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    queue.put({"number": 1})
    broken = folder / "messages" / "0_first.told.msg"
    broken.write_bytes(content)
    assert _next(queue) == {"number": 1}
    assert _next(queue) is None
    assert broken.read_bytes() == content
    assert not caplog.records

    ago = time.time() - 61
    os.utime(broken, (ago, ago))
    with caplog.at_level(logging.ERROR):
        assert _next(queue) is None
    assert _names(folder) == ["0_first.told.msg.unreadable"]
    assert "0_first.told.msg.unreadable" in caplog.text


def test_late_message_is_read(queue: SimpleQueue, folder: Path) -> None:
    """An older release, which writes in place, may still be at work beside this one."""
    queue.put({"number": 1})
    [message] = (folder / "messages").iterdir()
    content = message.read_bytes()
    message.write_bytes(content[:20])
    assert _next(queue) is None
    message.write_bytes(content)
    assert _next(queue) == {"number": 1}


def test_failed_write_leaves_no_message(
    queue: SimpleQueue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(queue.channel.connection.client.channel_errors, match="No space left"):
        queue.put({"number": 1})
    assert _names(folder) == []


@pytest.mark.parametrize("content", ["", "[", '["ab"]', "7"])
def test_broken_binding_table_is_recreated(folder: Path, content: str) -> None:
    """A process that was killed while it started left an empty one, and every later start died of it."""
    (folder / "control" / "told.exchange").write_text(content)
    with _connection(folder) as connection, SimpleQueue(connection, QUEUE) as queue:
        queue.put({"number": 1})
        assert _next(queue) == {"number": 1}
    assert (folder / "control" / "told.exchange").read_text() == dumps([["told", "", "told"]])


def test_deleted_queue_has_no_binding(folder: Path) -> None:
    other = Queue("heard", Exchange("told"), routing_key="told")
    with _connection(folder) as connection:
        channel = connection.channel()
        for declared in (QUEUE, other):
            declared(channel).declare()
        assert {binding.queue for binding in channel.get_table("told")} == {"told", "heard"}
        other(channel).delete()
        assert {binding.queue for binding in channel.get_table("told")} == {"told"}
