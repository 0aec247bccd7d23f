"""Signatures made by botocore, verified by us, and broken in every relevant way."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from django.test import Client

from hits.domain.mturk_formats.safe_xml import parse_plain_xml
from hits.marketplace import sigv4
from hits.marketplace.errors import ApiError
from hits.marketplace.models import AccessKey
from hits.marketplace.services import accounts
from hits.marketplace.wire import ApiRequest
from tests.hits.marketplace.support import Market, advance_time, hit_params


def signed(
    url: str, *, body: bytes = b"{}", region: str = "us-east-1", service: str = "mturk-requester"
) -> Any:
    """Return headers as botocore signs them."""
    request = AWSRequest("POST", url, data=body, headers={"X-Amz-Target": "T.GetAccountBalance"})
    SigV4Auth(Credentials("KEY", "secret"), service, region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


def call(
    headers: dict[str, str], host: str, *, path: str = "/mturk/", query: str = "", body: bytes = b"{}"
) -> str:
    """Authenticate a request and return the key id."""
    request = ApiRequest("POST", path, query, {**headers, "host": host}, body)
    return sigv4.authenticate(request, {"KEY": "secret"}.get, datetime.now(UTC))


@pytest.mark.rule(
    "sigv4-host",
    source="X",
    text="The signature is checked over the Host header with and without a default port, as clients and "
    "proxies send it.",
)
@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://localhost:8000/mturk/", "localhost:8000"),
        ("http://example.org/mturk/", "example.org"),
        ("http://example.org:80/mturk/", "example.org:80"),
        ("http://example.org:80/mturk/", "example.org"),
        ("https://example.org/mturk/", "example.org:443"),
        ("https://example.org:8443/mturk/", "example.org:8443"),
    ],
)
def test_hosts_with_and_without_port(url: str, host: str) -> None:
    assert call(signed(url), host) == "KEY"


@pytest.mark.rule(
    "sigv4-scope",
    source="M",
    text="The credential scope's service is mturk-requester; any region is accepted.",
)
def test_any_region_and_only_mturk_service_is_accepted() -> None:
    assert call(signed("http://h:1/mturk/", region="eu-west-1"), "h:1") == "KEY"
    with pytest.raises(ApiError, match="mturk-requester"):
        call(signed("http://h:1/mturk/", service="mturk"), "h:1")


@pytest.mark.rule(
    "sigv4-recomputed",
    source="D",
    text="A request is authenticated by recomputing its Signature Version 4 over method, path, query, "
    "signed headers and body.",
)
def test_query_is_part_of_the_signature() -> None:
    headers = signed("http://h:1/mturk/?b=2&a=1%202")
    assert call(headers, "h:1", query="b=2&a=1%202") == "KEY"
    with pytest.raises(ApiError, match="does not match"):
        call(headers, "h:1", query="b=2")


@pytest.mark.rule(
    "sigv4-recomputed",
    source="D",
    text="A request is authenticated by recomputing its Signature Version 4 over method, path, query, "
    "signed headers and body.",
)
@pytest.mark.parametrize(
    "change",
    [{"path": "/mturk"}, {"body": b"{ }"}, {"host": "h:2"}, {"host": "other:1"}],
    ids=str,
)
def test_change_of_signed_content_is_detected(change: dict[str, Any]) -> None:
    expected: dict[str, Any] = {"host": "h:1", **change}
    with pytest.raises(ApiError, match="does not match"):
        call(signed("http://h:1/mturk/"), **expected)


@pytest.mark.rule(
    "sigv4-recomputed",
    source="D",
    text="A request is authenticated by recomputing its Signature Version 4 over method, path, query, "
    "signed headers and body.",
)
def test_changed_target_header_is_detected() -> None:
    headers = signed("http://h:1/mturk/")
    with pytest.raises(ApiError, match="does not match"):
        call({**headers, "x-amz-target": "T.DeleteHIT"}, "h:1")


@pytest.mark.rule(
    "sigv4-missing",
    source="D",
    text="A request without a signature is a MissingAuthenticationTokenException, a malformed one an "
    "IncompleteSignatureException.",
)
@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("", "MissingAuthenticationTokenException"),
        ("Basic abc", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256 Credential=KEY/x", "IncompleteSignatureException"),
    ],
)
def test_malformed_authorization_headers_are_refused(header: str, kind: str) -> None:
    with pytest.raises(ApiError) as failure:
        call({"authorization": header}, "h:1")
    assert failure.value.error_type == kind


@pytest.mark.rule(
    "sigv4-signed-headers",
    source="D",
    text="Host and X-Amz-Date must be among the signed headers.",
)
def test_host_and_date_must_be_signed() -> None:
    headers = signed("http://h:1/mturk/")
    weak = headers["authorization"].replace("host;", "")
    with pytest.raises(ApiError, match="must be signed"):
        call({**headers, "authorization": weak}, "h:1")


@pytest.mark.rule(
    "sigv4-skew", source="D", text="A signature is valid for 15 minutes before and after the wall clock."
)
@pytest.mark.parametrize(("minutes", "allowed"), [(14, True), (-14, True), (16, False), (-16, False)])
def test_clock_skew_above_15_minutes_is_refused(minutes: int, allowed: bool) -> None:
    headers = signed("http://h:1/mturk/")
    request = ApiRequest("POST", "/mturk/", "", {**headers, "host": "h:1"}, b"{}")
    clock = datetime.now(UTC) + timedelta(minutes=minutes)
    if allowed:
        assert sigv4.authenticate(request, {"KEY": "secret"}.get, clock) == "KEY"
        return
    with pytest.raises(ApiError, match="15 min") as failure:
        sigv4.authenticate(request, {"KEY": "secret"}.get, clock)
    assert failure.value.error_type == "InvalidSignatureException"


@pytest.mark.rule(
    "sigv4-errors",
    source="D",
    text="A wrong secret is an InvalidSignatureException, an unknown or inactive key an "
    "UnrecognizedClientException.",
)
def test_wrong_secret_and_unknown_key_are_refused(market: Market, requester: accounts.KeyPair) -> None:
    with pytest.raises(ClientError) as failure:
        market.client(requester, secret="wrong").get_account_balance()
    assert failure.value.response["Error"]["Code"] == "InvalidSignatureException"
    AccessKey.objects.filter(access_key_id=requester.access_key_id).update(is_active=False)
    with pytest.raises(ClientError) as failure:
        market.client(requester).get_account_balance()
    assert failure.value.response["Error"]["Code"] == "UnrecognizedClientException"


@pytest.mark.clock
@pytest.mark.rule(
    "sigv4-wall-clock",
    source="ours",
    text="A moved marketplace clock does not change a signature's age; GetAccountBalance still works.",
)
def test_moved_marketplace_clock_does_not_affect_signatures(market: Market, mturk: Any) -> None:
    advance_time(days=400)
    assert mturk.get_account_balance()["OnHoldBalance"] == "0.00"


@pytest.mark.rule(
    "wire-one-address",
    source="M",
    text="Every operation is a POST to one URL; GetAccountBalance works with and without the trailing slash.",
)
def test_both_api_urls_accept_post_only(live_server: Any, requester: accounts.KeyPair) -> None:
    for path in ("/mturk", "/mturk/"):
        client = Market(live_server.url + path, in_process=False).client(requester)
        assert client.get_account_balance()["AvailableBalance"] == "10000.00"
    for query in ("", "?MyOperation=x"):
        assert Client().get(f"/mturk/{query}").status_code == 405


@pytest.mark.rule(
    "wire-old-versions",
    source="I",
    text="A call of an older version (Operation in the query or in a form) gets Amazon's 403 document, "
    "whose message names version 2017-01-17 and boto3.",
)
@pytest.mark.parametrize("path", ["/mturk", "/mturk/"])
@pytest.mark.parametrize("verb", ["get", "post", "form"])
def test_legacy_calls_get_message_with_current_version(path: str, verb: str) -> None:
    old = "Service=AWSMechanicalTurkRequester&Operation=GetAccountBalance&Version=2014-08-15"
    if verb == "form":
        answer = Client().post(path, old, content_type="application/x-www-form-urlencoded; charset=UTF-8")
    else:
        call = Client().get if verb == "get" else Client().post
        answer = call(f"{path}?{old}")
    assert (answer.status_code, answer["Content-Type"]) == (403, "text/xml")
    root = parse_plain_xml(answer.content.decode())
    assert root.findtext("Errors/Error/Code") == "Forbidden"
    message = root.findtext("Errors/Error/Message") or ""
    assert "2017-01-17" in message
    assert "boto3.client('mturk'" in message
    assert root.findtext("RequestID") == answer["x-amzn-RequestId"]


@pytest.mark.rule(
    "wire-target",
    source="M",
    text="X-Amz-Target names the operation as MTurkRequesterServiceV20170117.Name; an unknown one is "
    "an UnknownOperationException.",
)
@pytest.mark.parametrize(
    ("target", "body", "kind"),
    [
        ("Nonsense", b"{}", "UnknownOperationException"),
        ("MTurkRequesterServiceV20170117.Nonsense", b"{}", "UnknownOperationException"),
        ("MTurkRequesterServiceV20170117.GetAccountBalance", b"{}", "MissingAuthenticationTokenException"),
    ],
)
def test_unsigned_calls_are_refused(transactional_db: None, target: str, body: bytes, kind: str) -> None:
    answer = Client().post(
        "/mturk/", body, content_type="application/x-amz-json-1.1", headers={"X-Amz-Target": target}
    )
    assert answer.status_code == 400
    assert json.loads(answer.content)["__type"] == kind
    assert answer["x-amzn-RequestId"]
    assert answer["Content-Type"] == "application/x-amz-json-1.1"


@pytest.mark.rule(
    "own-rows-only",
    source="D",
    text="A requester sees, lists and changes only its own HITs: for GetHIT, DeleteHIT, "
    "ListAssignmentsForHIT and CreateHITWithHITType other HITs do not exist.",
)
def test_requesters_see_only_own_rows(local_market: Market, requester: accounts.KeyPair) -> None:
    mine = local_market.client(requester)
    theirs = local_market.client(accounts.create_key_pair(name="Other lab", funds_cents=500))
    hit = mine.create_hit(**hit_params())["HIT"]
    assert theirs.list_hits()["HITs"] == []
    assert theirs.get_account_balance()["AvailableBalance"] == "5.00"
    for name, kwargs in (
        ("get_hit", {"HITId": hit["HITId"]}),
        ("delete_hit", {"HITId": hit["HITId"]}),
        ("list_assignments_for_hit", {"HITId": hit["HITId"]}),
        (
            "create_hit_with_hit_type",
            {
                "HITTypeId": hit["HITTypeId"],
                "LifetimeInSeconds": 60,
                "Question": hit["Question"],
            },
        ),
    ):
        with pytest.raises(theirs.exceptions.RequestError) as failure:
            getattr(theirs, name)(**kwargs)
        assert failure.value.response["TurkErrorCode"].endswith("DoesNotExist")
    same_values = {**hit_params(MaxAssignments=1)}
    assert theirs.create_hit(**same_values)["HIT"]["HITTypeId"] != hit["HITTypeId"]
