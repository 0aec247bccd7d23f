"""The queue on disk: kombu's filesystem transport with atomic writes.

kombu creates a file and then writes it. A reader that lists the folder in between finds an empty message or an empty
table of bindings, and its worker stops. Here a file is written under another name and then renamed. A file that is
still unreadable, for instance after a power failure, counts as missing. Nothing is lost: a message is only a wake-up,
the work is in job rows.
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

UNREADABLE_AFTER_SECONDS = 60.0


class Channel(filesystem.Channel):
    """A channel that reads and writes complete files only. Folders and message names are kombu's."""

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        try:
            _write_atomically(Path(self.data_folder_out) / name, dumps(payload))
        except OSError as error:
            raise ChannelError(f"message {name}: cannot be written: {error}") from error

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names are all that is needed
            if name.partition(".")[2] == f"{queue}.msg":
                message = _pop_message(folder / name)
                if message is not None:
                    return message
        raise Empty

    def get_table(self, exchange: str) -> list[exchange_queue_t]:  # type: ignore[override]
        """Return an exchange's bindings; an unreadable table is empty until a queue is declared again."""
        path: Path = self._exchange_file(exchange)  # type: ignore[attr-defined]
        try:
            return [exchange_queue_t(*binding) for binding in loads(path.read_bytes())]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError):
            logger.warning("%s: cannot be read and is created again", path)
            return []

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str | None, queue: str) -> None:
        binding = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._locked_table(exchange) as table:
            if binding not in table:
                table.insert(0, binding)

    def _delete(
        self, queue: str, exchange: str, routing_key: str, pattern: str | None, *args: Any, **kwargs: Any
    ) -> None:
        # Skip kombu's filesystem channel, which writes the table in place.
        super(filesystem.Channel, self)._delete(queue, exchange, routing_key, pattern, *args, **kwargs)
        binding = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._locked_table(exchange) as table, suppress(ValueError):
            table.remove(binding)

    @contextmanager
    def _locked_table(self, exchange: str) -> Iterator[list[exchange_queue_t]]:
        """Yield an exchange's bindings and write the changed list; one process at a time."""
        path: Path = self._exchange_file(exchange)  # type: ignore[attr-defined]
        try:
            path.parent.mkdir(exist_ok=True)
            with (path.parent / "lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                table = self.get_table(exchange)
                before = list(table)
                yield table
                if table != before:
                    _write_atomically(path, dumps(table))
        except OSError as error:
            raise ChannelError(f"{path}: cannot be written: {error}") from error


class Transport(filesystem.Transport):
    """The transport that the settings name."""

    Channel = Channel


def _write_atomically(path: Path, text: str) -> None:
    """Write a file under a temporary name that no reader looks for, then rename it."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def _pop_message(path: Path) -> dict[str, Any] | None:
    """Return the message and delete its file, or ``None`` when it is taken or not readable yet."""
    try:
        message = _parse_message(path.read_bytes())
    except FileNotFoundError:
        return None  # another reader was faster
    except (OSError, ValueError):
        _set_unreadable_file_aside(path)
        return None
    try:
        path.unlink()  # only one of several readers succeeds, and it gets the message
    except OSError:
        return None
    return message


def _parse_message(content: bytes) -> dict[str, Any]:
    """Return the message of a file.

    Raises:
        ValueError: the content is not a (complete) message.
    """
    message = loads(content)
    properties = message.get("properties") if isinstance(message, dict) else None
    if not isinstance(properties, dict) or "delivery_tag" not in properties:
        raise ValueError("not a message")
    return message


def _set_unreadable_file_aside(path: Path) -> None:
    """Rename an unreadable file so that readers skip it, unless a process may still be writing it."""
    with suppress(OSError):  # another reader took it or set it aside meanwhile
        if time.time() - path.stat().st_mtime > UNREADABLE_AFTER_SECONDS:
            aside = path.replace(path.with_name(f"{path.name}.unreadable"))
            logger.error("a message in the queue cannot be read; set aside as %s", aside)
