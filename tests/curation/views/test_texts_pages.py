"""The pages of texts: who may see and do what, that they show what was found, and that a reading is kept."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from curation.models import AnalysisKind, Pair, TextAnalysis, TextReview
from curation.pipelines.texts.text_analysis import analyse_texts
from curation.selectors.jobs import ANALYSE_TEXTS
from curation.selectors.texts import toxicity_queue
from curation.services.texts import (
    AnalysisOptions,
    CaptionOptions,
    DuplicateOptions,
    TopicOptions,
    ToxicityOptions,
    record_text_review,
    request_analysis,
    stored_file_path,
)
from hits.models import Job, Project
from tests.support.curation.texts_corpus import Words, two_worlds, write
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
RUNS: dict[str, AnalysisOptions] = {
    "duplicates": DuplicateOptions(share=0.5),
    "topics": TopicOptions(topics=2, passes=2),
    "toxicity": ToxicityOptions(),
    "captions": CaptionOptions(),
}
UNKIND: list[Words] = [("a dirty spoon", "the meal is over"), ("a man", "he is a stupid bastard")]


def analysed(work: Work, pairs: list[Words], kinds: tuple[str, ...] = tuple(RUNS)) -> dict[str, TextAnalysis]:
    """Store pairs about a described photo, and run analyses."""
    write(work, pairs, image=work.image(len(pairs), alt="a door with a lamp"), worker=f"W{len(pairs)}")
    return {kind: analyse_texts(project=work.project, options=RUNS[kind], encoder=Words()) for kind in kinds}


@pytest.fixture
def rows(work: Work) -> dict[str, TextAnalysis]:
    """One analysis of each kind."""
    return analysed(work, UNKIND + two_worlds(20))


@pytest.fixture
def places(rows: dict[str, TextAnalysis], project: Project) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Every address of these pages: {name: (method, path, what is sent)}."""
    slug = project.slug
    found = {"page": ("get", reverse("curation-texts", args=[slug]), {})}
    for kind, row in rows.items():
        found[kind] = ("get", reverse("curation-texts-analysis", args=[slug, row.pk]), {})
        found[f"export {kind}"] = ("get", reverse("curation-texts-export", args=[slug, row.pk]), {})
        found[f"run {kind}"] = ("post", reverse("curation-texts-run", args=[slug, kind]), {})
    score = toxicity_queue(rows["toxicity"])[0].score.pk
    path = reverse("curation-texts-read", args=[slug, rows["toxicity"].pk])
    found["read"] = ("post", path, {"score": score, "concern": "yes"})
    return found


def test_anonymous_users_outsiders_and_workers_are_refused(
    client: Client, places: Any, outsider: User, annotator: User
) -> None:
    for user, status in ((None, 302), (outsider, 404), (annotator, 404)):
        if user is not None:
            client.force_login(user)
        for name, (method, path, data) in places.items():
            assert getattr(client, method)(path, data).status_code == status, (user, name)
    assert not Job.objects.filter(task=ANALYSE_TEXTS).exists()
    assert not TextReview.objects.exists()


def test_a_researcher_sees_and_does_all(client: Client, places: Any, researcher: User) -> None:
    client.force_login(researcher)
    expected = {
        "read": 302,
        "run duplicates": 400,
        "run topics": 400,
        "run toxicity": 400,
        "run captions": 400,
    }
    for name, (method, path, data) in places.items():
        assert getattr(client, method)(path, data).status_code == expected.get(name, 200), name
    assert TextReview.objects.get().by == researcher


