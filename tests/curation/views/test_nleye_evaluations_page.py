"""The comparisons page of image triplets, one evaluation, and its downloads: they show the stored figures."""

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.evaluation.nleye_paper import paper_figures
from curation.models import DatasetVersion, TripletEvaluation, TripletSource
from curation.selectors.triplets.evaluation_comparisons import compare_evaluations
from curation.selectors.triplets.evaluations import version_triplets
from curation.services.triplets.evaluations import EvaluationOptions, request_evaluation
from curation.views.triplets.comparison_tables import judge_warning
from hits.models import Image, Job, Project
from hits.services.jobs import jobs
from tests.support.nleye_evaluations import (
    answers_of,
    lose_call,
    quick_version,
    store_choices,
    store_scores,
)
from tests.support.nleye_jobs import sealed_triplets
from tests.support.nleye_stored import nleye_project
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
COUNT = 12
OUTCOMES = "rrrrwfffsswr"  # 5 right, 2 wrong, 3 first, 2 second


@pytest.fixture
def version(project: Project, researcher: User) -> DatasetVersion:
    return quick_version(project, COUNT, researcher)


def page_of(client: Client, user: User, name: str, *args: Any, **query: Any) -> str:
    client.force_login(user)
    reply = client.get(reverse(name, args=args), query)
    assert reply.status_code == 200, reply.status_code
    return squeezed(reply)


def shown_numbers(page: str) -> set[str]:
    """Return the stored numbers that a page shows, to their last digit."""
    return set(re.findall(r'<data value="([^"]+)"', page))


def numbers_in(figures: Any) -> set[str]:
    """Return each value of figures as JSON has it."""
    if isinstance(figures, dict) and "value" in figures:
        return set() if figures["value"] is None else {json.dumps(figures["value"])}
    return set().union(*map(numbers_in, figures.values())) if isinstance(figures, dict) else set()


def test_without_a_sealed_version_pages_link_to_versions(
    client: Client, researcher: User, project: Project
) -> None:
    nleye_project(project)
    for name in ("triplet-evaluations", "triplet-evaluation-start"):
        page = page_of(client, researcher, name, project.slug)
        assert "No version is sealed yet" in page
        assert f'href="{reverse("versions", args=[project.slug])}"' in page


def test_evaluation_shows_its_stored_figures_to_the_last_digit(
    client: Client, researcher: User, version: DatasetVersion, tmp_path: Path
) -> None:
    row = store_choices(version, answers_of(version, OUTCOMES))
    slug = version.project.slug
    page = page_of(client, researcher, "triplet-evaluation", slug, row.pk)
    figures = row.figures["triplet"]
    shares = {
        name: figure for name, figure in figures.items() if isinstance(figure, dict) and "value" in figure
    }
    assert len(shares) == 8
    assert numbers_in(shares) <= shown_numbers(page)
    assert {repr(figures["position_p"])} <= shown_numbers(page)
    assert figures["consistency_accuracy"]["value"] == pytest.approx(500 / COUNT)
    assert figures["order_gap"]["value"] == pytest.approx(100 / COUNT)
    assert "41.7" in page
    low, high = (f"{figures['consistency_accuracy'][end]:.1f}" for end in ("low", "high"))
    assert f"{low} to {high}" in page
    for grouping in ("category", "temporal"):
        macro = row.figures["groups"][grouping]["macro"]["triplet"]["consistency_accuracy"]
        assert numbers_in(macro) <= shown_numbers(page)


