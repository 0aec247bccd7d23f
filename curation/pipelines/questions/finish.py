"""Make the questions of a matched fold: fit the share of preferred tags, remap wrong responses, order the choices."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from curation.matching.fit_share import (
    ShareFit,
    WrongResponse,
    count_shared_tags,
    fit_share,
    measure_share,
    stack_shared_tags,
)
from curation.matching.remap import Remapped, Target, draw_tags, remap_response
from curation.models import Question, QuestionSet, Stage
from curation.pipelines.choice_audits import MatchingFacts
from curation.pipelines.questions.choice_order import CHOICES, choice_order
from curation.pipelines.questions.plan import FoldPlan
from curation.pipelines.questions.triplets import TEXTS_OF_STAGE, Triplet
from curation.services.questions import QuestionSetOptions
from hits.domain.tagged_text import mentions

MAX_REASON_LENGTH, MAX_BUCKET_LENGTH = 200, 80


@dataclass(frozen=True, slots=True)
class Match:
    """What a bucket gave one triplet: sources of the rounds 1 to 3, and scores of all four choices, the right first.

    ``sources`` are match indices; they are empty if the triplet was set aside for ``reason``. ``mean_relevance`` is
    that of the triplet's response over the bucket's queries. ``cosines`` are those with the right choice.
    """

    bucket: str
    mean_relevance: float
    sources: tuple[int, ...] = ()
    relevance: tuple[float, ...] = ()
    similarity: tuple[float, ...] = ()
    cosines: tuple[float, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FinishedStage:
    """The questions of one stage of a fold, and the share of preferred tags with its figures.

    ``cosines``: of the choices of each question that has some, in their order, with the right choice.
    """

    questions: list[Question]
    fit: ShareFit
    cosines: list[list[float]]

    def share_figures(self) -> dict[str, Any]:
        """Return the share, the tag overlap with it and at both ends, and whether it is within a point of chance."""
        rounded = {name: round(value, 6) for name, value in asdict(self.fit).items()}
        return rounded | {"in_reach": self.fit.in_reach}


class FoldWriter:
    """Makes the questions of one fold.

    Args:
        triplets: of the fold, in the order of their match indices.
    """

    def __init__(self, question_set: QuestionSet, fold: FoldPlan, triplets: Sequence[Triplet]) -> None:
        self._set, self._fold, self._triplets = question_set, fold, triplets
        self._options = QuestionSetOptions(**question_set.options)
        self._secret = bytes.fromhex(question_set.secret)
        self._numbers = _question_numbers(triplets)

    def finish_stage(self, stage: Stage, matches: Mapping[int, Match]) -> FinishedStage:
        """Return the questions of a stage. ``matches``: by match index, for every triplet of the fold."""
        query, response = TEXTS_OF_STAGE[stage]
        shared = stack_shared_tags(
            [
                count_shared_tags(
                    self._triplets[index].segments(query),
                    self._triplets[index].segments(response),
                    self._target(index, stage),
                    [self._wrong_response(index, source, response) for source in match.sources],
                )
                for index, match in sorted(matches.items())
                if match.sources
            ]
        )
        given = self._options.share
        fit = fit_share(shared) if given is None else measure_share(shared, given)
        questions = [self._question(index, stage, matches[index], fit.share) for index in sorted(matches)]
        cosines = [
            [matches[question.match_index].cosines[choice["round"]] for choice in question.choices]
            for question in questions
            if question.choices
        ]
        return FinishedStage(questions, fit, cosines)

    def _target(self, index: int, stage: Stage) -> Target:
        triplet = self._triplets[index]
        preferred = {
            object_ for text in TEXTS_OF_STAGE[stage] for object_ in mentions(triplet.segments(text))
        }
        return Target(triplet.names, preferred, distinct=self._options.distinct == "on")

    def _wrong_response(self, index: int, source: int, response: str) -> WrongResponse:
        other = self._triplets[source]
        segments = other.segments(response)
        draws = draw_tags(self._secret, self._triplets[index].id, other.id, len(set(mentions(segments))))
        return WrongResponse(segments, other.names, draws)

    def _question(self, index: int, stage: Stage, match: Match, share: float) -> Question:
        triplet = self._triplets[index]
        annot_id = f"{self._fold.split}-{self._fold.first + index}"
        order = choice_order(self._secret, annot_id, stage.value)
        choices = list(self._choices(index, stage, match, share)) if match.sources else []
        return Question(
            question_set=self._set,
            triplet_id=triplet.pk,
            stage=stage.value,
            movie=triplet.movie,
            split=self._fold.split,
            annot_id=annot_id,
            question_number=self._numbers[index],
            fold=self._fold.name,
            match_index=index,
            bucket=match.bucket[:MAX_BUCKET_LENGTH],
            choices=[choices[position] for position in order] if choices else [],
            label=order.index(0) if choices else None,
            set_aside=match.reason[:MAX_REASON_LENGTH],
        )

    def _choices(self, index: int, stage: Stage, match: Match, share: float) -> Iterator[dict[str, Any]]:
        """Yield the right choice, then those of the rounds 1 to 3."""
        _, response = TEXTS_OF_STAGE[stage]
        target = self._target(index, stage)
        for number, source in enumerate((index, *match.sources)):
            if number:
                wrong = self._wrong_response(index, source, response)
                made = remap_response(wrong.response, wrong.names, target, wrong.draws, share)
            else:
                made = Remapped(tuple(self._triplets[index].segments(response)), (), ())
            yield {
                "source": source,
                "round": number,
                "text": list(made.segments),
                "remapped": [list(pair) for pair in made.mapping],
                "words": list(made.words),
                "relevance": match.relevance[number],
                "similarity": match.similarity[number],
            }


def _question_numbers(triplets: Sequence[Triplet]) -> list[int]:
    """Return each triplet's number within its image, from 0, in the order of writing."""
    by_image: dict[int, list[int]] = defaultdict(list)
    for index, triplet in enumerate(triplets):
        by_image[triplet.image].append(index)
    numbers = [0] * len(triplets)
    for members in by_image.values():
        for number, index in enumerate(sorted(members, key=lambda member: triplets[member].pk)):
            numbers[index] = number
    return numbers


@dataclass(slots=True)
class AuditFacts:
    """What only the matching knows about the questions, collected fold by fold for the audits."""

    cosines: dict[Stage, list[list[float]]] = field(default_factory=lambda: defaultdict(list))
    mean_relevance: dict[Stage, list[float]] = field(default_factory=lambda: defaultdict(list))
    names: dict[Stage, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, stage: Stage, finished: FinishedStage, matches: Mapping[int, Match]) -> None:
        """Add the questions of one stage of a fold; folds have to come in the order of their names."""
        self.cosines[stage] += finished.cosines
        for question in finished.questions:
            self.mean_relevance[stage].append(matches[question.match_index].mean_relevance)
            self.names[stage].append(question.annot_id)

    def by_stage(self) -> dict[Stage, MatchingFacts]:
        """Return the facts as the audits take them."""
        return {
            stage: MatchingFacts(
                np.array(self.cosines[stage]).reshape(-1, CHOICES),
                np.array(self.mean_relevance[stage]),
                self.names[stage],
            )
            for stage in self.mean_relevance
        }
