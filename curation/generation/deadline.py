"""The time limit of a whole call: connecting, sending, and each byte of the reply, the headers included.

Libraries limit only the time between two bytes, so a server that sends one byte a second keeps a caller for ever.
"""

import socket
import threading
from contextlib import suppress
from contextvars import ContextVar
from types import TracebackType
from typing import Any

_current: ContextVar["Deadline | None"] = ContextVar("deadline", default=None)


class Deadline:
    """Shuts the connections of this thread's call when its time is over. Used in a ``with`` statement.

    The HTTP client tells its connections through ``trace``, its documented extension of requests.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._streams: list[Any] = []
        self.is_over = False

    def __enter__(self) -> "Deadline":
        self._token = _current.set(self)
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        _current.reset(self._token)
        with self._lock:
            self._streams.clear()

    def trace(self, event: str, facts: dict[str, Any]) -> None:
        """Note each new connection of the call; encryption replaces the first stream by another one."""
        stream = facts.get("return_value")
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")) and stream is not None:
            with self._lock:
                self._streams.append(stream)
                is_over = self.is_over
            if is_over:
                self._shut()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
        self._shut()

    def _shut(self) -> None:
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            connection = stream.get_extra_info("socket")
            if connection is not None:
                with suppress(OSError):  # it is closed already, or belongs to the encrypted stream now
                    connection.shutdown(socket.SHUT_RDWR)


def watch_request(request: Any) -> None:
    """Let the deadline of this thread's call watch a request of the HTTP client, if there is one."""
    deadline = _current.get()
    if deadline is not None:
        request.extensions = {**request.extensions, "trace": deadline.trace}
