"""Which marketplace is meant, and the guard before the one that costs real money."""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from hits.domain.money import AMAZON_FEES, FeeSchedule, fee_schedule
from hits.mturk.port import Environment

REGION = "us-east-1"  # the only region with a documented endpoint; botocore would invent others


_AWS = {
    "aws-sandbox": "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    "aws-production": "https://mturk-requester.us-east-1.amazonaws.com",
}


def current() -> Environment:
    """Return the environment that ``MTURK_ENDPOINT`` names.

    Raises:
        ImproperlyConfigured: the word is unknown, or production is asked for without ``MTURK_LIVE=1``.
    """
    return resolve(settings.MTURK_ENDPOINT)


def resolve(word: str) -> Environment:
    """Return the environment called ``word``: local, aws-sandbox, aws-production or an https URL."""
    if word == "local":
        url = f"{settings.PUBLIC_URL}/mturk/"
        return Environment("local", url, True, False, fees_of("local"), "Built-in marketplace")
    if word in _AWS:
        live = word == "aws-production"
        if live and not settings.MTURK_LIVE:
            raise ImproperlyConfigured(
                "MTURK_ENDPOINT=aws-production spends real money: set MTURK_LIVE=1 too"
            )
        return Environment(word, _AWS[word], False, live, AMAZON_FEES, "Amazon Mechanical Turk")
    if word.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        # Somebody's own MTurk-compatible service, or ours over HTTP: fees as ours are set. The name tells
        # which, since a batch stays on the marketplace that it was launched on.
        name = f"http:{urlsplit(word).netloc}"[:40]
        return Environment(name, word, False, word.startswith("https://"), fees_of(name), word)
    raise ImproperlyConfigured(
        f"MTURK_ENDPOINT={word!r}: use local, aws-sandbox, aws-production or an https:// address"
    )


def fees_of(name: str) -> FeeSchedule:
    """Return the fee schedule of a launch on the environment that rows call ``name``.

    Raises:
        ImproperlyConfigured: ``MARKETPLACE_FEE_SCHEDULE`` names none, or spells out a bad one.
    """
    if name.startswith("aws-"):
        return AMAZON_FEES
    try:
        return fee_schedule(settings.MARKETPLACE_FEE_SCHEDULE)
    except (LookupError, ValueError) as error:
        raise ImproperlyConfigured(f"MARKETPLACE_FEE_SCHEDULE: {error}") from error
