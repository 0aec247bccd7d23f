"""Evaluation sets of a sealed version: the published layout, keys that our measures read, and nothing given away."""

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from curation.evaluation.answer_keys import AnswerKeyFolder, compute_figures, task_of_file
from curation.evaluation.sets import split_into_chunks
from curation.families.sherlock.evaluation_plan import EvaluationSetOptions, SplitEvaluationSets, plan_sets
from curation.families.sherlock.evaluation_sets import WrittenSets, write_evaluation_sets
from curation.families.sherlock.read import parse_record
from curation.models import DatasetVersion, ImageProposals, Part, ProposalRun, VersionRow
from curation.proposals.overlap import best_overlaps
from curation.records import InvalidInput, ObservationRecord
from curation.services import versions as services
from curation.versions.export import export_version
from hits.models import Image, Project
from tests.support.curation.evaluation import Corpus, corpus_of, propose
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus(work: Work) -> Corpus:
    return corpus_of(work)


def written(corpus: Corpus, out: Path, **more: Any) -> WrittenSets:
    arguments: dict[str, Any] = {
        "split": "test",
        "proposals": corpus.run,
        "options": EvaluationSetOptions(chunk=6),
    }
    return write_evaluation_sets(corpus.version, out=out, **arguments | more)


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_layout_is_the_published_one(corpus: Corpus, tmp_path: Path) -> None:
    found = written(corpus, tmp_path / "out")
    names = {
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    stems = ["comparison/test_comparison", "localization/test_localization"]
    stems += [f"retrieval/test_retrieval_{number}" for number in range(2)]
    kinds = (("public", "instances"), ("public", "instance_ids"), ("held", "answer_key"))
    assert names == {"manifest.json"} | {
        f"{side}/test_{stem}_{kind}.json" for stem in stems for side, kind in kinds
    }
    assert (tmp_path / "out" / "held").stat().st_mode & 0o777 == 0o700
    assert found.expected_counts == {
        "comparison": 3,
        "localization": sum(3 * (3 + 5) for _ in corpus.images),
        "retrieval_0": 36,
        "retrieval_1": 36,
    }
    manifest = read(tmp_path / "out" / "manifest.json")
    assert manifest["expected"] == found.expected_counts
    assert manifest["seal"] == corpus.version.manifest_sha256
    assert {row["name"] for row in manifest["files"]} == names - {"manifest.json"}


def test_instances_have_the_published_fields_and_sorted_ids(corpus: Corpus, tmp_path: Path) -> None:
    written(corpus, tmp_path / "out")
    for path in (tmp_path / "out" / "public").rglob("*_instances.json"):
        instances = read(path)
        ids = read(path.with_name(path.name.replace("_instances", "_instance_ids")))
        task = path.parent.name.removeprefix("test_")
        assert ids == sorted(ids) == [row["test_id"] for row in instances]
        assert len(set(ids)) == len(ids)
        for row in instances:
            assert set(row) == {"image", "region", "inference", "test_id", "extra_info"}
            assert set(row["image"]) == {"url", "width", "height"}
            assert all(set(box) == {"height", "width", "left", "top"} for box in row["region"])
            assert row["extra_info"] == {"task": task}
            assert len(row["test_id"]) == 32
            assert int(row["test_id"], 16) >= 0
        key = read(
            tmp_path / "out" / "held" / path.parent.name / path.name.replace("instances", "answer_key")
        )
        assert sorted(key.get("test_id_map", key)) == ids


def test_public_files_hold_no_id_of_a_pair(corpus: Corpus, tmp_path: Path) -> None:
    written(corpus, tmp_path / "out")
    public = b"".join(path.read_bytes() for path in (tmp_path / "out" / "public").rglob("*.json"))
    held = b"".join(path.read_bytes() for path in (tmp_path / "out" / "held").rglob("*.json"))
    for pair in corpus.pairs:
        assert pair.instance_id.encode() not in public
        assert pair.instance_id.encode() in held
    for word in (b"correct", b"IoU", b"annot", b"obs_idx"):
        assert word not in public


def test_ids_need_the_secret(corpus: Corpus, settings: Any) -> None:
    def ids() -> set[str]:
        return set(plan_sets(corpus.version, split="test", proposals=None).raw_key("retrieval_0"))

    first = ids()
    assert ids() == first, "the same version, the same ids: a scorer's predictions fit the leaderboard"
    settings.WORKER_HASH_SECRET = "another installation's"
    assert not ids() & first


def test_perfect_scores_are_perfect_and_their_opposite_is_not(corpus: Corpus, tmp_path: Path) -> None:
    found = written(corpus, tmp_path / "out")
    keys = AnswerKeyFolder(tmp_path / "out" / "held")
    for sign in (1, -1):
        scores = {name: sign * gold(keys.raw_key(name)) for name in found.expected_counts}
        figures = compute_figures(scores, keys, rng=np.random.default_rng(0))
        retrieval, localization = figures["retrieval"], figures["localization"]
        best = sign == 1
        assert retrieval["p_at_1"]["value"] == (100 if best else 0)
        assert retrieval["im2txt"]["value"] == (1 if best else 6)
        assert (retrieval["instances"], retrieval["chunks"]) == (12, 2)
        assert (localization["gt_accuracy"]["value"] == 100) == best
        assert localization["auto_accuracy"]["value"] == (100 if best else 0)
        assert localization["auto_oracle_accuracy"]["value"] == 100
        assert localization["gt_images"] == localization["auto_images"] == len(corpus.images)
        assert figures["comparison"]["model"]["value"] == pytest.approx(100 * sign)
        assert figures["comparison"]["images"] == 1


def gold(raw: Any) -> Any:
    """Scores by which everything is right, in the order of the sorted ids."""
    if "test_id_map" in raw:
        (row,) = raw["annotations"]
        mean = {c["source_iid"]: c["annot1"] + c["annot2"] for c in row["candidates"]}
        return np.array([mean[raw["test_id_map"][key]["candidate"]] for key in sorted(raw["test_id_map"])])
    values = {
        key: entry[0] == entry[1] if isinstance(entry, list) else right(entry) for key, entry in raw.items()
    }
    return np.array([float(values[key]) for key in sorted(raw)])


def right(entry: dict[str, Any]) -> float:
    return entry["correct"] if entry["type"] == "gt" else entry["IoU"]


def test_iou_is_the_greatest_with_any_box_of_the_pair(corpus: Corpus, tmp_path: Path) -> None:
    written(corpus, tmp_path / "out")
    key = read(tmp_path / "out" / "held" / "test_localization" / "test_localization_answer_key.json")
    pairs = {pair.instance_id: pair for pair in corpus.pairs}
    by_pair: dict[str, list[float]] = {}
    for entry in key.values():
        if entry["type"] == "auto":
            by_pair.setdefault(entry["inst_id"], []).append(entry["IoU"])
    assert set(by_pair) == set(pairs)
    side = ("left", "top", "width", "height")
    for name, ious in by_pair.items():
        proposed = np.array([box[:4] for box in corpus.boxes])
        drawn = np.array([[box[s] for s in side] for box in pairs[name].boxes])
        assert ious == best_overlaps(proposed, drawn).tolist(), "in the order of the boxes, best first"


def test_the_same_bytes_each_time(corpus: Corpus, tmp_path: Path) -> None:
    one, two = written(corpus, tmp_path / "one"), written(corpus, tmp_path / "two")
    assert one.files == two.files
    assert one.manifest_sha256 == two.manifest_sha256
    other = written(corpus, tmp_path / "three", options=EvaluationSetOptions(chunk=6, seed=1))
    assert other.expected_counts == one.expected_counts
    assert other.files != one.files


def test_without_proposals_there_are_the_true_regions_only(corpus: Corpus, tmp_path: Path) -> None:
    found = written(corpus, tmp_path / "out", proposals=None)
    assert found.expected_counts["localization"] == 9 * len(corpus.images)
    assert read(tmp_path / "out" / "manifest.json")["proposals"] is None
    figures = compute_figures(
        {"localization": np.zeros(9 * len(corpus.images))},
        AnswerKeyFolder(tmp_path / "out" / "held"),
        rng=np.random.default_rng(0),
    )
    assert figures["localization"]["auto_accuracy"] == {"value": None, "low": None, "high": None}
    assert figures["localization"]["auto_images"] == 0


def test_a_proposed_box_without_area_is_left_out(corpus: Corpus) -> None:
    before = plan_sets(corpus.version, split="test", proposals=corpus.run).expected_counts
    for row in ImageProposals.objects.filter(run=corpus.run):
        row.boxes = [*row.boxes, [5.0, 5.0, 0.4, 3.0, 0.1], [5.0, 5.0, 3.0, 0.0, 0.1]]
        row.save()
    assert plan_sets(corpus.version, split="test", proposals=corpus.run).expected_counts == before


def test_box_limit_is_kept_and_chunk_sizes_differ_by_at_most_one(corpus: Corpus) -> None:
    sets = plan_sets(
        corpus.version, split="test", proposals=corpus.run, options=EvaluationSetOptions(boxes=2, chunk=5)
    )
    assert sets.expected_counts["localization"] == sum(3 * (3 + 2) for _ in corpus.images)
    assert sorted(map(len, sets.chunks)) == [6, 6]
    sets = plan_sets(corpus.version, split="test", proposals=None, options=EvaluationSetOptions(chunk=2))
    assert max(map(len, sets.chunks)) - min(map(len, sets.chunks)) <= 1
    assert sorted(pair.instance_id for chunk in sets.chunks for pair in chunk) == sorted(
        pair.instance_id for pair in corpus.pairs
    )


def test_photos_taken_down_are_left_out_and_counted(corpus: Corpus, tmp_path: Path, work: Work) -> None:
    gone = corpus.pairs[0].image
    Image.objects.filter(pk=gone.pk).update(taken_down_at=work.clock)
    found = written(corpus, tmp_path / "out")
    assert found.left_out["pair_on_photo_taken_down"] == 3
    assert found.left_out["comparison_set_on_photo_taken_down"] == 1
    assert "comparison" not in found.expected_counts
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*.json"))
    assert gone.source_url.encode() not in everything


def names(chunks: Sequence[Sequence[ObservationRecord]]) -> list[list[str]]:
    return [[pair.instance_id for pair in chunk] for chunk in chunks]


def test_a_photo_taken_down_leaves_every_other_pair_in_its_chunk(corpus: Corpus, work: Work) -> None:
    # Of six, three at most are lost: a chunk with one left would be dropped.
    options = EvaluationSetOptions(chunk=6)

    def planned() -> SplitEvaluationSets:
        return plan_sets(corpus.version, split="test", proposals=None, options=options)

    before = names(planned().chunks)
    gone = {pair.instance_id for pair in corpus.pairs[:3]}
    Image.objects.filter(pk=corpus.pairs[0].image_id).update(taken_down_at=work.clock)
    after = planned()
    kept = [[key for key in chunk if key not in gone] for chunk in before]
    assert names(after.chunks) == [chunk for chunk in kept if chunk]
    assert sum(map(len, after.chunks)) == 9
    assert after.left_out == {"pair_on_photo_taken_down": 3, "comparison_set_on_photo_taken_down": 1}


@pytest.mark.parametrize("seed", [0, 7])
def test_exported_file_gives_same_chunks(corpus: Corpus, work: Work, tmp_path: Path, seed: int) -> None:
    Image.objects.filter(pk=corpus.pairs[-1].image_id).update(taken_down_at=work.clock)
    export_version(corpus.version, tmp_path / "release")
    pairs = sorted(read(tmp_path / "release" / "sherlock_test.json"), key=lambda pair: pair["instance_id"])
    places = np.random.default_rng(seed).permutation(len(pairs))
    chunks = np.array_split(places, max(1, round(len(pairs) / 5)))
    gone = corpus.pairs[-1].image.source_url
    theirs = [
        [pairs[at]["instance_id"] for at in chunk if pairs[at]["inputs"]["image"]["url"] != gone]
        for chunk in chunks
    ]
    options = EvaluationSetOptions(chunk=5, seed=seed)
    assert names(plan_sets(corpus.version, split="test", proposals=None, options=options).chunks) == theirs


def test_a_chunk_that_lost_all_of_its_pairs_is_dropped(
    corpus: Corpus, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By ``split_idx``, photo by photo: the chunk of the photo that is taken down has nothing left."""
    number = {image.source_url: at for at, image in enumerate(corpus.images)}

    def numbered(raw: dict[str, Any]) -> ObservationRecord:
        pair = parse_record(raw)
        return replace(pair, split_idx=number[pair.image.url])

    monkeypatch.setattr("curation.families.sherlock.evaluation_plan.parse_record", numbered)
    Image.objects.filter(pk=corpus.images[1].pk).update(taken_down_at=work.clock)
    sets = plan_sets(corpus.version, split="test", proposals=None)
    assert [{pair.split_idx for pair in chunk} for chunk in sets.chunks] == [{0}, {2}, {3}]
    assert [name for name in sets.expected_counts if task_of_file(name) == "retrieval"] == [
        "retrieval_0", "retrieval_1", "retrieval_2",
    ]  # fmt: skip


def test_a_chunk_that_lost_all_pairs_but_one_is_dropped(
    corpus: Corpus, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one would be ranked first among itself."""
    gone = corpus.images[1].source_url
    rows = VersionRow.objects.filter(version=corpus.version, part=Part.OBSERVATION)
    alone = parse_record(rows.exclude(row__inputs__image__url=gone).earliest("instance_id").row)

    def numbered(raw: dict[str, Any]) -> ObservationRecord:
        pair = parse_record(raw)
        is_first = pair.image.url == gone or pair.instance_id == alone.instance_id
        return replace(pair, split_idx=0 if is_first else 1)

    monkeypatch.setattr("curation.families.sherlock.evaluation_plan.parse_record", numbered)
    assert len(plan_sets(corpus.version, split="test", proposals=None).chunks) == 2
    Image.objects.filter(pk=corpus.images[1].pk).update(taken_down_at=work.clock)
    (chunk,) = plan_sets(corpus.version, split="test", proposals=None).chunks
    assert {pair.split_idx for pair in chunk} == {1}


def test_chunks_do_not_depend_on_the_order_in_which_pairs_come(corpus: Corpus) -> None:
    pairs = [
        pair for chunk in plan_sets(corpus.version, split="test", proposals=None).chunks for pair in chunk
    ]

    def dealt(some: Sequence[ObservationRecord]) -> list[list[str]]:
        return names(split_into_chunks(some, size=5, rng=np.random.default_rng(0)))

    assert dealt(pairs) == dealt(pairs[::-1])


def test_indistinguishable_items_are_left_out(work: Work, tmp_path: Path) -> None:
    from tests.support.answers import observations

    answer = observations(4, salt="twins")
    rows = answer["observations"]
    rows[1]["inference"] = f"  {rows[0]['inference'].upper()} "
    work.observed(work.image(1, split="test"), answer=answer)
    version = services.create_sealed_version(project=work.project, name="v1", by=None)
    sets = plan_sets(version, split="test", proposals=None)
    assert sets.left_out == {"pair_with_the_text_of_another": 1}
    assert sets.expected_counts["localization"] == 9
    assert sets.expected_counts["retrieval_0"] == 16, "retrieval asks about copies, whose ranks tie"


def test_proposed_boxes_are_asked_about_with_every_pair_however_few(work: Work, tmp_path: Path) -> None:
    """Only matching needs three pairs with different texts; with boxes each inference has its own answer."""
    from tests.support.answers import observations

    answer = observations(4, salt="few")
    rows = answer["observations"]
    rows[1]["inference"] = rows[2]["inference"] = rows[0]["inference"]
    image = work.image(1, split="test", source_url="https://photos.example/1.png")
    pairs = work.observed(image, answer=answer)
    whole = work.image(2, split="test", source_url="https://photos.example/2.png")
    others = work.observed(whole)
    run, boxes = propose(work, [image, whole], [*pairs, *others])
    version = services.create_sealed_version(project=work.project, name="v1", by=None)
    sets = plan_sets(version, split="test", proposals=run)
    assert sets.left_out == {"pair_with_the_text_of_another": 2, "image_with_too_few_pairs_to_match": 1}
    assert sets.expected_counts["localization"] == 4 * len(boxes) + 9 + 3 * len(boxes)
    found = write_evaluation_sets(version, split="test", out=tmp_path / "out", proposals=run)
    entries = read(
        tmp_path / "out" / "held" / "test_localization" / "test_localization_answer_key.json"
    ).values()
    asked = {
        kind: {entry["inst_id"] for entry in entries if entry["type"] == kind} for kind in ("gt", "auto")
    }
    assert asked["gt"] == {pair.instance_id for pair in others}
    assert asked["auto"] == {pair.instance_id for pair in (*pairs, *others)}
    located = read(tmp_path / "out" / "manifest.json")["localization"]
    assert located == {
        "matched_images": 1,
        "matched_inferences": 3,
        "images_with_proposed_boxes": 2,
        "inferences_with_proposed_boxes": 7,
    }
    scores = {"localization": gold(sets.raw_key("localization"))}
    figures = compute_figures(
        scores, AnswerKeyFolder(tmp_path / "out" / "held"), rng=np.random.default_rng(0)
    )
    assert (figures["localization"]["gt_images"], figures["localization"]["auto_images"]) == (1, 2)
    assert figures["localization"]["gt_accuracy"]["value"] == 100
    assert found.expected_counts == sets.expected_counts


def test_clues_have_no_comparison(corpus: Corpus, tmp_path: Path) -> None:
    found = written(corpus, tmp_path / "out", options=EvaluationSetOptions(texts="clue", chunk=100))
    assert set(found.expected_counts) == {"localization", "retrieval_0"}
    (path,) = (tmp_path / "out").rglob("*retrieval_0_instances.json")
    assert {row["inference"] for row in read(path)} == {pair.clue for pair in corpus.pairs}


def test_refusals_are_one_line_and_leave_nothing(corpus: Corpus, tmp_path: Path, project: Project) -> None:
    draft = services.create_version(project=project, name="v2", by=None)
    half = ProposalRun.objects.create(project=project, detector="classical")
    tries: list[tuple[DatasetVersion, dict[str, Any], str]] = [
        (draft, {}, "draft: seal it first"),
        (corpus.version, {"split": "val"}, "no pair on an available photo; its splits are test"),
        (corpus.version, {"split": "dreams"}, "use train, val or test"),
        (corpus.version, {"proposals": half}, "is not complete"),
    ]
    for version, more, message in tries:
        arguments: dict[str, Any] = {"split": "test", "proposals": None, **more}
        with pytest.raises(InvalidInput, match=message) as caught:
            write_evaluation_sets(version, out=tmp_path / "out", **arguments)
        assert "\n" not in str(caught.value)
        assert list(tmp_path.glob("*out*")) == []


def test_a_folder_with_something_in_it_stays_as_it_is(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"):
        written(corpus, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]


def test_a_stop_leaves_nothing(corpus: Corpus, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(corpus, tmp_path / "out", report_progress=stop)
    assert [path for path in tmp_path.iterdir() if "out" in path.name] == []


def test_chunks_follow_split_idx_where_rows_have_one(corpus: Corpus) -> None:
    (chunk,) = plan_sets(corpus.version, split="test", proposals=None).chunks
    numbered = [replace(pair, split_idx=at % 3) for at, pair in enumerate(chunk)]
    dealt = split_into_chunks(numbered, size=1000, rng=np.random.default_rng(0))
    assert [{pair.split_idx for pair in some} for some in dealt] == [{0}, {1}, {2}]
    with pytest.raises(InvalidInput, match="give it to all or to none"):
        split_into_chunks([*numbered, *chunk], size=1000, rng=np.random.default_rng(0))


def test_the_command_writes_and_our_measures_read_it(corpus: Corpus, tmp_path: Path) -> None:
    out = StringIO()
    of = ("--version", corpus.version.name, "--out", str(tmp_path / "sets"), "--chunk", "6")
    call_command("build_evaluation_sets", *of, "--json", stdout=out)
    result = json.loads(out.getvalue())
    assert result["expected"]["retrieval_1"] == 36
    for name, count in result["expected"].items():
        task = name.partition("_")[0]
        np.save(tmp_path / "p.npy", np.random.default_rng(0).random(count))
        (key,) = (tmp_path / "sets" / "held").rglob(f"*{name}_answer_key.json")
        (ids,) = (tmp_path / "sets" / "public").rglob(f"*{name}_instance_ids.json")
        figures = []
        for more in ([], ["--instance-ids", str(ids)]):
            shown = StringIO()
            call_command(
                "evaluate", task, "--predictions", str(tmp_path / "p.npy"), "--answer-key", str(key),
                *more, "--json", stdout=shown,
            )  # fmt: skip
            figures.append(json.loads(shown.getvalue()))
        assert figures[0] == figures[1]
        assert None not in figures[0].values()


def test_a_version_without_a_test_split_needs_no_flag(work: Work, tmp_path: Path) -> None:
    work.observed(work.image(1, split="val"))
    services.create_sealed_version(project=work.project, name="v1", by=None)
    call_command(
        "build_evaluation_sets", "--version", "v1", "--out", str(tmp_path / "sets"), stdout=StringIO()
    )
    assert read(tmp_path / "sets" / "manifest.json")["split"] == "val"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--version", "v9"], "--version v9: there is no such version; known: v1"),
        (["--version", "v1", "--proposals", "99"], "no run 99"),
        (["--version", "v1", "--chunk", "1"], "--chunk: 1 is too few"),
        (["--version", "v1", "--split", "train"], "split: v1 has no pair in train; it has test"),
    ],
)
def test_bad_flags_get_one_line(corpus: Corpus, tmp_path: Path, flags: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        call_command("build_evaluation_sets", *flags, "--out", str(tmp_path / "sets"), stdout=StringIO())
    assert caught.value.returncode == 2
    assert not (tmp_path / "sets").exists()
