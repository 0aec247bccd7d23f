"""Caps, funds and typed sums: what is refused before money is committed, to the cent."""

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.domain.states import BatchState, HitState, JobState, UnitScope
from hits.models import AuditEvent, Batch, Extension, Hit, Image, Job, Project
from hits.mturk.boto import marketplace
from hits.selectors.money.budget import committed_cents
from hits.services.batches import lifecycle
from hits.services.errors import Refused
from hits.services.launching.terms import LaunchTerms
from hits.services.money import budget
from hits.services.publishing import publish
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, collected, launched, published
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
ONE_DOLLAR = LaunchTerms(reward_cents=100, bonus_cents=0)
FORM = {"name": "Kitchens", "reward": "1.00", "bonus": "0", "assignments": "1", "which": "all"}


def capped(project: Project, **values: int | None) -> Project:
    """Change the project's money and return it."""
    Project.objects.filter(pk=project.pk).update(**values)
    project.refresh_from_db()
    return project


@pytest.fixture
def staff_client(client: Client, researcher: User) -> Client:
    """A researcher's browser."""
    client.force_login(researcher)
    return client


# --- funds


def test_a_launch_is_refused_one_cent_short_and_an_exact_cent_passes(
    project: Project, make_image: MakeImage
) -> None:
    images = [make_image(1), make_image(2)]
    with pytest.raises(
        Refused, match=r"\$2\.00 will be held, but the account has only \$1\.99, \$0\.01 too little"
    ):
        launched(project, images, terms=LaunchTerms(reward_cents=100, bonus_cents=50, available_cents=199))
    assert not Batch.objects.exists()
    # Bonuses are paid later, from what is there then: they are not held.
    assert launched(project, images, terms=LaunchTerms(reward_cents=100, bonus_cents=50, available_cents=200))


def test_the_page_asks_the_account_the_moment_it_launches(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    make_image(1)
    url = reverse("batch-new", args=[project.slug])
    owner = market.fund(100)
    page = staff_client.post(url, FORM | {"step": "estimate"})
    assert "Launch 1 task, hold $1.00" in squeezed(page)
    # Somebody else spends a cent between the two presses.
    market.ledger_adjust(owner, -1)
    refused = staff_client.post(
        url, FORM | {"step": "launch", "idempotency_key": page.context["idempotency_key"]}
    )
    assert refused.status_code == 400
    assert "Not launched: insufficient funds" in squeezed(refused)
    assert 'value="launch"' not in squeezed(refused), "a button that cannot work is not shown"
    assert not Batch.objects.exists()
    market.fund(1)
    done = staff_client.post(
        url, FORM | {"step": "launch", "idempotency_key": page.context["idempotency_key"]}
    )
    assert done.status_code == 302
    assert Batch.objects.count() == 1


def test_a_hit_whose_reply_was_lost_is_not_paid_for_twice(project: Project, make_image: MakeImage) -> None:
    """Its cost is on hold already, so the exact balance is enough to find it again."""
    market.fund(100)
    batch = published(project, [make_image(1)], terms=ONE_DOLLAR)
    Hit.objects.update(state=HitState.INTENT, hit_id=None)
    assert marketplace().get_balance().available_cents == 0
    budget.check_batch_budget(batch=batch, marketplace=marketplace())


# --- caps


def test_a_projects_cap_counts_what_batches_may_still_cost(project: Project, make_image: MakeImage) -> None:
    capped(project, budget_cap_cents=300)
    market.fund()
    terms = LaunchTerms(reward_cents=100, bonus_cents=25)  # 1.00 and two bonuses of 0.25
    launched(project, [make_image(1)], terms=terms)
    launched(project, [make_image(2)], terms=terms)
    assert committed_cents(project=project) == 300
    words = r"may cost \$3\.00; \$3\.00 is committed, and this can cost \$0\.01 more: \$0\.01 over the cap"
    with pytest.raises(Refused, match=f"the project {project.name} {words}"):
        launched(project, [make_image(3)], terms=LaunchTerms(reward_cents=1, bonus_cents=0))
    assert Batch.objects.count() == 2


def test_a_closed_batch_counts_with_what_it_cost(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(
        project, [make_image(1), make_image(2)], terms=LaunchTerms(reward_cents=100, bonus_cents=25)
    )
    market.work(Hit.objects.order_by("pk")[0], market.market_worker(), observations(5))
    (assignment,) = collected(batch)
    approve(assignment)
    assert committed_cents(project=project) == committed_cents(project=project, batch=batch) == 300
    Batch.objects.update(state=BatchState.CLOSED)
    assert committed_cents(project=project) == 150


def test_launch_over_the_batch_cap_is_refused(project: Project, make_image: MakeImage) -> None:
    images = [make_image(1)]
    with pytest.raises(Refused, match=r"budget cap: this can cost \$1\.00, and the cap is \$0\.99"):
        launched(project, images, terms=LaunchTerms(reward_cents=100, bonus_cents=0, budget_cap_cents=99))
    assert not Batch.objects.exists()
    terms = LaunchTerms(reward_cents=100, bonus_cents=0, budget_cap_cents=100, unit_scope=UnitScope.PROJECT)
    batch = launched(project, images, terms=terms)
    assert (batch.budget_cap_cents, batch.unit_scope) == (100, UnitScope.PROJECT)
    with pytest.raises(Refused, match=r"the batch Batch may cost \$1\.00; .*Money page"):
        budget.check_caps(project=project, batch=batch, more_cents=1)


def test_two_launches_at_once_do_not_share_the_same_cents(project: Project, make_image: MakeImage) -> None:
    capped(project, budget_cap_cents=100)
    images = [make_image(n) for n in range(4)]
    gate = threading.Barrier(4)
    refused: list[Refused] = []

    def press(image: Image) -> None:
        gate.wait(60)
        try:
            launched(project, [image], terms=ONE_DOLLAR)
        except Refused as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=press, args=(image,)) for image in images]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert (Batch.objects.count(), len(refused)) == (1, 3)