def test_posts_need_their_token_and_their_method(places: Any, researcher: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(researcher)
    for name, (method, path, data) in places.items():
        if method == "post":
            assert client.post(path, data).status_code == 403, name
            assert client.get(path).status_code == 405, name


def test_an_analysis_of_another_project_is_not_found(
    client: Client, rows: dict[str, TextAnalysis], admin: User, rehearsal: Project
) -> None:
    client.force_login(admin)
    for row in rows.values():
        for name in ("curation-texts-analysis", "curation-texts-export"):
            assert client.get(reverse(name, args=[rehearsal.slug, row.pk])).status_code == 404
    read = reverse("curation-texts-read", args=[rehearsal.slug, rows["toxicity"].pk])
    assert client.post(read, {"score": 1, "concern": "yes"}).status_code == 404
    assert client.post(reverse("curation-texts-run", args=[rehearsal.slug, "everything"])).status_code == 404


def test_pages_have_no_inline_style_or_script_and_each_id_once(
    client: Client, places: Any, researcher: User
) -> None:
    client.force_login(researcher)
    for name in ("page", *RUNS):
        page = client.get(places[name][1]).content.decode()
        assert " style=" not in page, name
        assert not re.search(r"<script(?![^>]*\ssrc=)", page), name
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert sorted(ids) == sorted(set(ids)), name
        assert "nan" not in re.findall(r'(?:x|y|width|height|d)="([^"]*nan[^"]*)"', page), name


def test_groups_that_were_joined_to_reach_a_share_are_called_so(
    client: Client, work: Work, researcher: User
) -> None:
    write(work, [("a", "it rained"), ("b", "it rained"), ("c", "a party"), ("d", "alone")])
    client.force_login(researcher)
    pages = {}
    for name, options in (
        ("share", DuplicateOptions(share=0.01)),
        ("distance", DuplicateOptions(distance=0.1)),
    ):
        row = analyse_texts(project=work.project, options=options, encoder=Words())
        reply = client.get(reverse("curation-texts-analysis", args=[work.project.slug, row.pk]))
        pages[name] = squeezed(reply)
    assert "Joined to keep 1.0% of the texts" in pages["share"]
    assert "Least similar, cosine" in pages["share"]
    assert ">None<" not in pages["share"], "an option that was not given is not listed"
    assert "Joined to keep" not in pages["distance"]
    assert "Nearly the same</span>" in pages["distance"]
    assert "Texts were joined up to a distance of 0.1." in pages["distance"]


def test_page_without_pairs_or_analyses_explains_itself(
    client: Client, project: Project, researcher: User
) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(reverse("curation-texts", args=[project.slug])))
    assert "No approved pair yet" in page
    assert page.count("Not analysed yet") == 4
    assert "<details" not in page  # nothing to run before there is a pair


def test_the_page_shows_the_newest_of_each_and_lists_the_earlier(
    client: Client, work: Work, rows: dict[str, TextAnalysis], researcher: User
) -> None:
    again = analyse_texts(project=work.project, options=TopicOptions(topics=3, passes=1), encoder=Words())
    unfinished = TextAnalysis.objects.create(project=work.project, kind="toxicity")
    client.force_login(researcher)
    page = squeezed(client.get(reverse("curation-texts", args=[work.project.slug])))
    assert f"Topics {rows['topics'].pk}</a>" in page, "the earlier one is in the list"
    assert reverse("curation-texts-analysis", args=[work.project.slug, again.pk]) in page
    assert reverse("curation-texts-analysis", args=[work.project.slug, unfinished.pk]) not in page
    detail = reverse("curation-texts-analysis", args=[work.project.slug, unfinished.pk])
    assert client.get(detail).status_code == 404
    assert "A word list is not a model" in page
    assert 'class="ribbon hue-0"' in page
    assert "inferences 0" in page


def test_an_analysis_is_queued_with_its_options(client: Client, work: Work, researcher: User) -> None:
    write(work, two_worlds(4))
    client.force_login(researcher)
    run = {kind: reverse("curation-texts-run", args=[work.project.slug, kind]) for kind in RUNS}
    sent = {"field": "clue", "share": "70", "linkage": "complete", "cap": "2", "seed": "5"}
    assert client.post(run["duplicates"], sent).status_code == 302
    job = Job.objects.get(task=ANALYSE_TEXTS)
    assert job.created_by == researcher
    assert (job.args["kind"], job.args["options"]["share"], job.args["options"]["field"]) == (
        "duplicates",
        0.7,
        "clue",
    )
    again = client.post(run["duplicates"], sent, follow=True)
    assert "is running already" in again.content.decode()
    page = client.get(reverse("curation-texts", args=[work.project.slug])).content.decode()
    assert f'data-job-url="/api/jobs/{job.pk}/"' in page
    bad = client.post(run["topics"], {"topics": "1", "passes": "x", "least_texts": "2", "seed": "0"})
    assert bad.status_code == 400
    assert "2 fields need attention" in bad.content.decode()
    model = {"scorer": "hf:", "sample": "0", "top": "9", "seed": "0"}
    for place in ("", "/srv/models/toxic", "../models/toxic", "toxic/"):
        reply = client.post(run["toxicity"], model | {"model": place})
        assert reply.status_code == 400
        assert "Enter the classifier’s hub id, owner/name." in reply.content.decode()
    assert client.post(run["toxicity"], model | {"model": "some/name"}).status_code == 302
    assert Job.objects.first().args["options"]["scorer"] == "hf:some/name"  # type: ignore[union-attr]


