"""Environment values that were not expected stop the start and name themselves."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from annotation_site import env
from hits.mturk.environments import resolve


def test_a_yes_or_no_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "maybe")
    with pytest.raises(env.EnvError, match="X='maybe': use 1 or 0"):
        env.env_bool("X")


@pytest.mark.parametrize(("raw", "why"), [("ten", "whole number"), ("0", "1 or more")])
def test_numbers_are_checked(monkeypatch: pytest.MonkeyPatch, raw: str, why: str) -> None:
    monkeypatch.setenv("X", raw)
    with pytest.raises(env.EnvError, match=why):
        env.env_int("X", 5, minimum=1)


@pytest.mark.parametrize("raw", ["example.org", "https://example.org/path", "ftp://example.org", ""])
def test_origins_are_bare(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("X", raw)
    with pytest.raises(env.EnvError, match="without a path"):
        env.env_origin("X", "")


def test_a_secret_is_made_once_and_private(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X", raising=False)
    path = tmp_path / "secrets" / "x"
    first = env.env_secret("X", fallback_file=path)
    assert len(first) >= 40
    assert env.env_secret("X", fallback_file=path) == first
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_secret_file_that_is_missing_is_named(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_FILE", str(tmp_path / "absent"))
    with pytest.raises(env.EnvError, match="X_FILE"):
        env.env_secret("X", fallback_file=tmp_path / "y")


def test_production_needs_its_own_switch(settings) -> None:
    settings.MTURK_LIVE = False
    with pytest.raises(ImproperlyConfigured, match="MTURK_LIVE=1"):
        resolve("aws-production")
    settings.MTURK_LIVE = True
    assert resolve("aws-production").is_live


def test_an_unknown_endpoint_lists_the_known_ones() -> None:
    with pytest.raises(ImproperlyConfigured, match="aws-sandbox"):
        resolve("amazon")
