"""The localization baseline: which images are matched, what workers cannot see, and the score."""

import json
import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.evaluation.localization import parse_localization_key, score_localization
from curation.models import Pair
from hits import registry
from hits.domain.states import AssignmentStatus
from hits.models import Hit, Image, Unit
from hits.selectors.images.images import image_facts_by_id
from hits.services.errors import Refused
from hits.services.launching.terms import LaunchTerms
from tests.support.answers import observations
from tests.support.judging.work import Work
from validation.domain.reports.localization import HumanBaseline, Matching, score_matchings
from validation.kinds.localization_match.judging import SPEC
from validation.models import JudgingRound
from validation.selectors import localization as selectors
from validation.services.localization import launch_localization, matching_set_id

RNG = np.random.default_rng
Sets = list[tuple[list[int], list[list[int]]]]


def _score(answers: list[Matching], truths: dict[str, dict[str, str]]) -> HumanBaseline:
    return score_matchings(answers, truths, chance=SPEC.chance, rng=RNG(7))


def _truth(size: int) -> dict[str, str]:
    return {f"f{n}": f"r{n}" for n in range(size)}


def test_accuracy_is_the_mean_over_raters_then_over_images() -> None:
    truths = {"a": _truth(4), "b": _truth(3)}
    right = {"f0": "r0", "f1": "r1", "f2": "r2", "f3": "r3"}
    half = right | {"f0": "r1", "f1": "r0"}
    none = {"f0": "r1", "f1": "r2", "f2": "r0"}
    answers = [Matching("a", "w1", right), Matching("a", "w2", half), Matching("b", "w1", none)]
    found = _score(answers, truths)
    assert [(row.item, row.total, row.correct) for row in found.by_image] == [
        ("a", 4, (4, 2)),
        ("b", 3, (0,)),
    ]
    assert found.accuracy == pytest.approx(100 * (0.75 + 0) / 2)
    assert (found.images, found.matchings, found.raters) == (2, 3, 2)
    assert found.chance == pytest.approx(100 * (1 / 4 + 1 / 3) / 2)
    assert (found.low, found.high) == (None, None), "two photos are too few for an interval"
    truths |= {f"i{n}": truths["b"] for n in range(9)}
    more = _score([*answers, *(Matching(f"i{n}", "w1", none) for n in range(9))], truths)
    assert more.low == 0.0
    assert more.high is not None
    assert 0 < more.high <= 75.0


def test_accuracy_without_images_and_interval_of_one_image_are_none() -> None:
    assert _score([], {}) == HumanBaseline(None, None, None, 0, 0, 0, None, ())
    one = _score([Matching("a", "w", _truth(3))], {"a": _truth(3)})
    assert (one.accuracy, one.low, one.high) == (100.0, None, None)
    assert _score([Matching("elsewhere", "w", _truth(3))], {"a": _truth(3)}).images == 0


def test_the_interval_is_drawn_by_the_generator_and_covers_the_known_share() -> None:
    truths = {str(n): _truth(3) for n in range(40)}

    def sample(rng: np.random.Generator) -> HumanBaseline:
        answers = [
            Matching(key, "w", truth if rng.random() < 0.8 else {"f0": "r1", "f1": "r0", "f2": "r2"})
            for key, truth in truths.items()
        ]
        return score_matchings(answers, truths, chance=SPEC.chance, rng=rng)

    assert sample(RNG(3)) == sample(RNG(3))
    expected = 100 * (0.8 + 0.2 / 3)
    inside = sum(
        found.low <= expected <= found.high
        for found in (sample(RNG(seed)) for seed in range(200))
        if found.low is not None and found.high is not None
    )
    assert 180 <= inside <= 199  # 95 % of 200, within what chance and a percentile interval allow


@st.composite
def _sets(draw: st.DrawFn) -> Sets:
    """Images as (truth, chosen): each a permutation, region of inference n at place n; one rater each."""
    sizes = draw(st.lists(st.integers(3, 6), min_size=1, max_size=5))
    return [
        (draw(st.permutations(range(size))), [draw(st.permutations(range(size))) for _ in range(1)])
        for size in sizes
    ]


@given(_sets())
def test_one_rater_scores_what_the_leaderboard_s_measure_gives_the_same_matching(sets: Sets) -> None:
    key, scores, truths, answers = {}, {}, {}, []
    for name, (truth, (chosen,)) in enumerate(sets):
        item = str(name)
        truths[item] = {f"f{n}": f"r{region}" for n, region in enumerate(truth)}
        answers.append(Matching(item, "w", {f"f{n}": f"r{region}" for n, region in enumerate(chosen)}))
        for inference in range(len(truth)):
            for region in range(len(truth)):
                test_id = uuid.uuid4().hex
                key[test_id] = {
                    "type": "gt",
                    "image": item,
                    "inst_id": f"f{inference}",
                    "bbox_idx": region,
                    "correct": truth[inference] == region,
                }
                scores[test_id] = float(chosen[inference] == region)
    expected = score_localization(scores, parse_localization_key(key)).gt_accuracy
    assert _score(answers, truths).accuracy == pytest.approx(expected, abs=1e-9)


