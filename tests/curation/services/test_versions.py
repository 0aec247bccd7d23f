"""Sealing, exporting and reading back: what is in, what is out, and that nothing can be changed unnoticed."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.evaluation.comparison import parse_comparison_key, score_comparison
from curation.families.sherlock import read
from curation.families.sherlock.evaluation_plan import plan_sets
from curation.families.sherlock.read import BrokenExport, read_version
from curation.models import (
    ComparisonRound,
    DatasetVersion,
    Pair,
    Part,
    VersionImage,
    VersionRow,
    VersionState,
)
from curation.selectors.rounds import is_judged
from curation.selectors.scorers import round_versions
from curation.services.comparison import (
    BuiltRound,
    BuiltSet,
    RoundOptions,
    launch_comparison_batch,
    store_round,
)
from curation.services.versions import create_sealed_version, create_version, seal_version
from curation.versions import plan as build
from curation.versions import spool
from curation.versions.export import ExportRefused, export_version
from hits.domain.states import AssignmentStatus
from hits.models import Hit, Image, Project
from hits.models.base import AppendOnlyError
from hits.services import projects
from hits.services.errors import Refused
from tests.benchmarks.versions import CORPUS_PAIRS, CORPUS_PHOTOS, MOST_MIB, measured
from tests.support.judging.work import Work, ratings
from tests.support.many_pairs import fill_pairs
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


def sealed(project: Project, name: str = "v1.0") -> DatasetVersion:
    version = create_version(project=project, name=name, by=None)
    return seal_version(version=version, by=None)


def rated_round(
    work: Work, pairs: list[Pair], *, judges: int = 2, of: Sequence[Pair] = ()
) -> ComparisonRound:
    """Store a round of a set for each pair of ``of`` (the first one), all others its candidates; have it judged."""
    built = BuiltRound(
        encoder="made up",
        provenance={"code": "test"},
        instances=len(pairs),
        inferences=len(pairs),
        sets=[
            BuiltSet(gold.pk, [p.instance_id for p in pairs if p != gold], rank, {"available": 30})
            for rank, gold in enumerate(of or pairs[:1], start=1)
        ],
        skipped={},
    )
    found = store_round(project=work.project, options=RoundOptions(), built=built)
    batch, _ = launch_comparison_batch(round=found, by=None)
    work.publish(batch)
    for hit in Hit.objects.filter(unit__batch=batch):
        for number in range(judges):
            work.answered(hit, f"JUDGE{number}", ratings(hit, 1 + number, 3, 2))
    return found


def compared(version: DatasetVersion) -> dict[str, str]:
    """Return the split of each rated set of a version by its pair."""
    rows = VersionRow.objects.filter(version=version, part=Part.COMPARISON)
    return dict(rows.values_list("instance_id", "split"))


def rounds_in_provenance(version: DatasetVersion) -> list[tuple[int, list[str]]]:
    """Return number and splits of each round that a version's provenance names."""
    return [(entry["id"], entry["splits"]) for entry in version.provenance["comparison_rounds"]]


@pytest.fixture
def pairs_of(work: Work) -> dict[str, list[Pair]]:
    """Return three pairs on a photo of each split; one names its split as its source does."""
    return {
        "val": work.observed(work.image(1, split="validation"), worker="W1"),
        "test": work.observed(work.image(2, split="test"), worker="W2"),
    }


def test_version_contains_only_approved_pairs_and_counts_exclusions(work: Work) -> None:
    kept = work.observed(work.image(1), worker="W1", count=4)
    work.observed(work.image(2), status=AssignmentStatus.SUBMITTED)
    work.observed(work.image(3), status=AssignmentStatus.REJECTED)
    work.observed(work.image(4), confirmed=False)
    gone = work.image(5)
    work.observed(gone)
    Image.objects.filter(pk=gone.pk).update(taken_down_at=work.clock)
    version = sealed(work.project)
    ids = set(VersionRow.objects.filter(version=version).values_list("instance_id", flat=True))
    assert ids == {pair.instance_id for pair in kept}
    assert version.exclusions == {"image_taken_down": 3}
    assert version.statistics["pairs"] == 4
    assert version.statistics["images"] == 1
    assert version.statistics["annotators"] == 1


