"""Health addresses, the start of a server, and what goes on while a cache is away."""

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.core.management.base import CommandError
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation_site import env, readiness, startup
from annotation_site.cache import TolerantRedisCache
from curation.leaderboard.models import WrongKey
from curation.leaderboard.services import entries
from hits.models import Job

pytestmark = pytest.mark.django_db


def test_live_works_and_ready_fails_without_a_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> list[str]:
        raise OperationalError("could not connect to server at 10.1.2.3")

    monkeypatch.setattr(readiness, "unapplied_migrations", away)
    for name in ("health", "health-live"):
        assert client.get(reverse(name)).json() == {"ok": True}
    reply = client.get(reverse("health-ready"))
    assert reply.status_code == 503
    assert "10.1.2.3" not in reply.content.decode()


def test_ready_fails_with_unapplied_migrations(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get(reverse("health-ready")).json() == {"ok": True, "database": "ok", "degraded": []}
    monkeypatch.setattr(readiness, "unapplied_migrations", lambda: ["hits.0099_later"])
    reply = client.get(reverse("health-ready"))
    assert (reply.status_code, reply.json()["database"]) == (503, "1 migrations to apply")


def test_unapplied_migrations_are_listed() -> None:
    assert readiness.unapplied_migrations() == []
    newest = MigrationRecorder.Migration.objects.filter(app="curation").latest("name")
    newest.delete()
    assert readiness.unapplied_migrations() == [f"curation.{newest.name}"]


def test_unclaimed_job_is_reported_as_degraded(client: Client) -> None:
    Job.objects.create(task="hits.nothing", title="Nothing", state="queued")
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=3))
    reply = client.get(reverse("health-ready"))
    assert (reply.status_code, reply.json()["degraded"]) == (200, ["queue"])


@pytest.fixture
def no_redis(settings: Any) -> None:
    """A cache whose server is not there."""
    settings.CACHES = {
        "default": {
            "BACKEND": "annotation_site.cache.TolerantRedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    TolerantRedisCache._is_down = False


def test_cache_outage_is_a_miss_and_is_logged_once(no_redis: None, caplog: pytest.LogCaptureFixture) -> None:
    cache = caches["default"]
    with caplog.at_level(logging.ERROR):
        assert cache.get("a", 7) == 7
        cache.set("a", 1)
        assert cache.add("a", 1) is True
        assert cache.get_many(["a", "b"]) == {}
        assert cache.set_many({"a": 1}) == []
        assert cache.incr("a") == 1
        assert cache.get_or_set("a", 5) == 5
        assert not cache.delete("a")
    assert len([row for row in caplog.records if "does not answer" in row.message]) == 1


def test_pages_and_task_api_work_without_the_cache(no_redis: None, client: Client) -> None:
    assert client.get(reverse("health-ready")).json()["degraded"] == ["cache"]
    assert client.get(reverse("login")).status_code == 200
    assert client.get("/leaderboards/").status_code == 200


def test_wrong_keys_of_teams_are_counted_without_the_cache(no_redis: None) -> None:
    for _ in range(entries.MAX_WRONG_KEYS):
        with pytest.raises(entries.UnknownTeamKey):
            entries.authenticate_team(board=None, key="nope", address="198.51.100.7")
    with pytest.raises(entries.LimitReached):
        entries.authenticate_team(board=None, key="nope", address="198.51.100.7")
    with pytest.raises(entries.UnknownTeamKey):
        entries.authenticate_team(board=None, key="nope", address="198.51.100.8")
    assert "198.51" not in str(list(WrongKey.objects.values_list("address", flat=True)))
    WrongKey.objects.update(at=timezone.now() - timedelta(minutes=16))
    with pytest.raises(entries.UnknownTeamKey):
        entries.authenticate_team(board=None, key="nope", address="198.51.100.7")
    assert WrongKey.objects.count() == 1


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (
            "postgres://u:p%40ss%2Fw@db:5433/my%20base",
            {"PASSWORD": "p@ss/w", "PORT": 5433, "NAME": "my base"},
        ),
        ("postgresql://u:a%20b@[::1]:5432/x", {"HOST": "::1", "PASSWORD": "a b"}),
        ("postgres://u@db/x?sslmode=require&connect_timeout=3", {"HOST": "db", "USER": "u"}),
    ],
)
def test_database_url_is_decoded(monkeypatch: pytest.MonkeyPatch, url: str, found: dict[str, Any]) -> None:
    monkeypatch.setenv("X", url)
    parsed = env.env_database("X")
    assert {name: parsed[name] for name in found} == found
    assert parsed["ENGINE"] == "django.db.backends.postgresql"
    if "sslmode" in url:
        assert parsed["OPTIONS"]["sslmode"] == "require"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://u@db/x", "mysql:// is not supported"),
        ("sqlite:///x.sqlite3", "sqlite:// is not supported"),
        ("db.example", "is not supported"),
        ("postgres://u@db", "names no database"),
        ("postgres://u@db:port/x", "cannot be read"),
        ("postgres://u@db/x?sslmod=require", 'invalid connection option "sslmod"'),
    ],
)
def test_unsupported_database_url_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, url: str, why: str
) -> None:
    monkeypatch.setenv("X", url)
    with pytest.raises(env.EnvError, match=why):
        env.env_database("X")


def test_serve_refuses_unapplied_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "unapplied_migrations", lambda: ["hits.0099_later", "hits.0100_more"])
    with pytest.raises(
        CommandError, match=r"lacks hits\.0099_later and 1 more: back it up, then run"
    ) as error:
        startup.refuse_unapplied_migrations()
    assert error.value.returncode == 2


@pytest.mark.parametrize(
    ("bind", "behind", "warns"),
    [
        ("127.0.0.1", False, False),
        ("::1", False, False),
        ("localhost", False, False),
        ("0.0.0.0", False, True),
        ("10.0.0.5", False, True),
        ("0.0.0.0", True, False),
    ],
)
def test_serve_warns_if_exposed_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch, settings: Any, bind: str, behind: bool, warns: bool
) -> None:
    monkeypatch.setenv("BIND", bind)
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if behind else None
    assert bool(startup.exposure_warning()) is warns


def test_second_server_in_a_folder_is_refused_with_the_owner(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    with startup.lock_data_folder():
        with (
            pytest.raises(
                CommandError, match=r"process \d+ \(port \d+\) serves this folder already"
            ) as error,
            startup.lock_data_folder(),
        ):
            pass
        assert error.value.returncode == 2
    with startup.lock_data_folder():
        pass
