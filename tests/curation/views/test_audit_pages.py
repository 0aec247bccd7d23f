"""The audit pages: who may see and do what, what readers are shown, and what files hold."""

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from curation.models import Audit, AuditLabel, AuditState
from curation.selectors import audits as selectors
from curation.services import audits
from hits.models import Project
from tests.support.curation.audits import NO, SMALL, begun, builtin_codebooks, pairs, scored, yes
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db

Place = tuple[str, str, dict[str, Any]]
FORM = {
    "name": "First",
    "codebook": "grounded-on-people",
    "how": "random",
    "n": "3",
    "seed": "1",
    "readers": "2",
}
ANSWER = {"code-person": "no"}


@pytest.fixture
def audit(work: Work, admin: User) -> Audit:
    """Return an audit of six pairs that the admin began; A and B differ on the first."""
    pairs(work, 6)
    return begun(work, by=admin)


@pytest.fixture
def differing(audit: Audit, admin: User, researcher: User) -> Audit:
    audits.record_label(audit=audit, position=1, by=admin, posted=yes("age"), note="The first reader's words")
    audits.record_label(audit=audit, position=1, by=researcher, posted=NO)
    return audit


@pytest.fixture
def places(differing: Audit) -> dict[str, Place]:
    """Return each audit page's URL with its method and data: {name: (method, path, data)}."""
    slug, number = differing.project.slug, differing.pk

    def at(name: str, *args: int) -> str:
        return reverse(name, args=[slug, *args])

    return {
        "curation-audits": ("get", at("curation-audits"), {}),
        "begin": ("post", at("curation-audits"), FORM | {"step": "create"}),
        "curation-audit": ("get", at("curation-audit", number), {}),
        "curation-audit-read": ("get", at("curation-audit-read", number), {}),
        "curation-audit-item": ("get", at("curation-audit-item", number, 2), {}),
        "keep": ("post", at("curation-audit-item", number, 2), ANSWER),
        "curation-audit-settle": ("get", at("curation-audit-settle", number, 1), {}),
        "settle": ("post", at("curation-audit-settle", number, 1), ANSWER),
        "curation-audit-csv": ("get", at("curation-audit-csv", number), {}),
        "curation-audit-json": ("get", at("curation-audit-json", number), {}),
        "curation-audit-close": ("post", at("curation-audit-close", number), {}),
    }


def ask(client: Client, user: User | None, place: Place) -> Any:
    if user is not None:
        client.force_login(user)
    method, path, data = place
    return getattr(client, method)(path, data)


