"""Decisions in the product: runs are kept with their rules and data, and made once; the page, the file, the job."""

import csv
import io
import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.models import Pair
from hits.domain.states import JobState
from hits.models import Batch, Hit, Job
from hits.services import projects
from hits.services.errors import Refused
from hits.services.launching.launch import launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support import market
from tests.support.judging.asking import answer, unit
from tests.support.judging.work import Work, ratings, review
from validation import tasks
from validation.domain.decision_rules import DecisionRule, Method
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.models import DecisionRun, ItemDecision, JudgingRound
from validation.selectors import decisions as selectors
from validation.services import decisions as services
from validation.services.judging import launch_comparison
from validation.services.judgment_imports import import_judgments

pytestmark = pytest.mark.django_db
KIND = "observation_review"


@pytest.fixture
def pairs(work: Work) -> list[Pair]:
    """Three judged pairs: all three judges for the first, one of two for the second, none of two for the third."""
    found = work.observed(work.image(), worker="AUTHOR")
    batch = launched(work, found)
    hits = {hit.unit.key: hit for hit in Hit.objects.filter(unit__batch=batch).select_related("unit")}
    votes = [("highly", "highly", "relatively"), ("highly", "un"), ("un", "un")]
    for pair, words in zip(found, votes, strict=True):
        for n, word in enumerate(words):
            work.answered(hits[pair.instance_id], f"J{n}", review(word))
    return found


def launched(work: Work, found: list[Pair]) -> Batch:
    author = found[0].submission.attempt.worker
    batch, _ = launch_batch(
        project=work.project,
        kind_name=KIND,
        name="Review",
        units=[unit(pair, pair.instance_id, author) for pair in found],
        by=None,
        terms=LaunchTerms(redundancy=3),
    )
    work.publish(batch)
    return batch


def outcomes(run: DecisionRun, dimension: str = "reasonable") -> dict[str, str]:
    return dict(run.decisions.filter(dimension=dimension).values_list("item", "outcome"))


def test_default_rules_are_majority(work: Work, pairs: list[Pair]) -> None:
    rules = selectors.default_rules_of_kind(KIND)
    made = services.decide_items(project=work.project, kind=KIND, rules=rules, by=None)
    assert list(outcomes(made.run).values()) == ["accept", "undecided", "reject"]
    assert list(outcomes(made.run)) == [pair.instance_id for pair in pairs]
    assert made.run.counts["dimensions"]["reasonable"] == {"accept": 1, "reject": 1, "undecided": 1}
    assert made.run.counts["judgments"] == 7
    assert ItemDecision.objects.filter(run=made.run).count() == 9


def test_the_same_rules_over_the_same_judgments_make_one_run(work: Work, pairs: list[Pair]) -> None:
    rules = selectors.default_rules_of_kind(KIND)
    first, again = (
        services.decide_items(project=work.project, kind=KIND, rules=rules, by=None) for _ in range(2)
    )
    assert (first.is_new, again.is_new, again.run) == (True, False, first.run)
    hit = Hit.objects.get(unit__key=pairs[1].instance_id)
    work.answered(hit, "J9", review("highly"))
    later = services.decide_items(project=work.project, kind=KIND, rules=rules, by=None)
    assert later.is_new
    assert outcomes(later.run)[pairs[1].instance_id] == "accept"
    assert outcomes(first.run)[pairs[1].instance_id] == "undecided", "what was decided before stays"
    assert later.run.data_sha256 != first.run.data_sha256


def test_rules_as_data_change_what_is_decided(work: Work, pairs: list[Pair]) -> None:
    two_of_three = DecisionRule("reasonable", Method.K_OF_N, ("highly",), k=2, of=3)
    made = services.decide_items(project=work.project, kind=KIND, rules={"reasonable": two_of_three}, by=None)
    assert list(outcomes(made.run).values()) == ["accept", "undecided", "reject"]
    only = DecisionRule("reasonable", Method.K_OF_N, ("highly",), k=3, of=3)
    made = services.decide_items(project=work.project, kind=KIND, rules={"reasonable": only}, by=None)
    assert list(outcomes(made.run).values()) == ["reject", "reject", "reject"]
    assert selectors.current_rules(work.project, KIND)["reasonable"] == only


