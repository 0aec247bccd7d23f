"""Send calls to generators and chat models: reserved first, repeated on passing failures, settled by the reply.

A call whose reply is stored is never sent again. The three crash points lie between the steps.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from threading import Event, Lock
from typing import Any, TypeVar

from django.db import connections

from curation.generation.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    check_chat_request,
    describe_request,
    reply_key,
)
from curation.generation.errors import BadReply, CallFailed, ContentRefused, Transient
from curation.generation.images import ImageGenerator, ImageReply, ImageRequest, check_abilities
from curation.generation.names import parse_chat_model, parse_generator
from curation.generation.pace import Pace
from curation.generation.prices import PriceTable, chat_bound, chat_cost, image_cost
from curation.generation.retries import RetryPolicy, call_with_retries
from curation.models import CallState, ModelCall, ModelRun
from curation.pipelines.triplets.in_flight import CallsInFlight
from curation.records import InvalidInput
from curation.services.triplets.model_calls import (
    BAD_REPLY_FINISH,
    REFUSED_FINISH,
    CallReply,
    CapReached,
    Failure,
    PlannedCall,
    fail_call,
    find_refused_call,
    find_settled_call,
    reserve_call,
    settle_call,
)
from hits.domain.crashpoints import crash_point
from hits.models import Project
from hits.services.errors import Conflict, Refused

Item = TypeVar("Item")
Result = TypeVar("Result")


_keys_lock = Lock()
_locks: dict[str, tuple[Lock, int]] = {}
"""The lock of each key that is asked now, and how many threads hold it or wait for it."""


class ProviderRefused(ContentRefused):
    """The provider's rules refuse the content; ``call`` is the stored refusal: an error, or a reply that says so."""

    def __init__(self, call: ModelCall) -> None:
        super().__init__(call.error or call.text, raw=call.reply)
        self.call = call


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Prices and pace of a run's calls, and which of them are in flight.

    before_wait: called before or after a wait. before_images: called before a new call that shows images. Both may
    raise to end the run.
    """

    prices: PriceTable
    price_unknown: bool = False
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    pace: Pace = field(default_factory=lambda: Pace(None))
    before_wait: Callable[[], None] = lambda: None
    before_images: Callable[[], None] = lambda: None
    in_flight: CallsInFlight = field(default_factory=CallsInFlight)

    def wait_for_turn(self) -> None:
        """Wait for the pace before a call is reserved: what is reserved is sent at once, and else counts as paid."""
        if self.pace.wait() > 0:
            self.before_wait()  # notices a cancellation


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

    ``salt`` is part of the key, so that a reply that was stored under another one is not used. Threads that ask the
    same wait for the first one's reply.

    Raises:
        CapReached: the price does not fit under the run's caps.
        ProviderRefused: the provider refuses the content now, or did before.
        CallFailed: the last try failed; its row has the message.
        InvalidInput: the request is wrong, or its price is unknown.
    """
    check_chat_request(request)
    key = reply_key(model, request)
    if salt:
        key = hashlib.sha256(f"{salt} {key}".encode()).hexdigest()
    with _one_at_a_time(key):
        stored = _find_stored(run, key)
        if stored is not None:
            return stored
        return _send_new_chat(run, model, request, PlannedCall(key, subject, 0), settings)


def _send_new_chat(
    run: ModelRun, model: ChatModel, request: ChatRequest, planned: PlannedCall, settings: CallSettings
) -> ModelCall:
    if request.images:
        settings.before_images()
    name = parse_chat_model(model.name)
    bound = chat_bound(
        settings.prices,
        name,
        texts=request.texts,
        images=len(request.images),
        max_tokens=request.max_tokens,
        price_unknown=settings.price_unknown,
    )
    priced = replace(planned, micro=bound or 0, request=describe_request(request))

    def send(number: int) -> ModelCall:
        reserved = settings.in_flight.reserved(
            lambda: _reserve(run, priced), before_try=settings.wait_for_turn
        )
        try:
            with reserved as call:
                return reply_to(call, number)
        except Conflict:
            stored = _find_stored(run, priced.key)  # another process settled it after we looked
            if stored is None:
                raise
            return stored

    def reply_to(call: ModelCall, number: int) -> ModelCall:
        with _failures_are_stored(call, number):
            reply = model.reply(request)
        crash_point("model.after_call")
        settled = settle_call(
            call=call,
            reply=CallReply(
                text=reply.text,
                finish=reply.finish,
                model=reply.model,
                usage=reply.usage,
                raw=reply.raw,
                sent=_describe_sent(model, reply),
                cost_micro=chat_cost(settings.prices, name, reply.tokens, bound=bound),
                seconds=reply.seconds,
                tries=number,
            ),
        )
        crash_point("model.after_result")
        return settled

    return _repeat(send, settings)


