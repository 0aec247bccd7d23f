"""Curation and version pages: who may see and do what, and that they show what they should."""

import io
import re
import zipfile
from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import ComparisonRound, DatasetVersion, DuplicateRun, SourceRecord
from curation.services.comparison import BuiltRound, BuiltSet, RoundOptions, store_round
from curation.services.versions import create_version, ensure_export_folder, request_seal, seal_version
from curation.views import duplicates as curation_views
from hits.models import Job, Project
from hits.services.images.duplicates import replace_duplicate_marks
from tests.support.judging.work import Work
from tests.support.many_pairs import fill_pairs
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def places(work: Work) -> dict[str, tuple[str, str]]:
    """Every address of this app with the method that it takes: {name: (method, path)}."""
    pairs = [*work.observed(work.image(1)), *work.observed(work.image(2))]
    found = _round(work, [pair.pk for pair in pairs], [pair.instance_id for pair in pairs])
    draft = create_version(project=work.project, name="v2", by=None)
    sealed = create_version(project=work.project, name="v1", by=None)
    seal_version(version=sealed, by=None)
    slug = work.project.slug
    run = DuplicateRun.objects.create(project=work.project, clusters=2)
    return {
        "curation": ("get", reverse("curation", args=[slug])),
        "deduplicate": ("post", reverse("curation-deduplicate", args=[slug])),
        "set aside": ("post", reverse("curation-duplicates-set-aside", args=[slug, run.pk])),
        "undo": ("post", reverse("curation-duplicates-undo", args=[slug, run.pk])),
        "keep": ("post", reverse("curation-duplicates-keep", args=[slug])),
        "rounds": ("get", reverse("curation-rounds", args=[slug])),
        "build": ("post", reverse("curation-build", args=[slug])),
        "round": ("get", reverse("comparison-round", args=[slug, found.pk])),
        "skipped": ("get", reverse("comparison-round-skipped", args=[slug, found.pk])),
        "leave out": (
            "post",
            reverse("comparison-set-leave-out", args=[slug, found.pk, found.sets.get().pk]),
        ),
        "jobs": ("get", reverse("curation-jobs", args=[slug])),
        "versions": ("get", reverse("versions", args=[slug])),
        "version": ("get", reverse("version", args=[sealed.pk])),
        "draft": ("get", reverse("version", args=[draft.pk])),
        "plan": ("post", reverse("version-plan", args=[draft.pk])),
        "seal": ("post", reverse("version-seal", args=[draft.pk])),
        "download": ("get", reverse("version-download", args=[sealed.pk])),
        "file": ("get", reverse("version-file", args=[sealed.pk, "manifest.json"])),
        "judging": ("get", reverse("judging", args=[slug])),
    }


def _round(work: Work, pks: list[int], ids: list[str]) -> ComparisonRound:
    return store_round(
        project=work.project,
        options=RoundOptions(min_candidates=2),
        built=BuiltRound(
            encoder="made up",
            provenance={"code": "test"},
            instances=6,
            inferences=6,
            sets=[BuiltSet(pks[0], ids[1:], 1, {"available": 30})],
            skipped={"too_few_candidates": [{"instance": ids[1], "available": 1}]},
        ),
    )


def ask(client: Client, user: User | None, place: tuple[str, str]) -> Any:
    if user is not None:
        client.force_login(user)
    method, path = place
    return getattr(client, method)(path)


# Pages with tables of their own, by the beginning of their addresses' names.
COVERED_IN_OTHER_TESTS = (
    "ablation",
    "api-leaderboard",
    "choice-",
    "clip",
    "curation-audit",
    "curation-features",
    "curation-leakage",
    "curation-proposal",
    "curation-source",
    "curation-text",
    "error-analysis",
    "evaluation",
    "image-objects",
    "image-triplet",
    "interest",
    "leaderboard",
    "names",
    "object-run",
    "question",
    "scene",
    "scorer",
    "triplet-",
)