class TestAccess:
    def test_every_address_is_in_the_table(self, places: dict[str, Place]) -> None:
        from curation.urls import urlpatterns

        named = {name for pattern in urlpatterns if (name := str(pattern.name)).startswith("curation-audit")}
        assert named == {name for name in places if name.startswith("curation-")}

    def test_strangers_are_sent_to_sign_in(self, client: Client, places: dict[str, Place]) -> None:
        for name, place in places.items():
            reply = ask(client, None, place)
            assert (reply.status_code, reply["Location"][:9]) == (302, "/sign-in/"), name

    @pytest.mark.parametrize("who", ["outsider", "annotator"])
    def test_others_do_not_learn_that_it_exists(
        self, client: Client, places: dict[str, Place], who: str, request: pytest.FixtureRequest
    ) -> None:
        user = request.getfixturevalue(who)
        for name, place in places.items():
            assert ask(client, user, place).status_code == 404, name
        self.nothing_happened()

    def test_a_post_needs_its_token(self, places: dict[str, Place], admin: User) -> None:
        client = Client(enforce_csrf_checks=True)
        for name, place in places.items():
            if place[0] == "post":
                assert ask(client, admin, place).status_code == 403, name
        self.nothing_happened()

    def nothing_happened(self) -> None:
        assert Audit.objects.count() == 1
        assert AuditLabel.objects.count() == 2
        assert Audit.objects.get().state == AuditState.OPEN

    def test_a_researcher_does_all_but_close_another_s(
        self, client: Client, places: dict[str, Place], researcher: User
    ) -> None:
        expected = {"begin": 302, "keep": 302, "settle": 302, "curation-audit-read": 302}
        for name, place in places.items():
            status = 403 if name == "curation-audit-close" else expected.get(name, 200)
            assert ask(client, researcher, place).status_code == status, name
        assert Audit.objects.filter(state=AuditState.CLOSED).count() == 0

    def test_admin_and_creator_can_close_audit(
        self, client: Client, work: Work, places: dict[str, Place], admin: User, researcher: User
    ) -> None:
        assert ask(client, admin, places["curation-audit-close"]).status_code == 302
        own = begun(work, by=researcher, name="Rosa's")
        assert (
            "Close…"
            in ask(
                client, researcher, ("get", reverse("curation-audit", args=[work.project.slug, own.pk]), {})
            ).content.decode()
        )
        place: Place = ("post", reverse("curation-audit-close", args=[work.project.slug, own.pk]), {})
        assert ask(client, researcher, place).status_code == 302
        assert set(Audit.objects.values_list("state", flat=True)) == {"closed"}

    def test_an_audit_of_another_project_is_not_found(
        self, client: Client, differing: Audit, admin: User, rehearsal: Project
    ) -> None:
        client.force_login(admin)
        assert client.get(reverse("curation-audit", args=[rehearsal.slug, differing.pk])).status_code == 404

    def test_pages_have_no_inline_style_or_script(
        self, client: Client, places: dict[str, Place], researcher: User
    ) -> None:
        for name in ("curation-audits", "curation-audit", "curation-audit-item", "curation-audit-settle"):
            page = ask(client, researcher, places[name]).content.decode()
            assert " style=" not in page, name
            assert not re.search(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)", page), name
            assert not re.search(r"\son[a-z]+=", page), name
            ids = re.findall(r'\sid="([^"]+)"', page)
            assert sorted(ids) == sorted(set(ids)), name