def written(work: Work, image: Image, worker: str, *rows: tuple[str, tuple[int, int, int, int]]) -> None:
    """Let a worker write pairs about an image: each an inference and its box (left, top, width, height)."""
    answer = observations(len(rows))
    for row, (inference, box) in zip(answer["observations"], rows, strict=True):
        names = ("left", "top", "width", "height")
        row |= {"inference": inference, "boxes": [dict(zip(names, box, strict=True))]}
    work.observed(image, worker=worker, answer=answer)


def _at(left: int) -> tuple[int, int, int, int]:
    return left, 4, 10, 12


def _ids(image: Image) -> list[str]:
    return list(Pair.objects.filter(image=image).order_by("pk").values_list("instance_id", flat=True))


@pytest.fixture
def image(work: Work) -> Image:
    """Return an image with four approved pairs by one author."""
    found = work.image(1)
    work.observed(found, worker="AUTHOR", count=4)
    return found


@pytest.mark.django_db
class TestMatchableImages:
    def test_only_accepted_pairs_count(self, work: Work, image: Image) -> None:
        work.observed(work.image(2), status=AssignmentStatus.SUBMITTED)
        work.observed(work.image(3), status=AssignmentStatus.REJECTED)
        work.observed(work.image(4), confirmed=False)
        (found,) = selectors.matchable_images(work.project)
        assert found.image == image.pk
        assert [pair.instance_id for pair in found.pairs] == _ids(image)

    def test_pairs_of_several_authors_go_together_up_to_ten(self, work: Work, image: Image) -> None:
        written(work, image, "SECOND", *((f"Second says {n}", _at(20 + n)) for n in range(5)))
        written(work, image, "THIRD", *((f"Third says {n}", _at(30 + n)) for n in range(5)))
        (found,) = selectors.matchable_images(work.project)
        assert [pair.instance_id for pair in found.pairs] == _ids(image)[:10]
        assert len(_ids(image)) == 14
        batch, _ = launch_localization(project=work.project, n=None, seed=1, by=None)
        barred = Unit.objects.get(batch=batch).excluded_workers.values_list("worker_id", flat=True)
        assert set(barred) == {"AUTHOR", "SECOND", "THIRD"}

    def test_indistinguishable_pairs_are_left_out(self, work: Work) -> None:
        image, other = work.image(2), work.image(3)
        rows = [
            ("Tea was had", _at(1)),
            ("tea  was HAD", _at(5)),
            ("It rained", _at(9)),
            ("Somebody left", _at(9)),
            ("A bus came", _at(14)),
        ]
        written(work, image, "W1", *rows)
        written(work, other, "W1", *rows[:4])  # two can be distinguished
        (found,) = selectors.matchable_images(work.project)
        ids = _ids(image)
        assert [pair.instance_id for pair in found.pairs] == [ids[0], ids[2], ids[4]]

    def test_an_image_that_was_sent_out_is_offered_again_only_when_asked(
        self, work: Work, image: Image
    ) -> None:
        launch_localization(project=work.project, n=None, seed=1, by=None)
        assert selectors.matchable_images(work.project) == []
        assert [row.image for row in selectors.matchable_images(work.project, include_sent=True)] == [
            image.pk
        ]

    def test_queries_do_not_grow(
        self, work: Work, image: Image, django_assert_num_queries: pytest.FixtureRequest
    ) -> None:
        work.observed(work.image(2))
        with django_assert_num_queries(2):  # type: ignore[operator]
            assert len(selectors.matchable_images(work.project)) == 2


