"""Plan the rows of a version of a project, in the published format, and list what is excluded and why.

A version includes only approved work on available images, and simulated answers only in a rehearsal. The ratings of
each split are those of the newest completely judged round that has sets in the split, since Hessel et al. (ECCV 2022)
report the comparison task on val and test (table 3). Rows have the format of the published corpus and leaderboard.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from curation.models import ComparisonRound, ComparisonSet, DatasetVersion, Pair, Part
from curation.selectors.pairs import accepted_pairs, taken_down_pairs
from curation.selectors.rounds import is_judged, launched_rounds, launched_sets
from curation.versions.plan import Plan, PlannedRow, image_reference, worker_hash
from curation.versions.selection import ExclusionReason
from curation.versions.selection_filter import SelectionFilter
from curation.versions.splits import UnknownSplit, parse_split
from curation.versions.spool import BATCH_SIZE
from hits.domain.states import AssignmentStatus
from hits.models import Project, Worker
from hits.selectors.records import is_simulated, record_author
from validation.selectors.judging import SetJudgments, likert_judgments

SET_LOST_A_PAIR = "comparison_set_lost_a_pair"
APPROVED = (AssignmentStatus.APPROVED,)


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """A comparison round whose ratings a version contains, and the splits of those ratings."""

    comparison_round: ComparisonRound
    splits: frozenset[str]

    def as_json(self) -> dict[str, Any]:
        """Return the round's provenance: the encoders and options by which its sets were chosen."""
        splits = sorted(self.splits)
        return {
            **self.comparison_round.provenance,
            "id": self.comparison_round.pk,
            "options": self.comparison_round.options,
            "splits": splits,
        }


def plan_rows(version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
    """Add the version's pairs and comparison sets to ``plan``, with the reason for each excluded pair."""
    selection = SelectionFilter(version.project, Pair.TYPE, plan.selection, record_types=(Pair.TYPE,))
    for number, pair in enumerate(accepted_pairs(version.project).iterator(chunk_size=BATCH_SIZE)):
        if number % BATCH_SIZE == 0:
            report_progress(number)
        if is_simulated(pair) and not version.rehearsal:
            plan.exclude_row(Part.OBSERVATION, pair.instance_id, ExclusionReason.SIMULATED)
            continue
        exclusion = selection.exclusion_reason(pair)
        if exclusion is not None:
            plan.exclude_row(Part.OBSERVATION, pair.instance_id, exclusion[0], exclusion[1])
            continue
        plan.add_image(pair.image)
        plan.add_row(_observation_row(pair))
    withdrawn = taken_down_pairs(version.project).order_by("pk").values_list("instance_id", flat=True)
    for key in withdrawn.iterator(chunk_size=BATCH_SIZE):
        plan.exclude_row(Part.OBSERVATION, key, ExclusionReason.IMAGE_TAKEN_DOWN)
    _add_comparison_sets(plan, version.project)


def _observation_row(pair: Pair) -> PlannedRow:
    image = pair.image
    row = {
        "inputs": {
            "image": image_reference(image),
            "bboxes": [{key: box[key] for key in ("height", "width", "left", "top")} for box in pair.boxes],
            "clue": pair.clue,
            "confidence": float(pair.confidence),
            "obs_idx": pair.index,
        },
        "targets": {"inference": pair.inference},
        "instance_id": pair.instance_id,
        "split_idx": None,
    }
    author = record_author(pair)
    return PlannedRow.from_row(
        Part.OBSERVATION,
        pair.instance_id,
        str(parse_split(image.split)),
        row,
        [] if author is None else [worker_hash(author)],
    )


def _add_comparison_sets(plan: Plan, project: Project) -> None:
    """Add each split's ratings. A set that lost a pair is excluded entirely."""
    rounds = _newest_judged_rounds(project)
    for planned in rounds:
        _add_round(plan, planned)
    if rounds:
        described = [planned.as_json() for planned in rounds]
        # All rounds, newest first. Earlier releases had one round, under its own key, which is still written.
        plan.sources |= {"comparison_round": described[0], "comparison_rounds": described}


def _newest_judged_rounds(project: Project) -> list[PlannedRound]:
    """Return the newest completely judged round of each split that has one, newest first."""
    planned: list[PlannedRound] = []
    assigned: set[str] = set()
    for comparison_round in launched_rounds(project):
        sets = launched_sets(comparison_round).order_by()
        names = sets.values_list("observation__image__split", flat=True).distinct()
        splits = frozenset(_parse_split_or_keep(name) for name in names) - assigned
        if splits and is_judged(comparison_round):
            planned.append(PlannedRound(comparison_round, splits))
            assigned |= splits
    return planned


def _parse_split_or_keep(name: str) -> str:
    """Return the split of a set's photo. Only photos taken down have an unknown split; their sets are excluded."""
    try:
        return str(parse_split(name))
    except UnknownSplit:
        return name


def _add_round(plan: Plan, planned: PlannedRound) -> None:
    batch = planned.comparison_round.batch
    assert batch is not None
    judgments = likert_judgments(batch=batch, statuses=APPROVED)
    hashes = {
        worker.pk: worker_hash(worker)
        for worker in Worker.objects.filter(pk__in={pk for s in judgments.values() for pk in s.workers})
    }
    for item in launched_sets(planned.comparison_round).select_related("observation__image"):
        if _parse_split_or_keep(item.observation.image.split) not in planned.splits:
            continue
        gold = item.observation.instance_id
        required = {gold, *item.chosen}
        known = plan.rows_by_id(Part.OBSERVATION, required)
        if not required <= known.keys():
            plan.exclude_row(Part.COMPARISON, gold, SET_LOST_A_PAIR)
            continue
        judged = judgments[str(item.pk)]
        plan.add_row(_comparison_row(item, judged, known, [hashes[pk] for pk in judged.workers]))


def _comparison_row(
    item: ComparisonSet, judged: SetJudgments, known: dict[str, dict[str, Any]], workers: list[str]
) -> PlannedRow:
    gold = item.observation
    inputs = known[gold.instance_id]["inputs"]
    row = {
        "Input_iid": gold.instance_id,
        "image": inputs["image"],
        "region": inputs["bboxes"],
        "rank": item.rank,
        "candidates": [
            {
                "source_iid": candidate.candidate,
                "inference": known[candidate.candidate]["targets"]["inference"],
                "annot1": float(candidate.ratings[0]),
                "annot2": float(candidate.ratings[1]),
            }
            for candidate in judged.candidates
        ],
    }
    split = str(parse_split(gold.image.split))
    return PlannedRow.from_row(Part.COMPARISON, gold.instance_id, split, row, workers[:2])
