"""Read image triplets: their facets, alignment, gold explanation, decisions, and where each one stands."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.db.models import QuerySet

from curation.image_triplets.order_balance import GoldCounts
from curation.models import (
    ImageTriplet,
    TripletCheck,
    TripletDecision,
    TripletExplanation,
    TripletVerdict,
)
from curation.selectors.triplets.answers import PAPER_ANSWERS, PersonAnswer, majority, people_answers
from curation.selectors.triplets.explanations import current_gold
from curation.selectors.triplets.images import hidden_in_project
from curation.selectors.triplets.scenes import SceneState, scene_outcomes
from hits.domain.answers.scene_facets import temporal_cell
from hits.models import Project

IMAGE_ROLES = ("premise", "h1", "h2")
ALIGNED = "yes"


class TripletState(StrEnum):
    """Where a triplet stands on its way into a version."""

    DRAFT = "draft"
    """It lacks a gold explanation, or somebody found that an image does not show its text."""

    ALIGNED = "aligned"
    VALIDATED = "validated"
    """Enough people judged it."""

    TO_REVISE = "to_revise"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Facets:
    """The facets of a triplet as they stand now: those of its newest check, else those of its scene."""

    category: str
    direction: str
    duration: str
    domain: str

    @property
    def cell(self) -> str:
        """The temporal cell."""
        return temporal_cell(self.direction, self.duration)


@dataclass(frozen=True, slots=True)
class TripletFacts:
    """A triplet with everything that decides where it stands."""

    triplet: ImageTriplet
    check: TripletCheck | None = None
    gold_explanation: TripletExplanation | None = None
    decisions: Sequence[TripletDecision] = ()
    answers: Sequence[PersonAnswer] = ()
    scene_state: SceneState = SceneState.KEPT

    @property
    def decision(self) -> TripletDecision | None:
        """The decision that counts, the newest; a build that takes the triplet back undoes a build's drop alone."""
        newest = newest_of_person = None
        for row in self.decisions:
            is_taken_back = row.by_id is None and row.verdict == TripletVerdict.KEEP
            newest = newest_of_person if is_taken_back else row
            newest_of_person = newest_of_person if row.by_id is None else row
        return newest

    @property
    def is_dropped_by_build(self) -> bool:
        """Whether a build dropped it for other images of its scene, and nobody has decided since."""
        newest = self.decisions[-1] if self.decisions else None
        return newest is not None and newest.by_id is None and newest.verdict == TripletVerdict.DROP

    @property
    def seen(self) -> int:
        """The newest decision, which a page shows, or 0."""
        return max((row.pk for row in self.decisions), default=0)

    @property
    def facets(self) -> Facets:
        """The facets."""
        row = self.check or self.triplet.scene
        return Facets(row.category, row.direction, row.duration, row.domain)

    @property
    def is_aligned(self) -> bool:
        """Whether somebody found that each image shows its text."""
        return self.check is not None and all(
            self.check.alignment.get(role) == ALIGNED for role in IMAGE_ROLES
        )

    @property
    def is_imported(self) -> bool:
        """Whether it came with an import, whose triplets need no answers, alignment or explanation of ours."""
        return self.triplet.imported_row_id is not None

    @property
    def majority(self) -> str:
        """The choice of most people; empty without answers and if several have the most."""
        return majority([answer.choice for answer in self.answers])

    @property
    def is_against_gold(self) -> bool:
        """Whether enough people judged it and gold has no majority; a tie is none."""
        return len(self.answers) >= PAPER_ANSWERS and self.majority != self.triplet.gold_label

    @property
    def state(self) -> TripletState:
        """Where it stands."""
        verdict = self.decision.verdict if self.decision else ""
        if verdict == TripletVerdict.DROP or self.scene_state in {SceneState.DROPPED, SceneState.REPLACED}:
            return TripletState.DROPPED
        if verdict == TripletVerdict.REVISE or self.scene_state is SceneState.TO_REVISE:
            return TripletState.TO_REVISE
        if self.is_imported:
            return TripletState.VALIDATED
        if self.gold_explanation is None or not self.is_aligned:
            return TripletState.DRAFT
        is_judged = len(self.answers) >= PAPER_ANSWERS
        return TripletState.VALIDATED if is_judged else TripletState.ALIGNED

    @property
    def needs_decision(self) -> bool:
        """Whether a person has to decide: the majority is against gold, and nobody said why the triplet stays.

        Whoever kept it before enough people judged it, or with another majority, knew nothing of this one.
        """
        decision = self.decision
        if decision is None or decision.verdict == TripletVerdict.KEEP:
            return self.is_against_gold and not self._is_kept_knowingly(decision)
        return False

    def _is_kept_knowingly(self, decision: TripletDecision | None) -> bool:
        if decision is None or not decision.note:
            return False
        known = [row.choice for row in self.answers if row.at is None or row.at <= decision.at]
        return len(known) >= PAPER_ANSWERS and majority(known) == self.majority


