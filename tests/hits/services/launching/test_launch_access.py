"""Eligibility for a batch: set by the form or the command, and shown on the batch's page."""

import json
from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.domain.instructions import InstructionText
from hits.domain.workers.countries import parse_countries
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.models import Batch, Image, Instructions, Project
from hits.selectors.eligibility.requirement_labels import batch_eligibility_summary
from hits.services.errors import Refused
from hits.services.instructions import publish_instructions
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.terms import Eligibility, LaunchTerms, PlannedRequirement
from tests.support import market
from tests.support.loop import launched
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
KIND = "sherlock_observation"
FORM = {"name": "Kitchens", "reward": "1.25", "bonus": "0.15", "assignments": "1", "which": "all"}


@pytest.fixture
def staff_client(client: Client, researcher: User) -> Client:
    """Return a browser that a researcher of the project signed in to."""
    client.force_login(researcher)
    return client


@pytest.fixture
def form_url(project: Project, make_image: MakeImage) -> str:
    """Return the launch form's address in a project with a photo and money."""
    market.fund()
    make_image(1)
    return reverse("batch-new", args=[project.slug])


def _version(project: Project, words: str = "Look.", based_on: int = 0) -> Instructions:
    return publish_instructions(
        project=project,
        kind_name=KIND,
        text=InstructionText("Look.", words),
        note=words,
        based_on=based_on,
        by=None,
    )


def _asked_of(batch: Batch) -> set[tuple[str, str, tuple[str, ...]]]:
    return {
        (row.qualification.slug if row.qualification else "", row.comparator, tuple(row.values))
        for row in batch.requirements.select_related("qualification")
    }


NOT_EXCLUDED = ("excluded", "DoesNotExist", ())


def test_untouched_launch_form_is_open_to_everybody(staff_client: Client, form_url: str) -> None:
    staff_client.post(form_url, FORM | {"step": "launch"})
    batch = Batch.objects.get()
    assert _asked_of(batch) == {NOT_EXCLUDED}
    assert batch.worker_limit is None
    assert batch.instructions is None
    page = squeezed(staff_client.get(reverse("batch-detail", args=[batch.pk])))
    assert "<dt>Open to</dt><dd>All workers</dd><dt>Countries</dt><dd>All countries</dd>" in page


def test_chosen_requirements_are_confirmed_launched_and_shown_on_the_batch_page(
    staff_client: Client, form_url: str, project: Project
) -> None:
    version = _version(project)
    chosen = {"pool": "trained", "where": "paper", "worker_limit": "5", "instructions": "1"}
    page = squeezed(staff_client.post(form_url, FORM | chosen | {"step": "estimate"}))
    words = (
        "<dt>Open to</dt><dd>Trained workers</dd>"
        "<dt>Countries</dt><dd>United States, Canada, United Kingdom and Australia</dd>"
        "<dt>Tasks per worker</dt><dd>5 tasks</dd>"
    )
    assert words in page
    for name, value in chosen.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in page
    staff_client.post(form_url, FORM | chosen | {"step": "launch"})
    batch = Batch.objects.get()
    assert _asked_of(batch) == {
        NOT_EXCLUDED,
        ("trained", "Exists", ()),
        ("", "In", ("US", "CA", "GB", "AU")),
    }
    assert (batch.worker_limit, batch.instructions) == (5, version)
    assert words in squeezed(staff_client.get(reverse("batch-detail", args=[batch.pk])))


def test_the_newest_version_is_offered_first_and_the_own_text_last(
    staff_client: Client, form_url: str, project: Project
) -> None:
    _version(project, "First.")
    _version(project, "Second.", based_on=1)
    page = squeezed(staff_client.get(form_url))
    assert '<option value="2" selected>' in page
    assert (
        page.index('<option value="2"')
        < page.index('<option value="1"')
        < page.index("Built-in instructions")
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pool": "experts"}, "Workers</a>: Select a valid choice"),
        ({"where": "some", "countries": "US, Ruritania"}, "“Ruritania” is not a country"),
        ({"where": "some", "countries": " , "}, "Enter at least one country, such as US"),
        ({"worker_limit": "0"}, "Tasks per worker</a>: Ensure this value is greater than or equal to 1"),
        ({"worker_limit": "many"}, "Tasks per worker</a>: Enter a whole number."),
        ({"instructions": "7"}, "Instructions</a>: Select a valid choice"),
    ],
)
def test_invalid_requirement_is_named_and_nothing_is_launched(
    staff_client: Client, form_url: str, change: dict[str, str], message: str
) -> None:
    reply = staff_client.post(form_url, FORM | change | {"step": "launch"})
    assert reply.status_code == 400
    assert message in squeezed(reply)
    assert not Batch.objects.exists()