def test_a_file_of_scores_is_kept_for_the_job(client: Client, work: Work, researcher: User) -> None:
    pair = write(work, UNKIND)[0]
    client.force_login(researcher)
    url = reverse("curation-texts-run", args=[work.project.slug, "toxicity"])
    sent = {"scorer": "file", "sample": "0", "top": "9", "seed": "0"}
    assert "Choose a file." in client.post(url, sent).content.decode()
    data = f"id,field,score\n{pair.instance_id},clue,0.75\n".encode()
    upload = SimpleUploadedFile("from elsewhere.csv", data)
    assert client.post(url, sent | {"upload": upload}).status_code == 302
    options = Job.objects.get(task=ANALYSE_TEXTS).args["options"]
    assert options["file_name"] == "from elsewhere.csv"
    assert stored_file_path(options["file"]).read_bytes() == data
    row = analyse_texts(project=work.project, options=ToxicityOptions(**options))
    assert [item.score.score for item in toxicity_queue(row)] == [0.75]


def test_failed_job_shows_error_on_page(client: Client, work: Work, researcher: User) -> None:
    write(work, two_worlds(4))
    job = request_analysis(project=work.project, options=TopicOptions(), by=None)
    Job.objects.filter(pk=job.pk).update(state="failed", error="clue: 3 words are too few for 10 topics")
    client.force_login(researcher)
    page = squeezed(client.get(reverse("curation-texts", args=[work.project.slug])))
    assert "clue: 3 words are too few for 10 topics" in page


def test_queue_marks_words_and_steps_through_reviews(
    client: Client, rows: dict[str, TextAnalysis], project: Project, researcher: User
) -> None:
    client.force_login(researcher)
    url = reverse("curation-texts-analysis", args=[project.slug, rows["toxicity"].pk])
    read = reverse("curation-texts-read", args=[project.slug, rows["toxicity"].pk])
    insult, spoon = toxicity_queue(rows["toxicity"])
    page = squeezed(client.get(url))
    assert '<mark title="stigma">stupid</mark>' in page
    assert '<mark title="swearing or slur">bastard</mark>' in page
    submission = reverse("assignment-detail", args=[insult.score.observation.submission.assignment.pk])
    assert submission in page, "a researcher acts there"
    for key in ('data-key="n"', 'data-key="c"', 'data-key="j"'):
        assert key in page
    before = Pair.objects.count()
    reply = client.post(read, {"score": insult.score.pk, "concern": "yes", "note": "an insult"})
    assert reply["Location"] == f"{url}?at={spoon.score.pk}", "on to the next unread"
    client.post(read, {"score": spoon.score.pk, "concern": "no"})
    page = squeezed(client.get(url))
    assert '<dd class="long num">2 of 2</dd>' in page
    assert "50.0%" in page
    assert "9.5% to 90.5%" in page  # Wilson's of 1 in 2
    spoon_page = squeezed(client.get(f"{url}?at={spoon.score.pk}"))
    assert "with “spoon” in the text, so probably harmless" in spoon_page
    assert "<b>No concern</b>, rosa" in spoon_page
    assert Pair.objects.count() == before, "nothing is removed"
    assert client.post(read, {"score": "999999", "concern": "yes"}).status_code == 404
    client.post(read, {"score": spoon.score.pk, "concern": "perhaps"})
    assert TextReview.objects.count() == 2


def test_user_texts_are_shown_as_text(client: Client, work: Work, researcher: User) -> None:
    nasty = '<script>alert(1)</script> fat &amp; "quoted"'
    row = analysed(work, [(nasty, "=1+1 stupid")], ("toxicity",))["toxicity"]
    client.force_login(researcher)
    page = client.get(reverse("curation-texts-analysis", args=[work.project.slug, row.pk])).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    reply = client.get(reverse("curation-texts-export", args=[work.project.slug, row.pk]))
    table = list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode())))  # type: ignore[attr-defined]
    assert {line["inference"] for line in table} == {"'=1+1 stupid"}, "a spreadsheet takes it for words"
    assert [line["words"] for line in table] == ["fat", "stupid"]


