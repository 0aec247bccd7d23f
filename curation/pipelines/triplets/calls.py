"""Send calls to generators and chat models: reserved first, repeated on passing failures, settled by the reply.

A call whose reply is stored is never sent again. The three crash points lie between the steps.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from django.db import connections

from curation.generation.chat import ChatModel, ChatRequest, check_chat_request, describe_request, reply_key
from curation.generation.errors import CallFailed, ContentRefused
from curation.generation.images import ImageGenerator, ImageReply, ImageRequest, check_abilities
from curation.generation.names import parse_chat_model, parse_generator
from curation.generation.pace import Pace
from curation.generation.prices import PriceTable, chat_bound, chat_cost, image_cost
from curation.generation.retries import RetryPolicy, call_with_retries
from curation.models import CallState, ModelCall, ModelRun
from curation.services.triplets.model_calls import (
    CallReply,
    PlannedCall,
    fail_call,
    find_settled_call,
    reserve_call,
    settle_call,
)
from hits.domain.crashpoints import crash_point

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Prices and pace of a run's calls. ``before_wait`` is called before a wait; it may raise to end the run."""

    prices: PriceTable
    price_unknown: bool = False
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    pace: Pace = field(default_factory=lambda: Pace(None))
    before_wait: Callable[[], None] = lambda: None


def send_chat(
    run: ModelRun,
    model: ChatModel,
    request: ChatRequest,
    subject: str,
    settings: CallSettings,
    *,
    salt: str = "",
) -> ModelCall:
    """Return the settled call of a request: the stored one, or else a new one.

    ``salt`` is part of the key, so that a reply that was stored under another one is not used.

    Raises:
        CapReached: the price does not fit under the run's caps.
        CallFailed: the last try failed; its row has the message.
        InvalidInput: the request is wrong, or its price is unknown.
    """
    check_chat_request(request)
    key = reply_key(model, request)
    if salt:
        key = hashlib.sha256(f"{salt} {key}".encode()).hexdigest()
    stored = find_settled_call(run.project, key)
    if stored is not None:
        return stored
    name = parse_chat_model(model.name)
    bound = chat_bound(
        settings.prices,
        name,
        texts=request.texts,
        images=len(request.images),
        max_tokens=request.max_tokens,
        price_unknown=settings.price_unknown,
    )

    def send(number: int) -> ModelCall:
        call = _reserve(run, key, subject, bound, describe_request(request))
        settings.pace.wait()
        try:
            reply = model.reply(request)
        except CallFailed as error:
            _fail(call, error, number)
            raise
        crash_point("model.after_call")
        cost = chat_cost(settings.prices, name, reply.tokens, bound=bound)
        settled = settle_call(
            call=call,
            reply=CallReply(
                text=reply.text,
                finish=reply.finish,
                model=reply.model,
                usage=reply.usage,
                raw=reply.raw,
                cost_micro=cost,
                seconds=reply.seconds,
                tries=number,
            ),
        )
        crash_point("model.after_result")
        return settled

    return call_with_retries(send, policy=settings.policy, before_wait=lambda *_: settings.before_wait())


@dataclass(frozen=True, slots=True)
class DrawnImage:
    """A reply with its call, not yet settled: the image is stored first."""

    call: ModelCall
    reply: ImageReply
    tries: int


def send_image(
    run: ModelRun,
    generator: ImageGenerator,
    request: ImageRequest,
    planned: PlannedCall,
    settings: CallSettings,
) -> DrawnImage:
    """Draw one image; the caller stores it and settles the call (``settle_image``).

    Raises:
        CapReached: the price does not fit under the run's caps.
        CallFailed: the last try failed; its row has the message.
        InvalidInput: the generator cannot do what is asked.
    """
    check_abilities(generator, request)

    def send(number: int) -> DrawnImage:
        call = _reserve(run, planned.key, planned.subject, planned.micro, planned.request)
        settings.pace.wait()
        try:
            reply = generator.generate(request)
        except CallFailed as error:
            _fail(call, error, number)
            raise
        crash_point("model.after_call")
        return DrawnImage(call, reply, number)

    return call_with_retries(send, policy=settings.policy, before_wait=lambda *_: settings.before_wait())


def settle_image(drawn: DrawnImage) -> ModelCall:
    """Settle a drawn image's call after the image is stored."""
    reply = drawn.reply
    settled = settle_call(
        call=drawn.call,
        reply=CallReply(
            model=reply.model,
            usage=reply.usage,
            raw=dict(reply.metadata),
            seconds=reply.seconds,
            tries=drawn.tries,
        ),
    )
    crash_point("model.after_result")
    return settled


def plan_image_call(
    generator: ImageGenerator,
    request: ImageRequest,
    *,
    subject: str,
    settings: CallSettings,
) -> PlannedCall:
    """Return the call of one image: its key is the hash of all that the image depends on, and of its subject.

    Raises:
        InvalidInput: its price is unknown.
    """
    described = describe_image_request(request)
    content = [generator.name, generator.model, generator.revision, subject, described]
    price = image_cost(
        settings.prices,
        parse_generator(generator.name),
        prompt=f"{request.prompt}\n{request.negative}",
        width=request.width,
        height=request.height,
        reference_images=sum(part is not None for part in (request.reference, request.mask)),
        price_unknown=settings.price_unknown,
    )
    return PlannedCall(
        key=hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
        subject=subject,
        micro=price or 0,
        request=described,
    )


def describe_image_request(request: ImageRequest) -> dict[str, Any]:
    """Return a request as JSON: hashes instead of images."""
    found = asdict(request)
    for name in ("reference", "mask"):
        found[name] = None if found[name] is None else hashlib.sha256(found[name]).hexdigest()
    return found


def was_refused(run: ModelRun, key: str) -> bool:
    """Return whether the provider refused the content of an equal call; it is not sent again."""
    return ModelCall.objects.filter(project=run.project_id, key=key, state=CallState.REFUSED).exists()


def _reserve(
    run: ModelRun, key: str, subject: str, micro: int | None, request: Mapping[str, Any]
) -> ModelCall:
    call = reserve_call(run=run, planned=PlannedCall(key, subject, micro or 0, request))
    crash_point("model.after_intent")
    return call


def _fail(call: ModelCall, error: CallFailed, tries: int) -> None:
    fail_call(
        call=call,
        error=str(error),
        may_cost=error.may_cost,
        is_refusal=isinstance(error, ContentRefused),
        raw=error.raw,
        tries=tries,
    )


def run_parallel(items: Iterable[Item], work: Callable[[Item], Result], *, threads: int) -> Iterator[Result]:
    """Yield the results of ``work`` in the order of ``items``; each thread has its own database connection."""
    if threads <= 1:
        for item in items:
            yield work(item)
        return

    def run(item: Item) -> Result:
        try:
            return work(item)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(run, items)
