"""The page of the settings for image triplets: each part changes its own, and wrong values are named."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import TripletSettings
from curation.services.triplets.settings import SettingsChange, change_settings
from hits.models import AuditEvent, Project
from tests.support.nleye_stored import nleye_project

pytestmark = pytest.mark.django_db
PRICES = """[images."openai:m"]
usd_per_image = 0.04

[chat.canned]
usd_per_million_input_tokens = 2
usd_per_million_output_tokens = 10
"""


@pytest.fixture
def triplets(project: Project, client: Client, researcher: User) -> Project:
    """Return a project with image triplets, in which a researcher is signed in."""
    client.force_login(researcher)
    return nleye_project(project)


def post(client: Client, project: Project, part: str, **data: Any) -> Any:
    return client.post(reverse("triplet-settings", args=[project.slug]), {"part": part, **data})


def squeezed(reply: Any) -> str:
    return " ".join(reply.content.decode().split())


def test_each_part_changes_its_own_and_is_recorded(
    client: Client, triplets: Project, researcher: User
) -> None:
    start = {"readers": 1, "domains": ["home"], "targets": {"social": {"": 4}}, "prices": PRICES}
    change_settings(project=triplets, change=SettingsChange(**start), by=None)
    reply = post(client, triplets, "readers", readers="2", holds_answers="on")
    assert reply["Location"] == f"{reverse('triplet-settings', args=[triplets.slug])}#readers"
    row = TripletSettings.objects.get(project=triplets)
    assert (row.readers, row.holds_answers) == (2, True)
    assert (row.domains, row.targets, row.prices) == (["home"], {"social": {"": 4}}, PRICES)
    event = AuditEvent.objects.filter(action="triplets.settings").order_by("-pk")[0]
    assert (event.actor, event.data["changed"]) == (researcher, ["holds_answers", "readers"])
    post(client, triplets, "domains", domains="street\r\n\r\n  at   home \r\nstreet")
    post(
        client,
        triplets,
        "targets",
        **{"physical_forward-short": "3", "physical_any": "9", "cultural_any": ""},
    )
    row.refresh_from_db()
    assert row.domains == ["street", "at home"]
    assert row.targets == {"physical": {"forward-short": 3, "": 9}}
    assert row.readers == 2


def test_page_shows_what_is_stored(client: Client, triplets: Project) -> None:
    change = SettingsChange(
        readers=2, targets={"social": {"parallel": 4}}, prices=PRICES, licences={"openai:m": "CC BY 4.0"}
    )
    change_settings(project=triplets, change=change, by=None)
    page = squeezed(client.get(reverse("triplet-settings", args=[triplets.slug])))
    assert 'name="readers" value="2" id="readers_readers_1" required checked' in page
    assert 'name="social_parallel" value="4"' in page
    assert "usd_per_image = 0.04" in page
    assert ">openai:m</label>" in page
    assert 'value="CC BY 4.0"' in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PRICES.replace("0.04", "cheap"), "line 2"),
        (
            PRICES.replace("0.04", "-1"),
            "Line 1: images.&quot;openai:m&quot;: usd_per_image is &#x27;-1&#x27;",
        ),
        (PRICES.replace("[chat.canned]", '[chat."openai:n"]').replace("= 10", '= "ten"'), "Line 4: chat."),
        ("[pictures]\n", "&#x27;pictures&#x27; is not known"),
    ],
)
def test_wrong_price_names_the_line_and_keeps_the_text(
    client: Client, triplets: Project, text: str, message: str
) -> None:
    change_settings(project=triplets, change=SettingsChange(prices=PRICES), by=None)
    reply = post(client, triplets, "prices", prices=text)
    assert reply.status_code == 400
    page = squeezed(reply)
    summary = page[page.index('role="alert"') :][:600]
    assert message in summary
    assert "Price table" in summary
    assert text.splitlines()[0].replace('"', "&quot;") in page
    assert TripletSettings.objects.get().prices == PRICES


@pytest.mark.parametrize(
    ("part", "data", "message"),
    [
        ("readers", {"readers": "3"}, "3"),
        ("domains", {"domains": "\n".join(f"domain {n}" for n in range(41))}, "use at most 40 names"),
        ("domains", {"domains": "x" * 61}, "of at most 60 characters"),
        ("targets", {"physical_any": "-1"}, "Physical, at any time"),
        ("targets", {"physical_any": "many"}, "Physical, at any time"),
        ("licences", {"generator": "openai:m"}, "Write the licence, or unknown."),
        ("licences", {"licence": "CC0"}, "Name the generator whose licence this is."),
        ("licences", {"generator": "midjourney", "licence": "own"}, "midjourney"),
    ],
)
def test_wrong_value_is_named_and_nothing_changes(
    client: Client, triplets: Project, part: str, data: dict[str, str], message: str
) -> None:
    change_settings(project=triplets, change=SettingsChange(readers=2), by=None)
    before = TripletSettings.objects.filter(project=triplets).values().get()
    reply = post(client, triplets, part, **data)
    assert reply.status_code == 400
    page = squeezed(reply)
    summary = page[page.index('role="alert"') :][:600]
    assert message in summary
    assert TripletSettings.objects.filter(project=triplets).values().get() == before


def test_licences_are_added_and_changed(client: Client, triplets: Project) -> None:
    post(client, triplets, "licences", generator="openai:m", licence="own terms")
    post(client, triplets, "licences", licence_0="CC BY 4.0", generator="drawing", licence="CC0")
    assert TripletSettings.objects.get().licences == {"openai:m": "CC BY 4.0", "drawing": "CC0"}
    spaced = SettingsChange(licences={"openai:m": " unknown\n"})  # as a command may give it
    assert change_settings(project=triplets, change=spaced, by=None).licences["openai:m"] == "unknown"
    refused = post(client, triplets, "licences", licence_0="CC0", licence_1="")
    assert refused.status_code == 400  # a licence that is stored with images does not vanish


def test_admins_alone_allow_unknown_licences(
    client: Client, triplets: Project, researcher: User, admin: User
) -> None:
    assert 'name="allows_unknown_licence"' not in squeezed(
        client.get(reverse("triplet-settings", args=[triplets.slug]))
    )
    assert post(client, triplets, "unknown", allows_unknown_licence="on").status_code == 403
    assert not TripletSettings.objects.exists()
    client.force_login(admin)
    assert post(client, triplets, "unknown", allows_unknown_licence="on").status_code == 302
    assert TripletSettings.objects.get().unknown_licence_allowed_by == admin
    client.force_login(researcher)
    page = squeezed(client.get(reverse("triplet-settings", args=[triplets.slug])))
    assert f"{admin} allows images of unknown licence in versions." in page
    assert post(client, triplets, "unknown").status_code == 403
    client.force_login(admin)
    post(client, triplets, "unknown")
    assert TripletSettings.objects.get().unknown_licence_allowed_by is None


def test_unknown_part_is_missing(client: Client, triplets: Project) -> None:
    assert post(client, triplets, "secret", secret="0" * 64).status_code == 404
