"""What the pages of image triplets show: states, votes, what blocks each triplet, and its three images."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.models import TripletVerdict
from curation.selectors.triplets.answers import PersonAnswer
from curation.selectors.triplets.triplets import IMAGE_ROLES, TripletFacts, TripletState
from curation.views.triplets.labels import CATEGORY_LABELS, domain_label
from curation.views.triplets.triplet_sealing import (
    ROLE_LABELS,
    Sealing,
    list_blocks,
    list_changes,
    read_sealing,
    time_label,
)
from hits.domain.answers.evidence import humanize
from hits.domain.images.image_facts import ImageFacts
from hits.models import Project
from hits.selectors.images.images import image_facts

STATE_LABELS: Mapping[TripletState, str] = {
    TripletState.DRAFT: "Draft",
    TripletState.ALIGNED: "To judge",
    TripletState.VALIDATED: "Validated",
    TripletState.TO_REVISE: "To revise",
    TripletState.DROPPED: "Dropped",
}
# The modifier of the badge, and its icon.
STATE_BADGES: Mapping[TripletState, tuple[str, str]] = {
    TripletState.DRAFT: ("", "clock"),
    TripletState.ALIGNED: ("info", "eye"),
    TripletState.VALIDATED: ("ok", "ok"),
    TripletState.TO_REVISE: ("warn", "draw"),
    TripletState.DROPPED: ("bad", "x"),
}
CHOICE_LABELS: Mapping[str, str] = {"h1": "Hypothesis 1", "h2": "Hypothesis 2", "equal": "Both equally"}
ALIGNMENT_LABELS: Mapping[str, str] = {"yes": "Yes", "partly": "Partly", "no": "No"}
# Label, key and what follows.
VERDICTS: Mapping[TripletVerdict, tuple[str, str, str]] = {
    TripletVerdict.KEEP: ("Keep", "k", "The triplet stays; a note says why gold is right."),
    TripletVerdict.REVISE: ("Revise", "r", "It is left out until other images or texts are made."),
    TripletVerdict.DROP: ("Drop", "d", "It is left out of versions."),
}


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image of a triplet, the text that it shall show, and what the newest check says of both."""

    role: str
    label: str
    image: ImageFacts
    text: str
    is_gold: bool
    alignment: str
    candidate: int


@dataclass(frozen=True, slots=True)
class Votes:
    """People's choices of a triplet: the label of each choice, how many made it, and whether it is gold."""

    rows: Sequence[tuple[str, int, bool]]
    total: int
    right: int
    majority: str


@dataclass(frozen=True, slots=True)
class ShownTriplet:
    """A triplet as the list shows it.

    ``blocks`` are the reasons why it cannot be sealed, ``changes`` the facets that a check changed,
    ``beside_other`` the hypotheses that were drawn beside another premise.
    """

    facts: TripletFacts
    state: str
    badge: str
    icon: str
    images: Sequence[ShownImage]
    category: str
    time: str
    domain: str
    votes: Votes
    blocks: Sequence[str]
    changes: Sequence[str]
    beside_other: Sequence[str]


def show_triplets(project: Project, facts: Sequence[TripletFacts]) -> list[ShownTriplet]:
    """Return triplets as pages show them; a constant number of queries."""
    sealing = read_sealing(project, facts)
    return [show_triplet(row, sealing) for row in facts]


def show_triplet(facts: TripletFacts, sealing: Sealing) -> ShownTriplet:
    """Return a triplet as pages show it."""
    badge, icon = STATE_BADGES[facts.state]
    facets = facts.facets
    images = show_images(facts)
    return ShownTriplet(
        facts=facts,
        state="Imported"
        if facts.is_imported and facts.state is TripletState.VALIDATED
        else STATE_LABELS[facts.state],
        badge=badge,
        icon=icon,
        images=images,
        category=CATEGORY_LABELS.get(facets.category, facets.category),
        time=time_label(facets),
        domain=domain_label(facets.domain),
        votes=count_votes(facts),
        blocks=list_blocks(facts, sealing),
        changes=list_changes(facts, sealing),
        beside_other=[
            image.label
            for image in images
            if getattr(facts.triplet, image.role).is_beside_other_premise(facts.triplet.premise)
        ],
    )


def _state_label(facts: TripletFacts) -> str:
    """Return the label of a state; imported triplets are valid without anybody's answers here."""
    is_imported = facts.is_imported and facts.state is TripletState.VALIDATED
    return "Imported" if is_imported else STATE_LABELS[facts.state]


def show_images(facts: TripletFacts) -> list[ShownImage]:
    """Return the three images in the order premise, hypothesis 1, hypothesis 2."""
    triplet = facts.triplet
    other = "b" if triplet.first == "a" else "a"
    names = {"premise": "premise", "h1": triplet.first, "h2": other}
    alignment = facts.check.alignment if facts.check else {}
    found = []
    for role in IMAGE_ROLES:
        candidate = getattr(triplet, role)
        found.append(
            ShownImage(
                role=role,
                label=ROLE_LABELS[role],
                image=image_facts(candidate.image),
                text=triplet.scene.text(names[role]),
                is_gold=role == triplet.gold_label,
                alignment=alignment.get(role, ""),
                candidate=candidate.pk,
            )
        )
    return found


def count_votes(facts: TripletFacts) -> Votes:
    """Return people's choices, gold first."""
    gold = facts.triplet.gold_label
    counts = Counter(answer.choice for answer in facts.answers)
    order = [gold, "h2" if gold == "h1" else "h1", "equal"]
    rows = [
        (CHOICE_LABELS[name], counts[name], name == gold) for name in order if counts[name] or name != "equal"
    ]
    return Votes(rows, len(facts.answers), counts[gold], facts.majority)


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One person's answer about a triplet, with labels; workers appear as W-ids."""

    worker: str
    choice: str
    is_right: bool
    certainty: str
    ratings: Sequence[tuple[str, int]]
    why: str
    first: str
    seconds: float | None
    simulated: bool
    assignment: int | None


def show_answers(answers: Sequence[PersonAnswer], gold: str) -> list[ShownAnswer]:
    """Return people's answers as pages show them."""
    return [
        ShownAnswer(
            worker="Imported" if row.worker is None else f"W-{row.worker}",
            choice=CHOICE_LABELS.get(row.choice, "–"),
            is_right=row.choice == gold,
            certainty=humanize(row.certainty) if row.certainty else "–",
            ratings=[(ROLE_LABELS[name], value) for name, value in sorted(row.ratings.items())],
            why=row.why,
            first=ROLE_LABELS.get(row.first_shown, ""),
            seconds=row.seconds,
            simulated=row.simulated,
            assignment=row.assignment,
        )
        for row in answers
    ]
