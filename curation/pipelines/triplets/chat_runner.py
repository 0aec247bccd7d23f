"""A run with its loaded chat model: asks, reads JSON, and asks once more for the JSON alone."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from curation.generation.chat import (
    ASSISTANT,
    CONTENT_FILTER,
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
from curation.pipelines.triplets.calls import CallSettings, known_accepts, send_chat
from curation.selectors.triplets.model_calls import lost_calls
from curation.services.triplets.chat_options import ChatOptions
from curation.services.triplets.generation import project_prices, store_model_facts
from hits.domain.storable import storable_json
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Asked:
    """The calls of one question: the first one, and the repeat that asks for JSON alone, if there was one."""

    calls: tuple[ModelCall, ...]

    @property
    def last(self) -> ModelCall:
        """The last call."""
        return self.calls[-1]

    @property
    def is_refused(self) -> bool:
        """Whether the provider's rules refused the content, in a reply instead of an error."""
        return self.last.finish == CONTENT_FILTER


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
        repeat: int = 0,
    ) -> Asked:
        """Ask a question; if the reply cannot be read, ask once more for the JSON alone. Both replies are kept.

        A refusal is not asked again. ``repeat`` asks the same question anew, with another seed, if there is one.

        Raises:
            CallFailed, CapReached, InvalidInput: see ``send_chat``.
            Refused: the server answers as another model than before.
        """
        messages = (system_message(system), user_message(*parts))
        seed = None if self.options.seed is None else self.options.seed + repeat
        salt = f"{self.options.fresh} repeat {repeat}" if repeat and seed is None else self.options.fresh
        request = ChatRequest(messages, schema, seed=seed, max_tokens=self.options.max_tokens)
        first = self._send(request, subject, salt)
        if is_readable(first) or not first.text.strip() or first.finish == CONTENT_FILTER:
            return Asked((first,))
        again = self.prompts["again"].text()
        repeated = replace(
            request, messages=(*messages, Message(ASSISTANT, (first.text,)), user_message(again))
        )
        return Asked((first, self._send(repeated, f"{subject}, again", salt)))

    def _send(self, request: ChatRequest, subject: str, salt: str) -> ModelCall:
        call = send_chat(self.run, self.model, request, subject, self.settings, salt=salt)
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
    model = _load_model(run, options.model)
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


def second_runner(first: ChatRunner, model: str, *, models: Iterable[str] = ()) -> ChatRunner:
    """Return a second chat model of the same run, such as one that describes images; both share caps and pace."""
    options = replace(first.options, model=model)
    return ChatRunner(
        first.run, _load_model(first.run, model), first.prompts, options, first.settings, set(models)
    )


def _load_model(run: ModelRun, name: str) -> ChatModel:
    return get_chat_model(name, accepts=known_accepts(run.project, name))


def summarize_calls(run: ModelRun, stopped: str) -> dict[str, Any]:
    """Return the part of a job's result that is about its calls.

    stopped: why the run ended before its last call. maybe_paid_twice: what calls were for that were in flight when
    their process died.
    """
    run.refresh_from_db()
    lost = [call.subject for call in lost_calls(run)]
    found: dict[str, Any] = {"calls": run.calls_made, "committed_micro_usd": run.committed_micro}
    return found | ({"stopped": stopped} if stopped else {}) | ({"maybe_paid_twice": lost} if lost else {})


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object of a reply: the whole reply, or what stands between its first and last brace.

    Its texts and numbers are in a form that every database stores.
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        found = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return storable_json(found) if isinstance(found, dict) else None
