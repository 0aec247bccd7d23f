"""The worker's declared country: required before the first task, changeable every 30 days."""

from html import unescape
from typing import Any

import pytest

from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Attempt, CountryDeclaration, Worker
from hits.marketplace.services import accounts
from tests.hits.marketplace.support import accept, advance_time, hit_params, submit_task
from tests.hits.marketplace.test_admission import Browser, page, publish, within


def undeclared(name: str = "new") -> Worker:
    """Return a worker without a declared country."""
    return accounts.create_worker_account(username=name, password="quiet-harbour-17", country="")


class TestCountry:
    """Declared once before the first task, changed at most every 30 days."""

    @pytest.mark.rule(
        "country-first", source="ours", text="A worker declares a country before the first task."
    )
    def test_first_accept_needs_country(self, local_client: Any, browser: Browser) -> None:
        person = undeclared()
        hit = local_client.create_hit(**hit_params())["HIT"]
        client = browser(person)
        assert "Which country do you work from?" in page(client)
        refused = client.post(f"/work/groups/{hit['HITTypeId']}/accept")
        assert refused["Location"] == "/work/qualifications#country"
        assert "before you take your first task" in page(client, "/work/qualifications")
        assert not Attempt.objects.exists()
        saved = client.post("/work/country", {"country": "DE"}, follow=True)
        assert "you work from Germany" in unescape(saved.content.decode())
        assert "Which country do you work from?" not in page(client)
        person.refresh_from_db()
        assert accept(person, hit)

    def test_submitting_needs_no_country(self, local_client: Any, worker: Worker) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
        Worker.objects.filter(pk=worker.pk).update(country="", country_declared_at=None)
        assert submit_task(worker, slot).submitted_at

    @pytest.mark.rule("country-codes", source="D", text="A country is a code of ISO 3166-1 alpha-2.")
    @pytest.mark.parametrize("code", ["", "XX", "de", "Germany", "DEU"])
    def test_unknown_country_code_is_refused(
        self, transactional_db: None, browser: Browser, code: str
    ) -> None:
        person = undeclared()
        answer = browser(person).post("/work/country", {"country": code})
        assert answer.status_code == 400
        assert "Choose a country from the list." in answer.content.decode()
        person.refresh_from_db()
        assert (person.country, CountryDeclaration.objects.count()) == ("", 0)

    @pytest.mark.clock
    @pytest.mark.rule(
        "country-30-days",
        source="ours",
        text="A declared country can be changed once in 30 days, and each change is recorded.",
    )
    def test_country_changes_at_most_once_in_30_days(
        self, transactional_db: None, worker: Worker, browser: Browser
    ) -> None:
        client = browser(worker)
        assert client.post("/work/country", {"country": "CA"}).status_code == 400
        assert client.post("/work/country", {"country": "US"}).status_code == 302  # the same: no change
        advance_time(days=29, hours=23)
        refused = client.post("/work/country", {"country": "CA"})
        assert refused.status_code == 400
        assert "You can change it from" in refused.content.decode()
        assert 'id="country-code"' not in page(client, "/work/qualifications")
        advance_time(hours=2)
        assert 'id="country-code"' in page(client, "/work/qualifications")
        assert client.post("/work/country", {"country": "CA"}).status_code == 302
        assert client.post("/work/country", {"country": "MX"}).status_code == 400
        trail = CountryDeclaration.objects.filter(worker=worker).order_by("pk")
        assert list(trail.values_list("country", flat=True)) == ["US", "CA"]

    @pytest.mark.rule(
        "locale-comparators", source="D", text="Locale is compared with EqualTo, NotEqualTo, In and NotIn."
    )
    @pytest.mark.parametrize(
        ("asked", "open_to"),
        [
            (within("EqualTo", "DE"), ["DE"]),
            (within("NotEqualTo", "DE"), ["FR", "US"]),
            (within("In", "DE", "FR"), ["DE", "FR"]),
            (within("NotIn", "DE", "FR"), ["US"]),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_locale_requirement_opens_listed_countries(
        self, local_client: Any, asked: dict[str, Any], open_to: list[str]
    ) -> None:
        hit = publish(local_client, asked, MaxAssignments=4)
        taken = []
        for code in ("DE", "FR", "US"):
            person = accounts.create_worker_account(username=code, password="p", country=code)
            if code in open_to:
                taken.append(accept(person, hit).worker)
                continue
            with pytest.raises(ActionRefused, match="Your country is"):
                accept(person, hit)
        assert len(taken) == len(open_to)

    def test_worker_without_country_reads_how_to_open_work(self, local_client: Any, browser: Browser) -> None:
        publish(local_client, within("In", "US", "CA"))
        listed = page(browser(undeclared()))
        assert "Only for workers in: Canada, United States." in listed
        assert "Enter your country first." in listed
