"""manage.py create_requester, and the platform's own account."""

import json
from io import StringIO
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command

from hits.domain.mturk_formats.access_keys import derive_secret
from hits.marketplace.models import AccessKey, Requester, Worker
from hits.marketplace.services.accounts import KeyPair
from tests.hits.marketplace.support import Market


def run(*args: str) -> dict[str, Any]:
    """Run the command and read its JSON."""
    out = StringIO()
    call_command("create_requester", *args, "--json", stdout=out)
    return dict(json.loads(out.getvalue()))


def test_create_requester_with_same_name_adds_key_to_account(local_market: Market) -> None:
    first, second = run("Old lab"), run("Old lab")
    assert first["access_key_id"] != second["access_key_id"]
    assert first["endpoint_url"] == "http://localhost:8000/mturk/"
    assert second["available_cents"] == 1_000_000
    third = run("Old lab", "--funds-cents", "250")
    assert third["available_cents"] == 1_000_250
    for printed in (first, third):
        pair = KeyPair(
            Requester.objects.get(name="Old lab"), printed["access_key_id"], printed["secret_access_key"]
        )
        assert local_market.client(pair).get_account_balance()["AvailableBalance"] == "10002.50"


def test_endpoint_url_includes_default_port(transactional_db: None, settings: Any) -> None:
    settings.PUBLIC_URL = "https://hats.example"
    assert run("Lab")["endpoint_url"] == "https://hats.example:443/mturk/"


@pytest.mark.parametrize("args", [["  "], ["x" * 101], ["Lab", "--funds-cents", "-1"], ["a\nb"]])
def test_bad_input_exits_2_and_writes_nothing(transactional_db: None, args: list[str]) -> None:
    before = AccessKey.objects.count()
    with pytest.raises(CommandError) as failure:
        call_command("create_requester", *args)
    assert failure.value.returncode == 2
    assert AccessKey.objects.count() == before


@pytest.mark.rule(
    "keys-derived",
    source="ours",
    text="A requester's secret key is derived from the server's secret, shown once and not stored.",
)
def test_secret_is_not_stored(transactional_db: None) -> None:
    printed = run("Lab")
    row = AccessKey.objects.get(access_key_id=printed["access_key_id"])
    stored = {str(value) for value in vars(row).values()}
    assert printed["secret_access_key"] not in stored
    assert printed["secret_access_key"] == derive_secret(
        django_settings.MTURK_KEYS_SECRET, printed["access_key_id"]
    )


def test_platform_account_exists_after_migration(transactional_db: None, local_market: Market) -> None:
    key = AccessKey.objects.get(access_key_id=django_settings.MTURK_PLATFORM_ACCESS_KEY_ID)
    pair = KeyPair(
        key.requester, key.access_key_id, derive_secret(django_settings.MTURK_KEYS_SECRET, key.access_key_id)
    )
    assert local_market.client(pair).get_account_balance()["AvailableBalance"] == "0.00"


def make_worker(*args: str) -> dict[str, Any]:
    """Run create_worker and read its JSON."""
    out = StringIO()
    call_command("create_worker", *args, "--json", stdout=out)
    return dict(json.loads(out.getvalue()))


def test_create_worker_without_country_leaves_country_empty(transactional_db: None) -> None:
    assert make_worker("walter")["country"] == ""
    assert make_worker("wilma", "--country", "de")["country"] == "DE"
    kept = dict(Worker.objects.values_list("user__username", "country"))
    assert kept == {"walter": "", "wilma": "DE"}
    with pytest.raises(CommandError, match="country") as failure:
        make_worker("willy", "--country", "XX")
    assert failure.value.returncode == 2
    assert Worker.objects.count() == 2