def test_undecidable_input_is_refused(work: Work) -> None:
    with pytest.raises(Refused, match="judgments: there are none yet"):
        services.decide_items(
            project=work.project, kind=KIND, rules=selectors.default_rules_of_kind(KIND), by=None
        )
    with pytest.raises(Refused, match="its items are not decided"):
        services.decide_items(project=work.project, kind="localization_match", rules={}, by=None)
    foreign = DecisionRule("beauty", Method.MAJORITY, ("highly",))
    with pytest.raises(Refused, match="beauty is not a dimension"):
        services.decide_items(project=work.project, kind=KIND, rules={"beauty": foreign}, by=None)


def test_unknown_label_is_refused_with_the_scale(work: Work, pairs: list[Pair]) -> None:
    rules = {"reasonable": DecisionRule("reasonable", Method.MAJORITY, ("high",))}
    message = "reasonable, positive: high is not on the scale; use highly, relatively, un"
    for decide in (services.decide_items, services.request_decisions):
        with pytest.raises(Refused, match=message):
            decide(project=work.project, kind=KIND, rules=rules, by=None)  # type: ignore[operator]


def test_each_method_is_counted_beside_the_others(work: Work, pairs: list[Pair]) -> None:
    found = selectors.judgment_tables(work.project, KIND)
    rule = DecisionRule("reasonable", Method.MAJORITY, ("highly", "relatively"), k=1, of=3)
    counts = selectors.count_outcomes_by_method(found.tables, {"reasonable": rule})["reasonable"]
    assert counts["majority"] == {"accept": 1, "reject": 1, "undecided": 1}
    assert counts["k_of_n"] == {"accept": 2, "reject": 0, "undecided": 1}
    assert sum(counts["weighted"].values()) == 3


