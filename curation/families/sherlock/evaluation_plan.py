"""The leaderboard's tasks on one split of a sealed version: their pairs, boxes and ratings, and what is excluded.

Only available photos are used. Retrieval chunks are drawn from all sealed pairs; then pairs on photos that were
taken down are dropped. So all other pairs keep their chunks, and figures before and after a takedown are comparable.
Test ids are hashes keyed by a secret of this installation and the version's checksum. So a version always has the
same test ids, in evaluations and on leaderboards, and nobody else can compute them.

As in the published layout, the public files of localization show which inferences were written about an image. They
make retrieval on the same split easier for somebody who uses both.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from django.conf import settings
from django.utils.crypto import salted_hmac

from curation.evaluation.answer_keys import COMPARISON, LOCALIZATION, RETRIEVAL
from curation.evaluation.sets import (
    CHUNK_SIZE,
    MAX_BOXES,
    MIN_INFERENCES,
    LocalizableImages,
    TestIdMaker,
    comparison_test_ids,
    find_localizable_images,
    localization_key,
    retrieval_key,
    retrieval_test_ids,
    split_into_chunks,
)
from curation.families.sherlock.read import BrokenExport, parse_record
from curation.models import DatasetVersion, ImageProposals, Part, ProposalRun, VersionImage, VersionRow
from curation.records import InvalidInput, ObservationRecord, Region
from curation.selectors.versions import version_splits
from curation.versions.splits import UnknownSplit, parse_split
from hits.models import Image
from validation.domain.reports.leaderboard import build_answer_key

TEXTS = ("inference", "clue")
ALL = "all"
_CHUNK_SIZE = 1000


@dataclass(frozen=True, slots=True)
class EvaluationSetOptions:
    """How the evaluation sets are made; the defaults are those of Hessel et al. (ECCV 2022).

    texts: whether inferences or clues are matched (Hessel et al., appendix B.1); clues have no comparison task.
    boxes: proposed boxes per image. chunk: pairs per retrieval chunk. min_inferences: minimum number of pairs of an
    image to be matched. seed: for drawing the chunks.
    """

    texts: str = TEXTS[0]
    boxes: int = MAX_BOXES
    chunk: int = CHUNK_SIZE
    min_inferences: int = MIN_INFERENCES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.texts not in TEXTS:
            raise InvalidInput(f"texts: {self.texts!r} is not known; use {' or '.join(TEXTS)}")
        for name, least in (("boxes", 0), ("chunk", 2), ("min_inferences", 2), ("seed", 0)):
            if getattr(self, name) < least:
                raise InvalidInput(f"{name}: {getattr(self, name)} is too few; use at least {least}")


@dataclass(frozen=True)
class SplitEvaluationSets:
    """The evaluation sets of one split, for all three tasks. Answer keys are generated on request.

    chunks: retrieval chunks, without pairs on photos taken down. comparison: rated rows, as exported.
    photo_key_by_url: primary keys of the available photos, by their addresses in version rows. proposal_run: the
    source of proposed boxes. left_out: numbers of excluded pairs, photos and comparison sets, by reason.
    """

    version: DatasetVersion
    split: str
    options: EvaluationSetOptions
    test_id_maker: TestIdMaker
    chunks: list[list[ObservationRecord]]
    localization: LocalizableImages
    comparison: list[dict[str, Any]]
    photo_key_by_url: Mapping[str, int]
    proposal_run: ProposalRun | None
    left_out: Mapping[str, int]

    @property
    def split_name(self) -> str:
        """The split's name in files."""
        return self.split or ALL

    @cached_property
    def expected_counts(self) -> dict[str, int]:
        """The number of scores in each file of a submission; empty tasks are absent."""
        counts = {f"{RETRIEVAL}_{number}": len(chunk) ** 2 for number, chunk in enumerate(self.chunks)}
        pairs = sum(image.score_count for image in self.localization.images)
        rated = sum(len(row["candidates"]) for row in self.comparison)
        counts = {COMPARISON: rated, LOCALIZATION: pairs, **counts}
        return {name: count for name, count in counts.items() if count}

    @property
    def photo_urls(self) -> frozenset[str]:
        """The addresses of the photos in any of the three tasks."""
        paired = {pair.image.url for chunk in self.chunks for pair in chunk}
        located = {pair.image.url for image in self.localization.images for pair in image.pairs}
        return frozenset(paired | located | {row["image"]["url"] for row in self.comparison})

    def choose_private_names(self, percent: int) -> list[str]:
        """Choose ``percent`` of the photos as private; return the names in keys of these photos and their pairs.

        The choice depends on the secret of this installation, so nobody else can repeat it.

        Raises:
            InvalidInput: all photos, or none, would be private.
        """
        ordered = sorted(self.photo_urls, key=lambda url: self.test_id_maker.make("kept", url))
        count = round(len(ordered) * percent / 100)
        if not 0 < count < len(ordered):
            raise InvalidInput(
                f"private share: {percent}% of {len(ordered)} photos is {count}; "
                "keep at least one private and one public"
            )
        private = set(ordered[:count])
        pairs = {pair.instance_id for chunk in self.chunks for pair in chunk if pair.image.url in private}
        rated = {row["Input_iid"] for row in self.comparison if row["image"]["url"] in private}
        return sorted(private | pairs | rated)

    def raw_key(self, name: str) -> Mapping[str, Any]:
        """Return the raw answer key of one file (the method of ``curation.evaluation.answer_keys.AnswerKeys``)."""
        if name == COMPARISON:
            return build_answer_key(self.rated_rows())
        if name == LOCALIZATION:
            return dict(self.localization_entries())
        chunk = self.chunks[int(name.removeprefix(f"{RETRIEVAL}_"))]
        return retrieval_key(chunk, retrieval_test_ids(chunk, self.test_id_maker))

    def localization_entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the entries of localization's key, image by image."""
        for image in self.localization.images:
            yield from localization_key(image, self.test_id_maker)

    def rated_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the comparison rows, each candidate with its ``test_id``."""
        for row in self.comparison:
            named = zip(row["candidates"], comparison_test_ids(row, self.test_id_maker), strict=True)
            yield {**row, "candidates": [{**candidate, "test_id": test_id} for candidate, test_id in named]}


def plan_sets(
    version: DatasetVersion,
    *,
    split: str,
    proposals: ProposalRun | None,
    options: EvaluationSetOptions | None = None,
) -> SplitEvaluationSets:
    """Return the evaluation sets of a split of a sealed version. Read-only.

    Args:
        split: train, val or test; empty means the whole version.
        proposals: a complete run of the version's project; without it, there are no proposed boxes.

    Raises:
        InvalidInput: the version is a draft, the split is unknown or has no pairs, or the run is unsuitable.
    """
    options = options or EvaluationSetOptions()
    split = _check_inputs_and_parse_split(version, split, proposals)
    photo_key_by_url = _available_photo_keys(version)
    left_out: Counter[str] = Counter()
    sealed = list(_sealed_pairs(version, split, options.texts))
    available = [pair for pair in sealed if pair.image.url in photo_key_by_url]
    if not available:
        raise InvalidInput(_no_pairs_message(version, split))
    left_out["pair_on_photo_taken_down"] += len(sealed) - len(available)
    located = find_localizable_images(
        available,
        boxes=_boxes_by_url(proposals, photo_key_by_url) if options.boxes else {},
        min_pairs=options.min_inferences,
        max_boxes=options.boxes,
    )
    rated = (
        [] if options.texts == "clue" else list(_comparison_rows(version, split, photo_key_by_url, left_out))
    )
    return SplitEvaluationSets(
        version=version,
        split=split,
        options=options,
        test_id_maker=_test_id_maker(version, options),
        chunks=_available_chunks(sealed, options, photo_key_by_url),
        localization=located,
        comparison=rated,
        photo_key_by_url=photo_key_by_url,
        proposal_run=proposals,
        left_out=dict(left_out + located.left_out),
    )


def pairs_of_other_splits(version: DatasetVersion, split: str) -> list[ObservationRecord]:
    """Return the pairs of a version's other splits on available photos; empty for the whole version.

    Raises:
        InvalidInput: a row is invalid.
    """
    if not split:
        return []
    photo_key_by_url = _available_photo_keys(version)
    others = sorted(set(version_splits(version)) - {"", split})
    found = (pair for other in others for pair in _sealed_pairs(version, other, TEXTS[0]))
    return sorted(
        (pair for pair in found if pair.image.url in photo_key_by_url), key=lambda pair: pair.instance_id
    )


def newest_proposal_run(version: DatasetVersion) -> ProposalRun | None:
    """Return the newest complete run of the version's project, if there is one."""
    return ProposalRun.objects.filter(project=version.project_id, is_complete=True).order_by("-pk").first()


