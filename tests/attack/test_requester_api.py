"""A requester's script that sends JSON values that no database can store."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hits.domain.mturk_formats.external_question import NAMESPACE, QuestionInvalid, parse_external_question
from hits.marketplace import dispatch, wire
from hits.marketplace.models import HIT, HITType
from hits.marketplace.services import accounts
from tests.hits.marketplace.support import hit_params

pytestmark = pytest.mark.django_db(transaction=True)
URL = "http://localhost:8000/mturk/"


@pytest.fixture
def pair() -> accounts.KeyPair:
    """Return a funded requester's keys."""
    return accounts.create_key_pair(name="Lab", funds_cents=100_000)


def _call(pair: accounts.KeyPair, operation: str, body: Any) -> tuple[int, dict[str, Any]]:
    raw = json.dumps(body).encode()
    headers = {"X-Amz-Target": f"MTurkRequesterServiceV20170117.{operation}", "Host": "localhost:8000"}
    request = AWSRequest("POST", URL, data=raw, headers=headers)
    keys = Credentials(pair.access_key_id, pair.secret_access_key)
    SigV4Auth(keys, "mturk-requester", "us-east-1").add_auth(request)
    signed = {name.lower(): value for name, value in request.headers.items()}
    reply = dispatch.handle_request(wire.ApiRequest("POST", "/mturk/", "", signed, raw))
    return reply.status, json.loads(reply.body)


@pytest.mark.parametrize(
    "changes",
    [
        {"Title": "a\x00b"},
        {"Title": "\ud800"},
        {"Description": "half \udc00"},
        {"RequesterAnnotation": "\x00"},
        {"UniqueRequestToken": "\ud83d"},
        {"\ud800": 1},
        {"MaxAssignments": 10**30},
        {"Reward": "9" * 40},
    ],
)
def test_unstorable_values_are_validation_errors(pair: accounts.KeyPair, changes: dict[str, Any]) -> None:
    status, body = _call(pair, "CreateHIT", hit_params() | changes)
    assert status == 400
    assert body["TurkErrorCode"].startswith("AWS.MechanicalTurk.")
    assert not HIT.objects.exists()
    assert not HITType.objects.exists()


@pytest.mark.parametrize("moment", [10**400, -(10**400), 1e308, "x", True])
def test_impossible_time_is_validation_error(pair: accounts.KeyPair, moment: Any) -> None:
    _, made = _call(pair, "CreateHIT", hit_params())
    ends = HIT.objects.get().expires_at
    status, _ = _call(pair, "UpdateExpirationForHIT", {"HITId": made["HIT"]["HITId"], "ExpireAt": moment})
    assert status == 400
    assert HIT.objects.get().expires_at == ends > datetime.now(UTC)


def _question(height: str) -> str:
    return (
        f'<ExternalQuestion xmlns="{NAMESPACE}"><ExternalURL>https://example.org/</ExternalURL>'
        f"<FrameHeight>{height}</FrameHeight></ExternalQuestion>"
    )


def test_frame_height_with_leading_zeros_is_checked() -> None:
    assert parse_external_question(_question("000000000400")).frame_height == 400
    assert parse_external_question(_question("0")).frame_height == 0
    for height in ("000000000" + "9" * 30, "9" * 6000, "100001"):
        with pytest.raises(QuestionInvalid, match="FrameHeight"):
            parse_external_question(_question(height))


def test_malformed_paging_token_is_refused(pair: accounts.KeyPair) -> None:
    for text in ("[" * 180, '{"a": 1}', '["x", 1]', "null"):
        token = base64.urlsafe_b64encode(text.encode()).decode()
        assert _call(pair, "ListHITs", {"NextToken": token})[0] == 400
