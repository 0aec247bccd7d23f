"""Which words a chooser depends on: its loss with one token masked at a time.

The tokens whose masking raises the loss most are the most telling ones; ``curation.evaluation.perturb`` masks them,
or all others (Ye & Kovashka 2021, doi:10.1609/aaai.v35i4.16428).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from curation.chooser.interface import Chooser
from curation.chooser.questions import ChoiceQuestion
from curation.evaluation.choice_items import Stage, StageQuestion, Text
from curation.evaluation.perturb import MASK
from curation.records import InvalidInput


def token_losses(chooser: Chooser, question: ChoiceQuestion) -> list[list[float]]:
    """Return, for each token of each response, the loss of the right response if the token is masked.

    Raises:
        InvalidInput: the question's label is held.
    """
    if question.label is None:
        raise InvalidInput(f"question {question.annot_id}: has no label; losses need the right response")
    losses = iter(cross_entropies(chooser.score(list(_masked_copies(question))), question.label).tolist())
    return [[next(losses) for _ in response] for response in question.responses]


def cross_entropies(scores: NDArray[np.float64], label: int) -> NDArray[np.float64]:
    """Return the (n,) losses of (n, 4) logits of which ``label`` is right."""
    losses: NDArray[np.float64] = logsumexp(scores, axis=1) - scores[:, label]
    return losses


def _masked_copies(question: ChoiceQuestion) -> Iterator[ChoiceQuestion]:
    """Yield the question once for each token of its responses, with that token masked."""
    for choice, response in enumerate(question.responses):
        for position in range(len(response)):
            responses = list(question.responses)
            responses[choice] = _mask_token(response, position)
            yield replace(question, responses=tuple(responses))


def _mask_token(text: Text, position: int) -> Text:
    return (*text[:position], MASK, *text[position + 1 :])


class ChooserTokenLosses:
    """The losses of named choosers as ``perturb.mask_items`` asks for them.

    Args:
        answers, rationales: the chooser of each stage. questions: of both stages, with images.
    """

    def __init__(self, answers: Chooser, rationales: Chooser, questions: Iterable[ChoiceQuestion]) -> None:
        self._choosers = {Stage.ANSWER: answers, Stage.RATIONALE: rationales}
        self._questions = {(question.annot_id, question.stage): question for question in questions}

    def __call__(self, question: StageQuestion) -> list[list[float]]:
        """Return the losses of a question; see ``token_losses``.

        Raises:
            InvalidInput: the question is not among those that were given.
        """
        found = self._questions.get((question.item.annot_id, question.stage))
        if found is None:
            raise InvalidInput(
                f"question {question.item.annot_id}: its {question.stage} stage was not given; give its file"
            )
        return token_losses(self._choosers[question.stage], found)