def resolve_proposal_run(version: DatasetVersion, number: int | None) -> ProposalRun | None:
    """Return the run with this number; the newest complete run for ``None``, and no run for 0.

    Raises:
        InvalidInput: the project has no such run.
    """
    if number is None:
        return newest_proposal_run(version)
    if not number:
        return None
    found = ProposalRun.objects.filter(project=version.project_id, pk=number).first()
    if found is None:
        known = ProposalRun.objects.filter(project=version.project_id, is_complete=True)
        names = ", ".join(str(pk) for pk in known.values_list("pk", flat=True)) or "none yet"
        raise InvalidInput(f"proposals: the project has no run {number}; complete runs: {names}")
    return found


def _check_inputs_and_parse_split(version: DatasetVersion, split: str, proposals: ProposalRun | None) -> str:
    if not version.is_sealed:
        raise InvalidInput(f"version {version.name} is a draft: seal it first")
    if proposals is not None and proposals.project_id != version.project_id:
        raise InvalidInput(f"proposals: run {proposals.pk} is of another project; choose one of this project")
    if proposals is not None and not proposals.is_complete:
        raise InvalidInput(f"proposals: run {proposals.pk} is not complete; wait until it has finished")
    try:
        return str(parse_split("" if split == ALL else split))
    except UnknownSplit as error:
        raise InvalidInput(str(error)) from error