def test_more_countries_than_a_marketplace_takes_are_refused(staff_client: Client, form_url: str) -> None:
    many = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR"
    form = FORM | {"where": "some", "countries": many.replace(" ", ",")}
    assert "enter at most 30" in squeezed(staff_client.post(form_url, form))
    with pytest.raises(Refused, match="countries: 31 are named"):
        build_eligibility(countries=parse_countries(many.replace(" ", ",")))


def test_countries_are_read_by_code_and_by_name_once_each() -> None:
    assert parse_countries("us, Côte d’Ivoire;cote d’ivoire\nGermany,DE") == ("US", "CI", "DE")
    assert parse_countries("") == ()
    with pytest.raises(ValueError, match="“UK” is not a country"):
        parse_countries("UK")


def test_every_requirement_has_a_label(project: Project, make_image: MakeImage) -> None:
    requirements = (
        PlannedRequirement(Pool.APPLIED, Comparator.DOES_NOT_EXIST),
        PlannedRequirement(Pool.QUALIFIED, Comparator.GREATER_THAN_OR_EQUAL_TO, (8,)),
        PlannedRequirement(None, Comparator.NOT_IN, ("FR", "DE")),
    )
    batch = launched(
        project, [make_image(1)], terms=LaunchTerms(eligibility=Eligibility(requirements, worker_limit=1))
    )
    batch.refresh_from_db()
    summary = batch_eligibility_summary(batch)
    assert summary.workers == (
        "Workers who have not submitted the qualification task; "
        "workers whose “street-scenes: qualified” is at least 8"
    )
    assert summary.countries == "All except France and Germany"
    assert summary.tasks_per_worker == "1 task"


# --- the command line


def _launch(project: Project, *more: str) -> Batch:
    out = StringIO()
    call_command(
        "launch_batch", KIND, "--project", project.slug, "--reward-cents", "125", "--json", *more, stdout=out
    )
    return Batch.objects.get(pk=json.loads(out.getvalue())["batch"])


def _refused(project: Project, *more: str) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("launch_batch", KIND, "--project", project.slug, "--reward-cents", "125", *more)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_launch_command_sets_the_same_requirements(form_url: str, project: Project) -> None:
    first = _version(project, "First.")
    _version(project, "Second.", based_on=1)
    batch = _launch(
        project,
        "--pool",
        "qualified",
        "--countries",
        "US,Canada",
        "--worker-limit",
        "3",
        "--instructions",
        "1",
    )
    assert _asked_of(batch) == {NOT_EXCLUDED, ("qualified", "Exists", ()), ("", "In", ("US", "CA"))}
    assert (batch.worker_limit, batch.instructions) == (3, first)


@pytest.mark.parametrize(("flags", "version"), [((), 2), (("--instructions", "0"), None)])
def test_launch_command_uses_the_newest_version_by_default(
    form_url: str, project: Project, flags: tuple[str, ...], version: int | None
) -> None:
    _version(project, "First.")
    _version(project, "Second.", based_on=1)
    shown = _launch(project, *flags).instructions
    assert (shown.version if shown else None) == version


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--pool", "excluded"), "--pool excluded: use qualified or trained"),
        (("--countries", "US,Ruritania"), "--countries: “Ruritania” is not a country"),
        (("--countries", ","), "--countries: name at least one"),
        (("--worker-limit", "0"), "--worker-limit 0: use 1 or more"),
        (("--instructions", "4"), "--instructions 4: street-scenes has no such version"),
    ],
)
def test_the_command_names_the_flag_that_is_wrong(
    form_url: str, project: Project, flags: tuple[str, ...], message: str
) -> None:
    assert message in _refused(project, *flags)
    assert not Batch.objects.exists()


def test_batch_page_uses_a_fixed_number_of_queries_for_any_number_of_versions(
    staff_client: Client, project: Project, make_image: MakeImage
) -> None:
    batch = launched(project, [make_image(1)])
    url = reverse("batch-detail", args=[batch.pk])

    def count() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert staff_client.get(url).status_code == 200
        return len(seen)

    _version(project, "1.")
    count()
    before = count()
    for number in (1, 2, 3):
        _version(project, f"{number + 1}.", based_on=number)
    assert count() == before
