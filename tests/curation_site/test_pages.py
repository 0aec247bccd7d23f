"""Curation and version pages: who may see and do what, and that they show what they should."""

import io
import re
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation import services
from curation.models import ComparisonRound, DatasetVersion
from hits.models import Job, Project
from hits.services.errors import Refused
from tests.support import market
from tests.support.pages import squeezed
from tests.validation.factory import Work

pytestmark = pytest.mark.django_db


@pytest.fixture
def places(work: Work) -> dict[str, tuple[str, str]]:
    """Every address of this app with the method that it takes: {name: (method, path)}."""
    pairs = [*work.observed(work.image(1)), *work.observed(work.image(2))]
    found = _round(work, [pair.pk for pair in pairs], [pair.instance_id for pair in pairs])
    draft = services.create_version(project=work.project, name="v2", by=None)
    sealed = services.create_version(project=work.project, name="v1", by=None)
    services.seal_version(version=sealed, by=None)
    slug = work.project.slug
    return {
        "curation": ("get", reverse("curation", args=[slug])),
        "deduplicate": ("post", reverse("curation-deduplicate", args=[slug])),
        "build": ("post", reverse("curation-build", args=[slug])),
        "round": ("get", reverse("comparison-round", args=[slug, found.pk])),
        "versions": ("get", reverse("versions", args=[slug])),
        "version": ("get", reverse("version", args=[sealed.pk])),
        "draft": ("get", reverse("version", args=[draft.pk])),
        "seal": ("post", reverse("version-seal", args=[draft.pk])),
        "download": ("get", reverse("version-download", args=[sealed.pk])),
        "file": ("get", reverse("version-file", args=[sealed.pk, "manifest.json"])),
        "judging": ("get", reverse("judging", args=[slug])),
    }


def _round(work: Work, pks: list[int], ids: list[str]) -> ComparisonRound:
    return services.store_round(
        project=work.project,
        options=services.RoundOptions(min_candidates=2),
        built=services.BuiltRound(
            encoder="made up",
            provenance={"code": "test"},
            instances=6,
            inferences=6,
            sets=[services.BuiltSet(pks[0], ids[1:], 1, {"available": 30})],
            skipped={"too_few_candidates": [{"instance": ids[1], "available": 1}]},
        ),
    )


def ask(client: Client, user: User | None, place: tuple[str, str]) -> Any:
    if user is not None:
        client.force_login(user)
    method, path = place
    return getattr(client, method)(path)


def test_every_address_is_in_the_table(places: dict[str, tuple[str, str]]) -> None:
    from curation.urls import urlpatterns as curation

    # The pages about people and judging have tables of their own in tests/validation; the overview of judging is here
    # too, and versions lists sealed and draft under one address.
    assert len(places) == len(curation) + 2


def test_strangers_are_sent_to_sign_in(client: Client, places: dict[str, tuple[str, str]]) -> None:
    for name, place in places.items():
        reply = ask(client, None, place)
        assert reply.status_code == 302, name
        assert reply["Location"].startswith("/sign-in/"), name


@pytest.mark.parametrize("who", ["outsider", "annotator"])
def test_others_do_not_learn_that_it_exists(
    client: Client, places: dict[str, tuple[str, str]], who: str, request: pytest.FixtureRequest
) -> None:
    user = request.getfixturevalue(who)
    for name, place in places.items():
        assert ask(client, user, place).status_code == 404, name
    assert not Job.objects.exclude(task="hits.publish_batch").exists()