def test_publication_stops_at_the_next_hundred_after_a_cap_is_lowered_and_can_be_resumed(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.fund()
    monkeypatch.setattr(publish, "BUDGET_CHECK_INTERVAL", 2)
    batch = launched(project, [make_image(n) for n in range(5)], terms=ONE_DOLLAR)

    class Lowering:
        """Lowers the cap with the first HIT that goes live."""

        resume_point: ClassVar[dict[str, Any]] = {}

        def advance(self, done: int, total: int) -> None:
            if done == 1:
                budget.set_batch_cap(batch=batch, budget_cap_cents=499, by=None)

    with pytest.raises(
        Refused, match=r"the batch Batch may cost \$4\.99; \$5\.00 is committed: \$0\.01 over the cap"
    ):
        publish.publish_batch(batch=batch, marketplace=marketplace(), progress=Lowering())  # type: ignore[arg-type]
    assert Hit.objects.filter(state=HitState.LIVE).count() == 1
    assert Batch.objects.get().state == BatchState.LAUNCHING
    budget.set_batch_cap(batch=batch, budget_cap_cents=500, by=None)
    assert publish.publish_batch(batch=Batch.objects.get(), marketplace=marketplace()) == 4


def test_a_stopped_batch_can_still_be_closed(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = launched(project, [make_image(1)], terms=ONE_DOLLAR)
    budget.set_batch_cap(batch=batch, budget_cap_cents=0, by=None)
    with pytest.raises(Refused, match="may cost"):
        publish.publish_batch(batch=batch, marketplace=marketplace())
    Job.objects.update(state=JobState.FAILED)
    lifecycle.request_close(batch=Batch.objects.get(), by=None)
    assert Batch.objects.get().state == BatchState.CLOSING


# --- the typed sum


@pytest.mark.parametrize("typed", [None, 99, 101])
def test_launch_above_the_threshold_needs_the_exact_typed_sum(
    project: Project, make_image: MakeImage, typed: int | None
) -> None:
    capped(project, confirm_above_cents=99)
    with pytest.raises(Refused, match=r"more than \$0\.99, .*type the maximum cost, 1\.00"):
        launched(project, [make_image(1)], terms=LaunchTerms(100, 0, confirmed_cents=typed))
    assert launched(project, [make_image(1)], terms=LaunchTerms(100, 0, confirmed_cents=100))
    capped(project, confirm_above_cents=100)
    if typed is not None:
        with pytest.raises(Refused, match=r"was confirmed, but the maximum cost is \$1\.00"):
            launched(project, [make_image(1)], terms=LaunchTerms(100, 0, confirmed_cents=typed))
    assert launched(project, [make_image(1)], terms=LaunchTerms(100, 0))


def test_launch_form_asks_for_the_typed_sum_and_keeps_the_choices(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    capped(project, confirm_above_cents=99)
    market.fund()
    make_image(1)
    url = reverse("batch-new", args=[project.slug])
    form = FORM | {"assignments": "12", "unit_scope": "project", "budget_cap": "20.00"}
    page = staff_client.post(url, form | {"step": "estimate"})
    words = squeezed(page)
    assert 'name="typed_cost"' in words
    assert "Each photo is published as 2 tasks for 9 + 3 workers" in words
    assert "$20.00" in words
    for typed, why in (
        ("", "Nothing was typed"),
        ("11.99", "$11.99 is another sum"),
        ("twelve", "“twelve” is not an amount"),
    ):
        missed = staff_client.post(url, form | {"step": "launch", "typed_cost": typed})
        assert missed.status_code == 400
        page_text = squeezed(missed)
        assert f"{why}" in page_text
        assert "type the maximum cost, 12.00." in page_text
        assert (f'value="{typed}" aria-invalid="true"' if typed else 'aria-invalid="true"') in page_text
        assert "--confirm-cents" not in page_text, "that is for the command line"
    assert staff_client.post(url, form | {"step": "launch", "typed_cost": "$12.00"}).status_code == 302
    batch = Batch.objects.get()
    assert (batch.redundancy, batch.unit_scope, batch.budget_cap_cents) == (12, "project", 2_000)


def test_the_page_shows_a_cap_that_would_refuse_before_the_press(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    """A new batch's own cap, and then the project's when the batch is to be extended."""
    market.fund()
    batch = published(project, [make_image(1)], terms=ONE_DOLLAR)
    make_image(2)
    url = reverse("batch-new", args=[project.slug])
    page = squeezed(staff_client.post(url, FORM | {"budget_cap": "0.99", "step": "estimate"}))
    assert "Over the budget: this can cost $1.00, and the cap is $0.99" in page
    assert 'value="launch"' not in page
    assert 'value="launch"' in squeezed(
        staff_client.post(url, FORM | {"budget_cap": "1.00", "step": "estimate"})
    )

    capped(project, budget_cap_cents=299)
    url = reverse("batch-extend", args=[batch.pk])
    assert "Extend for $1.00 at most" in squeezed(staff_client.get(url, {"redundancy": "1"}))
    page = squeezed(staff_client.get(url, {"redundancy": "2"}))
    assert "Over the budget: the project" in page
    assert "Extend for" not in page
    refused = staff_client.post(url, {"redundancy": "2", "days": "3", "idempotency_key": "key"})
    assert refused.status_code == 400
    assert "Nothing was extended: budget: the project" in squeezed(refused)
    assert 'name="days" value="3"' in squeezed(refused), "what was wished for stays"
    assert not Extension.objects.exists()


def test_extension_without_the_typed_sum_names_its_field(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)], terms=ONE_DOLLAR)
    capped(project, confirm_above_cents=99)
    url = reverse("batch-extend", args=[batch.pk])
    values = {"redundancy": "1", "days": "", "idempotency_key": "key"}
    refused = staff_client.post(url, values | {"typed_cost": "0.99"})
    assert refused.status_code == 400
    assert "$0.99 is another sum; type the maximum cost, 1.00." in squeezed(refused)
    assert 'value="0.99" aria-invalid="true"' in squeezed(refused)
    assert staff_client.post(url, values | {"typed_cost": "1.00"}).status_code == 302
    assert Extension.objects.get().more_redundancy == 1


def test_launch_command_asks_for_the_typed_sum(project: Project, make_image: MakeImage) -> None:
    capped(project, confirm_above_cents=99)
    market.fund()
    make_image(1)
    command = ["launch_batch", "sherlock_observation", "--project", project.slug, "--reward-cents", "100"]
    command += ["--bonus-cents", "0"]
    with pytest.raises(CommandError, match="--confirm-cents 100") as refused:
        call_command(*command)
    assert refused.value.returncode == 2
    assert not Batch.objects.exists()
    call_command(*command, "--confirm-cents", "100", "--budget-cap-cents", "100", "--unit-scope", "project")
    batch = Batch.objects.get()
    assert (batch.state, batch.budget_cap_cents, batch.unit_scope) == (BatchState.LIVE, 100, "project")


def test_masters_are_offered_where_they_cost(
    staff_client: Client, project: Project, make_image: MakeImage, settings: Any
) -> None:
    market.fund()
    make_image(1)
    url = reverse("batch-new", args=[project.slug])
    assert "masters_only" not in squeezed(staff_client.get(url))
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    assert "masters_only" in squeezed(staff_client.get(url))
    staff_client.post(url, FORM | {"step": "launch", "masters_only": "on"})
    batch = Batch.objects.get()
    assert (batch.masters_only, batch.estimate_cents, batch.slot_cents(1)) == (True, 125, 125)


# --- the Money page


def test_admin_changes_the_caps_and_an_event_records_it(
    client: Client, project: Project, admin: User, make_image: MakeImage
) -> None:
    client.force_login(admin)
    batch = launched(project, [make_image(1)], terms=ONE_DOLLAR)
    url = reverse("project-money", args=[project.slug])
    assert "1.00" in squeezed(client.get(url))
    client.post(url, {"target": "18", "cap": "$1,000.00", "threshold": "50"})
    project.refresh_from_db()
    assert (project.target_cents_per_hour, project.budget_cap_cents, project.confirm_above_cents) == (
        1_800,
        100_000,
        5_000,
    )
    client.post(url, {"target": "18", "cap": "", "threshold": "50"})
    project.refresh_from_db()
    assert project.budget_cap_cents is None
    client.post(url, {"target": "18", "cap": "", "threshold": "50"})
    trail = AuditEvent.objects.filter(action="project.money").order_by("pk")
    assert [event.actor for event in trail] == [admin, admin], "a press that changes nothing is no change"
    assert trail[0].data["budget_cap_cents"] == 100_000
    assert trail[1].data["budget_cap_cents_before"] == 100_000
    slip = client.post(url, {"target": "18", "cap": "12,50", "threshold": "50"})
    assert slip.status_code == 400
    assert "Enter US dollars with at most two decimals, such as 250.00." in squeezed(slip)
    client.post(reverse("batch-cap", args=[batch.pk]), {"cap": "0.99"})
    batch.refresh_from_db()
    assert batch.budget_cap_cents == 99
    assert AuditEvent.objects.get(action="batch.cap").data["budget_cap_cents"] == 99


def test_researcher_sees_the_caps_and_cannot_change_them(staff_client: Client, project: Project) -> None:
    url = reverse("project-money", args=[project.slug])
    assert 'name="cap"' not in squeezed(staff_client.get(url))
    assert staff_client.post(url, {"target": "1", "cap": "", "threshold": "1"}).status_code == 403
    project.refresh_from_db()
    assert project.target_cents_per_hour == 1_500


def test_money_page_uses_a_fixed_number_of_queries(
    client: Client, project: Project, admin: User, make_image: MakeImage
) -> None:
    client.force_login(admin)
    url = reverse("project-money", args=[project.slug])
    launched(project, [make_image(0)], terms=ONE_DOLLAR)
    client.get(url)
    with CaptureQueriesContext(connection) as one:
        client.get(url)
    for number in range(1, 5):
        launched(project, [make_image(number)], terms=ONE_DOLLAR)
    with CaptureQueriesContext(connection) as five:
        client.get(url)
    assert len(five) == len(one)
