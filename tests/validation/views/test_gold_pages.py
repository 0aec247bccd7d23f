"""The gold pages, and the evidence on a worker's page."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.models import Assignment, AuditEvent, Hit, Image, Project, Worker
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work, ratings, review
from tests.support.pages import squeezed
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.models import GoldItem
from validation.selectors import quality_checks as selectors
from validation.selectors.quality_checks import GoldRow, usable_gold_items
from validation.services import report
from validation.services.judging import RoundPlan, launch_comparison, launch_review
from validation.services.quality_checks import add_gold_item

pytestmark = pytest.mark.django_db
OK, MOVED, BAD, ABSENT = 200, 302, 400, 404
REVIEW, LIKERT = "observation_review", "likert_comparison"


@pytest.fixture
def judged(work: Work, client: Client, researcher: User) -> Work:
    """Three pairs with two judges each; a researcher is signed in."""
    rows = work.observed(work.image(1), worker="AUTHOR", salt="old")
    batch, _ = launch_review(
        project=work.project, observations=rows, by=None, terms=LaunchTerms(redundancy=9)
    )
    work.publish(batch)
    for hit in Hit.objects.filter(unit__batch=batch):
        work.answered(hit, "J1", review("un", "mostly", "very"))
        work.answered(hit, "J2", review("un", "entirely_off", "not_at_all"))
    client.force_login(researcher)
    return work


def units(work: Work) -> list[Any]:
    return list(work.project.batches.get(kind=REVIEW).units.all())


def address(project: Project, name: str = "gold", *args: int) -> str:
    return reverse(name, args=[project.slug, *args])


def ticked(html: str) -> list[tuple[str, str]]:
    found = re.findall(r'name="right-(\w+)"\s+value="(\w+)"(\s+checked)?', html)
    return [(name, value) for name, value, checked in found if checked]


def test_empty_gold_list_explains_next_step(client: Client, project: Project, researcher: User) -> None:
    client.force_login(researcher)
    assert "No gold items yet" in client.get(address(project)).content.decode()
    assert "No retired items" in client.get(address(project), {"show": "retired"}).content.decode()
    assert "No judgments yet" in client.get(address(project, "gold-choose")).content.decode()


def test_judged_unit_becomes_gold_item_with_ticked_answers(client: Client, judged: Work) -> None:
    project, unit = judged.project, units(judged)[0]
    listed = squeezed(client.get(address(project, "gold-choose")))
    assert "2 unreasonable" in listed
    assert "1 mostly appropriate" in listed
    assert listed.count("Choose answers") == 3
    form = f"{address(project, 'gold-new')}?kind={REVIEW}&unit={unit.pk}"
    html = client.get(form).content.decode()
    assert ticked(html) == [("boxes", "mostly"), ("boxes", "entirely_off"), ("reasonable", "un")]
    reply = client.post(form, {"right-reasonable": ["un", "relatively"], "note": "Three of us agreed."})
    assert (reply.status_code, reply.url) == (MOVED, f"{address(project)}?kind={REVIEW}")
    row = GoldItem.objects.get()
    assert (row.expected, row.note) == ({"reasonable": ["relatively", "un"]}, "Three of us agreed.")
    assert row.author == Worker.objects.get(worker_id="AUTHOR")
    page = squeezed(client.get(address(project)))
    for text in (
        "relatively reasonable or unreasonable",
        "Three of us agreed.",
        "No answers yet",
        "In use",
    ):
        assert text in page, text
    assert "AUTHOR" not in page
    chosen = squeezed(client.get(address(project, "gold-choose")))
    assert chosen.count("Choose answers") == 2
    one = client.get(address(project, "gold-choose"), {"item": unit.payload["observation"]})
    assert "Choose answers" not in one.content.decode()


def test_gold_item_without_ticks_is_refused_and_keeps_input(client: Client, judged: Work) -> None:
    unit = units(judged)[0]
    form = f"{address(judged.project, 'gold-new')}?kind={REVIEW}&unit={unit.pk}"
    reply = client.post(form, {"note": "Kept <b>words</b>", "right-reasonable": ["nonsense"]})
    assert reply.status_code == BAD
    assert "tick the right answers of at least one question" in reply.content.decode()
    assert "Kept &lt;b&gt;words&lt;/b&gt;" in reply.content.decode()
    assert not GoldItem.objects.exists()
    again = client.post(form, {"right-boxes": ["mostly"]})
    twice = client.post(form, {"right-boxes": ["mostly"]})
    assert (again.status_code, twice.status_code, GoldItem.objects.count()) == (MOVED, BAD, 1)


def test_quality_check_and_unjudged_unit_cannot_become_gold(client: Client, judged: Work) -> None:
    rows = judged.observed(judged.image(2), worker="LATER")
    batch, _ = launch_review(
        project=judged.project, observations=rows, by=None, plan=RoundPlan(rates=CheckRates(repeat=10))
    )
    judged.publish(batch)
    repeat = Hit.objects.get(unit__batch=batch, unit__quality_check__isnull=False)
    judged.answered(repeat, "J1", review())
    for unit in batch.units.all():
        form = f"{address(judged.project, 'gold-new')}?kind={REVIEW}&unit={unit.pk}"
        assert client.get(form).status_code == ABSENT


def test_gold_item_is_changed_retired_and_reactivated(client: Client, judged: Work) -> None:
    project = judged.project
    row = add_gold_item(unit=units(judged)[0], expected={"reasonable": ["un"]}, by=None)
    edit = address(project, "gold-edit", row.pk)
    assert ticked(client.get(edit).content.decode()) == [("reasonable", "un")]
    assert client.post(edit, {"right-boxes": ["mostly"], "note": "Now"}).status_code == MOVED
    assert client.post(edit, {}).status_code == BAD
    row.refresh_from_db()
    assert row.expected == {"boxes": ["mostly"]}
    switch = address(project, "gold-switch", row.pk)
    for on, active in (("no", False), ("no", False), ("yes", True)):
        assert client.post(switch, {"on": on}).status_code == MOVED
        row.refresh_from_db()
        assert row.is_active is active
    actions = list(AuditEvent.objects.filter(action__startswith="gold.").values_list("action", flat=True))
    assert sorted(actions) == ["gold.add", "gold.change", "gold.restore", "gold.retire"]


def test_gold_item_with_photo_taken_down_is_marked_and_not_usable(client: Client, judged: Work) -> None:
    row = add_gold_item(unit=units(judged)[0], expected={"reasonable": ["un"]}, by=None)
    assert usable_gold_items(judged.project, REVIEW) == [row]
    Image.objects.filter(pk=row.payload["image"]).update(taken_down_at="2026-01-01T00:00Z")
    assert usable_gold_items(judged.project, REVIEW) == []
    page = client.get(reverse("gold-edit", args=[judged.project.slug, row.pk])).content.decode()
    assert "The photo was taken down" in page


def test_gold_item_of_another_project_is_not_found(
    client: Client, judged: Work, rehearsal: Project, admin: User
) -> None:
    row = add_gold_item(unit=units(judged)[0], expected={"reasonable": ["un"]}, by=None)
    client.force_login(admin)
    assert client.get(address(rehearsal, "gold-edit", row.pk)).status_code == ABSENT
    assert client.post(address(rehearsal, "gold-switch", row.pk), {"on": "no"}).status_code == ABSENT
    form = f"{address(rehearsal, 'gold-new')}?kind={REVIEW}&unit={units(judged)[1].pk}"
    assert client.post(form, {"right-boxes": ["mostly"]}).status_code == ABSENT
    assert GoldItem.objects.get().is_active


def with_gold(work: Work) -> GoldItem:
    """Return a gold item with eleven answers, five of them as expected."""
    row = add_gold_item(unit=units(work)[0], expected={"reasonable": ["un"]}, by=None)
    rows = work.observed(work.image(2), worker="LATER")
    batch, _ = launch_review(
        project=work.project,
        observations=rows,
        by=None,
        terms=LaunchTerms(redundancy=11),
        plan=RoundPlan(rates=CheckRates(gold=10)),
    )
    work.publish(batch)
    hits = list(Hit.objects.filter(unit__batch=batch, unit__quality_check__gold_item=row).order_by("slice"))
    for n in range(11):
        work.answered(hits[0 if n < 9 else -1], f"P{n}", review("un" if n < 5 else "highly"))
    return row


def test_gold_list_shows_answer_counts_and_marks_doubtful_items(client: Client, judged: Work) -> None:
    with_gold(judged)
    page = squeezed(client.get(address(judged.project)))
    assert "<b>5 of 11</b> as expected (45.5%)" in page
    assert "Doubtful" in page


def test_gold_item_is_doubtful_from_ten_answers_and_below_sixty_percent() -> None:
    row = GoldItem()
    cases = {(10, 5): True, (10, 6): False, (9, 0): False, (0, 0): False, (100, 59): True}
    for (answered, correct), is_doubtful in cases.items():
        assert GoldRow(row, None, answered, correct).is_doubtful is is_doubtful, (answered, correct)


def test_comparison_set_becomes_gold_item_per_statement(client: Client, work: Work, researcher: User) -> None:
    mine = work.observed(work.image(1), worker="A1")
    texts = work.observed(work.image(2), worker="A2", count=5)
    set_to_judge = SetToJudge(
        id="s1",
        own_pair_id=mine[0].instance_id,
        image_id=mine[0].image_id,
        boxes=mine[0].boxes,
        candidates=[CandidateToRate(row.instance_id, row.inference) for row in texts],
    )
    batch, _ = launch_comparison(project=work.project, sets=[set_to_judge], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    work.answered(hit, "J1", ratings(hit, 1, 3))
    work.answered(hit, "J2", ratings(hit, 2, 1))
    client.force_login(researcher)
    form = f"{address(work.project, 'gold-new')}?kind={LIKERT}&unit={hit.unit.pk}"
    html = client.get(form).content.decode()
    first, second = (row.instance_id for row in texts[:2])
    # Labels 1 and 2 are adjacent, 1 and 3 are not.
    assert {name for name, _ in ticked(html)} == {row.instance_id for row in texts[::2]}
    assert client.post(form, {f"right-{first}": ["1"], f"right-{second}": ["2", "3"]}).status_code == MOVED
    assert GoldItem.objects.get().expected == {first: [1], second: [2, 3]}
    page = squeezed(client.get(address(work.project), {"kind": LIKERT}))
    assert "2 okay or 3 good" in page
    assert texts[0].inference in page


def test_query_count_is_independent_of_gold_items(client: Client, judged: Work) -> None:
    project = judged.project

    def count_queries(name: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            assert client.get(address(project, name)).status_code == OK
        return len(found)

    add_gold_item(unit=units(judged)[0], expected={"reasonable": ["un"]}, by=None)
    count_queries("gold")
    few = {name: count_queries(name) for name in ("gold", "gold-choose")}
    for unit in units(judged)[1:]:
        add_gold_item(unit=unit, expected={"reasonable": ["un"]}, by=None)
    assert {name: count_queries(name) for name in few} == few


def test_gold_list_is_paged(judged: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    for unit in units(judged):
        add_gold_item(unit=unit, expected={"reasonable": ["un"]}, by=None)
    monkeypatch.setattr(selectors, "PER_PAGE", 2)
    pages = [selectors.gold_page(judged.project, REVIEW, page=number) for number in ("1", "2", "9")]
    assert [len(page.rows) for page in pages] == [2, 1, 1]
    assert (pages[0].active, pages[0].retired) == (3, 0)


# -- the worker's page


@pytest.fixture
def fast_one(judged: Work) -> Worker:
    """A worker who misses attention checks and repeats one answer, in a report with others."""
    rows = [row for n in range(8) for row in judged.observed(judged.image(10 + n), worker=f"B{n}")]
    batch, _ = launch_review(
        project=judged.project,
        observations=rows,
        by=None,
        terms=LaunchTerms(redundancy=4, reward_cents=5),
        plan=RoundPlan(rates=CheckRates(attention=10, repeat=10)),
    )
    judged.publish(batch)
    words = ["highly", "relatively", "un"]
    for n, hit in enumerate(Hit.objects.filter(unit__batch=batch)):
        judged.answered(hit, "FAST", review())
        for k in range(3):
            judged.answered(
                hit, f"S{k}", review(words[(n + k) % 3], ["mostly", "entirely_off"][n % 2], "interesting")
            )
    report.compute_report(project=judged.project, kind=REVIEW)
    return Worker.objects.get(worker_id="FAST")


def test_worker_page_shows_evidence_with_totals_and_links(
    client: Client, judged: Work, fast_one: Worker
) -> None:
    page = squeezed(client.get(reverse("worker-detail", args=[judged.project.slug, fast_one.pk])))
    part = page[page.index('id="evidence"') : page.index('id="history"')]
    for name, whole in (
        ("Attention checks", "<b>0</b> of 3"),
        ("Repeats", "<b>9</b> of 9"),
        ("Variety", "<b>0</b> of 24"),
    ):
        assert f'<dt>{name}</dt><dd class="whole-of">{whole}</dd>' in part, name
    assert "<dt>Gold items</dt>" not in part
    linked = {int(key) for key in re.findall(r'href="/submissions/(\d+)/?"', part)}
    assert linked
    mine = set(Assignment.objects.filter(worker=fast_one).values_list("pk", flat=True))
    assert linked <= mine
    for verdict in ("spam", "cheat", "fraud", "suspicious"):
        assert verdict not in part.lower()
    assert fast_one.worker_id not in page


def test_author_without_judgments_has_evidence_from_texts(client: Client, judged: Work) -> None:
    author = Worker.objects.get(worker_id="AUTHOR")
    page = squeezed(client.get(reverse("worker-detail", args=[judged.project.slug, author.pk])))
    assert re.search(r"<dt>Original texts</dt><dd class=\"whole-of\"><b>\d</b> of 3</dd>", page)


def test_worker_page_before_a_report_has_no_evidence(
    client: Client,
    project: Project,
    researcher: User,
    work: Work,
    django_assert_num_queries: Callable[..., Any],
) -> None:
    rows = work.observed(work.image(1), worker="A", confirmed=True)
    batch, _ = launch_review(project=project, observations=rows, by=None)
    work.publish(batch)
    work.answered(Hit.objects.filter(unit__batch=batch)[0], "J", review())
    client.force_login(researcher)
    judge = Worker.objects.get(worker_id="J")
    page = client.get(reverse("worker-detail", args=[project.slug, judge.pk])).content.decode()
    assert "No evidence yet. Evidence comes from judgments" in page