@dataclass(frozen=True, slots=True)
class TripletCounts:
    """How many triplets stand where, and how many wait for a decision."""

    by_state: Mapping[TripletState, int] = field(default_factory=dict)
    against_gold: int = 0
    to_decide: int = 0


def image_triplets(project: Project) -> "QuerySet[ImageTriplet]":
    """Return a project's triplets with their images and scene, oldest first."""
    rows = ImageTriplet.objects.filter(project=project)
    return rows.select_related("scene__author", "premise__image", "a__image", "b__image").order_by("pk")


def triplets_with_images(project: Project) -> "QuerySet[ImageTriplet]":
    """Return the triplets of whose images none was taken down; one may be hidden."""
    rows = image_triplets(project)
    return rows.filter(
        premise__image__taken_down_at=None, a__image__taken_down_at=None, b__image__taken_down_at=None
    )


def available_triplets(project: Project) -> "QuerySet[ImageTriplet]":
    """Return the triplets whose images are all available: none was taken down, and none is hidden."""
    hidden = hidden_in_project(project)
    rows = triplets_with_images(project)
    return rows.exclude(premise__in=hidden).exclude(a__in=hidden).exclude(b__in=hidden)


def triplet_facts(project: Project, rows: Iterable[ImageTriplet] | None = None) -> list[TripletFacts]:
    """Return the facts of triplets, by default of all available ones; a constant number of queries."""
    triplets = list(available_triplets(project) if rows is None else rows)
    keys = [row.pk for row in triplets]
    answers = people_answers(project)
    checks = {row.triplet_id: row for row in TripletCheck.objects.filter(triplet__in=keys).order_by("pk")}
    decisions: dict[int, list[TripletDecision]] = defaultdict(list)
    for decision in TripletDecision.objects.filter(triplet__in=keys).order_by("pk"):
        decisions[decision.triplet_id].append(decision)
    outcomes = scene_outcomes(project)
    explanations = current_gold(keys)
    return [
        TripletFacts(
            row,
            checks.get(row.pk),
            explanations.get(row.pk),
            tuple(decisions.get(row.pk, ())),
            tuple(answers.get(row.public_id, ())),
            # Nobody here decides about imported texts.
            SceneState.KEPT if row.imported_row_id is not None else outcomes[row.scene_id].state,
        )
        for row in triplets
    ]


def image_ids(triplet: ImageTriplet) -> dict[str, int]:
    """Return the ids of a triplet's images by premise, h1 and h2."""
    return {role: getattr(triplet, role).image_id for role in IMAGE_ROLES}


def shows_three_images(triplet: ImageTriplet) -> bool:
    """Whether no picture shows two of its roles; no task can be made of others."""
    return len(set(image_ids(triplet).values())) == len(IMAGE_ROLES)


def find_triplet(project: Project, name: str) -> ImageTriplet | None:
    """Return a triplet of the project by its public id."""
    return image_triplets(project).filter(public_id=name).first()


def count_states(facts: Iterable[TripletFacts]) -> TripletCounts:
    """Return how many triplets stand where."""
    by_state: dict[TripletState, int] = defaultdict(int)
    against = to_decide = 0
    for row in facts:
        by_state[row.state] += 1
        against += row.is_against_gold
        to_decide += row.needs_decision
    return TripletCounts(dict(by_state), against, to_decide)


def gold_counts(facts: Iterable[TripletFacts]) -> dict[str, GoldCounts]:
    """Return how many triplets have gold 1 and gold 2, by the category of their scene."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in facts:
        counts[row.triplet.scene.category][row.triplet.gold - 1] += 1
    return {category: GoldCounts(first, second) for category, (first, second) in counts.items()}
