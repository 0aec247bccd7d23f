"""The queue on disk: kombu's filesystem transport, mended where one process may read what another still writes.

kombu creates a file and writes it afterwards. A reader that lists the folder in between finds an empty message or
an empty table of bindings, and the worker that reads it ends. Here a file is written under another name and then
renamed, so that it is there as a whole or not at all; and what cannot be read all the same, for instance after a
power failure, counts as not there. Nothing is lost by that: a message is only a wake-up, the work stands in job rows.
"""

import fcntl
import logging
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.transport.filesystem import exchange_queue_t
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0


class Channel(filesystem.Channel):
    """Reads and writes whole files only. The folders and the names of the messages are kombu's."""

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        try:
            _write_whole(Path(self.data_folder_out) / name, dumps(payload))
        except OSError as error:
            raise ChannelError(f"message {name}: cannot be written: {error}") from error

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names are all that is needed
            if name.partition(".")[2] == f"{queue}.msg":
                message = _take(folder / name)
                if message is not None:
                    return message
        raise Empty

    def get_table(self, exchange: str) -> list[exchange_queue_t]:  # type: ignore[override]
        """Return an exchange's bindings; one that cannot be read has none, until a queue is declared again."""
        path: Path = self._exchange_file(exchange)  # type: ignore[attr-defined]
        try:
            return [exchange_queue_t(*binding) for binding in loads(path.read_bytes())]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError):
            logger.warning("%s: cannot be read and is made anew", path)
            return []

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str | None, queue: str) -> None:
        binding = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._changing(exchange) as table:
            if binding not in table:
                table.insert(0, binding)

    def _delete(
        self, queue: str, exchange: str, routing_key: str, pattern: str | None, *args: Any, **kwargs: Any
    ) -> None:
        # Not kombu's filesystem channel, which writes the table in place, but the one above it.
        super(filesystem.Channel, self)._delete(queue, exchange, routing_key, pattern, *args, **kwargs)
        binding = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._changing(exchange) as table, suppress(ValueError):
            table.remove(binding)

    @contextmanager
    def _changing(self, exchange: str) -> Iterator[list[exchange_queue_t]]:
        """Yield an exchange's bindings and write what became of them; one process at a time."""
        path: Path = self._exchange_file(exchange)  # type: ignore[attr-defined]
        try:
            path.parent.mkdir(exist_ok=True)
            with (path.parent / "lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                table = self.get_table(exchange)
                before = list(table)
                yield table
                if table != before:
                    _write_whole(path, dumps(table))
        except OSError as error:
            raise ChannelError(f"{path}: cannot be written: {error}") from error


class Transport(filesystem.Transport):
    """Named in the settings by its dotted path."""

    Channel = Channel


def _write_whole(path: Path, text: str) -> None:
    """Write a file that no reader can see half of: their names end otherwise than this one's does meanwhile."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _take(path: Path) -> dict[str, Any] | None:
    """Return the message and delete its file, or ``None`` when it is not to be had (yet)."""
    try:
        message = _message(path.read_bytes())
    except FileNotFoundError:
        return None  # another reader was faster
    except (OSError, ValueError):
        _set_aside_once_old(path)
        return None
    try:
        path.unlink()  # of several readers one alone can, and that one has the message
    except OSError:
        return None
    return message


def _message(content: bytes) -> dict[str, Any]:
    """Return what kombu can make a message of.

    Raises:
        ValueError: the content is none, or not yet.
    """
    message = loads(content)
    properties = message.get("properties") if isinstance(message, dict) else None
    if not isinstance(properties, dict) or "delivery_tag" not in properties:
        raise ValueError("not a message")
    return message


def _set_aside_once_old(path: Path) -> None:
    """Rename what nobody can still be writing, so that it is looked at no more but by a person."""
    with suppress(OSError):  # another reader took it or set it aside meanwhile
        if time.time() - path.stat().st_mtime > PATIENCE_SECONDS:
            aside = path.replace(path.with_name(f"{path.name}.unreadable"))
            logger.error("a message in the queue cannot be read; set aside as %s", aside)
