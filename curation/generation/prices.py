"""Prices of generators and chat models, and upper bounds of what a call may cost, in integer micro-dollars.

A price table is a TOML text:

    [images."openai:gpt-image-1.5"]
    usd_per_image = 0.04
    usd_per_million_input_tokens = 8      # prompts and reference images; optional
    tokens_per_image = 1600               # of a reference image; needed with the line above
    licence = "owner's terms of 2026-05"  # of the output; optional
    [images."openai:gpt-image-1.5".sizes]
    1536x1024 = 0.06                      # instead of usd_per_image

    [chat."openai:gpt-4o-2024-08-06"]
    usd_per_million_input_tokens = 2.5
    usd_per_million_output_tokens = 10
    tokens_per_image = 1105               # the most that one image counts as; needed where images are sent

Names are those of ``curation.generation.names``. Local generators and models cost nothing and need no entry.

**The bound.** A tokenizer makes at most one token of a byte of UTF-8, so a request has at most as many text tokens as
bytes. A message adds at most ``TOKENS_PER_MESSAGE`` tokens, an image at most ``tokens_per_image``, and the reply
has at most ``max_tokens`` tokens. Sums are rounded up to a whole micro-dollar.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Any, TypeVar

from curation.generation.names import ModelName, parse_chat_model, parse_generator
from curation.records import InvalidInput

MICRO_DOLLARS = 1_000_000  # per dollar
TOKENS_PER_MESSAGE = 32  # role, separators and the start of the reply
MAX_DOLLARS = Decimal(10_000)  # of one image or of a million tokens: above it, somebody mistook the unit
MAX_TOKENS_PER_IMAGE = 1_000_000
_MILLION = 1_000_000
_INPUT, _OUTPUT = "usd_per_million_input_tokens", "usd_per_million_output_tokens"
_IMAGE_KEYS = ("usd_per_image", _INPUT, "tokens_per_image", "licence", "sizes")
_CHAT_KEYS = (_INPUT, _OUTPUT, "tokens_per_image")
# Without leading zeros, so that a size has one spelling.
_SIZE_PATTERN = re.compile(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})")
Price = TypeVar("Price")


@dataclass(frozen=True, slots=True)
class ImagePrice:
    """Dollars of an image, by size where given, and of a million input tokens."""

    per_image: Decimal | None
    sizes: Mapping[tuple[int, int], Decimal]
    per_million_input: Decimal = Decimal(0)
    tokens_per_image: int | None = None
    licence: str = ""


@dataclass(frozen=True, slots=True)
class ChatPrice:
    """Dollars of a million tokens. tokens_per_image: the most that one image counts as; ``None`` if not given."""

    per_million_input: Decimal
    per_million_output: Decimal
    tokens_per_image: int | None = None


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The prices of a project. sha256: of the text, for provenance."""

    images: Mapping[str, ImagePrice] = field(default_factory=dict)
    chats: Mapping[str, ChatPrice] = field(default_factory=dict)
    sha256: str = ""

    def licence(self, name: ModelName) -> str:
        """Return the licence of a generator's images as it was typed; empty if it was not."""
        price = self.images.get(name.text)
        return price.licence if price else ""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens that a reply says it used; ``None`` where it says nothing."""

    input_tokens: int | None = None
    output_tokens: int | None = None


def parse_prices(text: str, *, where: str = "prices.toml") -> PriceTable:
    """Return the price table of a TOML text.

    Raises:
        InvalidInput: it is not TOML, or names an unknown key, generator or model, or a price that is no price.
    """
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError) as error:  # ValueError: TOML, or a very long number
        raise InvalidInput(f"{where}: is not valid TOML ({str(error)[:120]}); correct it") from error
    _check_keys(content, ("images", "chat"), where)
    images = _read_section(content, "images", where, parse_generator, _read_image_price)
    chats = _read_section(content, "chat", where, parse_chat_model, _read_chat_price)
    return PriceTable(images, chats, hashlib.sha256(text.encode()).hexdigest())


def image_cost(
    prices: PriceTable,
    name: ModelName,
    *,
    prompt: str,
    width: int,
    height: int,
    reference_images: int = 0,
    price_unknown: bool = False,
) -> int | None:
    """Return the most that one image may cost, in micro-dollars.

    Args:
        prompt: as sent, with the negative prompt. reference_images: sent along, masks included.
        price_unknown: accept a generator without a price; its cost is then ``None``.

    Raises:
        InvalidInput: the price is unknown.
    """
    if name.is_local and name.text not in prices.images:
        return 0
    price = prices.images.get(name.text)
    per_image = price.sizes.get((width, height), price.per_image) if price else None
    if price is None or per_image is None:
        size = "" if price is None else f" of {width} × {height} pixels"
        _refuse_unknown("images", name, f"an image{size}", price_unknown=price_unknown)
        return None
    tokens = _text_tokens([prompt], messages=1)
    if reference_images and price.per_million_input:
        if price.tokens_per_image is None:
            _refuse_unknown(
                "images", name, "a reference image (tokens_per_image)", price_unknown=price_unknown
            )
            return None
        tokens += reference_images * price.tokens_per_image
    return _to_micro_dollars(per_image + tokens * price.per_million_input / _MILLION)


def chat_bound(
    prices: PriceTable,
    name: ModelName,
    *,
    texts: Sequence[str],
    images: int,
    max_tokens: int,
    price_unknown: bool = False,
) -> int | None:
    """Return the most that one chat request may cost, in micro-dollars; see this module's text.

    Args:
        texts: one for each message, and the JSON schema if there is one.
        price_unknown: accept a model without a price; its cost is then ``None``.

    Raises:
        InvalidInput: the price is unknown.
    """
    if name.is_local and name.text not in prices.chats:
        return 0
    price = prices.chats.get(name.text)
    if price is None:
        _refuse_unknown("chat", name, "a token", price_unknown=price_unknown)
        return None
    if images and price.tokens_per_image is None:
        _refuse_unknown("chat", name, "an image (tokens_per_image)", price_unknown=price_unknown)
        return None
    tokens = _text_tokens(texts, messages=len(texts)) + images * (price.tokens_per_image or 0)
    dollars = (tokens * price.per_million_input + max_tokens * price.per_million_output) / _MILLION
    return _to_micro_dollars(dollars)


def chat_cost(prices: PriceTable, name: ModelName, usage: TokenUsage, *, bound: int | None) -> int | None:
    """Return what a chat reply cost, in micro-dollars: by its usage; the bound if it states none.

    A usage above the bound is kept as it is: the server bills what it states.
    """
    price = prices.chats.get(name.text)
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return bound
    dollars = usage.input_tokens * price.per_million_input + usage.output_tokens * price.per_million_output
    return _to_micro_dollars(dollars / _MILLION)


def dollars_to_micro(dollars: Decimal | str, *, where: str) -> int:
    """Return a sum of dollars, such as a cap, in micro-dollars.

    Raises:
        InvalidInput: it is no sum of dollars, or has more than six decimals.
    """
    try:
        micro = Decimal(dollars) * MICRO_DOLLARS
        if micro.is_finite() and micro >= 0 and micro == micro.to_integral_value():
            return int(micro)
    except InvalidOperation:
        pass
    raise InvalidInput(f"{where}: {str(dollars)[:40]!r} is no sum of dollars; give a number such as 2.50")


def _text_tokens(texts: Sequence[str], *, messages: int) -> int:
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return size + messages * TOKENS_PER_MESSAGE


def _to_micro_dollars(dollars: Decimal) -> int:
    return int((dollars * MICRO_DOLLARS).to_integral_value(rounding=ROUND_CEILING))


def _refuse_unknown(section: str, name: ModelName, thing: str, *, price_unknown: bool) -> None:
    if not price_unknown:
        raise InvalidInput(
            f'{name.text}: the price of {thing} is unknown; add it to [{section}."{name.text}"] of the price table, '
            "or say --price-unknown to go on without a cap in dollars"
        )


def _read_section(
    content: Mapping[str, Any],
    section: str,
    where: str,
    parse: Callable[[str], ModelName],
    read: Callable[[Mapping[str, Any], str], Price],
) -> dict[str, Price]:
    entries = _table(content.get(section, {}), f"{where}, {section}")
    found = {}
    for name, entry in entries.items():
        location = f'{where}, {section}."{name}"'
        try:
            parse(name)
        except InvalidInput as error:
            raise InvalidInput(f"{where}, {section}: {error}") from error
        found[name] = read(_table(entry, location), location)
    return found


def _read_image_price(entry: Mapping[str, Any], location: str) -> ImagePrice:
    _check_keys(entry, _IMAGE_KEYS, location)
    sizes = {
        _size(key, location): _dollars({key: value}, key, f"{location}.sizes")
        for key, value in _table(entry.get("sizes", {}), f"{location}.sizes").items()
    }
    per_image = _dollars(entry, "usd_per_image", location) if "usd_per_image" in entry else None
    if per_image is None and not sizes:
        raise InvalidInput(f"{location}: has no price; give usd_per_image, or a table sizes")
    licence = entry.get("licence", "")
    if not isinstance(licence, str):
        raise InvalidInput(f"{location}: licence is no text; put it in quotes")
    per_million = _dollars(entry, _INPUT, location) if _INPUT in entry else Decimal(0)
    return ImagePrice(per_image, sizes, per_million, _tokens_per_image(entry, location), licence.strip())


def _read_chat_price(entry: Mapping[str, Any], location: str) -> ChatPrice:
    _check_keys(entry, _CHAT_KEYS, location)
    per_input, per_output = _dollars(entry, _INPUT, location), _dollars(entry, _OUTPUT, location)
    return ChatPrice(per_input, per_output, _tokens_per_image(entry, location))


def _dollars(entry: Mapping[str, Any], key: str, location: str) -> Decimal:
    value = entry.get(key)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        dollars = Decimal(value)
        if dollars.is_finite() and 0 <= dollars <= MAX_DOLLARS:
            return dollars
    found = "is missing" if value is None else f"is {str(value)[:40]!r}"
    raise InvalidInput(f"{location}: {key} {found}; give dollars from 0 to {MAX_DOLLARS:,}")


def _tokens_per_image(entry: Mapping[str, Any], location: str) -> int | None:
    value = entry.get("tokens_per_image")
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS_PER_IMAGE:
        return value
    raise InvalidInput(
        f"{location}: tokens_per_image is {str(value)[:40]!r}; give a whole number up to {MAX_TOKENS_PER_IMAGE:,}"
    )


def _size(key: str, location: str) -> tuple[int, int]:
    found = _SIZE_PATTERN.fullmatch(key)
    if found is None:
        raise InvalidInput(f"{location}.sizes: {key[:40]!r} is no size; write it as 1024x1024")
    return int(found[1]), int(found[2])


def _table(value: Any, location: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise InvalidInput(f"{location}: is no table; write [{location.partition(', ')[2] or location}]")


def _check_keys(table: Mapping[str, Any], known: Sequence[str], location: str) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise InvalidInput(f"{location}: {unknown[0]!r} is not known; use {', '.join(known)}")