def _find_stored(run: ModelRun, key: str) -> ModelCall | None:
    """Return the settled call of a key. Raises ProviderRefused if its content was refused before."""
    refused = find_refused_call(run.project, key)
    if refused is not None:
        raise ProviderRefused(refused)
    return find_settled_call(run.project, key)


def _describe_sent(model: ChatModel, reply: ChatReply) -> dict[str, Any]:
    """Return what the server really got: parameters, and the sizes of the images as they were scaled."""
    sent = dict(reply.sent)
    if "response_format" in sent:
        sent["response_format"] = sent["response_format"]["type"]  # the schema stands in the request
    return {
        "to": model.name,
        "parameters": sent,
        "images": [image._asdict() for image in reply.images],
        "accepts": dict(model.accepts),
    }


def known_accepts(project: Project, model_name: str) -> Mapping[str, Any]:
    """Return what the server of a chat model turned out to take in the project's newest call, so as to ask once."""
    calls = ModelCall.objects.filter(project=project, state=CallState.SETTLED, request__sent__to=model_name)
    newest = calls.order_by("-pk").values_list("request", flat=True).first()
    found: Mapping[str, Any] = newest["sent"]["accepts"] if newest else {}
    return found


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
        settings.wait_for_turn()
        call = _reserve(run, planned)
        with _failures_are_stored(call, number):
            reply = generator.generate(request)
        crash_point("model.after_call")
        return DrawnImage(call, reply, number)

    return _repeat(send, settings)


def settle_image(drawn: DrawnImage) -> ModelCall:
    """Settle a drawn image's call, in the transaction that stores the image."""
    reply = drawn.reply
    return settle_call(
        call=drawn.call,
        reply=CallReply(
            model=reply.model,
            usage=reply.usage,
            raw=dict(reply.metadata),
            seconds=reply.seconds,
            tries=drawn.tries,
        ),
    )


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


def _reserve(run: ModelRun, planned: PlannedCall) -> ModelCall:
    call = reserve_call(run=run, planned=planned)
    crash_point("model.after_intent")
    return call


def _repeat(send: Callable[[int], Result], settings: CallSettings) -> Result:
    """Send a call, again after passing failures. If the cap leaves no room for that, the failure is told, too."""
    failures: list[Transient] = []

    def before_wait(error: Transient, _: float) -> None:
        failures.append(error)
        settings.before_wait()

    try:
        return call_with_retries(send, policy=settings.policy, before_wait=before_wait)
    except CapReached as error:
        if failures:
            raise CapReached(f"{error}. The try before failed: {failures[-1]}") from error
        raise


@contextmanager
def _failures_are_stored(call: ModelCall, tries: int) -> Iterator[None]:
    """Store why a call failed. What the adapter refuses before it sends anything is free."""
    try:
        yield
    except ContentRefused as error:
        failure = Failure(str(error), error.may_cost, REFUSED_FINISH, error.raw, tries)
        raise ProviderRefused(fail_call(call=call, failure=failure)) from error
    except CallFailed as error:
        finish = BAD_REPLY_FINISH if isinstance(error, BadReply) else ""
        fail_call(call=call, failure=Failure(str(error), error.may_cost, finish, error.raw, tries))
        raise
    except (InvalidInput, Refused, OSError) as error:  # an image could not be read
        fail_call(call=call, failure=Failure(str(error), may_cost=False, tries=tries))
        raise
    except Exception as error:
        failure = Failure(f"{type(error).__name__} in the adapter", may_cost=True, tries=tries)
        fail_call(call=call, failure=failure)
        raise


@contextmanager
def _one_at_a_time(key: str) -> Iterator[None]:
    """Let threads of this process that ask the same wait for one another."""
    with _keys_lock:
        lock, users = _locks.get(key, (Lock(), 0))
        _locks[key] = lock, users + 1
    try:
        with lock:
            yield
    finally:
        with _keys_lock:
            _, users = _locks.pop(key)
            if users > 1:
                _locks[key] = lock, users - 1


def run_parallel(items: Iterable[Item], work: Callable[[Item], Result], *, threads: int) -> Iterator[Result]:
    """Yield the results of ``work`` in the order of ``items``; each thread has its own database connection.

    The first error of ``work`` ends it. With several threads, the results of calls that were in flight come first:
    they are paid. What has not begun then is left out.
    """
    if threads <= 1:
        for item in items:
            yield work(item)
        return

    has_failed = Event()

    def run(item: Item) -> Result:
        if has_failed.is_set():
            raise CancelledError
        try:
            return work(item)
        except BaseException:
            has_failed.set()
            raise
        finally:
            connections.close_all()

    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(run, item) for item in items]
        try:
            yield from _results_before_failure(waiting)
        finally:
            for future in waiting:
                future.cancel()


def _results_before_failure(waiting: Sequence[Future[Result]]) -> Iterator[Result]:
    failure: Exception | None = None
    for future in waiting:
        try:
            result = future.result()
        except CancelledError:
            continue
        except Exception as error:
            failure = failure or error
        else:
            yield result
    if failure is not None:
        raise failure
