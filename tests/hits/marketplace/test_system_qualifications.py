"""System qualifications: computed from work, declared by the worker, granted by the platform, and locales."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.core.management import CommandError, call_command

from hits.domain.workers.requirements import (
    ADULT,
    LOCALE,
    MASTERS,
    MASTERS_IDS,
    MASTERS_SANDBOX,
    PERCENT_ABANDONED,
    PERCENT_APPROVED,
    PERCENT_REJECTED,
    PERCENT_RETURNED,
    PERCENT_SUBMITTED,
    Comparator,
    Requirement,
    WorkerAttributes,
    is_met,
)
from hits.domain.workers.subdivisions import SUBDIVISIONS, is_place, place_name_or_code
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Clock, CountryDeclaration, Qualification, Requester, Worker
from hits.marketplace.selectors.worker_profile import load_worker_profile
from hits.marketplace.services import accounts, attempts, countries
from tests.hits.marketplace.support import accept, advance_time, hit_params, work
from tests.hits.marketplace.test_admission import Browser, need, page, publish
from tests.hits.marketplace.test_conformance import code_of
from tests.hits.marketplace.test_money import balance


def in_place(comparator: str, *places: tuple[str, str]) -> dict[str, Any]:
    """Return a requirement about countries and their parts."""
    values = [{"Country": country} | ({"Subdivision": part} if part else {}) for country, part in places]
    return need(LOCALE, comparator) | {"LocaleValues": values}


def values_of(person: Worker) -> dict[str, int]:
    """Return a worker's values now."""
    return dict(load_worker_profile(person, Clock.now()).attributes.values)


class TestComputed:
    """Everybody has them, from their own work with all requesters."""

    @pytest.mark.rule(
        "percent-of-tasks-taken",
        source="D",
        text="Submitted, abandoned and returned are shares of the tasks that a worker accepted and "
        "that have ended.",
    )
    def test_outcome_percentages_count_ended_tasks(self, local_client: Any, worker: Worker) -> None:
        assert [
            values_of(worker)[kind] for kind in (PERCENT_SUBMITTED, PERCENT_ABANDONED, PERCENT_RETURNED)
        ] == [
            100,
            0,
            0,
        ]
        for number in range(3):
            work(worker, local_client.create_hit(**hit_params(Title=f"Done {number}"))["HIT"])
        slot = accept(worker, local_client.create_hit(**hit_params(Title="Returned"))["HIT"])
        attempts.return_task(worker=worker, assignment_id=slot.assignment_id, now=Clock.now())
        accept(worker, local_client.create_hit(**hit_params(Title="In hand"))["HIT"])
        seen = values_of(worker)
        assert [seen[kind] for kind in (PERCENT_SUBMITTED, PERCENT_ABANDONED, PERCENT_RETURNED)] == [
            75,
            0,
            25,
        ]
        advance_time(seconds=1801)  # noticed or not, the time is over
        seen = values_of(worker)
        assert [seen[kind] for kind in (PERCENT_SUBMITTED, PERCENT_ABANDONED, PERCENT_RETURNED)] == [
            60,
            20,
            20,
        ]

    @pytest.mark.rule(
        "percent-decided",
        source="ours",
        text="Approved and rejected are shares of decided submissions, rounded down.",
    )
    def test_approval_percentages_count_decided_work(self, local_client: Any, worker: Worker) -> None:
        assert (values_of(worker)[PERCENT_APPROVED], values_of(worker)[PERCENT_REJECTED]) == (100, 0)
        slots = [work(worker, local_client.create_hit(**hit_params(Title=f"{n}"))["HIT"]) for n in range(3)]
        local_client.reject_assignment(AssignmentId=slots[0].assignment_id, RequesterFeedback="r")
        for slot in slots[1:]:
            local_client.approve_assignment(AssignmentId=slot.assignment_id)
        assert (values_of(worker)[PERCENT_APPROVED], values_of(worker)[PERCENT_REJECTED]) == (66, 33)

    @pytest.mark.parametrize(
        ("type_id", "sentence"),
        [
            (PERCENT_SUBMITTED, "who submitted 100% of their accepted tasks. You have 0%."),
            (PERCENT_RETURNED, "who returned 100% of their accepted tasks. You have 0%."),
            (PERCENT_ABANDONED, "who ran out of time on 0% of their accepted tasks. You have 100%."),
            (PERCENT_REJECTED, "with 100% of their decided submissions rejected. You have 0%, 0 of 0."),
        ],
    )
    def test_closed_work_states_required_percentage(
        self, local_client: Any, worker: Worker, type_id: str, sentence: str
    ) -> None:
        accept(worker, local_client.create_hit(**hit_params(Title="Warm-up"))["HIT"])
        advance_time(seconds=1801)
        expected = 0 if type_id == PERCENT_ABANDONED else 100
        hit = publish(local_client, need(type_id, "EqualTo", expected))
        with pytest.raises(ActionRefused) as refusal:
            accept(worker, hit)
        assert sentence.replace(f"{expected}%", f"exactly {expected}%", 1) in str(refusal.value)

    def test_exists_on_computed_type_is_refused(self, local_client: Any) -> None:
        with pytest.raises(ClientError) as failure:
            publish(local_client, need(PERCENT_RETURNED, "Exists"))
        assert "Compare it with a number" in failure.value.response["Error"]["Message"]