@pytest.mark.django_db
class TestLaunch:
    def test_the_unit_holds_regions_inferences_and_the_truth(self, work: Work, image: Image) -> None:
        batch, _ = launch_localization(project=work.project, n=1, seed=5, by=None)
        unit = Unit.objects.get(batch=batch)
        pairs = list(Pair.objects.filter(image=image))
        assert unit.key == unit.payload["set"] == matching_set_id(pair.instance_id for pair in pairs)
        boxes = {row["id"]: row["boxes"] for row in unit.payload["regions"]}
        texts = {row["id"]: row["text"] for row in unit.payload["inferences"]}
        joined = {texts[one]: boxes[region] for one, region in unit.payload["truth"].items()}
        assert joined == {pair.inference: pair.boxes for pair in pairs}
        assert [worker.worker_id for worker in unit.excluded_workers.all()] == ["AUTHOR"]
        row = JudgingRound.objects.get(batch=batch)
        assert (row.selection["how"], row.selection["n"], row.selection["seed"]) == ("sample", 1, 5)
        assert batch.redundancy == 2

    def test_the_page_does_not_reveal_the_truth(self, work: Work, image: Image) -> None:
        batch, _ = launch_localization(project=work.project, n=None, seed=5, by=None)
        unit = Unit.objects.get(batch=batch).payload
        kind = registry.get_kind("localization_match")
        page = kind.unit_for_page(unit, image_facts_by_id([image.pk]), seed="ASSIGNMENT")
        assert set(page) == {"image", "regions", "inferences"}
        page_text = json.dumps(page)
        for pair in Pair.objects.filter(image=image):
            assert pair.instance_id not in page_text
            assert pair.clue not in page_text
        aligned = [
            unit["truth"][one["id"]] == region["id"]
            for seed in map(str, range(300))
            for shown in [kind.unit_for_page(unit, image_facts_by_id([image.pk]), seed=seed)]
            for one, region in zip(shown["inferences"], shown["regions"], strict=True)
        ]
        assert sum(aligned) / len(aligned) == pytest.approx(1 / 4, abs=0.06)

    def test_the_seed_draws_the_sample(self, work: Work) -> None:
        images = [work.image(n) for n in range(6)]
        for image in images:
            work.observed(image, worker=f"W{image.pk}")

        def drawn(seed: int) -> list[int]:
            batch, _ = launch_localization(project=work.project, n=3, seed=seed, by=None, include_judged=True)
            return [unit.payload["image"] for unit in batch.units.all()]

        assert drawn(1) == drawn(1)
        assert len({tuple(drawn(seed)) for seed in range(5)}) > 1

    def test_a_repeated_idempotency_key_launches_once(self, work: Work, image: Image) -> None:
        first, _ = launch_localization(
            project=work.project, n=None, seed=1, by=None, idempotency_key="same key"
        )
        second, _ = launch_localization(
            project=work.project, n=None, seed=1, by=None, idempotency_key="same key", include_judged=True
        )
        assert first == second

    def test_too_much_and_nothing_are_refused(self, work: Work) -> None:
        with pytest.raises(Refused, match="none has three approved pairs"):
            launch_localization(project=work.project, n=None, seed=1, by=None)
        work.observed(work.image(1))
        with pytest.raises(Refused, match="1 can be matched"):
            launch_localization(project=work.project, n=2, seed=1, by=None)
        with pytest.raises(Refused, match="seed"):
            launch_localization(project=work.project, n=1, seed=-1, by=None)


@pytest.mark.django_db(transaction=True)
def test_answers_are_collected_scored_and_kept_with_what_was_shown(work: Work, image: Image) -> None:
    batch, _ = launch_localization(
        project=work.project, n=None, seed=1, by=None, terms=LaunchTerms(redundancy=3)
    )
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    unit = hit.unit.payload
    right = [{"inference": one, "region": region} for one, region in unit["truth"].items()]
    swapped = [dict(row) for row in right]
    swapped[0]["region"], swapped[1]["region"] = swapped[1]["region"], swapped[0]["region"]
    first = work.answered(hit, "J1", {"matches": right[::-1]})
    second = work.answered(hit, "J2", {"matches": swapped})
    work.answered(hit, "J3", {"matches": swapped}, status=AssignmentStatus.REJECTED)
    assert first.answer == {"matches": right}, "kept in the unit's own order"
    kind = registry.get_kind("localization_match")
    for row in (first, second):
        arm = row.attempt.arm
        assert row.shown == {"arm": arm, **kind.shown(unit, row.attempt.assignment_id, arm)}
    assert {first.attempt.arm, second.attempt.arm} == {0, 1}
    assert first.shown["regions"] == second.shown["regions"][::-1]
    found = selectors.load_human_baseline(work.project)[1]
    assert (found.accuracy, found.images, found.matchings) == (75.0, 1, 2)
    rows, _ = selectors.load_human_baseline(work.project)
    inferences = selectors.inference_rows(unit, rows)
    assert [row.correct for row in inferences].count(1) == 2
    assert [row.letter for row in inferences] == ["A", "B", "C", "D"]
    wrong = {
        row.letter: [chosen.letter for chosen in row.wrong_choices] for row in inferences if row.wrong_choices
    }
    one, other = wrong
    assert wrong == {one: [other], other: [one]}
    (progress,) = selectors.matching_rounds(work.project)
    assert (progress.images, progress.matchings, progress.required) == (1, 2, 3)


@pytest.mark.django_db(transaction=True)
def test_photos_taken_down_are_left_out(work: Work, image: Image) -> None:
    batch, _ = launch_localization(project=work.project, n=None, seed=1, by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    rows = [{"inference": one, "region": region} for one, region in hit.unit.payload["truth"].items()]
    work.answered(hit, "J1", {"matches": rows})
    assert selectors.load_human_baseline(work.project)[1].images == 1
    Image.objects.update(taken_down_at="2026-01-01T00:00Z")
    assert selectors.load_human_baseline(work.project)[1].images == 0
