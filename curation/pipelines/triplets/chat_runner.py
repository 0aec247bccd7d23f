"""A run with its loaded chat model: asks, reads JSON, and asks once more for the JSON alone."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from curation.generation.chat import (
    ASSISTANT,
    ChatModel,
    ChatRequest,
    Message,
    system_message,
    user_message,
)
from curation.generation.chat_factory import get_chat_model
from curation.generation.pace import Pace
from curation.image_triplets.chat_prompts import ChatPrompts
from curation.models import ModelCall, ModelRun
from curation.pipelines.triplets.calls import CallSettings, send_chat
from curation.services.triplets.chat_options import ChatOptions
from curation.services.triplets.generation import project_prices, store_model_facts
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

Read = TypeVar("Read")
MAX_TOKENS = 512


@dataclass(frozen=True, slots=True)
class Asked:
    """The calls of one question: the first one, and the repeat that asks for JSON alone, if there was one."""

    calls: tuple[ModelCall, ...]

    @property
    def last(self) -> ModelCall:
        """The last call."""
        return self.calls[-1]


@dataclass(slots=True)
class ChatRunner:
    """A run's model, prompts and settings. ``models`` are the names that its replies state."""

    run: ModelRun
    model: ChatModel
    prompts: ChatPrompts
    options: ChatOptions
    settings: CallSettings
    models: set[str] = field(default_factory=set)

    def ask(
        self,
        parts: tuple[Any, ...],
        *,
        system: str,
        schema: Mapping[str, Any] | None,
        subject: str,
        is_readable: Callable[[ModelCall], bool],
        max_tokens: int = MAX_TOKENS,
    ) -> Asked:
        """Ask a question; if the reply cannot be read, ask once more for the JSON alone. Both replies are kept.

        Raises:
            CallFailed, CapReached, InvalidInput: see ``send_chat``.
            Refused: the server answers as another model than before.
        """
        messages = (system_message(system), user_message(*parts))
        request = ChatRequest(messages, schema, seed=self.options.seed, max_tokens=max_tokens)
        first = self._send(request, subject)
        if is_readable(first) or not first.text.strip():
            return Asked((first,))
        again = self.prompts["again"].text()
        repeated = ChatRequest(
            (*messages, Message(ASSISTANT, (first.text,)), user_message(again)),
            schema,
            seed=self.options.seed,
            max_tokens=max_tokens,
        )
        return Asked((first, self._send(repeated, f"{subject}, again")))

    def _send(self, request: ChatRequest, subject: str) -> ModelCall:
        call = send_chat(self.run, self.model, request, subject, self.settings, salt=self.options.fresh)
        if call.model:
            self.models.add(call.model)
        if len(self.models) > 1:
            raise Refused(
                f"{self.options.model}: replies come from {' and from '.join(sorted(self.models))}; these are not "
                "mixed. Name the exact version of the model, or start with --fresh NAME"
            )
        return call


def load_runner(
    run: ModelRun, options: ChatOptions, progress: Progress, *, models: Iterable[str] = ()
) -> ChatRunner:
    """Return a run's chat model with its settings, and store what its name resolved to.

    ``models`` are the names that stored replies of the same evaluation state.

    Raises:
        InvalidInput: the model cannot be loaded.
        Refused: the price table or the file of prompts is wrong.
    """
    model = get_chat_model(options.model)
    store_model_facts(run=run, model=model.model, revision=model.revision, licence="")

    def before_wait() -> None:
        progress.advance(progress.job.done, progress.job.total)  # notices a cancellation

    settings = CallSettings(
        project_prices(run.project),
        options.price_unknown,
        pace=Pace(options.per_minute),
        before_wait=before_wait,
    )
    return ChatRunner(run, model, options.load_prompts(), options, settings, set(models))


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object of a reply: the whole reply, or what stands between its first and last brace."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        found = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
