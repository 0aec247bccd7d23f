"""What every run of a chat model has: the model, its caps, its pace, and the prompts that it is asked with."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from curation.generation import names
from curation.generation.prices import chat_bound
from curation.image_triplets.chat_prompts import ChatPrompts, default_prompts, read_prompts
from curation.services.options import check_at_least
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.generation import project_prices
from curation.services.triplets.model_calls import MICRO_DOLLARS, cap_in_micro
from hits.models import Project
from hits.services.errors import Refused

MAX_THREADS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How a chat model is called.

    model: a name of ``curation.generation.names``. cap_usd, cap_calls: the most that the run may cost and send.
    price_unknown: call although the price table has no price. per_minute: calls a minute, ``None`` for no limit.
    threads: calls at once. prompts: a file of prompts; empty for the built-in ones. seed: if the server takes one.
    fresh: part of every key, so that stored replies of other runs are not used.
    """

    model: str = names.CANNED
    cap_usd: float = 0.0
    cap_calls: int | None = None
    price_unknown: bool = False
    per_minute: float | None = None
    threads: int = 1
    prompts: str = ""
    seed: int | None = 0
    fresh: str = ""
    max_tokens: ClassVar[int] = 512
    """Of a reply; a longer one is cut, and cannot be read."""

    def __post_init__(self) -> None:
        self.check_chat()

    def check_chat(self) -> None:
        """Check the options. Raises Refused with the option's name."""
        with refuse_invalid_input():
            names.parse_chat_model(self.model)
        cap_in_micro(self.cap_usd)
        if self.cap_calls is not None:
            check_at_least("cap_calls", self.cap_calls, 1)
        if self.per_minute is not None and not 0 < self.per_minute <= 100_000:  # noqa: PLR2004
            raise Refused(f"per_minute: {self.per_minute:g}; use a number over 0")
        if not 1 <= self.threads <= MAX_THREADS:
            raise Refused(f"threads: {self.threads}; use 1 to {MAX_THREADS}")

    def load_prompts(self) -> ChatPrompts:
        """Return the prompts. Raises Refused if the file cannot be used."""
        with refuse_invalid_input():
            return read_prompts(Path(self.prompts)) if self.prompts else default_prompts()


def check_chat_cap(
    project: Project, options: ChatOptions, *, model: str = "", has_images: bool = False
) -> int:
    """Return the cap of a run in micro-dollars.

    Args:
        model: by default that of the options. has_images: whether its questions have images.

    Raises:
        Refused: the price is unknown, and the options do not accept that; or the cap is below the shortest call.
    """
    cap = cap_in_micro(options.cap_usd)
    with refuse_invalid_input():
        name = names.parse_chat_model(model or options.model)
        bound = chat_bound(
            project_prices(project),
            name,
            texts=[],
            images=int(has_images),
            max_tokens=options.max_tokens,
            price_unknown=options.price_unknown,
        )
    if bound is not None and bound > cap:
        raise Refused(
            f"cap: one call of {name.text} may cost ${bound / MICRO_DOLLARS:.4f} or more, and the cap is "
            f"${options.cap_usd:g}; raise it (--cap-usd)"
        )
    return cap