def test_page_shows_the_better_order_why_intervals_are_missing_and_what_macro_gaps_are(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    row = store_choices(version, answers_of(version, OUTCOMES))  # gold first in 3 more, gold second in 2 more
    page = page_of(client, researcher, "triplet-evaluation", version.project.slug, row.pk)
    assert "difference of the two: first higher" in page
    turned = store_choices(version, answers_of(version, OUTCOMES.translate(str.maketrans("fs", "sf"))))
    page = page_of(client, researcher, "triplet-evaluation", version.project.slug, turned.pk)
    assert "difference of the two: second higher" in page
    macro = row.figures["groups"]["category"]["macro"]["triplet"]["order_gap"]["value"]
    gaps = [
        group["triplet"]["order_gap"]["value"]
        for group in row.figures["groups"]["category"]["groups"].values()
        if group["triplet"]["triplets"]
    ]
    assert macro == pytest.approx(sum(gaps) / len(gaps))
    assert "mean of the gaps" in page
    assert "A figure of fewer than 10 values has no interval" in page


def test_newest_version_with_evaluations_is_shown_first(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    later = DatasetVersion.objects.create(
        project=version.project, name="v9", state="sealed", sealed_at=timezone.now(), manifest_sha256="0" * 64
    )
    shown = re.compile(r'aria-current="true">(v\d)</a>')
    name, slug = "triplet-evaluations", version.project.slug
    assert shown.findall(page_of(client, researcher, name, slug))[0] == "v9"
    store_choices(version, answers_of(version, OUTCOMES))
    assert shown.findall(page_of(client, researcher, name, slug))[0] == version.name
    assert shown.findall(page_of(client, researcher, name, slug, version=later.pk))[0] == "v9"


@pytest.mark.parametrize(("share", "warns"), [(10.0, False), (10.1, True), (None, False)])
def test_judge_that_accepts_explanations_of_other_triplets_is_warned_of(
    share: float | None, warns: bool
) -> None:
    figures = {"checks": {"other_triplet": {"score": {"value": share}}}}
    assert ("10.1 % of the explanations of other triplets" in judge_warning(figures)) is warns
    assert bool(judge_warning(figures)) is warns


def test_downloads_give_the_page_s_figures_to_the_command(
    client: Client, researcher: User, version: DatasetVersion, tmp_path: Path
) -> None:
    slug = version.project.slug
    row = store_choices(version, answers_of(version, "rwfsurrrrrrr"))
    pairs = store_scores(version, [(3.0, 7.5), (4.0, 4.0), (None, 2.0)] * 4)
    client.force_login(researcher)
    for evaluation, flag, name in (
        (row, "predictions", "predictions.jsonl"),
        (pairs, "pair_scores", "pairs.jsonl"),
    ):
        paths = {}
        for file in ("key.json", name, "figures.json"):
            reply = client.get(reverse("triplet-evaluation-file", args=[slug, evaluation.pk, file]))
            assert reply.status_code == 200
            paths[file] = tmp_path / file
            paths[file].write_bytes(reply.content)
        out = StringIO()
        given = {flag: paths[name], "answer_key": paths["key.json"]}
        call_command("evaluate", "nleye", json=True, stdout=out, **given)
        evaluated = json.loads(out.getvalue())
        stored = json.loads(paths["figures.json"].read_text())
        assert stored == evaluation.figures
        setup = evaluation.setup
        assert evaluated[setup] == stored[setup]
        assert evaluated["groups"] == stored["groups"]
    table = client.get(
        reverse("triplet-evaluation-file", args=[slug, row.pk, "predictions.csv"])
    ).content.decode()
    assert len(table.splitlines()) == 1 + 2 * COUNT
    csv = client.get(reverse("triplet-evaluation-file", args=[slug, row.pk, "figures.csv"])).content.decode()
    value = row.figures["triplet"]["gold_first_accuracy"]["value"]
    assert f"triplet.gold_first_accuracy.value,{value}\r\n" in csv
    unknown = reverse("triplet-evaluation-file", args=[slug, row.pk, "pairs.jsonl"])
    assert client.get(unknown).status_code == 404


def test_comparisons_have_ours_beside_the_published_figures(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    slug = version.project.slug
    row = store_choices(version, answers_of(version, OUTCOMES), label="openai:tiny-2026")
    pairs = store_scores(version, [(3.0, 7.5), (4.0, 4.0), (5.0, 2.0)] * 4, label="openai:tiny-2026")
    store_choices(
        version, answers_of(version, "f" * COUNT), label="always-first", source=TripletSource.BASELINE
    )
    page = page_of(client, researcher, "triplet-evaluations", slug)
    assert page.count(f'href="{reverse("triplet-evaluation", args=[slug, row.pk])}"') == 2  # table and list
    for evaluation, setup, measure in (
        (row, "triplet", "consistency_accuracy"),
        (pairs, "pairs", "order_faithful_accuracy"),
    ):
        assert numbers_in(evaluation.figures[setup][measure]) <= shown_numbers(page)
    assert "Ventura et al. 2025, table 2" in page
    for published in paper_figures().tables["main"]:
        assert f"<b>{published.figures['triplet']:g}</b>" in page
    order = page_of(client, researcher, "triplet-evaluations", slug, view="order")
    figures = row.figures["triplet"]
    assert "gold first 66.7, gold second 58.3, consistency 41.7 percent" in order
    assert "gold first 100.0, gold second 0.0, consistency 0.0 percent" in order
    assert "gold first 97.4, gold second 16.3, consistency 16.3 percent" in order  # GPT-4o in the paper
    assert numbers_in(
        {name: figures[name] for name in ("order_gap", "first_position_share")}
    ) <= shown_numbers(order)
    groups = page_of(client, researcher, "triplet-evaluations", slug, view="groups")
    by_category = row.figures["groups"]["category"]["groups"]
    cells = {label: group["triplet"]["consistency_accuracy"] for label, group in by_category.items()}
    assert numbers_in(cells) <= shown_numbers(groups)
    assert 'Physical<br><small class="muted num">n = 2</small>' in groups
    scores = page_of(client, researcher, "triplet-evaluations", slug, view="scores")
    assert numbers_in(pairs.figures["pairs"]["mean_difference"]) <= shown_numbers(scores)
    published = page_of(client, researcher, "triplet-evaluations", slug, view="published")
    assert paper_figures().notes[0] in published


def test_people_and_next_steps(client: Client, researcher: User, project: Project) -> None:
    choices = ("right", "right", "wrong")
    version, slug = sealed_triplets(project, 3, researcher, choices=choices), project.slug
    page = page_of(client, researcher, "triplet-evaluations", slug)
    for text in (
        "People are not measured on v1 yet",
        "No model is measured on v1 yet",
        "Nothing measured on v1",
    ):
        assert text in page
    job = request_evaluation(
        version=version, options=EvaluationOptions(model="people"), by=researcher, queue=False
    )
    assert jobs.run_in_process(job=job).error == ""
    row = TripletEvaluation.objects.get()
    page = page_of(client, researcher, "triplet-evaluations", slug, view="people")
    assert "People are not measured" not in page
    people = row.figures["people"]
    names = ("individual_accuracy", "majority_accuracy", "unanimous", "alpha_nominal")
    assert numbers_in({name: people[name] for name in names}) <= shown_numbers(page)
    assert "66.7" in page  # two of three answers are right
    assert "<b>67.6</b>" in page  # unanimity in the paper
    own = page_of(client, researcher, "triplet-evaluation", slug, row.pk)
    assert numbers_in({name: people[name] for name in names}) <= shown_numbers(own)
    model = store_choices(version, answers_of(version, "rwf"))
    beside = page_of(client, researcher, "triplet-evaluation-compare", slug, first=model.pk, second="people")
    assert "3 triplets that people judged" in beside
    assert f'<data value="{json.dumps(100 * (1 / 3))}"><b>33.3</b>' in beside  # people are always right


def test_pages_need_a_constant_number_of_queries(
    client: Client, researcher: User, version: DatasetVersion, django_assert_max_num_queries: Any
) -> None:
    slug = version.project.slug
    for number in range(8):
        store_choices(version, answers_of(version, OUTCOMES), label=f"model {number}")
    client.force_login(researcher)
    for view in ("accuracy", "order", "groups"):
        with django_assert_max_num_queries(14):
            assert client.get(reverse("triplet-evaluations", args=[slug]), {"view": view}).status_code == 200
    row = TripletEvaluation.objects.first()
    assert row is not None
    with django_assert_max_num_queries(18):
        assert client.get(reverse("triplet-evaluation", args=[slug, row.pk])).status_code == 200


def test_two_evaluations_are_compared_on_the_same_triplets(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    slug = version.project.slug
    first = store_choices(version, answers_of(version, OUTCOMES), label="one")
    second = store_choices(version, answers_of(version, "wwwwwwwwwwwr"), label="two")
    pairs = store_scores(version, [(3.0, 7.5)] * COUNT)
    page = page_of(client, researcher, "triplet-evaluation-compare", slug, first=first.pk, second=second.pk)
    found = compare_evaluations(first, second, version_triplets(version))["consistency_accuracy"]
    assert found["difference"]["value"] == pytest.approx(100 * (5 - 1) / COUNT)
    assert (found["first_only"], found["second_only"], found["p"]) == (4, 0, pytest.approx(2 / 2**4))
    assert {json.dumps(found["difference"]["value"]), json.dumps(found["p"])} <= shown_numbers(page)
    other = page_of(client, researcher, "triplet-evaluation-compare", slug, first=first.pk, second=pairs.pk)
    assert "One gives choices, the other scores" in other
    people = page_of(client, researcher, "triplet-evaluation-compare", slug, first=first.pk, second="people")
    assert "Nobody has judged these triplets yet" in people
    for query in ({"first": "x", "second": "people"}, {"first": first.pk, "second": 10**30}, {}):
        client.force_login(researcher)
        assert client.get(reverse("triplet-evaluation-compare", args=[slug]), query).status_code == 404


def test_triplets_stand_by_outcome_and_replies_as_they_came(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    slug = version.project.slug
    outcomes = "rrrrwfffsuwr"
    row = store_choices(
        version, answers_of(version, outcomes), replies={10: "<script>alert(1)</script> the second"}
    )
    page = page_of(client, researcher, "triplet-evaluation", slug, row.pk)
    listed = [int(number) for number in re.findall(r'<b class="num">Sample (\d+)</b>', page)]
    wrong = [number for number, letter in enumerate(outcomes, start=1) if letter == "w"]
    right = [number for number, letter in enumerate(outcomes, start=1) if letter == "r"]
    assert listed[:2] == wrong
    assert listed[-len(right) :] == right
    assert len(listed) == COUNT
    only = page_of(client, researcher, "triplet-evaluation", slug, row.pk, outcome="flipped")
    assert len(re.findall(r'<b class="num">Sample ', only)) == COUNT - len(wrong) - len(right)
    triplet = page_of(client, researcher, "triplet-evaluation-triplet", slug, row.pk, 10)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; the second" in triplet
    assert "<script>alert" not in triplet
    assert "Right in one order" in triplet
    assert triplet.count("badge--ok") >= 2  # gold, and the right reply
    images = version_triplets(version)[9].row["images"]
    Image.objects.filter(sha256=images["premise"]).update(taken_down_at="2026-11-27T00:00Z")
    triplet = page_of(client, researcher, "triplet-evaluation-triplet", slug, row.pk, 10)
    assert "The image was taken down" in triplet
    client.force_login(researcher)
    assert client.get(reverse("triplet-evaluation-triplet", args=[slug, row.pk, 99])).status_code == 404


def test_calls_that_may_have_been_paid_twice_are_listed(
    client: Client, researcher: User, version: DatasetVersion
) -> None:
    row = store_choices(version, answers_of(version, OUTCOMES))
    slug = version.project.slug
    page = page_of(client, researcher, "triplet-evaluation", slug, row.pk)
    assert "Perhaps paid twice" not in page
    assert "$0.1008 of $1.00" in page  # 24 calls at 4,200 micro-dollars
    lose_call(row, "triplet 3, swapped")
    page = page_of(client, researcher, "triplet-evaluation", slug, row.pk)
    assert "Perhaps paid twice" in page
    assert "triplet 3, swapped" in page
    assert "up to $0.0120" in page


PLAIN = ("triplet-evaluations", "triplet-evaluation-start", "triplet-evaluation-compare", "triplet-audits")
OF_ONE = (
    "triplet-evaluation",
    "triplet-evaluation-triplet",
    "triplet-evaluation-replies",
    "triplet-evaluation-correct",
    "triplet-evaluation-file",
)


def test_pages_are_for_members_of_the_project(
    client: Client, researcher: User, outsider: User, make_user: Callable[..., User], version: DatasetVersion
) -> None:
    row = store_choices(version, answers_of(version, OUTCOMES))
    slug = version.project.slug
    more = {"triplet-evaluation-triplet": [1], "triplet-evaluation-file": ["figures.json"]}
    addresses = [reverse(name, args=[slug]) for name in (*PLAIN, "triplet-audit-start")]
    addresses += [reverse(name, args=[slug, row.pk, *more.get(name, [])]) for name in OF_ONE]
    before = Job.objects.count()
    for user in (outsider, make_user("nobody")):
        client.force_login(user)
        for address in addresses:
            assert client.get(address).status_code in {404, 405}, address
            assert client.post(address, {"what": "baseline"}).status_code in {404, 405}, address
    client.logout()
    assert all(client.get(address).status_code in {302, 405} for address in addresses)
    assert Job.objects.count() == before
    client.force_login(researcher)
    Project.objects.filter(pk=version.project.pk).update(family="sherlock")
    assert {client.get(address).status_code for address in addresses} <= {404, 405}


def test_evaluations_of_another_project_are_not_found(
    client: Client, admin: User, rehearsal: Project, version: DatasetVersion
) -> None:
    row = store_choices(version, answers_of(version, OUTCOMES))
    nleye_project(rehearsal)
    client.force_login(admin)
    for name, more in (
        ("triplet-evaluation", []),
        ("triplet-evaluation-replies", []),
        ("triplet-evaluation-triplet", [1]),
    ):
        assert client.get(reverse(name, args=[rehearsal.slug, row.pk, *more])).status_code == 404
    address = reverse("triplet-evaluation-compare", args=[rehearsal.slug])
    assert client.get(address, {"first": row.pk, "second": "people"}).status_code == 404