def test_every_address_is_in_the_table(places: dict[str, tuple[str, str]]) -> None:
    from curation.urls import urlpatterns as curation

    here = [pattern for pattern in curation if not str(pattern.name).startswith(COVERED_IN_OTHER_TESTS)]
    # The pages about people and judging have tables of their own in tests/validation; the overview of judging is here
    # too, and versions lists sealed and draft under one address.
    assert len(places) == len(here) + 2


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
        expected = {
            "seal": 403, "plan": 302, "deduplicate": 400, "build": 400, "leave out": 302,
            "set aside": 302, "undo": 302, "keep": 302,
        }.get(name, 200)  # fmt: skip
        assert reply.status_code == expected, name
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
    for name in ("curation", "rounds", "round", "skipped", "jobs", "versions", "version", "draft", "judging"):
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
    values = {"cut": "share", "share": "80", "linkage": "complete", "seed": "7"}
    assert client.post(url, values).status_code == 302
    job = Job.objects.get(task="curation.deduplicate_images")
    expected = {"fraction": 0.8, "clusters": None, "distance": None, "linkage": "complete", "keep": "random"}
    assert expected.items() <= job.args["options"].items()
    assert (job.args["options"]["seed"], job.created_by, job.resumable) == (7, researcher, True)
    again = client.post(url, values)
    assert again.status_code == 400
    assert "is running already" in again.content.decode()
    assert 'name="share" value="80"' in squeezed(again), "what was typed is kept"
    bad = client.post(url, {"cut": "share", "share": "0", "linkage": "nearest", "seed": "x"})
    assert bad.status_code == 400
    assert "3 fields need attention" in bad.content.decode()


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ({"cut": "clusters", "clusters": "1", "keep": "largest"}, {"clusters": 1, "keep": "largest"}),
        ({"cut": "distance", "distance": "0.08", "keep": "medoid"}, {"distance": 0.08, "keep": "medoid"}),
        ({"cut": "distance", "distance": "0", "linkage": "ward"}, {"distance": 0.0, "linkage": "ward"}),
        ({"cut": "clusters", "clusters": "2", "share": "50"}, {"clusters": 2, "fraction": None}),
    ],
)
def test_photos_are_merged_until_a_number_a_share_or_a_distance(
    client: Client, work: Work, researcher: User, values: dict[str, str], options: dict[str, Any]
) -> None:
    work.image(1)
    work.image(2)
    client.force_login(researcher)
    url = reverse("curation-deduplicate", args=[work.project.slug])
    assert client.post(url, {"linkage": "average", "seed": "0"} | values).status_code == 302
    job = Job.objects.get(task="curation.deduplicate_images")
    assert options.items() <= job.args["options"].items()


def test_photos_are_compared_by_a_known_encoder_or_one_that_the_project_used(
    client: Client, work: Work, researcher: User
) -> None:
    work.image(1)
    work.image(2)
    Job.objects.create(
        task="curation.make_features",
        project=work.project,
        state="done",
        args={"options": {"encoder": "clip:/weights/ours"}},
    )
    client.force_login(researcher)
    page = squeezed(client.get(reverse("curation", args=[work.project.slug])))
    assert '<option value="efficientnet-lite0">efficientnet-lite0:' in page
    assert "label-sentence" not in page, "it would take two photos of two cats for one"
    url = reverse("curation-deduplicate", args=[work.project.slug])
    values = {"share": "80", "linkage": "average", "seed": "0"}
    assert client.post(url, values | {"encoder": "clip:/etc"}).status_code == 400
    assert client.post(url, values | {"encoder": "clip:/weights/ours"}).status_code == 302
    job = Job.objects.get(task="curation.deduplicate_images")
    assert job.args["options"]["encoder"] == "clip:/weights/ours"


def test_an_end_without_its_number_is_named_at_its_field(
    client: Client, work: Work, researcher: User
) -> None:
    work.image(1)
    work.image(2)
    client.force_login(researcher)
    url = reverse("curation-deduplicate", args=[work.project.slug])
    reply = client.post(url, {"cut": "clusters", "share": "90", "linkage": "average", "seed": "0"})
    assert reply.status_code == 400
    page = squeezed(reply)
    assert '<p class="error" id="dedup_clusters_error">Enter a number here' in page
    assert 'value="clusters" checked' in page
    many = client.post(url, {"cut": "clusters", "clusters": "3", "linkage": "ward", "seed": "5"})
    assert many.status_code == 400
    page = squeezed(many)
    assert "3 is more than the 2 images" in page
    for kept in ('value="clusters" checked', 'name="clusters" value="3"', 'value="ward" selected'):
        assert kept in page, "what was typed is kept"
    assert 'name="seed" value="5"' in page
    assert not Job.objects.filter(task="curation.deduplicate_images").exists()


def test_photos_of_one_collection_are_chosen_where_there_are_some(
    client: Client, work: Work, researcher: User
) -> None:
    client.force_login(researcher)
    images = [work.image(seed) for seed in range(5)]
    where, url = (reverse(name, args=[work.project.slug]) for name in ("curation", "curation-deduplicate"))
    page = squeezed(client.get(where))
    assert 'name="source"' not in page
    assert "Preview 5 photos</button>" in page
    for image in images[:3]:
        SourceRecord.objects.create(image=image, source="vcr", source_id=str(image.pk))
    page = squeezed(client.get(where))
    assert re.findall(r'<option value="(\w*)"(?: selected)?>((?:All|VCR|Visual)[^<]*)</option>', page) == [
        ("", "All photos"),
        ("vcr", "VCR: 3"),
    ]
    assert "Preview</button>" in page, "how many depends on what is chosen"
    values = {"share": "80", "linkage": "average", "seed": "0"}
    assert client.post(url, values | {"source": "visual_genome"}).status_code == 400, "the project has none"
    few = client.post(url, values | {"cut": "clusters", "clusters": "4", "source": "vcr"})
    assert few.status_code == 400
    assert "4 is more than the 3 images of VCR" in squeezed(few)
    assert '<option value="vcr" selected>' in squeezed(few), "what was chosen is kept"
    assert client.post(url, values | {"source": "vcr"}).status_code == 302
    job = Job.objects.get(task="curation.deduplicate_images")
    assert (job.title, job.args["options"]["source"]) == ("De-duplicate 3 photos of VCR", "vcr")
    Job.objects.update(state="done")
    assert client.post(url, values | {"source": ""}).status_code == 302
    assert Job.objects.latest("pk").args["options"]["source"] == ""