def test_results_are_downloaded_whole(
    client: Client, rows: dict[str, TextAnalysis], project: Project, researcher: User
) -> None:
    client.force_login(researcher)
    for kind in (AnalysisKind.DUPLICATES, AnalysisKind.TOPICS, AnalysisKind.CAPTIONS):
        reply = client.get(reverse("curation-texts-export", args=[project.slug, rows[kind].pk]))
        rows[kind].refresh_from_db()
        exported = json.loads(reply.content)
        assert exported["result"].keys() == rows[kind].result.keys()
        assert not exported["rehearsal"]
        assert (
            f'attachment; filename="{project.slug}-{kind}-{rows[kind].pk}.json"'
            == (reply["Content-Disposition"])
        )


def test_a_downloaded_result_names_pairs_by_their_published_ids(
    client: Client, rows: dict[str, TextAnalysis], project: Project, researcher: User
) -> None:
    client.force_login(researcher)
    exported = {}
    for kind in ("duplicates", "topics", "captions"):
        reply = client.get(reverse("curation-texts-export", args=[project.slug, rows[kind].pk]))
        exported[kind] = json.loads(reply.content)["result"]
    ids = dict(Pair.objects.values_list("pk", "instance_id"))
    stored = {kind: rows[kind].result for kind in exported}
    assert [row["pair"] for row in exported["captions"]["nearest"]] == [
        ids[row["pair"]] for row in stored["captions"]["nearest"]
    ]
    assert [cell["pairs"] for cell in exported["topics"]["examples"]] == [
        [ids[pk] for pk in cell["pairs"]] for cell in stored["topics"]["examples"]
    ]
    assert exported["topics"]["pairs"] == stored["topics"]["pairs"], "a count, no pair"
    assert exported["duplicates"]["groups"]
    for group, kept in zip(exported["duplicates"]["groups"], stored["duplicates"]["groups"], strict=True):
        assert (group["kept"], group["members"]) == (ids[kept["kept"]], [ids[pk] for pk in kept["members"]])
        assert group["pair"] == [ids[pk] for pk in kept["pair"]]
    taken = Pair.objects.get(pk=stored["captions"]["nearest"][0]["pair"]).image
    type(taken).objects.filter(pk=taken.pk).update(taken_down_at=timezone.now())
    again = client.get(reverse("curation-texts-export", args=[project.slug, rows["captions"].pk]))
    assert json.loads(again.content)["result"]["nearest"][0]["pair"] is None


def test_the_queue_s_file_names_readers_by_letters_only(
    client: Client, rows: dict[str, TextAnalysis], project: Project, researcher: User, admin: User
) -> None:
    insult, spoon = (item.score for item in toxicity_queue(rows["toxicity"]))
    for score, by in ((spoon, researcher), (insult, admin), (spoon, admin), (insult, researcher)):
        record_text_review(observation=score.observation, field=score.field, is_concern=by == admin, by=by)
    type(project).objects.filter(pk=project.pk).update(is_rehearsal=True)
    client.force_login(researcher)
    reply = client.get(reverse("curation-texts-export", args=[project.slug, rows["toxicity"].pk]))
    text = b"".join(reply.streaming_content).decode()  # type: ignore[attr-defined]
    table = {line["words"]: line["by"] for line in csv.DictReader(io.StringIO(text))}
    assert table == {"stupid bastard": "A", "dirty": "B"}, (
        "the first reader is A, whoever read which text last"
    )
    words = set(re.findall(r"\w+", text))  # an id may hold their letters
    assert not words & {researcher.get_username(), admin.get_username()}
    assert reply["Content-Disposition"].endswith(f'-{rows["toxicity"].pk}-rehearsal.csv"')


def test_pages_ask_the_same_number_of_questions_whatever_there_is(
    client: Client, work: Work, researcher: User
) -> None:
    client.force_login(researcher)

    def asked() -> list[int]:
        newest = {row.kind: row for row in TextAnalysis.objects.order_by("pk")}
        paths = [reverse("curation-texts", args=[work.project.slug])]
        paths += [
            reverse("curation-texts-analysis", args=[work.project.slug, newest[kind].pk]) for kind in RUNS
        ]
        counts = []
        for path in paths:
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert client.get(path).status_code == 200
            counts.append(len(queries))
        return counts

    analysed(work, UNKIND * 2 + two_worlds(4))
    few = asked()
    for row in analysed(work, UNKIND * 6 + two_worlds(40)).values():
        if row.kind == "toxicity":
            for item in toxicity_queue(row)[:5]:
                TextReview.objects.create(
                    observation=item.score.observation,
                    field=item.score.field,
                    is_concern=False,
                    by=researcher,
                )
    assert asked() == few