def _test_id_maker(version: DatasetVersion, options: EvaluationSetOptions) -> TestIdMaker:
    secret = salted_hmac(
        "curation.evaluation_sets",
        f"{version.manifest_sha256}/{options.texts}",
        secret=settings.WORKER_HASH_SECRET,
        algorithm="sha256",
    )
    return TestIdMaker(secret.digest())


def _available_photo_keys(version: DatasetVersion) -> dict[str, int]:
    """Return the primary key of each available photo of the version, by its address in version rows."""
    images = Image.objects.filter(project=version.project_id, taken_down_at__isnull=True).order_by("-pk")
    rows = images.values_list("pk", "sha256").iterator(chunk_size=_CHUNK_SIZE)
    by_hash = {sha256: pk for pk, sha256 in rows}
    sealed = VersionImage.objects.filter(version=version).values_list("url", "sha256")
    addresses = sealed.iterator(chunk_size=_CHUNK_SIZE)
    return {url: by_hash[sha256] for url, sha256 in addresses if sha256 in by_hash}


def _sealed_rows(version: DatasetVersion, part: Part, split: str) -> Iterator[dict[str, Any]]:
    rows = VersionRow.objects.filter(version=version, part=part)
    if split:
        rows = rows.filter(split=split)
    return rows.order_by("instance_id").values_list("row", flat=True).iterator(chunk_size=_CHUNK_SIZE)


def _sealed_pairs(version: DatasetVersion, split: str, texts: str) -> Iterator[ObservationRecord]:
    """Yield all pairs of a sealed split, including those on photos taken down."""
    for row in _sealed_rows(version, Part.OBSERVATION, split):
        try:
            pair = parse_record(row)
        except BrokenExport as error:
            raise InvalidInput(str(error)) from error
        yield replace(pair, inference=pair.clue) if texts == "clue" else pair


def _available_chunks(
    sealed: Sequence[ObservationRecord], options: EvaluationSetOptions, photo_key_by_url: Mapping[str, int]
) -> list[list[ObservationRecord]]:
    """Draw chunks from all sealed pairs, then drop pairs on photos taken down.

    A chunk that has fewer than two pairs left is dropped, since a single pair would always be ranked first.
    """
    all_chunks = split_into_chunks(sealed, size=options.chunk, rng=np.random.default_rng(options.seed))
    available = [[pair for pair in chunk if pair.image.url in photo_key_by_url] for chunk in all_chunks]
    kept = [
        remaining
        for remaining, chunk in zip(available, all_chunks, strict=True)
        if len(remaining) > 1 or len(remaining) == len(chunk)
    ]
    return kept or [remaining for remaining in available if remaining]


def _comparison_rows(
    version: DatasetVersion, split: str, photo_key_by_url: Mapping[str, int], left_out: Counter[str]
) -> Iterator[dict[str, Any]]:
    for row in _sealed_rows(version, Part.COMPARISON, split):
        if row["image"]["url"] in photo_key_by_url:
            yield row
        else:
            left_out["comparison_set_on_photo_taken_down"] += 1


def _boxes_by_url(run: ProposalRun | None, photo_key_by_url: Mapping[str, int]) -> dict[str, list[Region]]:
    if run is None:
        return {}
    rows = ImageProposals.objects.filter(run=run).values_list("image_id", "boxes")
    found = {
        image: [Region(*(int(side) for side in box[:4])) for box in boxes if min(box[2:4]) >= 1]
        for image, boxes in rows.iterator(chunk_size=_CHUNK_SIZE)
    }
    return {url: found[image] for url, image in photo_key_by_url.items() if image in found}


def _no_pairs_message(version: DatasetVersion, split: str) -> str:
    names = ", ".join(name or ALL for name in version_splits(version)) or "none"
    where = f"the split {split}" if split else "it"
    return f"version {version.name}: {where} has no pair on an available photo; its splits are {names}"