class TestBeginning:
    def url(self, project: Project) -> str:
        return reverse("curation-audits", args=[project.slug])

    def test_it_takes_two_steps_and_shows_the_codebook_in_between(
        self, client: Client, work: Work, researcher: User
    ) -> None:
        pairs(work, 6)
        client.force_login(researcher)
        page = squeezed(client.post(self.url(work.project), FORM | {"step": "look"}))
        assert "Is the clue grounded on a person?" in page
        assert "<b>3</b> of 6 approved pairs will be labelled, each by 2 readers" in page
        assert not Audit.objects.exists()
        reply = client.post(self.url(work.project), FORM | {"step": "create"})
        audit = Audit.objects.get()
        assert reply["Location"] == reverse("curation-audit", args=[work.project.slug, audit.pk])
        assert (audit.created_by, audit.readers, audit.items.count()) == (researcher, 2, 3)

    def test_fewer_pairs_than_requested_are_reported_before_and_after(
        self, client: Client, work: Work, researcher: User
    ) -> None:
        pairs(work, 3)
        client.force_login(researcher)
        many = FORM | {"n": "250"}
        page = squeezed(client.post(self.url(work.project), many | {"step": "look"}))
        assert "There are 247 fewer pairs than requested" in page
        reply = client.post(self.url(work.project), many | {"step": "create"}, follow=True)
        assert "It has all available pairs, 247 fewer than requested" in squeezed(reply)

    def test_an_empty_number_is_the_paper_s_of_that_codebook(
        self, client: Client, work: Work, researcher: User
    ) -> None:
        analysis = scored(work, pairs(work, 60), [0.5 + place / 200 for place in range(60)])
        client.force_login(researcher)
        assert "(50 of each split in Hessel et al. 2022)" in squeezed(client.get(self.url(work.project)))
        top = {"how": "top", "analysis": str(analysis.pk), "n": "", "step": "create"}
        reply = client.post(self.url(work.project), FORM | top)
        assert reply.status_code == 400
        assert "Enter the number of pairs of each split; this codebook has no default." in squeezed(reply)
        reply = client.post(self.url(work.project), FORM | top | {"codebook": "toxicity-reading"})
        assert reply.status_code == 302
        assert (Audit.objects.get().sample["n"], Audit.objects.get().items.count()) == (50, 50)

    def test_one_s_own_codebook_comes_as_a_file_or_pasted(
        self, client: Client, work: Work, researcher: User
    ) -> None:
        pairs(work, 3)
        client.force_login(researcher)
        own = FORM | {"codebook": "own", "step": "look"}
        file = SimpleUploadedFile("small.toml", SMALL.encode())
        page = squeezed(client.post(self.url(work.project), own | {"own_file": file}))
        assert "Is it about a person?" in page
        assert "A small codebook" in page.split("<textarea")[1]  # the file's text is kept for the next step
        pasted = client.post(self.url(work.project), own | {"own_text": SMALL, "step": "create"})
        assert pasted.status_code == 302
        assert Audit.objects.get().codebook["version"] == 3

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"codebook": "own"}, "codebook: choose a file, or paste its text"),
            ({"codebook": "own", "own_text": "id = 3"}, "your codebook: codes: there are none"),
            ({"codebook": "own", "own_text": "x" * 64_001}, "your codebook: over 64,000 bytes"),
            ({"codebook": "own", "own_file": b"\xff\xfe"}, "small.toml: is not UTF-8 text"),
            ({"codebook": "own", "own_file": b"x" * 64_001}, "small.toml: over 64,000 bytes"),
            ({"n": "0"}, "greater than or equal to 1"),
            ({"readers": "6"}, "less than or equal to 5"),
            ({"how": "top"}, "Select a valid choice"),
            ({"name": ""}, "This field is required"),
        ],
    )
    def test_errors_are_shown_at_fields(
        self, client: Client, work: Work, researcher: User, changes: dict[str, Any], message: str
    ) -> None:
        pairs(work, 3)
        client.force_login(researcher)
        if isinstance(changes.get("own_file"), bytes):
            changes = changes | {"own_file": SimpleUploadedFile("small.toml", changes["own_file"])}
        reply = client.post(self.url(work.project), FORM | {"step": "create"} | changes)
        assert reply.status_code == 400
        assert message in squeezed(reply)
        assert not Audit.objects.exists()

    def test_taken_name_is_reported_at_name_field(self, client: Client, work: Work, researcher: User) -> None:
        pairs(work, 3)
        begun(work, name="First")
        client.force_login(researcher)
        reply = client.post(self.url(work.project), FORM | {"step": "create"})
        assert reply.status_code == 400
        assert reply.context["form"].errors["name"] == [
            "an audit named First exists already; choose another name."
        ]

    def test_scores_and_splits_are_offered_where_there_are_any(
        self, client: Client, work: Work, researcher: User
    ) -> None:
        client.force_login(researcher)
        assert "there are none yet" in squeezed(client.get(self.url(work.project)))
        found = [*pairs(work, 3, split="train"), *pairs(work, 3, split="val")]
        assert 'name="analysis"' not in squeezed(client.get(self.url(work.project)))
        analysis = scored(work, found, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        page = squeezed(client.get(self.url(work.project)))
        assert "The highest scores of each split" in page
        assert '<option value="val">Val</option>' in page
        top = FORM | {"how": "top", "n": "1", "analysis": str(analysis.pk), "split": "*", "step": "create"}
        assert client.post(self.url(work.project), top).status_code == 302
        assert sorted(Audit.objects.get().items.values_list("score", flat=True)) == [0.3, 0.6]
        one = FORM | {"name": "Val", "split": "val", "step": "create"}
        assert client.post(self.url(work.project), one).status_code == 302
        assert Audit.objects.get(name="Val").sample["split"] == "val"


class TestReading:
    def at(self, audit: Audit, place: int) -> str:
        return reverse("curation-audit-item", args=[audit.project.slug, audit.pk, place])

    def test_reader_never_sees_others_labels(
        self, client: Client, differing: Audit, make_user: Callable[..., User], researcher: User, admin: User
    ) -> None:
        audits.record_label(audit=differing, position=2, by=admin, posted=yes("work"), note="Quite private")
        client.force_login(researcher)
        for place in (1, 2):
            page = squeezed(client.get(self.at(differing, place)))
            assert "The first reader's words" not in page
            assert "Quite private" not in page
            assert page.count(" checked") == (1 if place == 1 else 0)
        results = squeezed(client.get(reverse("curation-audit", args=[differing.project.slug, differing.pk])))
        assert "The first reader&#x27;s words" in results  # pair 1 has both of its readers
        assert "Quite private" not in results

    def test_page_advances_and_shows_progress(self, client: Client, audit: Audit, researcher: User) -> None:
        client.force_login(researcher)
        read = reverse("curation-audit-read", args=[audit.project.slug, audit.pk])
        assert client.get(read)["Location"] == self.at(audit, 1)
        reply = client.post(self.at(audit, 1), ANSWER | {"note": "Only a wall"}, follow=True)
        page = squeezed(reply)
        assert "Pair 2 of 6" in page
        assert "You have labelled 1 pair. 5 wait for you" in page
        assert "Pair 1 is saved." in page
        back = squeezed(client.get(self.at(audit, 1)))
        assert "Only a wall</textarea>" in back
        assert 'value="no" data-choice-key="2" checked' in back
        assert "Save the correction" in back

    def test_missing_answer_keeps_input(self, client: Client, audit: Audit, researcher: User) -> None:
        client.force_login(researcher)
        reply = client.post(self.at(audit, 1), {"code-person": "yes", "note": "Half done"})
        page = squeezed(reply)
        assert reply.status_code == 400
        assert "1 question to answer" in page
        assert 'href="#code-which"' in page
        assert "Half done</textarea>" in page
        assert 'value="yes" data-choice-key="1" checked' in page
        assert not AuditLabel.objects.exists()

    def test_label_of_meanwhile_complete_pair_is_surplus(
        self, client: Client, differing: Audit, make_user: Callable[..., User]
    ) -> None:
        from hits.domain.states import Role
        from hits.services import projects

        theo = make_user("theo")
        projects.set_role(project=differing.project, user=theo, role=Role.RESEARCHER, by=None)
        client.force_login(theo)
        shown = squeezed(client.get(self.at(differing, 1)))
        assert "This pair has been labelled by 2 readers" in shown
        assert '<form class="card reading-form"' not in shown
        reply = client.post(self.at(differing, 1), ANSWER, follow=True)
        assert "Your label is stored, but no figure counts it" in squeezed(reply)
        assert AuditLabel.objects.filter(reader=theo).count() == 1
        assert selectors.load_labelled_audit(differing).items[0].labels.surplus

    def test_a_codebook_of_clues_shows_no_inference(self, client: Client, work: Work, admin: User) -> None:
        pairs(work, 3)
        audit = begun(work, codebook=builtin_codebooks()["grounded-on-people"], n=1)
        pair = audit.items.get().observation
        client.force_login(admin)
        page = squeezed(client.get(self.at(audit, 1)))
        assert pair.clue in page
        assert pair.inference not in page

    def test_a_closed_audit_shows_no_form(self, client: Client, differing: Audit, researcher: User) -> None:
        audits.close_audit(audit=differing, by=None)
        client.force_login(researcher)
        assert "The audit is closed" in squeezed(client.get(self.at(differing, 2)))
        done = client.get(reverse("curation-audit-read", args=[differing.project.slug, differing.pk]))
        assert "This audit is closed" in squeezed(done)
        reply = client.post(self.at(differing, 2), ANSWER, follow=True)
        assert "is closed and accepts no more labels" in squeezed(reply)
        assert client.get(self.at(differing, 99)).status_code == 404

    def test_user_texts_are_escaped(self, client: Client, audit: Audit, researcher: User) -> None:
        client.force_login(researcher)
        client.post(self.at(audit, 1), ANSWER | {"note": "<script>x</script>"})
        assert "<script>x" not in client.get(self.at(audit, 1)).content.decode()


class TestResults:
    def page(self, client: Client, audit: Audit) -> str:
        return squeezed(client.get(reverse("curation-audit", args=[audit.project.slug, audit.pk])))

    def test_figures_are_shown_with_the_papers(
        self, client: Client, differing: Audit, admin: User, researcher: User
    ) -> None:
        for place in range(2, 6):
            for who in (admin, researcher):
                audits.record_label(
                    audit=differing, position=place, by=who, posted=NO if place > 2 else yes()
                )
        client.force_login(researcher)
        page = self.page(client, differing)
        assert "5 <small>of 6</small>" in page
        assert '3 <span class="muted small">of 4</span>' in page
        assert "36% of 150 clues" in page
        assert "80.0% of 5 pairs" in page
        assert "Cohen’s κ, A and B" in page

    def test_a_difference_is_settled_on_its_page(
        self, client: Client, differing: Audit, researcher: User
    ) -> None:
        client.force_login(researcher)
        there = reverse("curation-audit-settle", args=[differing.project.slug, differing.pk, 1])
        page = squeezed(client.get(there))
        assert "<b>A</b> Yes</span><span><b>B</b> No" in page
        assert client.post(there, {}).status_code == 400
        assert (
            client.post(there, {"code-person": "yes", "code-which": ["age"], "note": "Grey hair"}).status_code
            == 302
        )
        page = self.page(client, differing)
        assert "Settled</span>" in page
        assert "“Grey hair”" in page
        assert "<b>Agreed</b> Their age" in page

    def test_pairs_chosen_by_score_have_no_interval(self, client: Client, work: Work, admin: User) -> None:
        from curation.audits.sampling import SampleRecipe, SamplingMethod

        found = pairs(work, 3)
        analysis = scored(work, found, [0.1, 0.2, 0.3])
        audit = begun(work, readers=1, recipe=SampleRecipe(SamplingMethod.TOP, 3, analysis=analysis.pk))
        audits.record_label(audit=audit, position=1, by=admin, posted=NO)
        client.force_login(admin)
        page = self.page(client, audit)
        assert "chosen by score" in page
        assert "95% interval" not in page

    def test_files_are_anonymous(self, client: Client, differing: Audit, researcher: User) -> None:
        client.force_login(researcher)
        slug, number = differing.project.slug, differing.pk
        sent = client.get(reverse("curation-audit-csv", args=[slug, number]))
        assert sent["Content-Disposition"] == f'attachment; filename="{slug}-audit-{number}.csv"'
        text = b"".join(sent.streaming_content).decode()
        (first, *_) = csv.DictReader(io.StringIO(text))
        assert (first["reader_A"], first["reader_B"], first["state"]) == ("yes", "no", "differs")
        document = client.get(reverse("curation-audit-json", args=[slug, number]))
        assert json.loads(document.content)["readers"] == ["A", "B"]
        for name in (r"\bada\b", r"\brosa\b"):  # as words: an id may hold the letters a, d, a
            assert not re.search(name, text)
            assert not re.search(name, document.content.decode())

    def test_files_of_rehearsal_are_labelled(self, client: Client, rehearsal: Project, admin: User) -> None:
        work = Work(rehearsal)
        pairs(work, 3)
        audit = begun(work, n=3)
        client.force_login(admin)
        sent = client.get(reverse("curation-audit-json", args=[rehearsal.slug, audit.pk]))
        assert sent["Content-Disposition"].endswith('-rehearsal.json"')
        assert json.loads(sent.content)["rehearsal"] is True


def test_queries_do_not_grow(client: Client, work: Work, admin: User, researcher: User) -> None:
    pairs(work, 12)
    audit = begun(work, by=admin, n=12)
    client.force_login(researcher)
    slug, number = work.project.slug, audit.pk
    addresses = [
        reverse("curation-audits", args=[slug]),
        reverse("curation-audit", args=[slug, number]),
        reverse("curation-audit-item", args=[slug, number, 12]),
        reverse("curation-audit-csv", args=[slug, number]),
    ]

    def counted() -> list[int]:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        counts = []
        for address in addresses:
            with CaptureQueriesContext(connection) as found:
                reply = client.get(address)
                if reply.streaming:
                    b"".join(reply.streaming_content)
            counts.append(len(found))
        return counts

    for who, given in ((admin, NO), (researcher, yes("age"))):
        audits.record_label(audit=audit, position=1, by=who, posted=given)
    before = counted()
    for place in range(2, 11):
        for who, given in ((admin, NO), (researcher, yes("age"))):
            audits.record_label(audit=audit, position=place, by=who, posted=given)
    begun(work, by=admin, name="Another", n=12)
    assert counted() == before
