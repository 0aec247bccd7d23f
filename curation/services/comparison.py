"""Request comparison rounds, store their sets, and launch the best sets for rating."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q, QuerySet

from curation.dedup.cuts import Linkage
from curation.features.encoder import DEFAULT_ENCODER, POOLED_ENCODER
from curation.models import ComparisonRound, ComparisonSet, Pair, Scorer
from curation.negatives.options import DEFAULT_SOFT_SHARE, RULES, ComparisonSetOptions, KeepRule, parse_choice
from curation.selectors.jobs import COMPARISON_ROUND
from curation.selectors.pairs import accepted_pairs
from curation.services.refusals import refuse_invalid_input
from curation.services.scorers import resolve_encoder
from curation.services.versions import check_selection
from curation.versions.selection import Selection
from hits.models import Batch, Job, Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.launching.terms import LaunchTerms
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.services.judging import RoundPlan, launch_comparison

PAGE_SIZES = (5, 10)
MAX_REASON_LENGTH = 200
_DEFAULTS = ComparisonSetOptions()


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """Settings of a round; defaults are those of Hessel et al. 2022 §E, or our choice where it is ambiguous.

    The rules are those of ``curation.negatives.options``, by their names there. soft_share, linkage, keep: the share
    of texts after soft de-duplication, its linkage, and the retained member of a cluster. seed: for all random draws.
    split: only this split; empty is all. selection: which approved pairs take part
    (``curation.versions.selection``), as plain data; empty is all.
    """

    size: int = _DEFAULTS.size
    min_candidates: int = _DEFAULTS.min_candidates
    max_verbatim: int = _DEFAULTS.max_verbatim
    soft_share: float = DEFAULT_SOFT_SHARE
    diversity: str = _DEFAULTS.diversity.value
    weight: float = _DEFAULTS.weight
    promise_weight: float = _DEFAULTS.promise_weight
    linkage: str = Linkage.AVERAGE.value
    seed: int = 0
    split: str = ""
    keep: str = KeepRule.RANDOM.value
    strictness: str = _DEFAULTS.strictness.value
    same_image: str = _DEFAULTS.same_image.value
    floor_when: str = _DEFAULTS.floor_when.value
    order: str = _DEFAULTS.order.value
    disqualification: str = _DEFAULTS.disqualification.value
    verbatim_cap: str = _DEFAULTS.verbatim_cap.value
    promise_length: str = _DEFAULTS.promise_length.value
    selection: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with refuse_invalid_input():
            Selection.from_json(self.selection)
            self.builder_options()
            parse_choice(Linkage, self.linkage, "linkage")
            parse_choice(KeepRule, self.keep, "keep")
        if self.size < 2:  # noqa: PLR2004 - one inference cannot be compared
            raise Refused("size: a set needs at least two inferences")
        if not 0 < self.soft_share <= 1:
            raise Refused(f"soft_share: {self.soft_share:g} is not between 0 and 1; use for instance 0.8")
        if self.seed < 0:
            raise Refused(f"seed: {self.seed} is negative; use 0 or more")

    def builder_options(self) -> ComparisonSetOptions:
        """The rules for the set builder. Raises InvalidInput for an unknown value."""
        numbers = ("size", "min_candidates", "max_verbatim", "weight", "promise_weight")
        rules: dict[str, Any] = {name: getattr(self, name) for name in (*numbers, *RULES)}
        return ComparisonSetOptions(
            **rules | {name: parse_choice(kind, rules[name], name) for name, kind in RULES.items()}
        )


@dataclass(frozen=True, slots=True)
class JudgePageOptions:
    """What judges see beside the region, and how many candidates at a time.

    ``reference`` is the inference written for the region. Hessel et al. 2022 mention neither clue nor reference.
    """

    clue: bool = False
    reference: bool = False
    per_page: int = 10

    def __post_init__(self) -> None:
        if self.per_page not in PAGE_SIZES:
            sizes = " or ".join(map(str, PAGE_SIZES))
            raise Refused(f"per_page: {self.per_page} is not offered; use {sizes}")


@dataclass(frozen=True, slots=True)
class BuiltSet:
    """One built set: the row key of its gold pair, the ids of the chosen pairs, its rank, and its scores.

    ``scores`` holds one number or one list per name; a list has one figure per chosen inference, in their order:

    - ``gold``: plausibility of the gold inference; ``plausibility``: of each chosen one.
    - ``similarity``: to the inferences picked before it, 0 for the first; ``objectives``: the value it maximised.
    - ``copies``: inferences with exactly its text; ``cluster``: inferences in its soft cluster, both with itself.
    - ``dropped``: per chosen inference the ids of the first few that left its soft cluster in its favour.
    - ``eligible``: how many passed the global filters and are more plausible than the gold; ``available``: how
      many of those no earlier set had used.
    - ``promise``: mean ``words``, mean pair ``similarity``, mean ``plausibility``; ``places``: the set's rank in
      each of the three (equals share a mean rank) and the weighted ``total``.
    """

    gold_pk: int
    chosen_instance_ids: Sequence[str]
    rank: int
    scores: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BuiltRound:
    """All results of a run. ``skipped`` maps a reason to instances with their number of candidates."""

    encoder: str
    provenance: dict[str, Any]
    instances: int
    inferences: int
    sets: Sequence[BuiltSet]
    skipped: dict[str, list[dict[str, Any]]]


def accepted_pair_splits(project: Project) -> list[str]:
    """Return the splits of the accepted pairs' photos; an empty name means photos without a split."""
    return sorted(set(accepted_pairs(project).order_by().values_list("image__split", flat=True)))


