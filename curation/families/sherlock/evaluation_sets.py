"""Write evaluation sets as files, in the published leaderboard's layout.

    OUT/public/test_retrieval/test_retrieval_0_instances.json, test_retrieval_0_instance_ids.json, …
    OUT/held/test_retrieval/test_retrieval_0_answer_key.json, …      likewise for localization and comparison
    OUT/manifest.json

``held`` contains the answer keys and is readable by its owner only. Instances are ordered by test id. A retrieval
chunk has a million instances, so each file is written piece by piece.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from curation.evaluation.answer_keys import (
    COMPARISON,
    HELD_OUT_FILE,
    LOCALIZATION,
    RETRIEVAL,
    sort_file_names,
    task_of_file,
)
from curation.evaluation.sets import (
    ScoreRequest,
    matching_requests,
    proposed_box_requests,
    retrieval_test_ids,
)
from curation.families.sherlock.evaluation_plan import EvaluationSetOptions, SplitEvaluationSets, plan_sets
from curation.files import partial_folder, rename_folder_durably
from curation.models import DatasetVersion, ProposalRun
from curation.records import ImageReference, InvalidInput, ObservationRecord, Region
from curation.versions.board import HELD, PUBLIC
from curation.versions.export import ExportRefused, WrittenFile, check_export_target, pretty_json, write_file
from hits.domain.hashing import canonical_json

FORMAT = "deerstalker-evaluation-sets/1"
MANIFEST = "manifest.json"
_BATCH_LINES = 10_000
ProgressReport = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class WrittenSets:
    """The written evaluation sets.

    expected_counts: number of scores in each file of a submission. left_out: numbers of excluded pairs, photos and
    comparison sets, by reason. photo_urls: the addresses of the photos in instances.
    """

    folder: Path
    expected_counts: Mapping[str, int]
    left_out: Mapping[str, int]
    manifest_sha256: str
    files: tuple[WrittenFile, ...]
    photo_urls: frozenset[str]


def write_evaluation_sets(
    version: DatasetVersion,
    *,
    split: str,
    out: Path,
    proposals: ProposalRun | None,
    options: EvaluationSetOptions | None = None,
    private_percent: int = 0,
    report_progress: ProgressReport = lambda done, total: None,
) -> WrittenSets:
    """Write the three tasks of a split of a sealed version into ``out``, completely or not at all.

    Args:
        split: train, val or test; empty means the whole version. out: a folder that is empty or does not exist.
        proposals: the source of proposed boxes; without it, localization has only the annotators' regions.
        private_percent: percentage of photos to choose as private; their names are written beside the answer keys.
        report_progress: called with the number of finished files of a submission, and their total; may raise to stop.

    Raises:
        InvalidInput: the version is a draft, the split has no pairs, the run is unsuitable, or the folder is
            unusable.
    """
    try:
        check_export_target(out, rehearsal=version.rehearsal)
    except ExportRefused as error:
        raise InvalidInput(str(error)) from error
    sets = plan_sets(version, split=split, proposals=proposals, options=options)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with partial_folder(out) as partial:
            partial.mkdir()
            (partial / HELD).mkdir(mode=0o700)
            files = tuple(_write_task_files(partial, sets, report_progress))
            if private_percent:
                names = {"percent": private_percent, "names": sets.choose_private_names(private_percent)}
                files += (write_file(partial, f"{HELD}/{HELD_OUT_FILE}", [pretty_json(names)]),)
            manifest = write_file(partial, MANIFEST, [pretty_json(_manifest(sets, files))])
            rename_folder_durably(partial, out)
    except OSError as error:
        raise InvalidInput(f"{out}: cannot be written ({error.strerror}); choose another folder") from error
    return WrittenSets(out, sets.expected_counts, sets.left_out, manifest.sha256, files, sets.photo_urls)


def _write_task_files(
    folder: Path, sets: SplitEvaluationSets, report_progress: ProgressReport
) -> Iterator[WrittenFile]:
    names = sort_file_names(sets.expected_counts)
    for done, name in enumerate(names):
        report_progress(done, len(names))
        stem = f"{sets.split_name}_{task_of_file(name)}/{sets.split_name}_{name}"
        instances = _INSTANCE_MAKERS[task_of_file(name)](sets, name)
        instances.sort(key=lambda item: item[0])
        yield write_file(
            folder, f"{PUBLIC}/{stem}_instances.json", _json_list(to_json() for _, to_json in instances)
        )
        ids = (b'"%b"' % test_id.encode() for test_id, _ in instances)  # hexadecimal digits only
        yield write_file(folder, f"{PUBLIC}/{stem}_instance_ids.json", _json_list(ids))
        del instances
        yield write_file(folder, f"{HELD}/{stem}_answer_key.json", _answer_key(sets, name))
    report_progress(len(names), len(names))


KeyedInstance = tuple[str, Callable[[], bytes]]
"""A test id, and a function that returns the instance as JSON."""


def _retrieval_instances(sets: SplitEvaluationSets, name: str) -> list[KeyedInstance]:
    chunk = sets.chunks[int(name.removeprefix(f"{RETRIEVAL}_"))]
    regions = [_region_json(pair.image, pair.bboxes) for pair in chunk]
    texts = [canonical_json(pair.inference) for pair in chunk]
    ids = retrieval_test_ids(chunk, sets.test_id_maker)
    n = len(chunk)
    pairs = ((regions[index // n], texts[index % n], test_id) for index, test_id in enumerate(ids))
    return [(test_id, _Instance(region, text, test_id, RETRIEVAL)) for region, text, test_id in pairs]


def _all_localization_instances(sets: SplitEvaluationSets, name: str) -> list[KeyedInstance]:
    lines: list[KeyedInstance] = []
    for image in sets.localization.images:
        reference = image.pairs[0].image
        given = [_region_json(reference, pair.bboxes) for pair in image.matched]
        proposed = [_region_json(reference, [box]) for box in image.boxes]
        lines += _localization_instances(given, image.matched, matching_requests(image, sets.test_id_maker))
        lines += _localization_instances(
            proposed, image.pairs, proposed_box_requests(image, sets.test_id_maker)
        )
    return lines


def _localization_instances(
    regions: Sequence[bytes], pairs: Sequence[ObservationRecord], requests: Iterable[ScoreRequest]
) -> list[KeyedInstance]:
    texts = [canonical_json(pair.inference) for pair in pairs]
    return [
        (
            request.test_id,
            _Instance(
                regions[request.region_index], texts[request.text_index], request.test_id, LOCALIZATION
            ),
        )
        for request in requests
    ]


def _comparison_instances(sets: SplitEvaluationSets, name: str) -> list[KeyedInstance]:
    lines: list[KeyedInstance] = []
    for row in sets.rated_rows():
        image = ImageReference(**row["image"])
        region = _region_json(image, [Region(**box) for box in row["region"]])
        for candidate in row["candidates"]:
            text, test_id = canonical_json(candidate["inference"]), candidate["test_id"]
            lines.append((test_id, _Instance(region, text, test_id, COMPARISON)))
    return lines


_INSTANCE_MAKERS: dict[str, Callable[[SplitEvaluationSets, str], list[KeyedInstance]]] = {
    RETRIEVAL: _retrieval_instances,
    LOCALIZATION: _all_localization_instances,
    COMPARISON: _comparison_instances,
}


@dataclass(frozen=True, slots=True)
class _Instance:
    """A public instance. ``region``: JSON of image and region, without braces. ``text``: JSON of the inference."""

    region: bytes
    text: bytes
    test_id: str
    task: str

    def __call__(self) -> bytes:
        return b'{%b,"inference":%b,"test_id":"%b","extra_info":{"task":"%b"}}' % (
            self.region, self.text, self.test_id.encode(), self.task.encode(),
        )  # fmt: skip


def _region_json(image: ImageReference, boxes: Sequence[Region]) -> bytes:
    region = [{"height": b.height, "width": b.width, "left": b.left, "top": b.top} for b in boxes]
    return canonical_json({"image": asdict(image), "region": region})[1:-1]


def _answer_key(sets: SplitEvaluationSets, name: str) -> Iterator[bytes]:
    """Return the pieces of an answer key's file: one entry per line, so that line-based tools can read it."""
    task = task_of_file(name)
    if task == COMPARISON:
        return iter([pretty_json(sets.raw_key(name))])
    if task == LOCALIZATION:
        return _json_object((key, canonical_json(entry)) for key, entry in sets.localization_entries())
    chunk = sets.chunks[int(name.removeprefix(f"{RETRIEVAL}_"))]
    names = [canonical_json(pair.instance_id) for pair in chunk]
    pairs = (b"[%b,%b]" % (image, inference) for image in names for inference in names)
    ids = retrieval_test_ids(chunk, sets.test_id_maker)
    return _json_object(zip(ids, pairs, strict=True))


