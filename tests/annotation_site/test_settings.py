"""Environment values that were not expected stop the start and name themselves."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from annotation_site import env
from hits.domain.money.fees import AMAZON_FEES
from hits.mturk.boto import BotoMarketplace
from hits.mturk.environments import resolve_environment


def test_env_bool_refuses_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "maybe")
    with pytest.raises(env.EnvError, match="X='maybe': use 1 or 0"):
        env.env_bool("X")


@pytest.mark.parametrize(("raw", "why"), [("ten", "whole number"), ("0", "1 or more")])
def test_env_int_checks_numbers(monkeypatch: pytest.MonkeyPatch, raw: str, why: str) -> None:
    monkeypatch.setenv("X", raw)
    with pytest.raises(env.EnvError, match=why):
        env.env_int("X", 5, minimum=1)


@pytest.mark.parametrize("raw", ["example.org", "https://example.org/path", "ftp://example.org", ""])
def test_env_origin_refuses_paths(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("X", raw)
    with pytest.raises(env.EnvError, match="without a path"):
        env.env_origin("X", "")


def test_env_secret_is_created_once_and_private(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X", raising=False)
    path = tmp_path / "secrets" / "x"
    first = env.env_secret("X", fallback_file=path)
    assert len(first) >= 40
    assert env.env_secret("X", fallback_file=path) == first
    assert path.stat().st_mode & 0o777 == 0o600


def test_env_secret_restricts_folder_permissions(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X", raising=False)
    folder = tmp_path / "secrets"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    env.env_secret("X", fallback_file=folder / "x")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_env_secret_names_missing_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_FILE", str(tmp_path / "absent"))
    with pytest.raises(env.EnvError, match="X_FILE"):
        env.env_secret("X", fallback_file=tmp_path / "y")


def test_production_needs_its_own_switch(settings) -> None:
    settings.MTURK_LIVE = False
    with pytest.raises(ImproperlyConfigured, match="MTURK_LIVE=1"):
        resolve_environment("aws-production")
    settings.MTURK_LIVE = True
    assert resolve_environment("aws-production").is_live


def test_an_unknown_endpoint_lists_the_known_ones() -> None:
    with pytest.raises(ImproperlyConfigured, match="aws-sandbox"):
        resolve_environment("amazon")


@pytest.mark.parametrize(
    "word",
    [
        "https://mturk-requester.us-east-1.amazonaws.com",
        "https://mturk-requester.us-east-1.amazonaws.com/",
        "HTTPS://MTurk-Requester.US-East-1.AmazonAWS.com",
        "https://mturk-requester.us-east-1.amazonaws.com.",
        "https://mturk-requester.us-east-1.amazonaws.com..:443/path?query",
        "http://mturk-requester.us-east-1.amazonaws.com:80",
        "https://mturk-requester.eu-west-1.amazonaws.com",
        "https://mturk-requester.cn-north-1.amazonaws.com.cn",
        "https://mturk-requester.us-east-1.api.aws",
        "https://vpce-0a1b2c.mturk-requester.us-east-1.vpce.amazonaws.com",
    ],
)
def test_amazons_own_address_is_production_under_its_name(settings: Any, word: str) -> None:
    settings.MTURK_LIVE, settings.MARKETPLACE_FEE_SCHEDULE = False, "local"
    with pytest.raises(ImproperlyConfigured, match="MTURK_LIVE=1"):
        resolve_environment(word)
    settings.MTURK_LIVE = True
    assert resolve_environment(word) == resolve_environment("aws-production")
    assert resolve_environment(word).fees == AMAZON_FEES


@pytest.mark.parametrize("region", ["us-east-1", "US-WEST-2"])
def test_amazons_own_sandbox_stays_the_sandbox(settings: Any, region: str) -> None:
    settings.MTURK_LIVE = False
    found = resolve_environment(f"https://mturk-requester-sandbox.{region}.amazonaws.com/")
    assert found == resolve_environment("aws-sandbox")
    assert not found.is_live
    assert found.fees == AMAZON_FEES


@pytest.mark.parametrize(
    "word",
    [
        "https://mechanicalturk.amazonaws.com/?Service=AWSMechanicalTurkRequester",
        "https://mechanicalturk.sandbox.amazonaws.com",
        "https://abc.execute-api.us-east-1.amazonaws.com",
        "https://amazonaws.com",
    ],
)
def test_any_other_address_of_amazons_is_refused(settings: Any, word: str) -> None:
    settings.MTURK_LIVE = True
    with pytest.raises(ImproperlyConfigured, match="its own host name"):
        resolve_environment(word)


@pytest.mark.parametrize(
    "word",
    [
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://localhostevil.example/",
        "http://[::1].evil.example/",
        "http://localhost@evil.example/",
        "http://localhost:8000@evil.example/",
        "http://evil.example#@localhost/",
        "http://evil.example\\@localhost/",
        "http://evil.example/",
        "http://localhost:99999/",
        "http://[::1/",
        "https://user:password@crowd.example.org/",
        "https://mturk-requester.us-east-1.ａmazonaws.com",
        "https://mturk-requester.us-east-1.amazonaws%2Ecom",
        "https://mturk-requester.us-east-1.amazonaws\u3002com",
        " https://crowd.example.org",
        "https://crowd.exam\nple.org",
        "https://",
        "crowd.example.org",
    ],
)
def test_an_address_that_could_be_read_as_another_is_refused(settings: Any, word: str) -> None:
    settings.MTURK_LIVE = True
    with pytest.raises(ImproperlyConfigured, match="use local, aws-sandbox"):
        resolve_environment(word)


@pytest.mark.parametrize(
    "word",
    [
        "http://localhost:8000/mturk/",
        "http://LOCALHOST:8000/mturk/",
        "http://localhost.:8000/mturk/",
        "http://127.0.0.1:8000/mturk/",
        "http://[::1]:8000/mturk/",
    ],
)
def test_local_endpoint_is_play_money_with_platform_keys(settings: Any, word: str) -> None:
    found = resolve_environment(word)
    assert not found.is_live
    assert not found.in_process
    assert _access_key(word) == settings.MTURK_PLATFORM_ACCESS_KEY_ID


def test_platform_keys_are_refused_for_other_machines(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "THEIRS")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    settings.PUBLIC_URL = "https://crowd.example.org"
    assert _access_key("https://Crowd.example.org/mturk/") == settings.MTURK_PLATFORM_ACCESS_KEY_ID
    for word in (
        "https://crowd.example.org.evil.example/",
        "https://crowd.example.org:8443/",
        "https://localhost.evil.example/",
        "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    ):
        assert _access_key(word) == "THEIRS", word


def test_foreign_endpoint_requires_typed_cost() -> None:
    found = resolve_environment("https://mturk-requester.us-east-1.amazonaws.com.crowd.example.org/")
    assert found.name.startswith("http:mturk-requester")
    assert found.is_live


def _access_key(word: str) -> str:
    client = BotoMarketplace(resolve_environment(word))._client
    return str(client._get_credentials().access_key)
