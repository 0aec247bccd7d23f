"""The protocol between the web process and the encoder process: a big-endian 4-byte length, then JSON."""

import json
import struct
from collections.abc import Callable
from typing import Any

MAX_BYTES = 262_144
MAX_PAIRS = 64
_LENGTH = struct.Struct(">I")


class WireError(ValueError):
    """The received bytes are not a message; the text names the reason."""


def pack_message(message: dict[str, Any]) -> bytes:
    """Return a message as bytes."""
    body = json.dumps(message, allow_nan=False).encode()
    return _LENGTH.pack(len(body)) + body


def read_message(receive: Callable[[int], bytes]) -> dict[str, Any] | None:
    """Return the next message, or ``None`` when the other side closed the connection.

    Args:
        receive: returns at most the given number of bytes, and none at the end, like ``recv`` of a socket.

    Raises:
        WireError: too long, truncated, or not a JSON object.
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
        raise WireError("the message is not JSON") from error
    if not isinstance(message, dict):
        raise WireError("the message is not a JSON object")
    return message


def _read_exactly(receive: Callable[[int], bytes], length: int) -> bytes:
    """Return ``length`` bytes, or none if the other side closed the connection before the first."""
    chunks: list[bytes] = []
    missing = length
    while missing:
        chunk = receive(missing)
        if not chunk:
            if not chunks:
                return b""
            raise WireError("the message is truncated")
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)