def request_comparison_round(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    options: RoundOptions | None = None,
    encoder: str = "",
    queue: bool = True,
) -> Job:
    """Queue the building of comparison sets from the project's accepted pairs.

    Args:
        encoder: a joint image+text encoder of ``curation.features``, or ``scorer:`` with the name or number of a
            ready scorer of the project; empty is the default.
        queue: false when this process runs it (``jobs.run_in_process``).

    Raises:
        Refused: nothing is accepted yet, the photos are in several splits and none is named, the encoder has no
            texts, or there is no such scorer.
        Conflict: a round is being built.
    """
    chosen = options or RoundOptions()
    if encoder == POOLED_ENCODER:
        raise Refused(f"encoder: {POOLED_ENCODER} encodes images only; use {DEFAULT_ENCODER} or clip:…")
    encoder = resolve_encoder(project, encoder)
    pairs = accepted_pairs(project).count()
    if not pairs:
        raise Refused("pairs: none is approved yet; approve submissions first")
    check_selection(project, Selection.from_json(chosen.selection))
    splits = accepted_pair_splits(project)
    if len(splits) > 1 and not chosen.split:
        names = ", ".join(name or "none" for name in splits)
        raise Refused(f"split: the photos are in {names}; choose one, because a set must not mix splits")
    return jobs.enqueue(
        task=COMPARISON_ROUND,
        title=f"Build comparison sets from {pairs} pairs",
        project=project,
        by=by,
        exclusive_key=f"comparison:{project.pk}",
        resumable=True,  # vectors are stored in shards; the sets are selected again
        queue=queue,
        options=asdict(chosen),
        encoder=encoder,
    )


@transaction.atomic
def store_round(
    *,
    project: Project,
    options: RoundOptions,
    built: BuiltRound,
    by: AbstractBaseUser | None = None,
    job: Job | None = None,
    scorer: Scorer | None = None,
) -> ComparisonRound:
    """Store a round with all its sets, atomically. ``scorer``: the project's model, if it selected the candidates."""
    row = ComparisonRound.objects.create(
        project=project,
        job=job,
        scorer=scorer,
        options=asdict(options),
        encoder=built.encoder[:80],
        provenance=built.provenance,
        instances=built.instances,
        inferences=built.inferences,
        skipped=built.skipped,
        skip_totals={reason: len(rows) for reason, rows in built.skipped.items()},
        created_by_id=by.pk if by else None,
    )
    ComparisonSet.objects.bulk_create(
        [
            ComparisonSet(
                round=row,
                observation_id=item.gold_pk,
                chosen=list(item.chosen_instance_ids),
                rank=item.rank,
                scores=item.scores,
            )
            for item in built.sets
        ],
        batch_size=500,
    )
    audit.record(project=project, actor=by, action="comparison.build", subject=row.pk, sets=len(built.sets))
    return row


