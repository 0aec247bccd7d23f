"""What checks are answered is no judgment: it reaches no tally, no version, and no word on what is left to do."""

import pytest

from curation.models import ComparisonRound, Pair, Part
from curation.selectors.rounds import is_judged
from curation.services.comparison import BuiltRound, BuiltSet, RoundOptions, store_round
from curation.services.versions import create_version, plan_version
from hits.models import Batch, Hit
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work, ratings, review
from validation.domain.judging.quality_check_types import CheckRates, CheckRole
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.models import JudgingRound, QualityCheck
from validation.selectors.judging import (
    is_fully_judged,
    likert_judgments,
    pair_judgments,
    pairs_not_sent_to_judges,
    units_without_quality_checks,
)
from validation.selectors.judging_overview import judged_pair_ids, round_rows
from validation.selectors.ratings import read_judgments
from validation.services.judging import RoundPlan, launch_comparison, launch_review

pytestmark = pytest.mark.django_db


def hits_of(work: Work, batch: Batch) -> tuple[list[Hit], list[Hit]]:
    """Return the round's own HITs and those of its checks."""
    work.publish(batch)
    rows = list(Hit.objects.filter(unit__batch=batch).select_related("unit"))
    checks = set(QualityCheck.objects.filter(unit__batch=batch).values_list("unit", flat=True))
    return [h for h in rows if h.unit_id not in checks], [h for h in rows if h.unit_id in checks]


def test_quality_checks_count_in_no_tally(work: Work) -> None:
    pairs = [*work.observed(work.image(1), worker="A1"), *work.observed(work.image(2), worker="A2")]
    later = work.observed(work.image(3), worker="A3")
    plan = RoundPlan(rates=CheckRates(attention=50, repeat=50))
    batch, _ = launch_review(project=work.project, observations=pairs, by=None, plan=plan)
    own, checks = hits_of(work, batch)
    roles = sorted(QualityCheck.objects.values_list("role", flat=True))
    assert roles == [CheckRole.ATTENTION] * 3 + [CheckRole.REPEAT] * 3
    assert (len(own), len(checks)) == (6, 6)

    for hit in checks:
        work.answered(hit, "J1", review("un", "entirely_off", "not_at_all"))
    assert pair_judgments(project=work.project) == {}
    assert not list(read_judgments(project=work.project, kind=batch.kind, batches=[batch.pk]))
    assert judged_pair_ids(work.project) == []
    (line,) = round_rows(work.project)
    assert (line.received, line.required, line.items, line.quality_checks) == (0, 18, 6, 6)

    work.answered(own[0], "J1", review("highly"))
    tallies = pair_judgments(project=work.project)
    assert {key: pair.judge_count for key, pair in tallies.items()} == {own[0].unit.key: 1}
    assert judged_pair_ids(work.project) == [own[0].unit.key]
    assert {row.pk for row in pairs_not_sent_to_judges(work.project)} == {row.pk for row in later}
    both = list(read_judgments(project=work.project, kind=batch.kind, roles=None))
    assert len(both) == 7, "whoever asks for checks gets them"


def test_pair_used_only_as_check_is_still_unsent(work: Work) -> None:
    """A gold unit's payload names a real pair; being a check is no review."""
    first, second, *_ = work.observed(work.image(1), worker="A1")
    batch, _ = launch_review(project=work.project, observations=[first], by=None)
    unit = batch.units.get()
    QualityCheck.objects.create(unit=unit, role=CheckRole.GOLD, expected={})
    assert first.pk in set(pairs_not_sent_to_judges(work.project).values_list("pk", flat=True))
    assert second.pk in set(pairs_not_sent_to_judges(work.project).values_list("pk", flat=True))


def comparison_round(work: Work, pairs: list[Pair]) -> ComparisonRound:
    ids = [pair.instance_id for pair in pairs]
    return store_round(
        project=work.project,
        options=RoundOptions(min_candidates=2),
        built=BuiltRound(
            encoder="made up",
            provenance={"code": "test"},
            instances=2,
            inferences=2,
            sets=[BuiltSet(pairs[0].pk, ids[1:], 1, {"available": 30})],
            skipped={},
        ),
    )


def test_sealing_ignores_quality_checks(work: Work) -> None:
    pairs = [*work.observed(work.image(1), worker="A1"), *work.observed(work.image(2), worker="A2")]
    found = comparison_round(work, pairs)
    comparison = found.sets.get()
    texts = {pair.instance_id: pair.inference for pair in pairs}
    batch, _ = launch_comparison(
        project=work.project,
        sets=[
            SetToJudge(
                id=str(comparison.pk),
                own_pair_id=pairs[0].instance_id,
                image_id=pairs[0].image_id,
                boxes=pairs[0].boxes,
                candidates=[CandidateToRate(key, texts[key]) for key in comparison.chosen],
            )
        ],
        by=None,
        terms=LaunchTerms(redundancy=2),
        plan=RoundPlan(rates=CheckRates(repeat=50)),
    )
    ComparisonRound.objects.filter(pk=found.pk).update(batch=batch)
    (own,), (check,) = hits_of(work, batch)
    assert JudgingRound.objects.get(batch=batch).repeat_percent == 50
    for judge in ("J1", "J2"):
        work.answered(check, judge, ratings(check, 1))
    assert likert_judgments(batch=batch) == {}
    assert [unit.pk for unit in units_without_quality_checks(batch)] == [own.unit_id]
    found.refresh_from_db()
    assert not is_judged(found), "answers to a check complete nothing"

    for judge in ("J1", "J2"):
        work.answered(own, judge, ratings(own, 3))
    assert is_fully_judged(batch=batch)
    assert is_judged(found)
    version = create_version(project=work.project, name="v1", by=None)
    rows = [row.row for row in plan_version(version).rows if row.part == Part.COMPARISON]
    assert [{c["annot1"] for c in row["candidates"]} for row in rows] == [{3.0}]
