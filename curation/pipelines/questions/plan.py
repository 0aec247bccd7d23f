"""Plan a question set: folds, sentence vectors, relevance models, and the inputs of each bucket."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from curation.matching.buckets import Bucket, BucketOptions, make_buckets
from curation.matching.copies import label_copies
from curation.matching.object_classes import tagged_classes
from curation.matching.options import ROUNDS
from curation.matching.reasons import check_bucket
from curation.models import QuestionSet, Stage
from curation.pipelines.questions.folder import SetFolder, read_json, write_json
from curation.pipelines.questions.folds import divide, split_of_fold
from curation.pipelines.questions.relevance_models import (
    SetTexts,
    cross_model_key,
    fit_vectors,
    load_similarity,
    relevance_as_json,
    similarity_as_json,
)
from curation.pipelines.questions.triplets import (
    ANSWER,
    QUERY,
    QUESTION,
    RATIONALE,
    TEXTS_OF_STAGE,
    Triplet,
    TripletKey,
    load_triplets,
    read_keys,
    read_triplets,
    write_triplets,
)
from curation.pipelines.questions.vectors import StoredVectors, as_json, from_json, store_vectors
from curation.pipelines.vectors import StepCounter
from curation.records import InvalidInput
from curation.relevance.interfaces import Similarity
from curation.relevance.names import VECTORS, parse_relevance
from curation.selectors.published_questions import published_splits
from curation.services.questions import QuestionSetOptions
from hits.domain.tagged_text import copy_key
from hits.services.jobs.jobs import Progress

FORMAT, INPUTS_FORMAT = "deerstalker-question-plan/1", "deerstalker-question-bucket/1"
TEXTS = (QUESTION, ANSWER, QUERY, RATIONALE)
MAX_DENSE_SAMPLE = 500  # triplets of a bucket that is also solved on all pairs, if a model scores pairs
LAMBDA_OF_STAGE = {Stage.ANSWER: "lambda_answer", Stage.RATIONALE: "lambda_rationale"}


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """A fold. first: the number of its first triplet within its split, which begins the published ids."""

    name: str
    split: str
    first: int
    movies: int
    triplets: int


@dataclass(frozen=True, slots=True)
class BucketPlan:
    """A bucket; ``sha256`` names the files of its inputs and of its result."""

    stage: str
    fold: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The relevance model of a fold and stage: ``facts`` are those of ``relevance_as_json``."""

    stage: str
    fold: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetPlan:
    """What a build decides before it matches: folds, models and buckets."""

    small: bool
    movies: int
    folds: Sequence[FoldPlan]
    models: Sequence[ModelPlan]
    buckets: Sequence[BucketPlan]
    vectors: Mapping[str, StoredVectors] = field(default_factory=dict)

    @property
    def triplets(self) -> int:
        """The number of triplets in all folds."""
        return sum(fold.triplets for fold in self.folds)

    def write(self, folder: SetFolder) -> None:
        """Write the plan; this is the last file of planning."""
        content = asdict(self) | {"format": FORMAT, "vectors": as_json(self.vectors)}
        write_json(folder.plan, content)


def read_plan(folder: SetFolder) -> SetPlan | None:
    """Return the plan that an earlier run wrote, if any."""
    if not folder.plan.is_file():
        return None
    raw = read_json(folder.plan)
    return SetPlan(
        small=raw["small"],
        movies=raw["movies"],
        folds=[FoldPlan(**item) for item in raw["folds"]],
        models=[ModelPlan(**item) for item in raw["models"]],
        buckets=[BucketPlan(**item) for item in raw["buckets"]],
        vectors=from_json(raw["vectors"]),
    )


def make_plan(question_set: QuestionSet, folder: SetFolder, progress: Progress) -> SetPlan:
    """Write the files of all folds and the inputs of all buckets, then the plan.

    Raises:
        Refused: no triplet is approved, or a tag has no object.
        InvalidInput: films, folds, buckets or copies do not allow three wrong choices, or weights are missing.
    """
    options = QuestionSetOptions(**question_set.options)
    load_similarity.cache_clear()  # a folder's weights may have changed since they were loaded
    similarity = load_similarity(options.similarity)
    small = options.small or question_set.rehearsal
    keys = read_keys(question_set.project)
    folds = divide(keys, options, small=small, published=published_splits(question_set.project))
    members = _members_by_fold(folds)
    texts = _write_folds(folder, keys, members, progress)
    steps = StepCounter(len(TEXTS) * len(keys), progress)
    ids = [key.id for key in keys]
    vectors = {text: store_vectors(question_set.project, texts[text], ids, steps) for text in TEXTS}
    planner = _Planner(folder, options, similarity, members, SetTexts(texts, vectors))
    models, buckets = planner.plan()
    plan = SetPlan(
        small=small,
        movies=len({key.movie for key in keys}),
        folds=list(_fold_plans(keys, members)),
        models=models,
        buckets=buckets,
        vectors=vectors,
    )
    plan.write(folder)
    return plan


def _members_by_fold(folds: Sequence[str]) -> dict[str, list[int]]:
    """Return the rows of each fold, in the order of ids; their positions are the match indices."""
    found: dict[str, list[int]] = {name: [] for name in sorted(set(folds))}
    for row, fold in enumerate(folds):
        found[fold].append(row)
    return found


def _fold_plans(keys: Sequence[TripletKey], members: Mapping[str, Sequence[int]]) -> Iterator[FoldPlan]:
    counts: dict[str, int] = {}
    for name, rows in members.items():
        split = split_of_fold(name)
        yield FoldPlan(name, split, counts.get(split, 0), len({keys[row].movie for row in rows}), len(rows))
        counts[split] = counts.get(split, 0) + len(rows)