def test_groups_are_looked_through_by_pages_largest_first(
    client: Client, work: Work, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curation_views, "GROUPS_PER_PAGE", 1)
    images = [work.image(seed) for seed in range(6)]
    replace_duplicate_marks(
        project=work.project,
        groups={images[0].pk: [images[1].pk], images[2].pk: [images[3].pk, images[4].pk]},
    )
    client.force_login(researcher)
    url = reverse("curation", args=[work.project.slug])
    first, second = squeezed(client.get(url)), squeezed(client.get(url, {"page": "2"}))
    assert [name for name in ("photo-2", "photo-0") if name in first] == ["photo-2"]
    assert [name for name in ("photo-2", "photo-0") if name in second] == ["photo-0"]
    assert "1 to 1 of 2, largest first" in first
    assert "<dd>3 <small>of 6</small></dd>" in first
    assert '<td class="n">2</td><td class="n">1</td>' in first, "one group of two"
    assert '<td class="n">3</td><td class="n">1</td>' in first, "one group of three"


def test_sizes_of_groups_have_bars_and_large_ones_share_one() -> None:
    bars = curation_views.size_bars(Counter({2: 40, 3: 10, 7: 1, 10: 2, 51: 1, 400: 1}))
    assert [(bar.label, bar.count, bar.percent) for bar in bars] == [
        ("2", 40, 100),
        ("3", 10, 25),
        ("6 to 10", 3, 8),
        ("51 or more", 2, 5),
    ]


def test_results_of_last_run_are_shown(client: Client, work: Work, researcher: User) -> None:
    result: dict[str, Any] = {
        "images": 108_077,
        "clusters": 79_977,
        "marked": 28_100,
        "encoder": "made up",
        "method": "sparse",
        "why": "pairs of near rows suffice: about 0.02% of all",
        "threshold": 0.123456,
        "options": {"linkage": "average", "keep": "random", "seed": 3},
    }
    Job.objects.create(
        task="curation.deduplicate_images", title="Done", project=work.project, state="done", result=result
    )
    Job.objects.create(
        task="curation.deduplicate_images",
        title="Later",
        project=work.project,
        state="failed",
        error="no disk",
    )
    client.force_login(researcher)
    page = squeezed(client.get(reverse("curation", args=[work.project.slug])))
    assert "79,977, merged up to a distance of 0.1235" in page
    assert "Sparse: pairs of near rows suffice: about 0.02% of all" in page
    assert "Random, seed 3" in page
    assert "Later: no disk" in page
    assert "<dd>108,077</dd>" in page, "of all collections"
    assert "Set aside again" not in page
    result |= {"set_aside_again": 1_200, "marked_though_offered_again": 7}
    result["options"] |= {"source": "visual_genome"}
    Job.objects.filter(title="Done").update(result=result)
    page = squeezed(client.get(reverse("curation", args=[work.project.slug])))
    assert "<dd>108,077 of Visual Genome</dd>" in page
    assert "<dd>1,200, because of decisions on the page Splits</dd>" in page
    assert "<dt>Set aside although people had offered them again</dt><dd>7</dd>" in page


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


def test_checksum_is_shown_in_groups_of_four(
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
    first = create_version(project=work.project, name="v1", by=None)
    seal_version(version=first, by=None)
    type(gone).objects.filter(pk=gone.pk).update(taken_down_at=work.clock)
    work.observed(work.image(2), worker="W2", count=4)
    second = create_version(project=work.project, name="v2", by=None)
    client.force_login(researcher)
    draft = client.get(reverse("version", args=[second.pk])).content.decode()
    assert "Changes since v1" in draft
    seal_version(version=second, by=None)
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


def test_damaged_export_is_rewritten(
    client: Client, places: dict[str, tuple[str, str]], researcher: User
) -> None:
    version = DatasetVersion.objects.filter(state="sealed").first()
    assert version is not None
    folder = ensure_export_folder(version=version)
    whole = (folder / "statistics.json").read_bytes()
    (folder / "statistics.json").write_bytes(b"x")
    client.force_login(researcher)
    assert client.get(reverse("version-download", args=[version.pk])).status_code == 200
    assert (folder / "statistics.json").read_bytes() == whole


def test_a_sealed_version_waits_for_nothing(client: Client, project: Project, admin: User) -> None:
    """Between the sealing and the end of its job the page has the download, and no reload that would stop it."""
    client.force_login(admin)
    fill_pairs(project, 4, 8)
    draft = create_version(project=project, name="v1", by=None)
    request_seal(version=draft, by=admin)
    address = reverse("version", args=[draft.pk])
    assert "data-job-url" in client.get(address).content.decode()
    seal_version(version=draft, by=admin)
    page = squeezed(client.get(address))
    assert "Download v1" in page
    assert "data-job-url" not in page