def test_candidates_of_sets_are_decided_by_their_ratings(work: Work) -> None:
    mine = work.observed(work.image(1), worker="AUTHOR")
    others = work.observed(work.image(2), worker="OTHER")
    comparison = SetToJudge(
        id="7",
        own_pair_id=mine[0].instance_id,
        image_id=mine[0].image_id,
        boxes=mine[0].boxes,
        candidates=[CandidateToRate(o.instance_id, o.inference) for o in others],
    )
    batch, _ = launch_comparison(project=work.project, sets=[comparison], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    work.answered(hit, "J1", ratings(hit, 3, 2, 1))
    work.answered(hit, "J2", ratings(hit, 3, 1, 1))
    kind = "likert_comparison"
    made = services.decide_items(
        project=work.project, kind=kind, rules=selectors.default_rules_of_kind(kind), by=None
    )
    assert list(outcomes(made.run, "rating").values()) == ["accept", "undecided", "reject"]
    assert selectors.undecided_item_keys(made.run) == ["7"]
    [row] = selectors.undecided_decisions(made.run, ["7"])["7"]
    assert row.item == f"7/{others[1].instance_id}"


def page(client: Client, work: Work) -> str:
    return client.get(reverse("decisions", args=[work.project.slug])).content.decode()


VALUES = {
    f"{name}-{field}": value
    for name in ("reasonable", "boxes", "interesting")
    for field, value in {
        "method": "majority",
        "k": "2",
        "of": "",
        "threshold": "0.9",
        "at_least": "1",
    }.items()
}


def posted(**changes: str) -> dict[str, str]:
    positive = {
        "reasonable-positive": ["highly", "relatively"],
        "boxes-positive": ["appropriate", "mostly"],
        "interesting-positive": ["very", "interesting"],
    }
    return {"kind": KIND} | VALUES | positive | changes  # type: ignore[return-value]


def test_the_page_previews_decides_and_lists_what_is_undecided(
    client: Client, work: Work, researcher: User, pairs: list[Pair]
) -> None:
    client.force_login(researcher)
    assert "No items have been decided yet" in page(client, work)
    url = reverse("decisions", args=[work.project.slug])
    shown = client.post(url, posted(**{"reasonable-k": "1", "reasonable-of": "3", "step": "preview"}))
    counts = shown.context["preview"]["reasonable"]
    assert counts["k_of_n"] == {"accept": 2, "reject": 0, "undecided": 1}
    assert not DecisionRun.objects.exists()
    assert client.post(url, posted(step="decide")).status_code == 302
    run = DecisionRun.objects.get()
    assert run.decided_by == researcher
    text = page(client, work)
    assert pairs[1].inference in text
    assert pairs[0].inference not in text
    assert "1 highly reasonable" in " ".join(text.split())
    client.post(url, posted(step="decide"))
    assert DecisionRun.objects.count() == 1


def test_a_rule_that_contradicts_itself_is_named_at_its_field(
    client: Client, work: Work, researcher: User, pairs: list[Pair]
) -> None:
    client.force_login(researcher)
    url = reverse("decisions", args=[work.project.slug])
    reply = client.post(
        url,
        posted(**{"boxes-method": "k_of_n", "boxes-k": "4", "boxes-of": "3", "step": "decide"}),
    )
    text = reply.content.decode()
    assert reply.status_code == 400
    assert "4 positive judgments cannot come from 3 judges." in text
    assert 'href="#id_boxes-k"' in text
    assert not DecisionRun.objects.exists()


def test_query_count_is_independent_of_items(
    client: Client, work: Work, researcher: User, pairs: list[Pair]
) -> None:
    client.force_login(researcher)
    url = reverse("decisions", args=[work.project.slug])

    def count() -> int:
        services.decide_items(
            project=work.project, kind=KIND, rules=selectors.default_rules_of_kind(KIND), by=None
        )
        client.get(url)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(url).status_code == 200
        return len(seen)

    few = count()
    hits = Hit.objects.filter(unit__batch=Hit.objects.get(unit__key=pairs[0].instance_id).unit.batch)
    for hit in hits:
        work.answered(hit, "J7", review("un"))
        work.answered(hit, "J8", review("highly"))
    batch = launched(work, work.observed(work.image(5), worker="THIRD"))
    for hit in Hit.objects.filter(unit__batch=batch):
        work.answered(hit, "J1", review("un"))
        work.answered(hit, "J2", review("highly"))
    assert count() == few
    assert len(client.get(url).context["rows"]) > 1


def test_run_is_downloaded_as_csv(client: Client, work: Work, researcher: User, pairs: list[Pair]) -> None:
    made = services.decide_items(
        project=work.project, kind=KIND, rules=selectors.default_rules_of_kind(KIND), by=None
    )
    client.force_login(researcher)
    reply = client.get(reverse("decision-file", args=[work.project.slug, made.run.pk]))
    rows = list(csv.DictReader(io.StringIO(b"".join(reply.streaming_content).decode())))  # type: ignore[attr-defined]
    assert len(rows) == 9
    assert rows[0]["item"] == pairs[0].instance_id
    assert {row["outcome"] for row in rows if row["dimension"] == "reasonable"} == {
        "accept",
        "undecided",
        "reject",
    }
    assert not {"worker", "rater"} & set(rows[0])


def test_another_project_s_run_and_strangers_get_nothing(
    client: Client, work: Work, researcher: User, outsider: User, pairs: list[Pair]
) -> None:
    made = services.decide_items(
        project=work.project, kind=KIND, rules=selectors.default_rules_of_kind(KIND), by=None
    )
    address = reverse("decision-file", args=[work.project.slug, made.run.pk])
    assert client.get(address).status_code == 302
    client.force_login(outsider)
    assert client.get(address).status_code == 404
    assert (
        client.post(reverse("decisions", args=[work.project.slug]), posted(step="decide")).status_code == 404
    )
    other = projects.create_project(name="Other", by=researcher)
    client.force_login(researcher)
    assert client.get(reverse("decision-file", args=[other.slug, made.run.pk])).status_code == 404
    assert client.get(address).status_code == 200
    assert DecisionRun.objects.count() == 1


@pytest.fixture
def large(
    client: Client,
    work: Work,
    researcher: User,
    pairs: list[Pair],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Return the page's address in a project with more judgments than a page counts by itself."""
    monkeypatch.setattr(services, "MAX_PAGE_JUDGMENTS", 6)
    client.force_login(researcher)
    return reverse("decisions", args=[work.project.slug])


def test_many_judgments_are_decided_by_a_worker_process(client: Client, large: str, researcher: User) -> None:
    assert client.post(large, posted(step="preview")).status_code == 302
    job = Job.objects.get(task="validation.decide_items")
    tasks.decide_items(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert client.get(large).context["preview"]["reasonable"]["majority"]["accept"] == 1
    client.post(large, posted(step="decide"))
    tasks.decide_items(Job.objects.filter(args__preview=False).get().pk)
    assert DecisionRun.objects.get().decided_by == researcher


def test_preview_counts_equal_the_next_decision(client: Client, large: str) -> None:
    three_of_three = {"reasonable-method": "k_of_n", "reasonable-k": "3", "reasonable-of": "3"}
    client.post(large, posted(step="preview", **three_of_three))
    waiting = client.get(large)
    assert "js/ui/job.js" in waiting.content.decode(), "the page follows the job"
    tasks.decide_items(Job.objects.get(task="validation.decide_items").pk)
    form = waiting.context["forms"][0]
    assert (form["method"].value(), form["k"].value(), form["of"].value()) == ("k_of_n", 3, 3)
    client.post(large, posted(step="decide", **{"reasonable-method": "majority"}))
    tasks.decide_items(Job.objects.filter(args__preview=False).get().pk)
    form = client.get(large).context["forms"][0]
    assert form["method"].value() == "majority", "a later run counts more than an earlier preview"


def test_command_decides_and_prints_outcomes(
    work: Work, pairs: list[Pair], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call_command("decide", "--project", work.project.slug, "--kind", KIND, "--json")
    reply = json.loads(capsys.readouterr().out)
    assert reply["dimensions"]["reasonable"] == {"accept": 1, "reject": 1, "undecided": 1}
    assert reply["new"] is True
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"boxes": {"dimension": "boxes", "method": "best", "positive": ["mostly"]}}))
    with pytest.raises(CommandError, match=r"rules\.json: boxes, method: Use one of k_of_n") as error:
        call_command("decide", "--project", work.project.slug, "--kind", KIND, "--rules", str(rules))
    assert error.value.returncode == 2


def test_follow_up_is_launched_in_two_steps(client: Client, work: Work, researcher: User) -> None:

    market.fund()
    found = work.observed(work.image(), worker="AUTHOR", count=3)
    batch = launched(work, found)
    first = JudgingRound.objects.create(
        batch=batch, rules={n: r.as_row() for n, r in selectors.default_rules_of_kind(KIND).items()}
    )
    for n, pair in enumerate(found):
        answer(work, batch, pair.instance_id, J1="highly", J2="highly", J3="highly")
        if n == 0:
            answer_four = Hit.objects.get(unit__batch=batch, unit__key=pair.instance_id)
            work.answered(answer_four, "J4", review("un"))
            work.answered(answer_four, "J5", review("un"))
            work.answered(answer_four, "J6", review("un"))
    client.force_login(researcher)
    url = reverse("follow-up", args=[work.project.slug, first.pk])
    assert client.get(url).status_code == 200
    reply = client.post(url, {"max_redundancy": "2", "ask_budget": "5.00", "step": "limits"})
    assert reply.status_code == 400
    assert "Use 4 to 100" in reply.content.decode()
    client.post(url, {"max_redundancy": "7", "ask_budget": "5.00", "step": "limits"})
    page = client.get(url)
    shown = " ".join(page.content.decode().split())
    assert "Launch 1 task, hold $0.40" in shown
    assert "Acceptable (majority), Box placement (majority)" in shown
    sent = {"step": "launch", "idempotency_key": page.context["idempotency_key"]}
    assert [client.post(url, sent).status_code for _ in range(2)] == [302, 302], "as by a double click"
    follower = first.followers.get()
    assert follower.batch.units.get().key == found[0].instance_id


def test_imported_judgments_are_decided_too(work: Work, tmp_path: Path) -> None:
    lines = ["item,dimension,label,rater"]
    for rater in ("R1", "R2"):
        for name, label in (("reasonable", "un"), ("boxes", "mostly"), ("interesting", "very")):
            lines.append(f"{'a' * 32},{name},{label},{rater}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    import_judgments(project=work.project, kind=KIND, path=path)
    made = services.decide_items(
        project=work.project, kind=KIND, rules=selectors.default_rules_of_kind(KIND), by=None
    )
    assert outcomes(made.run) == {"a" * 32: "reject"}
