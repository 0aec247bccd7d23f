"""Score texts for toxicity, so that people can review the highest. Scores are saved chunk by chunk.

Source: Hessel et al. 2022, appendix A.4: 10K random pairs of each split; the 50 highest of each were read by hand.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count

from curation.models import PairText, TextAnalysis, TextScore
from curation.pipelines.texts.texts_classifier import ToxicityClassifier
from curation.pipelines.texts.texts_common import make_provenance
from curation.records import InvalidInput
from curation.selectors.texts import TextPair, top_score_ids
from curation.services.texts import (
    FROM_FILE,
    MODEL_PREFIX,
    WORD_LIST,
    AnalysisResult,
    ToxicityOptions,
    add_missing_scores,
    create_toxicity_analysis,
    finish_analysis,
    stored_file_path,
)
from curation.texts.files import Score, read_scores
from curation.texts.sample import sample_by_split
from curation.texts.toxicity import TextFinding, ToxicityScorer, WordList
from hits.models import Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

CHUNK_SIZE = 500  # pairs between two progress updates
BINS = 20
Text = tuple[TextPair, PairText]


class ScoreSource(Protocol):
    """A source of scores, and the texts that it covers."""

    name: str
    revision: str
    unmatched: int

    def covered_texts(self, pair: TextPair) -> list[PairText]:
        """Return the texts of a pair that have a score."""
        ...

    def findings(self, texts: Sequence[Text]) -> list[TextFinding]:
        """Return one finding per covered text."""
        ...


class ModelScoreSource:
    """Scores of a model or word list, which covers all texts."""

    unmatched = 0

    def __init__(self, scorer: ToxicityScorer) -> None:
        self._scorer = scorer
        self.name, self.revision = scorer.name, scorer.revision

    def covered_texts(self, pair: TextPair) -> list[PairText]:
        """Return both texts."""
        return list(PairText)

    def findings(self, texts: Sequence[Text]) -> list[TextFinding]:
        """Return one finding per text."""
        return self._scorer.score([str(getattr(pair, field.value)) for pair, field in texts])


class FileScoreSource:
    """Scores from a file, such as another service's; ``unmatched`` rows are about no approved pair.

    Raises:
        Refused: a row is not a score, or no row is about an approved pair.
    """

    def __init__(self, options: ToxicityOptions, pairs: Sequence[TextPair]) -> None:
        self.name = options.file_name or "file"
        try:
            self._scores: Mapping[Score, float] = read_scores(stored_file_path(options.file))
        except InvalidInput as error:
            raise Refused(f"{self.name}: {error}") from error
        self.revision = options.file.rsplit("/", 1)[-1]
        self.unmatched = len(self._scores) - sum(len(self.covered_texts(pair)) for pair in pairs)
        if self.unmatched == len(self._scores):
            example = next(iter(self._scores))[0]
            raise Refused(
                f"{self.name}: no row is about an approved pair, for instance {example[:40]!r}; "
                "use the ids of the pairs as exports write them"
            )

    def covered_texts(self, pair: TextPair) -> list[PairText]:
        """Return the texts of a pair that the file scores."""
        return [field for field in PairText if (pair.instance_id, field.value) in self._scores]

    def findings(self, texts: Sequence[Text]) -> list[TextFinding]:
        """Return the file's scores."""
        return [TextFinding(self._scores[pair.instance_id, field.value]) for pair, field in texts]