class TestAdult:
    """Declared by the worker, once, on the page of qualifications."""

    @pytest.mark.rule(
        "adult",
        source="D",
        text="Work that requires Worker_Adult is open to workers who declared to be 18 or older.",
    )
    def test_adult_is_declared_once(self, local_client: Any, worker: Worker, browser: Browser) -> None:
        hit = publish(local_client, need(ADULT, "EqualTo", 1, guards="DiscoverPreviewAndAccept"))
        client = browser(worker)
        with pytest.raises(ActionRefused, match="Declared on the Qualifications page"):
            accept(worker, hit)
        assert "I am 18 or older" in page(client, "/work/qualifications")
        client.post("/work/adult", {})
        assert not Qualification.objects.exists()
        for _ in range(2):
            client.post("/work/adult", {"adult": "yes"})
        assert Qualification.objects.get().changes.count() == 1
        assert "I am 18 or older" not in page(client, "/work/qualifications")
        assert accept(worker, hit)

    def test_only_worker_can_declare_adult(self, local_client: Any, browser: Browser, worker: Worker) -> None:
        assert browser(worker).get("/work/adult").status_code == 405
        worker.user.is_active = False
        worker.user.save()
        assert browser(worker).post("/work/adult", {"adult": "yes"}).status_code == 302  # to the sign-in
        assert not Qualification.objects.exists()


class TestMasters:
    """Granted by the platform; Amazon's two ids mean the same."""

    @pytest.mark.rule(
        "masters-ids", source="I", text="Masters of production and of the sandbox are granted together."
    )
    @pytest.mark.parametrize("asked", MASTERS_IDS)
    def test_masters_is_granted_under_both_ids(self, local_client: Any, worker: Worker, asked: str) -> None:
        hit = publish(local_client, need(asked))
        with pytest.raises(ActionRefused, match="Masters"):
            accept(worker, hit)
        call_command("grant_masters", worker.worker_id)
        call_command("grant_masters", worker.worker_id)
        assert accept(worker, hit)
        call_command("grant_masters", worker.worker_id, revoke="Long absence.")
        with pytest.raises(ActionRefused, match="Long absence"):
            accept(worker, publish(local_client, need(asked), Title="Another"))

    def test_grant_of_one_masters_id_holds_both(
        self, local_market: Any, local_client: Any, worker: Worker
    ) -> None:
        platform = local_market.client(accounts.create_key_pair(name=accounts.PLATFORM_NAME))
        platform.associate_qualification_with_worker(
            QualificationTypeId=MASTERS_SANDBOX, WorkerId=worker.worker_id
        )
        assert accept(worker, publish(local_client, need(MASTERS)))
        with pytest.raises(ClientError) as failure:
            local_client.associate_qualification_with_worker(
                QualificationTypeId=MASTERS, WorkerId=worker.worker_id
            )
        assert code_of(failure)[1] == "QualificationTypeDoesNotExist"

    def test_the_command_refuses_in_one_line(self, local_client: Any, worker: Worker) -> None:
        for arguments, words in [
            ((["A" + "Z" * 13], {}), "no worker"),
            (([worker.worker_id], {"revoke": "r"}), "not a Master"),
        ]:
            with pytest.raises(CommandError, match=words) as refusal:
                call_command("grant_masters", *arguments[0], **arguments[1])
            assert refusal.value.returncode == 2

    @pytest.mark.rule(
        "masters-fee",
        source="D",
        text="Work for Masters costs 5 % more; work that only excludes them does not.",
    )
    @pytest.mark.parametrize(("comparator", "held"), [("Exists", "1.38"), ("DoesNotExist", "1.32")])
    def test_masters_requirement_raises_fee(
        self, local_client: Any, amazon_fees: None, comparator: str, held: str
    ) -> None:
        publish(local_client, need(MASTERS, comparator), MaxAssignments=1)
        assert balance(local_client)[1] == held


