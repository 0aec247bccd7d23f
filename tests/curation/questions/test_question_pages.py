"""Pages of question sets: what they show, who sees them, and how many queries they need."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.models import QuestionSet, QuestionSetState, Stage
from curation.relevance.names import VECTOR_SIMILARITY_STAND_IN
from curation.services.questions import QuestionSetOptions
from curation.views.questions.forms import QuestionSetForm
from curation.views.questions.labels import OPTIONS, describe_set_options
from hits.models import Job, Project
from tests.support.pages import squeezed
from tests.support.vcr.question_sets import store_question_set
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import make_synthetic_set

pytestmark = pytest.mark.django_db
FOLDS = {"train-0": 30, "val-0": 6, "test-0": 6}
MOST_QUERIES = 15


@pytest.fixture
def stored(project: Project) -> QuestionSet:
    """Return a draft with the figures that pages read."""
    synthetic = make_synthetic_set(FOLDS)
    records = store_triplets(project, synthetic.triplets)
    found = store_question_set(project, synthetic.triplets, records, state=QuestionSetState.DRAFT)
    QuestionSet.objects.filter(pk=found.pk).update(
        options={"relevance": "vectors", "similarity": "vectors", "same_image": "forbidden", "share": None},
        figures={
            "triplets": 42,
            "movies": 3,
            "folds": [
                {"name": name, "split": name.split("-")[0], "first": 0, "movies": 1, "triplets": size}
                for name, size in sorted(FOLDS.items())
            ],
        },
    )
    found.refresh_from_db()
    return found


def addresses(found: QuestionSet) -> dict[str, str]:
    slug, question = found.project.slug, found.questions.earliest("pk")
    return {
        "sets": reverse("question-sets", args=[slug]),
        "set": reverse("question-set", args=[slug, found.pk]),
        "questions": reverse("questions", args=[slug, found.pk]),
        "question": reverse("question", args=[slug, found.pk, question.pk]),
    }


def actions(found: QuestionSet) -> list[str]:
    slug = found.project.slug
    names = ("accept", "reject", "delete")
    own = [reverse(f"question-set-{name}", args=[slug, found.pk]) for name in names]
    return [reverse("question-set-build", args=[slug]), *own]


def test_outsiders_see_and_change_nothing(
    client: Client, stored: QuestionSet, django_user_model: Any
) -> None:
    outsider = django_user_model.objects.create_user("oscar", password="x")
    client.force_login(outsider)
    for address in addresses(stored).values():
        assert client.get(address).status_code == 404, address
    for address in actions(stored):
        assert client.post(address).status_code == 404, address
    stored.refresh_from_db()
    assert stored.state == QuestionSetState.DRAFT
    assert not Job.objects.filter(task="curation.build_question_set").exists()


def test_sets_and_questions_of_another_project_are_not_found(
    client: Client, stored: QuestionSet, researcher: User
) -> None:
    from hits.services.projects import create_project

    other = create_project(name="Elsewhere", by=researcher)
    client.force_login(researcher)
    assert client.get(reverse("question-set", args=[other.slug, stored.pk])).status_code == 404
    question = stored.questions.earliest("pk")
    second = store_question_set(stored.project, [], [], name="second")
    address = reverse("question", args=[stored.project.slug, second.pk, question.pk])
    assert client.get(address).status_code == 404


def test_pages_need_few_queries(client: Client, stored: QuestionSet, researcher: User) -> None:
    client.force_login(researcher)
    for address in [*addresses(stored).values(), addresses(stored)["questions"] + "?q=the&fold=train-0"]:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(address).status_code == 200
        assert len(queries) <= MOST_QUERIES, (address, len(queries))


def test_set_page_states_options_and_the_stand_in(
    client: Client, stored: QuestionSet, researcher: User
) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(addresses(stored)["set"]))
    assert "The similarity model is a stand-in." in page
    assert VECTOR_SIMILARITY_STAND_IN in page
    assert "Are never wrong choices" in page
    assert "fitted for each fold and stage" in page
    assert stored.secret not in page


def test_question_list_filters_by_stage_fold_round_and_text(
    client: Client, stored: QuestionSet, researcher: User
) -> None:
    client.force_login(researcher)
    address = addresses(stored)["questions"]

    def shown(query: str) -> str:
        return squeezed(client.get(f"{address}?{query}"))

    assert "42 questions" in shown("")
    assert "6 questions" in shown("fold=val-0&stage=rationale")
    assert shown("fold=val-0&round=2").count("Round 2") == 1 + 6, "the filter's choice, and each question's"
    assert "Round 3</span>" not in shown("fold=val-0&round=2")
    assert "1 question<" in shown("q=val-3")
    assert "val-3</b>" in shown("q=val-3")
    assert "No question matches" in shown("q=val-99")
    question = stored.questions.filter(stage=Stage.ANSWER, fold="test-0").select_related("triplet").first()
    assert question is not None
    word = next(
        word
        for segment in question.triplet.fields["rationale"]
        if isinstance(segment, str)
        for word in segment.split()
        if len(word) > 5
    )
    assert f"{question.annot_id}</b>" in shown(f"q={word}")
    assert "Page 1 of 2" in shown("")


def test_words_of_a_large_set_are_searched_a_fold_at_a_time(
    client: Client, stored: QuestionSet, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.selectors.questions.MAX_SEARCHED", 20)
    client.force_login(researcher)
    page = squeezed(client.get(addresses(stored)["questions"] + "?q=the"))
    assert "words are searched in one fold: test-0" in page
    page = squeezed(client.get(addresses(stored)["questions"] + "?q=the&fold=train-0"))
    assert "words are searched" not in page
    assert "searched in one fold" not in squeezed(client.get(addresses(stored)["questions"] + "?q=val-3"))


def test_search_that_finds_too_many_lists_the_first(
    client: Client, stored: QuestionSet, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(researcher)

    def found(most: int) -> tuple[int, bool]:
        monkeypatch.setattr("curation.selectors.questions.MAX_LISTED", most)
        response = client.get(addresses(stored)["questions"] + "?q=the")
        return response.context["page"].paginator.count, "questions match. The first" in squeezed(response)

    count, is_cut = found(1_000)
    assert count > 2
    assert not is_cut
    assert found(count) == (count, False)
    assert found(2) == (2, True)


def test_question_page_shows_source_round_and_right_choice(
    client: Client, stored: QuestionSet, researcher: User
) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(addresses(stored)["question"]))
    assert page.count("Source, tags and scores") == 4
    assert page.count("match index") >= 3
    assert page.count('<span class="badge badge--ok">Right</span>') == 1
    for number in (1, 2, 3):
        assert f"Round {number}</span>" in page
    assert 'id="question-objects"' in page


def test_question_that_was_set_aside_has_its_reason(
    client: Client, stored: QuestionSet, researcher: User
) -> None:
    question = stored.questions.earliest("pk")
    stored.questions.filter(pk=question.pk).update(choices=[], label=None, set_aside="too few queries")
    client.force_login(researcher)
    assert "This triplet is set aside: too few queries" in squeezed(client.get(addresses(stored)["question"]))
    assert "too few queries" in squeezed(client.get(addresses(stored)["questions"] + "?fold=train-0"))


def test_form_shows_every_option_with_its_default_and_requests_a_set(
    client: Client, stored: QuestionSet, researcher: User
) -> None:
    form = QuestionSetForm()
    assert set(form.fields) == {"name", *QuestionSetOptions.__dataclass_fields__}
    typed = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    typed = {name: value for name, value in typed.items() if value is not None}
    filled = QuestionSetForm(typed | {"name": "draft 2"})
    assert filled.is_valid(), filled.errors
    assert filled.options == QuestionSetOptions(), "the form shows the defaults"
    client.force_login(researcher)
    given = {"name": "draft 2", "folds": "4", "lambda_answer": "0.5", "share": "0.25", "distinct": "off"}
    reply = client.post(actions(stored)[0], given)
    assert reply.status_code == 302
    made = QuestionSet.objects.get(name="draft 2")
    assert made.options["folds"] == 4
    assert made.options["share"] == 0.25
    assert made.options["lambda_answer"] == 0.5
    assert made.options["distinct"] == "off"
    assert made.job is not None
    page = squeezed(client.get(addresses(stored)["sets"]))
    assert "Build the question set draft 2" in page
    assert "Cancel" in page


def test_form_refuses_models_that_nobody_used_and_taken_names(
    client: Client, stored: QuestionSet, researcher: User
) -> None:
    client.force_login(researcher)
    build = actions(stored)[0]
    assert client.post(build, {"name": "a", "relevance": "cross:/etc"}).status_code == 400
    assert client.post(build, {"name": "a", "folds": "2"}).status_code == 400
    reply = client.post(build, {"name": stored.name})
    assert reply.status_code == 400
    assert "there is a question set first already" in squeezed(reply)
    QuestionSet.objects.filter(pk=stored.pk).update(options={"relevance": "cross:/models/bert"})
    assert client.post(build, {"name": "a", "relevance": "cross:/models/bert"}).status_code == 302


def test_options_of_fine_tuning_are_described_for_cross_encoders_alone() -> None:
    from dataclasses import asdict

    expected = dict(describe_set_options(asdict(QuestionSetOptions())))
    assert OPTIONS["epochs"].label not in expected
    tuned = dict(describe_set_options(asdict(QuestionSetOptions(relevance="cross:gt-minilm"))))
    assert tuned[OPTIONS["epochs"].label] == 3
    assert tuned[OPTIONS["shortlist"].label] == 64