def test_export_reads_back_to_the_same_pairs(work: Work, tmp_path: Path, settings: Any) -> None:
    image = work.image(1, source_url="https://photos.example/a.png", split="validation")
    pairs = [*work.observed(image, worker="W1"), *work.observed(work.image(2), worker="W2")]
    version = sealed(work.project)
    written = export_version(version, tmp_path / "out")
    assert {file.name for file in written.files} == {
        "sherlock_val.json",
        "sherlock.json",
        "annotators.jsonl",
        "statistics.json",
        "seal.jsonl",
    }
    found = read_version(tmp_path / "out")
    assert (found.name, found.project, found.rehearsal) == ("v1.0", "street-scenes", False)
    by_id = {record.instance_id: record for record in found.records}
    assert set(by_id) == {pair.instance_id for pair in pairs}
    record = by_id[pairs[0].instance_id]
    assert record.image.url == "https://photos.example/a.png"
    assert (record.image.width, record.image.height) == (64, 48)
    assert record.clue == pairs[0].clue
    assert record.inference == pairs[0].inference
    assert record.confidence == float(pairs[0].confidence)
    assert [(b.left, b.top, b.width, b.height) for b in record.bboxes] == [
        (b["left"], b["top"], b["width"], b["height"]) for b in pairs[0].boxes
    ]
    assert record.split_idx is None
    assert found.images["https://photos.example/a.png"] == image.sha256
    assert found.statistics == version.statistics


def test_records_have_the_published_fields_and_no_worker(work: Work, tmp_path: Path) -> None:
    work.observed(work.image(), worker="A2EXAMPLEWORKER", salt="x")
    export_version(sealed(work.project), tmp_path / "out")
    (record, *_) = json.loads((tmp_path / "out" / "sherlock.json").read_text())
    assert set(record) == {"inputs", "targets", "instance_id", "split_idx"}
    assert set(record["inputs"]) == {"image", "bboxes", "clue", "confidence", "obs_idx"}
    assert set(record["inputs"]["image"]) == {"url", "width", "height"}
    assert isinstance(record["inputs"]["confidence"], float)
    everything = b"".join(p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert b"A2EXAMPLEWORKER" not in everything
    workers = [json.loads(line) for line in (tmp_path / "out" / "annotators.jsonl").read_text().splitlines()]
    assert len({line["worker"] for line in workers}) == 1
    assert len(workers[0]["worker"]) == 32


def test_files_are_the_same_bytes_each_time(work: Work, tmp_path: Path) -> None:
    work.observed(work.image())
    version = sealed(work.project)
    one = export_version(version, tmp_path / "one")
    two = export_version(version, tmp_path / "two")
    assert one.files == two.files
    seal = next(file for file in one.files if file.name == "seal.jsonl")
    assert seal.sha256 == version.manifest_sha256
    assert export_version(version, tmp_path / "one").files == one.files, "the same export again is no error"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("sherlock.json", "hours ago", "days ago", r"sherlock\.json: row \d+ \([0-9a-f]{32}\) was changed"),
        ("seal.jsonl", '"split":""', '"split":"x"', "seal.jsonl: its sha256"),
        ("annotators.jsonl", '"worker":"', '"worker":"0', r"annotators\.jsonl: line 1 "),
        ("statistics.json", '"pairs": 3', '"pairs": 4', "statistics.json: was changed"),
        (
            "manifest.json",
            '"rehearsal": false',
            '"rehearsal": true',
            "manifest.json: its “rehearsal” is not that of seal.jsonl",
        ),
    ],
)
def test_a_changed_file_is_named(
    work: Work, tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    work.observed(work.image())
    export_version(sealed(work.project), tmp_path / "out")
    path = tmp_path / "out" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BrokenExport, match=message):
        read_version(tmp_path / "out")