def score_toxicity(
    *,
    project: Project,
    pairs: Sequence[TextPair],
    options: ToxicityOptions,
    by: AbstractBaseUser | None = None,
    progress: Progress | None = None,
    scorer: ToxicityScorer | None = None,
) -> TextAnalysis:
    """Return a finished analysis with its scores; scores of 0 are counted but not stored.

    Args:
        progress: of the job, if any; its cursor names the analysis to resume.
        scorer: by default the one in ``options``.

    Raises:
        Refused: a file that matches no pair.
        EncoderUnavailable: a model that is not available.
    """
    source = ModelScoreSource(scorer) if scorer is not None else _make_source(options, pairs)
    pairs = [pair for pair in pairs if source.covered_texts(pair)]
    rng = np.random.default_rng(options.seed)
    rows = sample_by_split([pair.split for pair in pairs], options.sample, rng)
    sample = [pairs[row] for row in rows]
    provenance = make_provenance(sample, scorer=source.name, scorer_revision=source.revision)
    analysis, done = _resume_or_start(project, options, provenance, by, progress)
    for start in range(done, len(sample), CHUNK_SIZE):
        chunk = sample[start : start + CHUNK_SIZE]
        add_missing_scores(analysis=analysis, scores=_make_scores(analysis, chunk, source))
        if progress is not None:
            cursor = {"analysis": analysis.pk, "scored": start + len(chunk), "origin": provenance}
            progress.advance(start + len(chunk), len(sample), **cursor)
    found = AnalysisResult(_result(analysis, sample, options, source), provenance, len(sample))
    return finish_analysis(analysis=analysis, result=found)


def _make_source(options: ToxicityOptions, pairs: Sequence[TextPair]) -> ScoreSource:
    if options.scorer == FROM_FILE:
        return FileScoreSource(options, pairs)
    if options.scorer == WORD_LIST:
        return ModelScoreSource(WordList())
    return ModelScoreSource(ToxicityClassifier(options.scorer.removeprefix(MODEL_PREFIX), options.label))


def _resume_or_start(
    project: Project,
    options: ToxicityOptions,
    provenance: Mapping[str, Any],
    by: AbstractBaseUser | None,
    progress: Progress | None,
) -> tuple[TextAnalysis, int]:
    """Return the analysis to fill, and the number of pairs that an earlier run did, if nothing changed since."""
    cursor = progress.job.cursor if progress is not None else {}
    if cursor.get("origin") == provenance:
        row = TextAnalysis.objects.filter(pk=cursor["analysis"], project=project, pairs=0).first()
        if row is not None:
            return row, int(cursor["scored"])
    return create_toxicity_analysis(project=project, options=options, by=by), 0


def _make_scores(
    analysis: TextAnalysis, pairs: Sequence[TextPair], source: ScoreSource
) -> Iterator[TextScore]:
    texts = [(pair, field) for pair in pairs for field in source.covered_texts(pair)]
    for (pair, field), finding in zip(texts, source.findings(texts), strict=True):
        if finding.score > 0:
            detail = {"matches": [asdict(match) for match in finding.matches]} if finding.matches else {}
            yield TextScore(
                analysis=analysis,
                observation_id=pair.pk,
                field=field.value,
                score=finding.score,
                detail=detail,
            )


def _result(
    analysis: TextAnalysis, sample: Sequence[TextPair], options: ToxicityOptions, source: ScoreSource
) -> dict[str, Any]:
    pairs_of = Counter(pair.split for pair in sample)
    texts_of: Counter[str] = Counter()
    for pair in sample:
        texts_of[pair.split] += len(source.covered_texts(pair))
    rows = analysis.scores.order_by().values_list("observation__image__split").annotate(Count("pk"))
    above = dict(rows)
    scores = np.fromiter(analysis.scores.order_by().values_list("score", flat=True).iterator(), np.float64)
    bins, _ = np.histogram(scores, bins=BINS, range=(0, 1))
    return {
        "texts": texts_of.total(),
        "above_zero": len(scores),
        "bins": bins.tolist(),
        "unmatched": source.unmatched,
        "splits": [
            {
                "split": split,
                "pairs": pairs_of[split],
                "texts": texts_of[split],
                "above_zero": above.get(split, 0),
                "queue": top_score_ids(analysis, split, options.top),
            }
            for split in sorted(pairs_of)
        ],
    }