def _write_folds(
    folder: SetFolder,
    keys: Sequence[TripletKey],
    members: Mapping[str, Sequence[int]],
    progress: Progress,
) -> dict[str, list[str]]:
    """Write each fold's triplets; return the class texts of all triplets by text, in the order of keys."""
    texts = {text: [""] * len(keys) for text in TEXTS}
    for name, rows in members.items():
        progress.advance(progress.job.done, progress.job.total)  # notices a cancellation
        triplets = list(load_triplets([keys[row] for row in rows]))
        write_triplets(folder.triplets(name), triplets)
        for row, triplet in zip(rows, triplets, strict=True):
            for text in TEXTS:
                texts[text][row] = triplet.class_text(text)
    return texts


class _Planner:
    """Plans the relevance model and the buckets of each fold and stage."""

    def __init__(
        self,
        folder: SetFolder,
        options: QuestionSetOptions,
        similarity: Similarity,
        members: Mapping[str, Sequence[int]],
        texts: SetTexts,
    ) -> None:
        self._folder, self._options, self._similarity = folder, options, similarity
        self._members, self._texts = members, texts
        self._total = sum(map(len, members.values()))
        self._scores_pairs = parse_relevance(options.relevance).kind != VECTORS or similarity.needs_pairs

    def plan(self) -> tuple[list[ModelPlan], list[BucketPlan]]:
        models, buckets = [], []
        for fold in self._members:
            triplets = read_triplets(self._folder.triplets(fold))
            for stage in Stage:
                facts = self._model_facts(stage, fold)
                models.append(ModelPlan(stage.value, fold, facts))
                buckets += [
                    self._plan_bucket(stage, fold, bucket, triplets, facts)
                    for bucket in self._make_buckets(stage, fold)
                ]
        return models, buckets

    def _model_facts(self, stage: Stage, fold: str) -> dict[str, Any]:
        """Return the facts of the fold's model, which knows the triplets of the other folds alone."""
        own = set(self._members[fold])
        others = [row for row in range(self._total) if row not in own]
        vectors = fit_vectors(self._texts, stage, others, self._options.seed)
        if parse_relevance(self._options.relevance).kind == VECTORS:
            return relevance_as_json(vectors)
        other_texts = {
            text: self._texts.rows(text, others, with_vectors=False).texts for text in TEXTS_OF_STAGE[stage]
        }
        return relevance_as_json(vectors, cross_model_key(self._options, stage, other_texts))

    def _make_buckets(self, stage: Stage, fold: str) -> list[Bucket]:
        query, response = TEXTS_OF_STAGE[stage]
        rows = self._members[fold]
        queries = self._texts.rows(query, rows, with_vectors=True)
        assert queries.vectors is not None
        return make_buckets(
            self._texts.rows(response, rows, with_vectors=False).texts,
            queries.vectors,
            BucketOptions(size=self._options.bucket_size, seed=self._options.seed),
            questions=queries.texts if stage is Stage.ANSWER else None,
        )

    def _plan_bucket(
        self, stage: Stage, fold: str, bucket: Bucket, triplets: Sequence[Triplet], facts: Mapping[str, Any]
    ) -> BucketPlan:
        inputs = self._bucket_inputs(stage, fold, bucket, triplets) | {"relevance": dict(facts)}
        problem = check_bucket(inputs["ids"], label_copies(inputs["copies"]), ROUNDS)
        if problem:
            raise InvalidInput(
                f"fold {fold}, {stage.value}s, bucket {bucket.name}: {problem}; give fewer folds, larger "
                "buckets, or more varied triplets"
            )
        sha256 = self._folder.write_inputs(inputs)
        return BucketPlan(stage.value, fold, bucket.name, len(bucket.members), sha256)

    def _bucket_inputs(
        self, stage: Stage, fold: str, bucket: Bucket, triplets: Sequence[Triplet]
    ) -> dict[str, Any]:
        query, response = TEXTS_OF_STAGE[stage]
        chosen = [triplets[index] for index in bucket.members]
        rows = [self._members[fold][index] for index in bucket.members]
        return {
            "format": INPUTS_FORMAT,
            "stage": stage.value,
            "fold": fold,
            "bucket": bucket.name,
            "members": list(bucket.members),
            "ids": [triplet.id for triplet in chosen],
            "images": label_copies([triplet.image for triplet in chosen]).tolist(),
            "queries": [self._texts.texts[query][row] for row in rows],
            "responses": [self._texts.texts[response][row] for row in rows],
            "copies": [" ".join(copy_key(triplet.segments(response), triplet.names)) for triplet in chosen],
            "needed": [sorted(tagged_classes(item.segments(response), item.names)) for item in chosen],
            "present": [sorted(set(item.names)) for item in chosen],
            "rows": rows,
            "vectors": {text: self._texts.vectors[text].sha256 for text in (query, response)},
            "similarity": similarity_as_json(self._similarity),
            "options": self._matching_options(stage),
            "dense_sample": self._scores_pairs and len(chosen) <= MAX_DENSE_SAMPLE,
        }

    def _matching_options(self, stage: Stage) -> dict[str, Any]:
        options = self._options
        return {
            "lambda": getattr(options, LAMBDA_OF_STAGE[stage]),
            "same_image": options.same_image,
            "missing_class": options.missing_class,
            "shortlist": options.shortlist if self._scores_pairs else None,
        }