def test_missing_rows_and_files_are_named(work: Work, tmp_path: Path) -> None:
    work.observed(work.image())
    export_version(sealed(work.project), tmp_path / "out")
    path = tmp_path / "out" / "sherlock.json"
    records = json.loads(path.read_text())
    path.write_text(json.dumps(records[1:]))
    with pytest.raises(
        BrokenExport, match=f"row {records[0]['instance_id']} is in the checksum list but in no file"
    ):
        read_version(tmp_path / "out")
    path.unlink()
    with pytest.raises(BrokenExport, match=r"sherlock\.json: cannot be read"):
        read_version(tmp_path / "out")


def test_images_are_checked_where_they_are_at_hand(work: Work, tmp_path: Path, settings: Any) -> None:
    image = work.image()
    work.observed(image)
    export_version(sealed(work.project), tmp_path / "out")
    media = Path(settings.MEDIA_ROOT)
    read_version(tmp_path / "out", images=media)
    (media / image.file.name).write_bytes(b"other")
    with pytest.raises(BrokenExport, match="differs from the sealed image"):
        read_version(tmp_path / "out", images=media)


def test_a_failed_export_leaves_nothing(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work.observed(work.image())
    version = sealed(work.project)

    def broken(_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("curation.versions.export.seal_file_lines", broken)
    with pytest.raises(OSError, match="no space"):
        export_version(version, tmp_path / "out")
    assert list(tmp_path.glob("*out*")) == []
    assert list(tmp_path.glob(".*out*")) == []


def test_folder_with_other_files_is_refused(work: Work, tmp_path: Path) -> None:
    work.observed(work.image())
    version = sealed(work.project)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ExportRefused, match="is not empty"):
        export_version(version, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_rehearsal_is_marked_and_never_real(rehearsal: Project, tmp_path: Path) -> None:
    work = Work(rehearsal)
    work.observed(work.image())
    version = sealed(rehearsal)
    with pytest.raises(ExportRefused, match="never be released as real"):
        export_version(version, tmp_path / "real", real=True)
    assert not (tmp_path / "real").exists()
    export_version(version, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["rehearsal"] is True
    assert (tmp_path / "out" / "REHEARSAL.txt").exists()
    assert read_version(tmp_path / "out").rehearsal is True


def test_simulated_answers_never_reach_a_real_version(rehearsal: Project) -> None:
    work = Work(rehearsal)
    work.observed(work.image())
    image = work.image(2)
    batch_image = work.observed(image, worker="W2")
    assert batch_image
    from tests.support.answers import observations

    hit = Hit.objects.filter(unit__images=image).get()
    Hit.objects.filter(pk=hit.pk).update(max_assignments=2)
    work.answered(hit, "ROBOT", observations(salt="robot"), simulated=True)
    # A project that lost its mark by hand: the version still leaves simulated answers out.
    version = create_version(project=rehearsal, name="v1", by=None)
    DatasetVersion.objects.filter(pk=version.pk).update(rehearsal=False)
    version = seal_version(version=version, by=None)
    assert version.exclusions == {"simulated": 3}
    assert version.statistics["pairs"] == 6


def test_comparison_part_is_scored_by_the_official_measure(work: Work, tmp_path: Path) -> None:
    pairs = [*work.observed(work.image(1), worker="W1"), *work.observed(work.image(2), worker="W2")]
    found = rated_round(work, pairs)
    assert is_judged(found)
    version = sealed(work.project)
    assert version.statistics["comparison_sets"] == 1
    assert version.statistics["judgments"] == 10
    export_version(version, tmp_path / "out")
    read = read_version(tmp_path / "out")
    assert read.answer_key is not None
    key = parse_comparison_key(read.answer_key)
    (instance,) = key.instances
    assert instance.instance == pairs[0].instance_id
    assert instance.first.tolist() == [1.0, 3.0, 2.0, 1.0, 3.0]
    assert instance.second.tolist() == [2.0, 3.0, 2.0, 2.0, 3.0]
    ids = json.loads((tmp_path / "out/comparison/instance_ids.json").read_text())
    instances = json.loads((tmp_path / "out/comparison/instances.json").read_text())
    assert sorted(row["test_id"] for row in instances) == ids == sorted(key.test_ids)
    assert "annot1" not in instances[0]
    assert score_comparison(dict.fromkeys(ids, 0.0), key).images == 1


def test_an_unfinished_round_stays_out(work: Work) -> None:
    pairs = [*work.observed(work.image(1)), *work.observed(work.image(2))]
    assert not is_judged(rated_round(work, pairs, judges=1))
    assert sealed(work.project).statistics["comparison_sets"] == 0


def test_a_set_that_lost_a_pair_stays_out(work: Work) -> None:
    first, second = work.image(1), work.image(2)
    pairs = [*work.observed(first), *work.observed(second)]
    rated_round(work, pairs)
    Image.objects.filter(pk=second.pk).update(taken_down_at=work.clock)
    version = sealed(work.project)
    assert version.exclusions == {"image_taken_down": 3, "comparison_set_lost_a_pair": 1}
    assert version.statistics["comparison_sets"] == 0


def test_each_split_has_the_ratings_of_its_own_newest_round(
    work: Work, pairs_of: dict[str, list[Pair]], tmp_path: Path
) -> None:
    """Comparison is reported on val and test (Hessel et al. 2022, table 3). A later val round keeps test ones."""
    val, test = pairs_of["val"], pairs_of["test"]
    rated_round(work, [*val, *test])
    of_test = rated_round(work, [*test, *val])
    of_val = rated_round(work, [val[1], *test, val[0], val[2]])
    rated_round(work, [test[2], *val], judges=1)  # still open: it excludes nothing
    version = sealed(work.project)
    assert compared(version) == {val[1].instance_id: "val", test[0].instance_id: "test"}
    assert rounds_in_provenance(version) == [(of_val.pk, ["val"]), (of_test.pk, ["test"])]
    assert version.provenance["comparison_round"]["id"] == of_val.pk
    assert (version.statistics["comparison_sets"], version.statistics["judgments"]) == (2, 20)
    assert version.exclusions == {}
    for split, gold in (("val", val[1]), ("test", test[0])):
        (row,) = plan_sets(version, split=split, proposals=None).comparison
        assert row["Input_iid"] == gold.instance_id

    export_version(version, tmp_path / "out")
    found = read_version(tmp_path / "out")
    assert found.answer_key is not None
    assert {one.instance for one in parse_comparison_key(found.answer_key).instances} == set(
        compared(version)
    )
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["provenance"] == version.provenance


def test_a_later_round_takes_the_place_of_one_in_its_own_splits_alone(
    work: Work, pairs_of: dict[str, list[Pair]]
) -> None:
    val, test = pairs_of["val"], pairs_of["test"]
    everywhere = rated_round(work, [*val, *test], of=[val[0], val[1], test[0]])
    before = sealed(work.project, "v1.0")
    assert rounds_in_provenance(before) == [(everywhere.pk, ["test", "val"])]
    later = rated_round(work, [val[2], *test])
    after = sealed(work.project, "v1.1")
    assert compared(after) == {test[0].instance_id: "test", val[2].instance_id: "val"}
    assert rounds_in_provenance(after) == [(later.pk, ["val"]), (everywhere.pk, ["test"])]
    assert [version.name for version in round_versions(everywhere)] == ["v1.1", "v1.0"]
    assert [version.name for version in round_versions(later)] == ["v1.1"]


def test_a_set_counts_as_lost_in_the_split_whose_round_it_is_of(
    work: Work, pairs_of: dict[str, list[Pair]]
) -> None:
    val, test = pairs_of["val"], pairs_of["test"]
    rated_round(work, [*val, *test], of=[val[0], test[0]])
    rated_round(work, [*val[1:], val[0]])
    Image.objects.filter(pk=test[0].image_id).update(taken_down_at=work.clock, split="holdout")
    version = sealed(work.project)
    assert compared(version) == {val[1].instance_id: "val"}
    assert version.exclusions == {"image_taken_down": 3, "comparison_set_lost_a_pair": 1}


def test_the_page_names_each_round_with_its_splits(
    client: Client, work: Work, pairs_of: dict[str, list[Pair]], researcher: User
) -> None:
    val, test = pairs_of["val"], pairs_of["test"]
    of_test = rated_round(work, [*test, *val])
    of_val = rated_round(work, [*val, *test])
    version = sealed(work.project)
    client.force_login(researcher)
    page = squeezed(client.get(reverse("version", args=[version.pk])))
    for split, found in (("test", of_test), ("val", of_val)):
        link = reverse("comparison-round", args=[work.project.slug, found.pk])
        assert (
            f'This version’s candidates for {split} were chosen in <a href="{link}">round {found.pk}</a>'
            in page
        )


def test_a_version_of_an_earlier_release_names_one_round(
    client: Client, work: Work, researcher: User
) -> None:
    pairs = [*work.observed(work.image(1)), *work.observed(work.image(2))]
    found = rated_round(work, pairs)
    version = DatasetVersion.objects.create(project=work.project, name="v0.9")
    DatasetVersion.objects.filter(pk=version.pk).update(
        state=VersionState.SEALED,
        sealed_at=work.clock,
        manifest_sha256="ab" * 32,
        provenance={"comparison_round": {"id": found.pk, "plausibility_encoder": "letters"}},
    )
    assert [one.name for one in round_versions(found)] == ["v0.9"]
    client.force_login(researcher)
    page = squeezed(client.get(reverse("version", args=[version.pk])))
    link = reverse("comparison-round", args=[work.project.slug, found.pk])
    assert (
        f'This version’s candidates were chosen in <a href="{link}">round {found.pk}</a> by letters.' in page
    )


def test_sealing_again_changes_nothing_and_later_work_waits_for_the_next_version(work: Work) -> None:
    work.observed(work.image(1))
    version = sealed(work.project)
    hash_then = version.manifest_sha256
    work.observed(work.image(2))
    again = seal_version(version=version, by=None)
    assert again.manifest_sha256 == hash_then
    assert VersionRow.objects.filter(version=version).count() == 3
    assert VersionRow.objects.filter(version=sealed(work.project, "v1.1")).count() == 6


def test_nothing_to_seal_and_a_changed_image_are_refused(work: Work, settings: Any) -> None:
    version = create_version(project=work.project, name="v1", by=None)
    with pytest.raises(Refused, match="nothing is approved yet"):
        seal_version(version=version, by=None)
    image = work.image()
    work.observed(image)
    (Path(settings.MEDIA_ROOT) / image.file.name).write_bytes(b"drifted")
    with pytest.raises(Refused, match=r"photo-0\.png: its file was changed"):
        seal_version(version=version, by=None)
    version.refresh_from_db()
    assert not version.is_sealed
    assert not VersionRow.objects.exists()


@pytest.mark.parametrize("name", ["", "v 1", "../x", "-1", "x" * 41])
def test_names_are_plain(project: Project, name: str) -> None:
    with pytest.raises(Refused, match="name"):
        create_version(project=project, name=name, by=None)


def test_names_are_taken_once(project: Project) -> None:
    create_version(project=project, name="v1", by=None)
    with pytest.raises(Refused, match="there is a version v1 already"):
        create_version(project=project, name="v1", by=None)


def test_rows_are_append_only_in_python(work: Work) -> None:
    work.observed(work.image())
    version = sealed(work.project)
    row = VersionRow.objects.filter(version=version).first()
    assert row is not None
    with pytest.raises(AppendOnlyError):
        row.save()
    with pytest.raises(AppendOnlyError):
        VersionRow.objects.filter(version=version).update(split="x")
    with pytest.raises(AppendOnlyError):
        VersionImage.objects.filter(version=version).delete()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE curation_versionrow SET sha256 = 'x'",
        "DELETE FROM curation_versionrow",
        "UPDATE curation_versionimage SET sha256 = 'x'",
        "UPDATE curation_datasetversion SET name = 'v9'",
        "UPDATE curation_datasetversion SET state = 'draft'",
        "DELETE FROM curation_datasetversion",
        "INSERT INTO curation_versionrow (version_id, part, instance_id, split, row, sha256, workers) "
        "SELECT version_id, part, 'late', split, row, sha256, workers FROM curation_versionrow LIMIT 1",
        "INSERT INTO curation_versionimage (version_id, url, sha256, facts) "
        "SELECT version_id, 'late', sha256, facts FROM curation_versionimage LIMIT 1",
    ],
)
def test_triggers_hold_a_seal_against_raw_sql(work: Work, statement: str) -> None:
    work.observed(work.image())
    sealed(work.project)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_round_is_launched_once(work: Work) -> None:
    pairs = [*work.observed(work.image(1)), *work.observed(work.image(2))]
    found = rated_round(work, pairs, judges=0)
    with pytest.raises(Refused, match="launched already"):
        launch_comparison_batch(round=found, by=None)
    assert found.batch is not None
    assert found.batch.provenance["options"]["min_candidates"] == 20


def test_sealing_and_reading_back_do_work_in_proportion_to_the_rows(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements and rows hashed are counted, not seconds: twice the pairs are at most twice the work."""
    counted = Counter[str]()
    real = spool.Spool.run
    monkeypatch.setattr(spool.Spool, "run", lambda *args: (counted.update(["run"]), real(*args))[1])
    real_hash = read.content_sha256
    monkeypatch.setattr(read, "content_sha256", lambda value: (counted.update(["hash"]), real_hash(value))[1])
    work: list[dict[str, int]] = []
    for number, pairs in enumerate((150, 300)):
        mine = projects.create_project(name=f"Linear {number}", by=None)
        fill_pairs(mine, pairs // 3, pairs)
        counted.clear()
        with CaptureQueriesContext(connection) as queries:
            version = create_sealed_version(project=mine, name="v1", by=None)
            export_version(version, tmp_path / str(number))
        assert read.check_export(tmp_path / str(number)) == pairs
        assert len(read_version(tmp_path / str(number)).records) == pairs
        work.append({**counted, "queries": len(queries)})
    assert work[1]["run"] <= 2 * work[0]["run"]
    assert work[1]["hash"] == 2 * work[0]["hash"]
    assert work[1]["queries"] <= work[0]["queries"] + 2


def test_a_seal_has_its_lines_in_the_order_of_code_points() -> None:
    keys = ["b", "a", "Z", "é", "z", "", "a\0b", "\U0001f600", "a"]
    lines = [(key, f"{number} {key}".encode()) for number, key in enumerate(keys)]
    assert list(spool.sorted_by_key(lines)) == [text for _, text in sorted(lines, key=lambda line: line[0])]


def test_a_full_folder_for_temporary_files_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_pairs(project, 40, 120)
    monkeypatch.setattr(build, "_SCHEMA", f"{build._SCHEMA}; PRAGMA max_page_count = 6")
    with pytest.raises(Refused, match=r"temporary files: cannot be written \(.*full\); free space"):
        create_sealed_version(project=project, name="v1", by=None)
    assert not DatasetVersion.objects.exists()


@pytest.mark.nightly
def test_a_corpus_is_sealed_exported_and_read_back_in_400_mib() -> None:
    found = measured(CORPUS_PHOTOS, CORPUS_PAIRS)
    assert {step: found[step]["peak_mib"] <= MOST_MIB for step in ("plan", "seal", "export", "read")} == {
        "plan": True,
        "seal": True,
        "export": True,
        "read": True,
    }, found
    assert found["seal"]["rows"] == found["read"]["rows"] == CORPUS_PAIRS
    assert found["seal"]["seal"] == found["export"]["seal"]