class TestLocales:
    """Locale with a Subdivision: the states of the United States."""

    @pytest.mark.rule(
        "locale-subdivision",
        source="D",
        text="A locale is a country or a state of the United States; a worker without a declared state "
        "meets no rule about states.",
    )
    @pytest.mark.parametrize(
        ("comparator", "places", "met"),
        [
            (Comparator.EQUAL_TO, ("US",), [True, True, True, False]),
            (Comparator.EQUAL_TO, ("US-CA",), [True, False, False, False]),
            (Comparator.NOT_EQUAL_TO, ("US-CA",), [False, True, False, True]),
            (Comparator.NOT_EQUAL_TO, ("US",), [False, False, False, True]),
            (Comparator.IN, ("US-CA", "DE"), [True, False, False, True]),
            (Comparator.NOT_IN, ("US-CA", "US-NY"), [False, False, False, True]),
            (Comparator.NOT_IN, ("US-WA", "FR"), [True, True, False, True]),
        ],
    )
    def test_locale_requirement_matches_place(
        self, comparator: Comparator, places: tuple[str, ...], met: list[bool]
    ) -> None:
        people = [
            WorkerAttributes(country="US", subdivision="CA"),
            WorkerAttributes(country="US", subdivision="NY"),
            WorkerAttributes(country="US"),
            WorkerAttributes(country="DE"),
        ]
        asked = Requirement(LOCALE, comparator, locales=places)
        assert [is_met(asked, person) for person in people] == met
        assert not is_met(asked, WorkerAttributes())

    def test_united_states_has_51_known_states(self) -> None:
        assert len(SUBDIVISIONS["US"]) == 51
        assert place_name_or_code("US-CA") == "California, United States"
        assert place_name_or_code("DE") == "Germany"
        assert [is_place(place) for place in ("US", "US-CA", "US-XX", "DE-BY", "CA-US")] == [
            True,
            True,
            False,
            False,
            False,
        ]

    def test_locale_values_round_trip(self, mturk: Any) -> None:
        asked = in_place("In", ("US", "CA"), ("DE", ""))
        hit = publish(mturk, asked)
        assert hit["QualificationRequirements"][0]["LocaleValues"] == asked["LocaleValues"]

    @pytest.mark.parametrize("place", [("US", "XX"), ("DE", "BY"), ("US", "ca")])
    def test_unknown_places_are_refused(self, local_client: Any, place: tuple[str, str]) -> None:
        with pytest.raises(ClientError) as failure:
            publish(local_client, in_place("EqualTo", place))
        assert code_of(failure)[0] == "ParameterValidationError"
        assert place[1] in failure.value.response["Error"]["Message"]

    def test_declared_state_opens_work(self, local_client: Any, worker: Worker, browser: Browser) -> None:
        hit = publish(local_client, in_place("EqualTo", ("US", "CA")))
        client = browser(worker)
        listed = page(client)
        assert "Only for workers in: California, United States." in listed
        assert "Enter your state first." in listed
        assert client.post("/work/country", {"country": "US", "subdivision": "CA"}).status_code == 302
        assert "California" in page(client, "/work/qualifications")
        assert accept(worker, hit)

    @pytest.mark.clock
    def test_state_can_be_added_at_once_and_changed_after_30_days(
        self, transactional_db: None, worker: Worker
    ) -> None:
        def declare(part: str) -> bool:
            return countries.declare_country(worker=worker, country="US", subdivision=part, now=Clock.now())

        assert declare("CA")
        assert not declare("CA")
        assert not declare("")  # leaving it out takes nothing back
        with pytest.raises(ActionRefused, match="California, United States"):
            declare("NY")
        with pytest.raises(ActionRefused, match="Choose a state"):
            declare("XX")
        advance_time(days=31)
        assert declare("NY")
        trail = CountryDeclaration.objects.filter(worker=worker).order_by("pk")
        assert list(trail.values_list("subdivision", flat=True)) == ["", "CA", "NY"]

    def test_other_countries_have_no_states(self, transactional_db: None) -> None:
        person = accounts.create_worker_account(username="new", password="p", country="")
        countries.declare_country(worker=person, country="DE", subdivision="BY", now=Clock.now())
        person.refresh_from_db()
        assert (person.country, person.subdivision) == ("DE", "")


def test_system_types_belong_to_platform_and_are_created_once(transactional_db: None) -> None:
    accounts.ensure_platform_requester()
    platform = Requester.objects.get(name=accounts.PLATFORM_NAME)
    kinds = platform.qualification_types.order_by("pk")
    assert [kind.type_id for kind in kinds] == [ADULT, *MASTERS_IDS]
    assert not any(kind.is_requestable for kind in kinds)