@transaction.atomic
def leave_out_or_restore_set(*, item: ComparisonSet, reason: str, by: AbstractBaseUser | None) -> None:
    """Leave a set out of its round's launch; an empty ``reason`` restores it. Idempotent.

    Raises:
        Refused: the reason is too long.
        Conflict: the round was launched already.
    """
    text = " ".join(reason.split())
    if len(text) > MAX_REASON_LENGTH:
        raise Refused(f"reason: has {len(text)} characters; use at most {MAX_REASON_LENGTH}")
    comparison_round = ComparisonRound.objects.select_for_update().get(pk=item.round_id)
    if comparison_round.batch_id is not None:
        raise Conflict("This round is launched already; see its batch under Judging.")
    if not ComparisonSet.objects.filter(pk=item.pk).exclude(left_out=text).update(left_out=text):
        return
    action = "comparison.leave_out" if text else "comparison.take_back"
    project, number = comparison_round.project, comparison_round.pk
    audit.record(project=project, actor=by, action=action, subject=number, set=item.rank)


def launch_comparison_batch(
    *,
    round: ComparisonRound,
    by: AbstractBaseUser | None,
    limit: int | None = None,
    name: str = "",
    terms: LaunchTerms | None = None,
    page: JudgePageOptions = JudgePageOptions(),
    rates: CheckRates | None = None,
    idempotency_key: str = "",
) -> tuple[Batch, Job]:
    """Launch a round's best sets for rating, without the sets that were left out. A round is launched once.

    Args:
        limit: maximum number of sets, best first; all by default.
        page: what judges see.
        rates: shares of quality checks that are mixed in; none by default.
        idempotency_key: a second launch with the same key returns the first one's batch.

    Raises:
        Refused: the round has no sets, a set lost a pair, or there is no material for quality checks.
        Conflict: the round was launched already.
    """
    if limit is not None and limit < 1:
        raise Refused(f"limit: {limit} is too few; launch at least one set")
    with transaction.atomic():
        ComparisonRound.objects.select_for_update().get(
            pk=round.pk
        )  # locks the round against concurrent exclusions
        planned = _plan_sets(round, limit, page)
        batch, job = launch_comparison(
            project=round.project,
            sets=planned,
            by=by,
            name=name or f"Ratings of {len(planned)} sets, round {round.pk}",
            terms=terms,
            provenance={
                "comparison_round": round.pk,
                "options": round.options,
                "encoder": round.encoder,
                "judges_see": asdict(page),
            },
            plan=RoundPlan(rates=rates or CheckRates()),
            idempotency_key=idempotency_key,
        )
        unlaunched = Q(batch__isnull=True) | Q(batch=batch)
        if not ComparisonRound.objects.filter(unlaunched, pk=round.pk).update(batch=batch):
            raise Conflict("This round is launched already; see its batch under Judging.")
    round.refresh_from_db(fields=["batch"])
    return batch, job


def launchable_sets(round: ComparisonRound) -> "QuerySet[ComparisonSet]":
    """Return the sets of a round that were not left out, best first."""
    return round.sets.filter(left_out="").order_by("rank")


def _explain_no_sets(round: ComparisonRound) -> str:
    if round.sets.exists():
        return "all sets of this round are left out; restore some"
    return "this round has none; build a round with fewer minimum candidates or more pairs"


def _plan_sets(round: ComparisonRound, limit: int | None, page: JudgePageOptions) -> list[SetToJudge]:
    sets = list(launchable_sets(round).select_related("observation")[:limit])
    if not sets:
        raise Refused(f"sets: {_explain_no_sets(round)}")
    pairs = _pairs_by_id(round.project, sets)
    return [_make_set_to_judge(item, pairs, page) for item in sets]


def _pairs_by_id(project: Project, sets: Sequence[ComparisonSet]) -> dict[str, Pair]:
    required = {key for item in sets for key in item.chosen}
    return {row.instance_id: row for row in accepted_pairs(project) if row.instance_id in required}


def _make_set_to_judge(item: ComparisonSet, pairs: dict[str, Pair], page: JudgePageOptions) -> SetToJudge:
    missing = [key for key in item.chosen if key not in pairs]
    if missing:
        raise Refused(
            f"set {item.rank}: pair {missing[0]} is no longer accepted or its photo was taken down; "
            "build a new round"
        )
    gold = item.observation
    return SetToJudge(
        id=str(item.pk),
        own_pair_id=gold.instance_id,
        image_id=gold.image.pk,
        boxes=gold.boxes,
        candidates=[CandidateToRate(key, pairs[key].inference) for key in item.chosen],
        clue=gold.clue if page.clue else None,
        reference=gold.inference if page.reference else None,
        per_page=page.per_page,
    )
