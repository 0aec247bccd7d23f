"""What can go wrong in a call to a generator or chat model, and what may be done about it.

Messages are one line and hold no key. ``raw`` is the server's reply without keys, for the record of the call.
"""

from typing import Any

from curation.generation.keys import blank_keys
from curation.records import InvalidInput
from hits.domain.storable import storable_json, storable_text

MAX_MESSAGE_LENGTH = 600


class ModelUnavailable(InvalidInput):
    """A package, weights, an address or a key is missing; the message says how to get it."""


class LacksAbility(InvalidInput):
    """A request asks for something that the generator cannot do; nothing was sent."""


class CallFailed(InvalidInput):
    """A call gave no usable reply.

    raw: the reply as received, without keys; ``None`` if there was none.
    may_cost: whether the provider may charge for it. A call that may cost counts at its full price.
    """

    may_cost = False

    def __init__(self, message: str, *, raw: Any = None, may_cost: bool | None = None) -> None:
        text = " ".join(str(blank_keys(storable_text(message))).split())
        super().__init__(text if len(text) <= MAX_MESSAGE_LENGTH else text[: MAX_MESSAGE_LENGTH - 1] + "…")
        self.raw = blank_keys(storable_json(raw))
        if may_cost is not None:
            self.may_cost = may_cost


class Transient(CallFailed):
    """The same call may succeed later. retry_after: seconds that the server asks to wait; ``None`` if it does not."""

    def __init__(
        self, message: str, *, retry_after: float | None = None, raw: Any = None, may_cost: bool | None = None
    ) -> None:
        super().__init__(message, raw=raw, may_cost=may_cost)
        self.retry_after = retry_after


class AskDifferently(Transient):
    """The server refused a parameter, and the adapter leaves it out from now on: the call can be repeated at once."""


class Permanent(CallFailed):
    """The same call would fail again."""


class Unusable(Permanent):
    """Every other call would fail, too: the key, the model's name, the address, or the account's quota is wrong."""


class ContentRefused(CallFailed):
    """The provider's rules refuse the content. A refusal is stored as a refusal."""


class BadReply(CallFailed):
    """A reply without a usable content: cut off, too large, no image, or an image from another origin."""

    may_cost = True
