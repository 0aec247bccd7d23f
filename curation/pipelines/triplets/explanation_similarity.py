"""BERTScore of explanations with their references: a weak measure beside a judge (Ventura et al. 2025 §4.2)."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from curation.evaluation.bertscore import best_reference_f1, rescale_to_baseline
from curation.pipelines.evaluation.evaluate_bertscore import BertScoreOptions, TokenEncoder
from curation.pipelines.triplets.judge_tasks import JudgeTask
from curation.services.triplets.judging import JudgeOptions


class ReferenceSimilarity:
    """Measures how near explanations are to the nearest of their references."""

    def __init__(self, options: JudgeOptions) -> None:
        """Load the language model. Raises InvalidInput if it is incomplete or the layer does not exist."""
        self._options = BertScoreOptions(
            options.bertscore, options.bertscore_layer, options.bertscore_baseline
        )
        self._encoder = TokenEncoder(self._options)

    @property
    def provenance(self) -> str:
        """What the figures depend on: the model's folder, layer and baseline."""
        options = self._options
        return f"{Path(options.folder).name}, layer {options.layer}, baseline {options.baseline:g}"

    def measure(self, tasks: Sequence[JudgeTask]) -> dict[tuple[str, int], float]:
        """Return the rescaled BERTScore by purpose and key of the explanation: the maximum over references.

        One triplet after the other, so that memory holds the tokens of one.
        """
        by_triplet: dict[str, dict[tuple[str, int], JudgeTask]] = defaultdict(dict)
        for task in tasks:  # repeats differ in the order of the references alone
            by_triplet[task.triplet.id][task.purpose, task.explanation.row.pk] = task
        found: dict[tuple[str, int], float] = {}
        for asked in by_triplet.values():
            texts = {task.explanation.row.text for task in asked.values()}
            distinct = sorted(texts.union(*(task.references for task in asked.values())))
            tokens = dict(zip(distinct, self._encoder.encode(distinct), strict=True))
            for slot, task in asked.items():
                best = best_reference_f1(
                    tokens[task.explanation.row.text], [tokens[text] for text in task.references]
                )
                found[slot] = rescale_to_baseline(best, self._options.baseline)
        return found
