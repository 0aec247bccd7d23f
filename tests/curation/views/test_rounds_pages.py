"""Pages of comparison rounds: build one by named rules, look through its sets and what it skipped, launch it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import ComparisonRound, Pair
from curation.records import SkipReason
from curation.selectors.round_sets import SetOrder, candidate_counts, find_sets, skipped_pairs
from curation.services import comparison as services
from curation.views import rounds as views
from curation.views.forms import RoundForm
from curation.views.rule_labels import RULES, SKIP_REASON_LABELS
from hits.models import Job, Project
from hits.services.errors import Refused
from tests.support import market
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
NUMBERS = {"min_candidates": "20", "size": "10", "max_verbatim": "3", "seed": "0"}
DEFAULTS = {"min_candidates": "12", "size": "10", "max_verbatim": "3", "diversity": "mean", "seed": "0"}


def figures(gold: float, plausibility: list[float], available: int) -> dict[str, Any]:
    """What a round keeps of a set."""
    similarity = [0.0, *([0.25] * (len(plausibility) - 1))]
    return {
        "gold": gold,
        "plausibility": plausibility,
        "similarity": similarity,
        "objectives": [5 * value - like for value, like in zip(plausibility, similarity, strict=True)],
        "copies": [2, *([1] * (len(plausibility) - 1))],
        "cluster": [1, *([3] * (len(plausibility) - 1))],
        "eligible": available + 4,
        "available": available,
        "promise": {"words": 7.5, "similarity": 0.25, "plausibility": 0.4},
        "places": {"words": 1.5, "similarity": 2.0, "plausibility": 1.0, "total": 8.5},
    }


@pytest.fixture
def pairs(work: Work) -> list[Pair]:
    """Return twelve pairs of four authors on four photos."""
    found = [work.observed(work.image(n), worker=f"W{n}") for n in range(4)]
    return [pair for some in found for pair in some]


@pytest.fixture
def built(work: Work, pairs: list[Pair]) -> ComparisonRound:
    """Return a round of three sets of three; the other nine pairs got none."""
    ids = [pair.instance_id for pair in pairs]
    dropped = {"dropped": [[], [ids[8], ids[9]], []]}
    sets = [
        services.BuiltSet(pairs[0].pk, ids[3:6], 1, figures(0.2, [0.5, 0.4, 0.3], 40) | dropped),
        services.BuiltSet(pairs[3].pk, [ids[1], ids[4], ids[6]], 2, figures(0.1, [0.6, 0.2, 0.15], 25)),
        services.BuiltSet(pairs[6].pk, ids[9:12], 3, {"available": 30}),
    ]
    return services.store_round(
        project=work.project,
        options=services.RoundOptions(min_candidates=20),
        built=services.BuiltRound(
            encoder="made up",
            provenance={"code": "test", "left_by_soft_deduplication": 10},
            instances=12,
            inferences=12,
            sets=sets,
            skipped={
                "too_few_candidates": [{"instance": key, "available": n} for n, key in enumerate(ids[1:3])],
                "used_up": [{"instance": ids[4], "available": 19}],
                "pool_exhausted": [{"instance": ids[5], "available": None}],
            },
        ),
    )


def page_of(built: ComparisonRound, name: str = "comparison-round") -> str:
    return reverse(name, args=[built.project.slug, built.pk])


# --- building


def test_a_round_is_queued_with_the_paper_s_floor(client: Client, work: Work, researcher: User) -> None:
    work.observed(work.image())
    client.force_login(researcher)
    page = client.get(reverse("curation-rounds", args=[work.project.slug])).content.decode()
    assert 'name="min_candidates" value="20"' in page
    reply = client.post(reverse("curation-build", args=[work.project.slug]), DEFAULTS)
    assert reply["Location"] == reverse("curation-rounds", args=[work.project.slug])
    job = Job.objects.get(task="curation.build_comparison_round")
    assert job.args["options"]["min_candidates"] == 12


def test_a_round_may_use_clip_or_an_encoder_that_the_project_used(
    client: Client, work: Work, researcher: User
) -> None:
    work.observed(work.image())
    Job.objects.create(
        task="curation.make_features",
        project=work.project,
        state="done",
        args={"options": {"encoder": "clip:/weights/our clip"}},
    )
    client.force_login(researcher)
    page = squeezed(client.get(reverse("curation-rounds", args=[work.project.slug])))
    assert '<option value="label-sentence">label-sentence:' in page
    assert '<option value="clip:/weights/our clip">' in page
    assert "efficientnet-lite0" not in page, "it has no texts"
    url = reverse("curation-build", args=[work.project.slug])
    assert client.post(url, DEFAULTS | {"encoder": "clip:/etc"}).status_code == 400, "no folder by hand"
    assert not Job.objects.filter(task="curation.build_comparison_round").exists()
    chosen = DEFAULTS | {"encoder": "clip:openai/clip-vit-base-patch32", "size": "1"}
    assert 'clip-vit-base-patch32" selected' in squeezed(client.post(url, chosen)), "what was chosen is kept"
    assert client.post(url, chosen | {"size": "10"}).status_code == 302
    job = Job.objects.get(task="curation.build_comparison_round")
    assert job.args["encoder"] == "clip:openai/clip-vit-base-patch32"


def test_a_round_shows_its_encoder(client: Client, built: ComparisonRound, researcher: User) -> None:
    client.force_login(researcher)
    assert "Plausibility: made up." in squeezed(client.get(page_of(built)))


def test_unchanged_fields_are_defaults_of_rules() -> None:
    form = RoundForm([], NUMBERS)
    assert form.is_valid(), form.errors
    assert form.options == services.RoundOptions()
    shown = RoundForm([])
    typed = {name: shown.get_initial_for_field(field, name) for name, field in shown.fields.items()}
    again = RoundForm([], typed)
    assert again.is_valid(), again.errors
    assert again.options == services.RoundOptions(), "the form shows the defaults"
    assert not again.shows_options


def test_every_rule_of_a_round_has_a_field_and_every_choice_is_taken() -> None:
    form = RoundForm(["test", "train"])
    defaults = services.RoundOptions()
    rules = set(type(defaults).__dataclass_fields__) - {"selection"}  # which has a form of its own
    assert set(form.fields) == {*rules, "encoder"}, "a rule without a field, or the reverse"
    for name, rule in RULES.items():
        for value in rule.choices:
            filled = RoundForm([], NUMBERS | {name: value})
            assert filled.is_valid(), (name, value)
            assert getattr(filled.options, name) == value


def test_rule_choice_is_queued_and_kept_on_errors(client: Client, work: Work, researcher: User) -> None:
    work.observed(work.image())
    client.force_login(researcher)
    url = reverse("curation-build", args=[work.project.slug])
    fields = DEFAULTS | {"soft_share": "62.5", "linkage": "complete", "weight": "3"}
    page = squeezed(client.post(url, fields | {"min_candidates": "0"}))
    assert '<details class="adder" open>' in page
    assert 'name="soft_share" value="62.5"' in page
    assert client.post(url, fields).status_code == 302
    options = Job.objects.get(task="curation.build_comparison_round").args["options"]
    assert (options["soft_share"], options["linkage"], options["weight"]) == (0.625, "complete", 3.0)


def test_refused_launch_shows_error_and_keeps_input(
    client: Client, built: ComparisonRound, researcher: User
) -> None:
    market.fund(89)
    client.force_login(researcher)
    url = page_of(built)
    values = {"name": "First look", "reward": "0.30", "assignments": "3", "units": "1"}
    short = client.post(url, values | {"step": "launch"})
    page = squeezed(short)
    assert short.status_code == 400
    assert "Not launched: insufficient funds: $0.90 will be held, but the account has only $0.89" in page
    for name, value in values.items():
        assert f'name="{name}" value="{value}"' in page

    market.fund(1)
    Project.objects.update(confirm_above_cents=89)
    page = squeezed(client.post(url, values | {"step": "launch", "typed_cost": "0.89"}))
    assert "$0.89 is another sum; type the maximum cost, 0.90." in page
    assert 'value="0.89" aria-invalid="true"' in page
    assert not ComparisonRound.objects.filter(batch__isnull=False).exists()
    assert client.post(url, values | {"step": "launch", "typed_cost": "0.90"}).status_code == 302
    assert ComparisonRound.objects.filter(batch__isnull=False).exists()


def test_launching_a_round_takes_two_steps(client: Client, built: ComparisonRound, researcher: User) -> None:
    market.fund()
    client.force_login(researcher)
    url = page_of(built)
    values = {"name": "", "reward": "0.55", "assignments": "2", "units": "1"}
    asked = client.post(url, values | {"step": "estimate"})
    assert "Launch 1 task, hold $1.10" in asked.content.decode()
    found = ComparisonRound.objects.get()
    assert found.batch is None
    fields = values | {"step": "launch", "idempotency_key": asked.context["idempotency_key"]}
    for _ in range(2):  # a second press is the same request, no error
        page = client.post(url, fields, follow=True).content.decode()
        assert "Not launched" not in page
    found.refresh_from_db()
    assert found.batch is not None
    assert found.batch.kind == "likert_comparison"
    assert found.batch.created_by == researcher
    assert client.post(url, values | {"units": "9", "step": "estimate"}).status_code == 400


def test_a_round_over_several_splits_names_one(client: Client, work: Work, researcher: User) -> None:
    images = [work.image(1), work.image(2)]
    for image, split in zip(images, ("train", "test"), strict=True):
        type(image).objects.filter(pk=image.pk).update(split=split)
        work.observed(image)
    with pytest.raises(Refused, match="split: the photos are in test, train"):
        services.request_comparison_round(project=work.project, by=None)
    client.force_login(researcher)
    page = client.get(reverse("curation-rounds", args=[work.project.slug])).content.decode()
    assert '<option value="test">Test</option>' in page
    values = {"min_candidates": "12", "size": "10", "max_verbatim": "3", "diversity": "mean", "seed": "0"}
    url = reverse("curation-build", args=[work.project.slug])
    assert client.post(url, values | {"split": "test"}).status_code == 302
    assert Job.objects.get(task="curation.build_comparison_round").args["options"]["split"] == "test"


# --- looking through


def test_a_set_shows_its_gold_its_candidates_and_why_they_survived(
    client: Client, built: ComparisonRound, pairs: list[Pair], researcher: User
) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(page_of(built)))
    first = page[page.index('id="set-1"') : page.index('id="set-2"')]
    assert f'<b class="long">{pairs[0].inference}</b>' in first
    assert 'plausibility <b class="num">0.200</b>' in first
    for pair in pairs[3:6]:
        assert f'<span class="long">{pair.inference}</span>' in first
    for figure in (">0.500</td>", ">0.300</td>", ">0.25</td>", ">2.50</td>", ">1.75</td>"):
        assert figure in first
    assert "5 × plausibility − mean similarity" in first
    assert first.count("Occurs 2 times") == 1
    assert f"Represents 2 similar: “{pairs[8].inference}”; “{pairs[9].inference}”" in first
    assert "7.5 words per text (rank 1.5)" in first
    stages = ("12</b>", "10</b>", "44</b>", "40</b>", "3</b>")
    places = [first.index(f'<b class="num">{stage}') for stage in stages]
    assert places == sorted(places), "the funnel stands in the order of the rules"
    assert first.count('class="halo"') == len(pairs[0].boxes), "the region is marked"


def test_the_plots_of_a_page_share_one_axis(client: Client, built: ComparisonRound, researcher: User) -> None:
    client.force_login(researcher)
    rows = client.get(page_of(built)).context["rows"]
    strips = {row.item.rank: [one.strip for one in row.candidates] for row in rows}
    at = {
        rank: [strips[rank][0].reference_lines[0].x, *(strip.dots[0].x for strip in strips[rank])]
        for rank in (1, 2)
    }
    assert at[1] == ["22.22%", "77.78%", "59.26%", "40.74%"]
    assert at[2][:2] == ["3.70%", "96.30%"], "the least and the greatest of all"
    assert set(strips[3]) == {None}, "a round of an earlier release kept no figures"


def test_round_without_figures_is_shown(
    client: Client, built: ComparisonRound, pairs: list[Pair], researcher: User
) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(page_of(built)))
    third = page[page.index('id="set-3"') :]
    assert pairs[9].inference in third
    assert '<b class="num">30</b>' in third
    assert "Above gold" not in third[: third.index("</table>")]


@pytest.mark.parametrize(
    ("order", "ranks"),
    [
        (SetOrder.HIGHEST_FIRST, [1, 2, 3]),
        (SetOrder.LOWEST_FIRST, [3, 2, 1]),
        (SetOrder.FEWEST_CANDIDATES, [2, 3, 1]),
    ],
)
def test_sets_are_ordered(built: ComparisonRound, order: SetOrder, ranks: list[int]) -> None:
    assert [item.rank for item in find_sets(built, order=order)] == ranks


def test_search_covers_pair_photo_and_candidates(built: ComparisonRound, pairs: list[Pair]) -> None:
    def found(text: str) -> list[int]:
        return [item.rank for item in find_sets(built, text=text)]

    assert found(pairs[0].inference.upper()) == [1], "it is the gold of the first and no candidate"
    assert found(pairs[4].inference) == [1, 2], "a candidate of both"
    assert found("photo-2") == [3]
    assert found("nothing like it") == []


def test_sets_of_one_split(
    client: Client, built: ComparisonRound, pairs: list[Pair], researcher: User
) -> None:
    for pair, split in ((pairs[0], "train"), (pairs[3], "train"), (pairs[6], "val")):
        type(pair.image).objects.filter(pk=pair.image_id).update(split=split)
    client.force_login(researcher)
    rows = client.get(page_of(built), {"split": "val"}).context["rows"]
    assert [row.item.rank for row in rows] == [3]
    assert "1 of 3 sets" in squeezed(client.get(page_of(built), {"split": "val"}))


def test_one_goes_to_a_set_by_its_rank(
    client: Client, built: ComparisonRound, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "SETS_PER_PAGE", 1)
    client.force_login(researcher)
    reply = client.get(page_of(built), {"set": "2", "order": "least-promising"})
    assert [row.item.rank for row in reply.context["rows"]] == [2]
    assert 'aria-current="true"' in reply.content.decode()
    assert "order=least-promising&amp;page=3" in reply.content.decode(), "pages keep the order"
    assert [row.item.rank for row in client.get(page_of(built), {"set": "77"}).context["rows"]] == [1]
    assert client.get(page_of(built), {"set": "x", "order": "best", "page": "z"}).status_code == 200


def test_pairs_without_a_set_are_listed_with_reason_and_candidates(
    client: Client, built: ComparisonRound, pairs: list[Pair], researcher: User
) -> None:
    client.force_login(researcher)
    url = page_of(built, "comparison-round-skipped")
    page = squeezed(client.get(url))
    assert page.index(pairs[4].inference) < page.index(pairs[2].inference), "most candidates first"
    assert "not counted" in page
    assert SKIP_REASON_LABELS["used_up"] in page
    assert "19 to" not in page
    assert "Pairs by number of candidates" in page
    assert "minimum 20" in page
    some = client.get(url, {"reason": "used_up"})
    assert [row.instance for row, _, _ in some.context["rows"]] == [pairs[4].instance_id]
    every = client.get(url, {"reason": "no such reason"})
    assert len(every.context["rows"]) == 4


def test_skipped_pairs_and_counts_of_candidates(built: ComparisonRound, pairs: list[Pair]) -> None:
    assert [row.available for row in skipped_pairs(built)] == [19, 1, 0, None]
    assert candidate_counts(built) == [0, 1, 19, 25, 30, 40]


def test_every_reason_has_a_label() -> None:
    assert set(SKIP_REASON_LABELS) == {reason.value for reason in SkipReason}


def test_list_shows_rounds_with_skipped_pairs(
    client: Client, built: ComparisonRound, researcher: User
) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(reverse("curation-rounds", args=[built.project.slug])))
    assert f'href="{page_of(built)}"' in page
    skipped = page_of(built, "comparison-round-skipped")
    assert "Its candidates were used by earlier sets: <a" in page
    assert f'{skipped}?reason=used_up">1</a>' in page
    assert "Not launched" in page


def test_a_round_of_another_project_has_no_list_of_skipped(
    client: Client, built: ComparisonRound, admin: User, rehearsal: Project
) -> None:
    client.force_login(admin)
    for name in ("comparison-round", "comparison-round-skipped"):
        assert client.get(reverse(name, args=[rehearsal.slug, built.pk])).status_code == 404
