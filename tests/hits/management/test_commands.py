"""The researcher's loop from the command line: what it makes, and what it says when it cannot."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from hits.domain.states import AssignmentStatus, BatchState, Role
from hits.models import Assignment, Batch, Hit, Image, Membership, Project
from tests.support import market
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


def _json(*args: Any) -> dict[str, Any]:
    out = StringIO()
    call_command(*args, "--json", stdout=out)
    (line,) = out.getvalue().splitlines()
    result: dict[str, Any] = json.loads(line)
    return result


def _refused(*args: Any) -> str:
    with pytest.raises(CommandError) as caught:
        call_command(*args, stdout=StringIO())
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_commands_cover_the_whole_loop(tmp_path: Path) -> None:
    for seed in range(2):
        (tmp_path / f"{seed}.png").write_bytes(picture(seed=seed))
    assert _json("create_project", "Street scenes")["project"] == "street-scenes"
    assert _json("import_images", str(tmp_path), "--project", "street-scenes")["new"] == 2
    assert _json("deposit", 10_000)["available_cents"] == 10_000
    launched = _json(
        "launch_batch", "sherlock_observation", "--project", "street-scenes", "--reward-cents", 125
    )
    assert (launched["hits"], launched["state"]) == (2, "live")
    worker = _json("create_worker", "walter", "--country", "DE")
    account = User.objects.get(username="walter")
    assert account.check_password(worker["password"])
    for hit in Hit.objects.all():
        market.work(hit, account.marketplace_worker)  # type: ignore[attr-defined]
    assert _json("sync_batch", launched["batch"])["matched"] == 2
    done = _json("review_batch", launched["batch"], "--approve-all", "--feedback", "Thank you.")
    assert (done["approved"], done["paid_cents"], done["held_cents"]) == (2, 250, 0)
    assert set(Assignment.objects.values_list("status", flat=True)) == {AssignmentStatus.APPROVED}


def test_used_photos_need_the_again_option(project: Project, make_image: MakeImage) -> None:
    market.fund()
    make_image(1)
    launch = ("launch_batch", "sherlock_observation", "--project", project.slug, "--reward-cents", "110")
    _json(*launch)
    assert "every photo is in a batch of sherlock_observation already" in _refused(*launch)
    assert Batch.objects.count() == 1
    _json(*launch, "--again")
    assert Batch.objects.count() == 2


def test_launch_without_funds_writes_nothing_and_names_the_fix(
    project: Project, make_image: MakeImage
) -> None:
    for seed in range(3):
        make_image(seed)
    market.fund(200)
    message = _refused(
        "launch_batch", "sherlock_observation", "--project", project.slug, "--reward-cents", "110"
    )
    assert "manage.py deposit" in message
    assert "only $2.00" in message
    assert not Batch.objects.exists()
    _json("deposit", 1_000, "--note", "grant 7")
    made = _json("launch_batch", "sherlock_observation", "--project", project.slug, "--reward-cents", 110)
    assert made | {"estimate_cents": 0} == {
        "batch": made["batch"],
        "kind": "sherlock_observation",
        "hits": 3,
        "assignments": 3,
        "estimate_cents": 0,
        "state": BatchState.LIVE,
    }


def test_a_member_gets_an_account_and_a_role(project: Project) -> None:
    made = _json("create_member", "rosa", "--project", project.slug)
    assert User.objects.get(username="rosa").check_password(made["password"])
    assert Membership.objects.get(user__username="rosa").role == Role.RESEARCHER
    assert "exists already" in _refused("create_member", "rosa", "--project", project.slug)


def test_create_project_admin_must_exist(admin: User) -> None:
    _json("create_project", "Kitchens", "--admin", admin.username)
    assert Membership.objects.get(project__slug="kitchens").role == Role.ADMIN
    assert "there is no such account" in _refused("create_project", "Gardens", "--admin", "nobody")
    assert not Project.objects.filter(slug="gardens").exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("deposit", "0"), "at least one cent"),
        (("deposit", "100", "--account", "Nobody"), "Known accounts: Deerstalker"),
        (("create_project", "  "), "letters or digits"),
        (("import_images", "/nowhere", "--project", "none"), "create_project creates one"),
        (("sync_batch", "7"), "there is no such batch"),
        (("resume_batch", "7"), "there is no such batch"),
    ],
)
def test_command_error_is_one_line(command: tuple[str, ...], why: str) -> None:
    assert why in _refused(*command)


@pytest.mark.parametrize("command", [("create_project", "Streets"), ("deposit", "100")])
def test_missing_database_error_is_one_line(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "hits_project" if command[0] == "create_project" else "marketplace_requester"
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO away")
    try:
        assert "the database is not set up yet; run make setup" in _refused(*command)
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE away RENAME TO {table}")
