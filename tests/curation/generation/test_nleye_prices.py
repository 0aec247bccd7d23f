"""Prices in micro-dollars, and upper bounds of calls."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.generation.names import parse_chat_model, parse_generator
from curation.generation.prices import (
    PriceTable,
    TokenUsage,
    chat_bound,
    chat_cost,
    dollars_to_micro,
    image_cost,
    parse_prices,
)
from curation.records import InvalidInput

TABLE = """
[images."openai:pix"]
usd_per_image = 0.0000019
usd_per_million_input_tokens = 8
tokens_per_image = 1000
licence = " owner's terms "
[images."openai:pix".sizes]
1536x1024 = 0.06

[images."openai:flat"]
usd_per_image = 2

[chat."openai:eye"]
usd_per_million_input_tokens = 2.5
usd_per_million_output_tokens = 10
tokens_per_image = 1105

[chat."openai:blind"]
usd_per_million_input_tokens = 0.1
usd_per_million_output_tokens = 0.4
"""
PIX, FLAT, EYE, BLIND = (
    parse_generator("openai:pix"),
    parse_generator("openai:flat"),
    parse_chat_model("openai:eye"),
    parse_chat_model("openai:blind"),
)


PRICES = parse_prices(TABLE)


@pytest.fixture
def prices() -> PriceTable:
    return PRICES


def test_an_image_costs_its_price_and_its_prompt_rounded_up(prices: PriceTable) -> None:
    # 4 bytes and 32 tokens of the message: 36 × 8 micro-dollars, and 1.9 for the image, rounded up.
    assert image_cost(prices, PIX, prompt="a €", width=512, height=512) == (5 + 32) * 8 + 2
    assert image_cost(prices, PIX, prompt="abcd", width=1536, height=1024) == 60_000 + 36 * 8
    assert image_cost(prices, PIX, prompt="", width=9, height=9, reference_images=2) == 2 + (32 + 2000) * 8
    assert image_cost(prices, FLAT, prompt="x" * 9000, width=64, height=64) == 2_000_000
    assert prices.licence(PIX) == "owner's terms"
    assert prices.licence(FLAT) == ""


def test_a_chat_bound_counts_bytes_messages_images_and_the_whole_reply(prices: PriceTable) -> None:
    texts = ["Grüße", "{}"]  # 7 and 2 bytes
    tokens = 7 + 2 + 2 * 32 + 3 * 1105
    expected = Fraction(tokens * 5, 2) + 400 * 10
    bound = chat_bound(prices, EYE, texts=texts, images=3, max_tokens=400)
    assert bound == -(-expected.numerator // expected.denominator)


def test_local_models_cost_nothing_unless_they_are_priced(prices: PriceTable) -> None:
    for name in ("drawing", "diffusers:/models/sd"):
        assert image_cost(prices, parse_generator(name), prompt="a", width=64, height=64) == 0
    assert chat_bound(prices, parse_chat_model("canned"), texts=["a"], images=9, max_tokens=99) == 0
    own = parse_prices('[images."diffusers:/models/sd"]\nusd_per_image = 0.001')
    assert image_cost(own, parse_generator("diffusers:/models/sd"), prompt="a", width=64, height=64) == 1000


@pytest.mark.parametrize("call", ["image", "size", "chat", "picture"])
def test_an_unknown_price_is_refused_unless_it_is_accepted(prices: PriceTable, call: str) -> None:
    sized = parse_prices('[images."openai:pix".sizes]\n64x64 = 1')

    def ask(*, price_unknown: bool) -> int | None:
        if call == "image":
            name = parse_generator("openai:other")
            return image_cost(prices, name, prompt="a", width=64, height=64, price_unknown=price_unknown)
        if call == "size":
            return image_cost(sized, PIX, prompt="a", width=64, height=65, price_unknown=price_unknown)
        name = BLIND if call == "picture" else parse_chat_model("openai:other")
        return chat_bound(prices, name, texts=["a"], images=1, max_tokens=5, price_unknown=price_unknown)

    with pytest.raises(
        InvalidInput, match=r'openai:\w+: the price of .* is unknown; add it to \[\w+\."openai:'
    ):
        ask(price_unknown=False)
    assert ask(price_unknown=True) is None


@settings(max_examples=60)
@given(text=st.text(max_size=80), used=st.floats(0, 1), out=st.integers(0, 64), images=st.integers(0, 3))
def test_the_bound_is_never_below_the_cost(text: str, used: float, out: int, images: int) -> None:
    """Whatever a tokenizer makes of the bytes, and however much of the reply is used."""
    bound = chat_bound(PRICES, EYE, texts=[text], images=images, max_tokens=64)
    tokens = int((len(text.encode("utf-8", "surrogatepass")) + images * 1105) * used) + 32
    assert bound is not None
    assert chat_cost(PRICES, EYE, TokenUsage(tokens, out), bound=bound) <= bound


def test_a_reply_without_usage_costs_the_bound(prices: PriceTable) -> None:
    assert chat_cost(prices, EYE, TokenUsage(10, None), bound=77) == 77
    assert chat_cost(prices, EYE, TokenUsage(3, 1), bound=77) == 18  # 7.5 + 10, rounded up


BOTH = "usd_per_million_input_tokens = 1\nusd_per_million_output_tokens = 1\n"
REFUSED = {
    "[images": "is not valid TOML",
    "[pictures]\n": "'pictures' is not known; use images, chat",
    '[images."dalle"]\nusd_per_image = 1': "'dalle' is not known; use drawing",
    '[images."openai:a"]\nprice = 1': "'price' is not known; use usd_per_image",
    '[images."openai:a"]\nlicence = "x"': "has no price; give usd_per_image",
    '[images."openai:a"]\nusd_per_image = -1': "usd_per_image is '-1'; give dollars from 0",
    '[images."openai:a"]\nusd_per_image = nan': "usd_per_image is 'NaN'",
    '[images."openai:a"]\nusd_per_image = "1"': "usd_per_image is '1'",
    '[images."openai:a"]\nusd_per_image = true': "usd_per_image is 'True'",
    '[images."openai:a".sizes]\n1024 = 1': "'1024' is no size; write it as 1024x1024",
    f'[images."openai:a".sizes]\n{"9" * 5000}x1 = 1': "999' is no size; write it as 1024x1024",
    '[images."openai:a".sizes]\n"١٠٢٤x١٠٢٤" = 1': "'١٠٢٤x١٠٢٤' is no size; write it as 1024x1024",
    '[images."openai:a".sizes]\n1024x1024 = 1\n01024x1024 = 2': "'01024x1024' is no size",
    f'[images."openai:a"]\ntokens_per_image = {"9" * 5000}': "is not valid TOML",
    '[images]\n"openai:a" = 3': "is no table; write [",
    '[chat."openai:a"]\nusd_per_million_input_tokens = 1': "usd_per_million_output_tokens is missing",
    '[chat."openai:a"]\nusd_per_million_input_tokens = 20000\nusd_per_million_output_tokens = 1': "10,000",
    f'[chat."openai:a"]\n{BOTH}tokens_per_image = 1.5': "'1.5'",
    "chat = 1": "chat: is no table",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_wrong_table_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_prices(text, where="own.toml")
    assert str(caught.value).startswith("own.toml")
    assert REFUSED[text] in str(caught.value)


@pytest.mark.parametrize(
    ("dollars", "micro"),
    [
        ("2.50", 2_500_000),
        ("0.000001", 1),
        (Decimal(0), 0),
        ("0.0000001", None),
        ("-1", None),
        ("nan", None),
        ("x", None),
    ],
)
def test_caps_are_whole_micro_dollars(dollars: Decimal | str, micro: int | None) -> None:
    if micro is not None:
        assert dollars_to_micro(dollars, where="--cap-usd") == micro
        return
    with pytest.raises(InvalidInput, match=r"^--cap-usd: .* is no sum of dollars"):
        dollars_to_micro(dollars, where="--cap-usd")
