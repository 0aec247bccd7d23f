"""Read the pilots for the choice of λ: people, the relevance model and copies by value."""

from dataclasses import asdict, dataclass
from typing import Any

from curation.models import QuestionSet, Stage
from curation.selectors.choice_rounds import choice_rounds, round_progress
from curation.selectors.choice_votes import PERCENT, PeopleFigures, people_figures, read_votes
from hits.models import Project

PILOT = "pilot"


@dataclass(frozen=True, slots=True)
class LambdaRow:
    """The pilots of one value of λ and one stage.

    ``people`` are the figures of their answers so far; ``received`` of ``required`` answers are in.
    ``relevance_percent`` is how often P_rel scores the right choice highest. ``near`` and ``verbatim`` are the
    questions with a wrong choice that nearly or wholly copies the right one, of ``launched`` ones.
    """

    value: float
    stage: str
    question_sets: tuple[str, ...]
    launched: int
    received: int
    required: int
    people: PeopleFigures
    relevance_percent: float | None
    near: int
    verbatim: int

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain data, for provenance and replies."""
        return asdict(self) | {"question_sets": list(self.question_sets)}

    @property
    def near_percent(self) -> float | None:
        """The share of questions with a near copy, in percent."""
        return PERCENT * self.near / self.launched if self.launched else None


def tuned_lambda(question_set: QuestionSet, stage: Stage) -> float:
    """Return the λ with which a stage of a set was matched."""
    return float(question_set.options[f"lambda_{stage.value}"])


def lambda_rows(project: Project, stage: Stage) -> list[LambdaRow]:
    """Return the pilots of a stage by value of λ, least first; a fixed number of queries."""
    rounds = list(choice_rounds(project).filter(stage=stage.value, purpose=PILOT))
    votes, progress = read_votes(project, rounds), round_progress(rounds)
    by_value: dict[float, list[Any]] = {}
    for row in rounds:
        by_value.setdefault(tuned_lambda(row.question_set, stage), []).append(row)
    found = []
    for value, members in sorted(by_value.items()):
        relevance = [row.options.get("relevance_right", [0, 0]) for row in members]
        right, scored = sum(row[0] for row in relevance), sum(row[1] for row in relevance)
        copies = [row.options.get("copies", {}) for row in members]
        found.append(
            LambdaRow(
                value=value,
                stage=stage.value,
                question_sets=tuple(dict.fromkeys(row.question_set.name for row in members)),
                launched=sum(row.options["questions"] for row in members),
                received=sum(progress[row.pk][0] for row in members),
                required=sum(progress[row.pk][1] for row in members),
                people=people_figures([item for row in members for item in votes[row.pk]]),
                relevance_percent=PERCENT * right / scored if scored else None,
                near=sum(row.get("near", 0) for row in copies),
                verbatim=sum(row.get("verbatim", 0) for row in copies),
            )
        )
    return found