def test_a_researcher_sees_all_but_may_not_seal(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    for name, place in places.items():
        reply = ask(client, researcher, place)
        wanted = {"seal": 403, "deduplicate": 400, "build": 400}.get(name, 200)
        assert reply.status_code == wanted, name
    assert not Job.objects.filter(task="curation.seal_version").exists()


def test_an_admin_seals(client: Client, places: dict[str, tuple[str, str]], admin: User) -> None:
    reply = ask(client, admin, places["seal"])
    assert reply.status_code == 302
    job = Job.objects.get(task="curation.seal_version")
    assert DatasetVersion.objects.get(pk=job.args["version"]).name == "v2"
    page = client.get(places["draft"][1]).content.decode()
    assert f'data-job-url="/api/jobs/{job.pk}/"' in page


def test_a_round_of_another_project_is_not_found(
    client: Client, places: dict[str, tuple[str, str]], admin: User, rehearsal: Project
) -> None:
    client.force_login(admin)
    found = ComparisonRound.objects.get()
    assert client.get(reverse("comparison-round", args=[rehearsal.slug, found.pk])).status_code == 404


def test_pages_have_no_inline_style_or_script(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    for name in ("curation", "round", "versions", "version", "draft", "judging"):
        page = ask(client, researcher, places[name]).content.decode()
        assert " style=" not in page, name
        assert not re.search(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)", page), name
        assert not re.search(r"\son[a-z]+=", page), name
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert sorted(ids) == sorted(set(ids)), name


def test_deduplication_is_queued_with_its_options(client: Client, work: Work, researcher: User) -> None:
    work.image(1)
    work.image(2)
    client.force_login(researcher)
    url = reverse("curation-deduplicate", args=[work.project.slug])
    reply = client.post(url, {"share": "80", "linkage": "complete", "seed": "7"})
    assert reply.status_code == 302
    job = Job.objects.get(task="curation.deduplicate_images")
    assert job.args["options"]["fraction"] == 0.8
    assert job.args["options"]["linkage"] == "complete"
    assert job.args["options"]["seed"] == 7
    assert job.created_by == researcher
    again = client.post(url, {"share": "80", "linkage": "complete", "seed": "7"}, follow=True)
    assert "is under way already" in again.content.decode()
    bad = client.post(url, {"share": "0", "linkage": "nearest", "seed": "x"})
    assert bad.status_code == 400
    assert "3 fields to mend" in bad.content.decode()


def test_a_round_is_queued_with_the_paper_s_floor(client: Client, work: Work, researcher: User) -> None:
    work.observed(work.image())
    client.force_login(researcher)
    page = client.get(reverse("curation", args=[work.project.slug])).content.decode()
    assert 'name="min_candidates" value="20"' in page
    values = {"min_candidates": "12", "size": "10", "max_verbatim": "3", "diversity": "mean", "seed": "0"}
    assert client.post(reverse("curation-build", args=[work.project.slug]), values).status_code == 302
    job = Job.objects.get(task="curation.build_comparison_round")
    assert job.args["options"]["min_candidates"] == 12


def test_a_refused_rating_says_why_and_keeps_what_was_typed(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    market.fund(89)
    client.force_login(researcher)
    url = places["round"][1]
    values = {"name": "First look", "reward": "0.30", "assignments": "3", "units": "1"}
    short = client.post(url, values | {"step": "launch"})
    page = squeezed(short)
    assert short.status_code == 400
    assert "Not launched: insufficient funds: $0.90 will be held and the account has $0.89" in page
    for name, value in values.items():
        assert f'name="{name}" value="{value}"' in page

    market.fund(1)
    Project.objects.update(confirm_above_cents=89)
    page = squeezed(client.post(url, values | {"step": "launch", "typed_cost": "0.89"}))
    assert "$0.89 is another sum; type the most that this can cost, 0.90." in page
    assert 'value="0.89" aria-invalid="true"' in page
    assert not ComparisonRound.objects.filter(batch__isnull=False).exists()
    assert client.post(url, values | {"step": "launch", "typed_cost": "0.90"}).status_code == 302
    assert ComparisonRound.objects.filter(batch__isnull=False).exists()


def test_launching_a_round_takes_two_steps(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    market.fund()
    client.force_login(researcher)
    url = places["round"][1]
    values = {"name": "", "reward": "0.55", "assignments": "2", "units": "1"}
    asked = client.post(url, values | {"step": "estimate"})
    assert "Launch 1 task, hold $1.10" in asked.content.decode()
    found = ComparisonRound.objects.get()
    assert found.batch is None
    wish = values | {"step": "launch", "launch_key": asked.context["launch_key"]}
    for _ in range(2):  # a second press is the same wish, no error
        page = client.post(url, wish, follow=True).content.decode()
        assert "Not launched" not in page
    found.refresh_from_db()
    assert found.batch is not None
    assert found.batch.kind == "likert_comparison"
    assert found.batch.created_by == researcher
    assert client.post(url, values | {"units": "9", "step": "estimate"}).status_code == 400


def test_a_round_shows_its_sets_and_what_it_skipped(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    page = squeezed(ask(client, researcher, places["round"]))
    assert page.count("<li>Somebody left") == 5
    assert "Fewer plausible candidates than the floor" in page
    assert "<dt>Min candidates</dt>" in page
    assert "<dt>Seed</dt><dd>0</dd>" in page


def test_the_archive_holds_the_export(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    reply = ask(client, researcher, places["download"])
    assert reply["Content-Type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(b"".join(reply.streaming_content)))
    names = {name.split("/", 1)[1] for name in archive.namelist()}
    assert {"manifest.json", "seal.jsonl", "sherlock.json", "annotators.jsonl"} <= names


def test_files_outside_the_version_are_not_served(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    client.force_login(researcher)
    for name in ("nothing.json", "../../images/x", "..%2f..%2fsecrets"):
        assert client.get(places["file"][1].replace("manifest.json", name)).status_code == 404


def test_the_seal_stands_in_groups_of_four(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    page = ask(client, researcher, places["version"]).content.decode()
    sealed = DatasetVersion.objects.get(name="v1")
    first = sealed.manifest_sha256
    assert f"{first[:4]} {first[4:8]} {first[8:12]} {first[12:16]}" in page
    assert "Verified now" in page


def test_a_version_shows_its_difference(client: Client, work: Work, researcher: User) -> None:
    gone = work.image(1)
    work.observed(gone, worker="W1")
    first = services.create_version(project=work.project, name="v1", by=None)
    services.seal_version(version=first, by=None)
    type(gone).objects.filter(pk=gone.pk).update(withdrawn_at=work.clock)
    work.observed(work.image(2), worker="W2", count=4)
    second = services.create_version(project=work.project, name="v2", by=None)
    client.force_login(researcher)
    draft = client.get(reverse("version", args=[second.pk])).content.decode()
    assert "What changed since v1" in draft
    services.seal_version(version=second, by=None)
    page = client.get(reverse("version", args=[second.pk])).content.decode()
    for text in ("+4</b> added", "−3</b> removed", "0</b> changed", "Pairs on photos that were taken down"):
        assert text in page


def test_a_draft_is_made_and_a_bad_name_is_named(client: Client, project: Project, researcher: User) -> None:
    client.force_login(researcher)
    url = reverse("versions", args=[project.slug])
    assert client.post(url, {"name": "v1.0", "note": "First"}).status_code == 302
    assert DatasetVersion.objects.get().created_by == researcher
    again = client.post(url, {"name": "v1.0"})
    assert again.status_code == 400
    assert "there is a version v1.0 already" in again.content.decode()
    assert "Use letters, digits" in client.post(url, {"name": "v 1"}).content.decode()


def test_a_damaged_export_is_written_anew(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    version = DatasetVersion.objects.filter(state="sealed").first()
    assert version is not None
    folder = services.export_folder(version=version)
    whole = (folder / "statistics.json").read_bytes()
    (folder / "statistics.json").write_bytes(b"x")
    client.force_login(researcher)
    assert client.get(reverse("version-download", args=[version.pk])).status_code == 200
    assert (folder / "statistics.json").read_bytes() == whole


def test_a_round_over_several_splits_names_one(client: Client, work: Work, researcher: User) -> None:
    images = [work.image(1), work.image(2)]
    for image, split in zip(images, ("train", "test"), strict=True):
        type(image).objects.filter(pk=image.pk).update(split=split)
        work.observed(image)
    with pytest.raises(Refused, match="split: the photos are in test, train"):
        services.request_comparison_round(project=work.project, by=None)
    client.force_login(researcher)
    page = client.get(reverse("curation", args=[work.project.slug])).content.decode()
    assert '<option value="test">Test</option>' in page
    values = {"min_candidates": "12", "size": "10", "max_verbatim": "3", "diversity": "mean", "seed": "0"}
    url = reverse("curation-build", args=[work.project.slug])
    assert client.post(url, values | {"split": "test"}).status_code == 302
    assert Job.objects.get(task="curation.build_comparison_round").args["options"]["split"] == "test"
