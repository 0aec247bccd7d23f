"""How the web process and the encoder process speak: JSON behind its length, four bytes, big end first."""

import json
import struct
from collections.abc import Callable
from typing import Any

MAX_BYTES = 262_144
MAX_PAIRS = 64
_LENGTH = struct.Struct(">I")


class WireError(ValueError):
    """What came is no message; the text says why."""


def pack_message(message: dict[str, Any]) -> bytes:
    """Return a message as bytes."""
    body = json.dumps(message, allow_nan=False).encode()
    return _LENGTH.pack(len(body)) + body


def read_message(receive: Callable[[int], bytes]) -> dict[str, Any] | None:
    """Return the next message, or ``None`` when the other side has ended.

    Args:
        receive: returns at most so many bytes, none at the end (``socket.recv``).

    Raises:
        WireError: too long, broken off, or no JSON object.
    """
    head = _read_exactly(receive, _LENGTH.size)
    if not head:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MAX_BYTES:
        raise WireError(f"the message has {length} bytes: send {MAX_BYTES} or fewer")
    try:
        message = json.loads(_read_exactly(receive, length))
    except (ValueError, RecursionError) as error:
        raise WireError("the message is no JSON") from error
    if not isinstance(message, dict):
        raise WireError("the message is no JSON object")
    return message


def _read_exactly(receive: Callable[[int], bytes], length: int) -> bytes:
    """Return ``length`` bytes, or none when the other side had ended before the first."""
    parts: list[bytes] = []
    missing = length
    while missing:
        part = receive(missing)
        if not part:
            if not parts:
                return b""
            raise WireError("the message breaks off")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