def _manifest(sets: SplitEvaluationSets, files: Sequence[WrittenFile]) -> dict[str, Any]:
    located = sets.localization.images
    return {
        "format": FORMAT,
        "project": sets.version.project.slug,
        "version": sets.version.name,
        "rehearsal": sets.version.rehearsal,
        "seal": sets.version.manifest_sha256,
        "split": sets.split_name,
        "options": asdict(sets.options),
        "proposals": proposals_json(sets.proposal_run),
        "expected": sets.expected_counts,
        "retrieval": {"chunks": [len(chunk) for chunk in sets.chunks]},
        "localization": {
            "matched_images": sum(bool(image.matched) for image in located),
            "matched_inferences": sum(len(image.matched) for image in located),
            "images_with_proposed_boxes": sum(bool(image.boxes) for image in located),
            "inferences_with_proposed_boxes": sum(len(image.pairs) for image in located if image.boxes),
        },
        "comparison": {"images": len(sets.comparison)},
        "left_out": sets.left_out,
        "files": [asdict(file) for file in files],
    }


def proposals_json(run: ProposalRun | None) -> dict[str, Any] | None:
    """Return the manifest entry of a run of proposals; ``None`` means no proposed boxes."""
    if run is None:
        return None
    return {"run": run.pk, "detector": run.detector, "revision": run.revision, "options": run.options}


def _json_list(lines: Iterable[bytes]) -> Iterator[bytes]:
    return _enclose_lines(lines, b"[", b"]")


def _json_object(entries: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    return _enclose_lines((b'"%b":%b' % (test_id.encode(), value) for test_id, value in entries), b"{", b"}")


def _enclose_lines(lines: Iterable[bytes], opening: bytes, closing: bytes) -> Iterator[bytes]:
    """Yield the lines between brackets, in pieces of many lines: writing line by line would take most of the time."""
    source = iter(lines)
    yield opening + b"\n"
    before = b""
    while batch := list(islice(source, _BATCH_LINES)):
        yield before + b",\n".join(batch)
        before = b",\n"
    yield b"\n" + closing + b"\n"
