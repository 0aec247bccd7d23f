"""Evaluations of encoders, files, people and chance: the figures, what is kept, and how jobs stop and resume."""

import json
import re
import zipfile
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.evaluation.answer_keys import AnswerKeyFolder
from curation.evaluation.submission import read_submission, score_submission
from curation.evaluation.submission_zip import ZIP_NAME
from curation.families.sherlock.evaluation_plan import EvaluationSetOptions
from curation.families.sherlock.evaluation_sets import write_evaluation_sets
from curation.models import Evaluation, Scorer
from curation.pipelines.encoders import get_feature_encoder
from curation.pipelines.evaluation import evaluate
from curation.pipelines.evaluation.evaluation_scores import comparison_scores
from curation.records import Region
from curation.selectors.evaluations import (
    evaluation_folder,
    finished_evaluations,
    predictions_file,
    read_comparison_scores,
)
from curation.services.evaluations import (
    EvaluationOptions,
    request_baseline_evaluation,
    request_evaluation,
    request_file_evaluation,
    request_judgments_evaluation,
)
from hits.domain.images.region_drawing import RegionMode
from hits.domain.states import AssignmentStatus, JobState
from hits.management import progress
from hits.models import Hit, Job
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support.curation.evaluation import Corpus, corpus_of
from tests.support.curation.fakes import save_tiny_bert, save_tiny_clip
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db
OPTIONS = EvaluationOptions(sets=EvaluationSetOptions(chunk=6))


class Knowing:
    """Knows which text belongs to which region: both have the vector of the pair's number."""

    name = "knowing"
    revision = "1"
    dim = 64
    is_clip = False
    preprocessing: dict[str, Any] = {}
    region_modes = frozenset({RegionMode.HIGHLIGHT, RegionMode.NONE})

    def __init__(self, corpus: Corpus) -> None:
        self.calls = self.texts = self.clues = 0
        side = ("left", "top", "width", "height")
        self.of_text = {pair.inference: place for place, pair in enumerate(corpus.pairs)}
        self.of_clue = {pair.clue: place for place, pair in enumerate(corpus.pairs)}
        self.of_region: dict[tuple[bytes, Any], int] = {}
        for place, pair in enumerate(corpus.pairs):
            with pair.image.file.open("rb") as file, Pillow.open(file) as picture:
                pixels = picture.convert("RGB").tobytes()
            boxes = tuple(tuple(box[s] for s in side) for box in pair.boxes)
            self.of_region[pixels, boxes] = place

    def encode_regions(
        self,
        pictures: Sequence[Pillow.Image],
        regions: Sequence[Sequence[Region]],
        mode: RegionMode = RegionMode.HIGHLIGHT,
    ) -> NDArray[np.float32]:
        self.calls += len(pictures)
        places = [
            self.of_region.get((p.tobytes(), tuple((b.left, b.top, b.width, b.height) for b in boxes)), 63)
            for p, boxes in zip(pictures, regions, strict=True)
        ]
        return np.eye(64, dtype=np.float32)[places]

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        return np.eye(64, dtype=np.float32)[[self.of_text.get(text, 62) for text in texts]]


class Multitask(Knowing):
    """Reads clues in a way of their own."""

    name = "multitask"

    def encode_clues(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.clues += len(texts)
        return np.eye(64, dtype=np.float32)[[self.of_clue[text] for text in texts]]


@pytest.fixture
def corpus(work: Work) -> Corpus:
    return corpus_of(work)


@pytest.fixture
def knowing(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Knowing:
    return using(monkeypatch, Knowing(corpus))


def using(monkeypatch: pytest.MonkeyPatch, encoder: Any) -> Any:
    monkeypatch.setattr(evaluate, "get_feature_encoder", lambda name: encoder)
    return encoder


def asked(corpus: Corpus, **more: Any) -> Evaluation:
    arguments: dict[str, Any] = {"split": "test", "options": OPTIONS, "encoder": "label-sentence"}
    return request_evaluation(
        project=corpus.version.project, by=None, version=corpus.version, queue=False, **arguments | more
    )


def done(row: Evaluation) -> Evaluation:
    assert row.job is not None
    job = jobs.run_in_process(job=row.job)
    assert job.state == JobState.DONE, job.error
    row.refresh_from_db()
    return row


def value(row: Evaluation, task: str, name: str) -> Any:
    return row.figures[task][name]["value"]


def test_perfect_scores_give_perfect_figures(corpus: Corpus, knowing: Knowing) -> None:
    row = done(asked(corpus))
    assert (value(row, "retrieval", "p_at_1"), value(row, "retrieval", "im2txt")) == (100, 1)
    assert row.figures["retrieval"]["instances"] == 12
    assert row.figures["retrieval"]["chunks"] == 2
    assert value(row, "localization", "gt_accuracy") == value(row, "localization", "auto_accuracy") == 100
    assert row.figures["comparison"]["images"] == 1
    assert (row.source, row.label, row.split, row.texts) == ("encoder", "label-sentence", "test", "inference")
    assert row.provenance["seal"] == corpus.version.manifest_sha256
    assert row.provenance["encoder"] == "knowing"
    assert row.provenance["proposals"]["run"] == corpus.run.pk
    assert len(row.sha256) == 64
    assert finished_evaluations(corpus.version.project) == [row]
    assert Job.objects.get(evaluation=row).result["p_at_1"] == 100


def test_evaluation_encodes_each_region_and_text_once(corpus: Corpus, knowing: Knowing) -> None:
    row = done(asked(corpus))
    assert row.provenance["encodings"] == {"regions": 12, "proposed_boxes": 20, "texts": 12}
    assert (knowing.calls, knowing.texts) == (32, 12)
    done(asked(corpus))
    assert (knowing.calls, knowing.texts) == (32, 12), "vectors of the first evaluation serve the second"


def test_exported_predictions_score_equally_on_the_leaderboard(
    corpus: Corpus, knowing: Knowing, tmp_path: Path
) -> None:
    row = done(asked(corpus))
    written = write_evaluation_sets(
        corpus.version, split="test", out=tmp_path / "board", proposals=corpus.run, options=OPTIONS.sets
    )
    path = predictions_file(row)
    assert path is not None
    assert path.name == ZIP_NAME
    held = tmp_path / "board" / "held"
    read = read_submission(path, file_name=ZIP_NAME, expected=written.expected_counts, keys=held)
    assert score_submission(read, held, rng=np.random.default_rng(0)) == row.figures
    for name, count in written.expected_counts.items():
        assert (
            len(AnswerKeyFolder(held).raw_key(name).get("test_id_map", AnswerKeyFolder(held).raw_key(name)))
            == count
        )
        with zipfile.ZipFile(path) as archive, archive.open(f"test_set_predictions/{name}.npy") as file:
            assert np.load(file).dtype == np.float32


def test_command_figures_equal_the_stored_figures(corpus: Corpus, knowing: Knowing, tmp_path: Path) -> None:
    row = done(asked(corpus))
    write_evaluation_sets(
        corpus.version, split="test", out=tmp_path / "board", proposals=corpus.run, options=OPTIONS.sets
    )
    with zipfile.ZipFile(evaluation_folder(row) / ZIP_NAME) as archive:
        archive.extract("test_set_predictions/localization.npy", tmp_path)
    out = StringIO()
    call_command(
        "evaluate", "localization",
        "--predictions", str(tmp_path / "test_set_predictions" / "localization.npy"),
        "--answer-key",
        str(tmp_path / "board" / "held" / "test_localization" / "test_localization_answer_key.json"),
        "--json", stdout=out,
    )  # fmt: skip
    result = json.loads(out.getvalue())
    for name in ("gt_accuracy", "auto_accuracy", "auto_oracle_accuracy"):
        assert result[name] == pytest.approx(value(row, "localization", name), abs=1e-9)


def test_evaluation_on_clues(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = using(monkeypatch, Multitask(corpus))
    plain = done(asked(corpus))
    row = done(asked(corpus, texts="clue"))
    assert encoder.clues == len(set(encoder.of_clue))
    assert encoder.texts == 12, "clues are not read as inferences"
    assert row.texts == "clue"
    assert "comparison" not in row.figures
    assert "comparison" in plain.figures
    assert value(row, "retrieval", "im2txt") < 6


def test_equal_texts_tie(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(work)
    rng = np.random.default_rng(0)

    class Same(Knowing):
        def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.tile(rng.random((1, 64), dtype=np.float32), (len(texts), 1))

    using(monkeypatch, Same(corpus))
    row = done(asked(corpus, options=EvaluationOptions()))
    assert value(row, "retrieval", "im2txt") == 6.5
    assert value(row, "retrieval", "p_at_1") == 0


def test_region_mode_is_stored_and_validated(corpus: Corpus, knowing: Knowing) -> None:
    row = done(asked(corpus, region_mode="none"))
    assert row.provenance["region_mode"] == "none"
    row = asked(corpus, region_mode="position_only")
    assert row.job is not None
    job = jobs.run_in_process(job=row.job)
    assert job.state == JobState.FAILED
    assert "knowing does not support position_only; use highlight, none" in job.error
    with pytest.raises(Refused, match="region_mode: 'dreams' is not known"):
        asked(corpus, options=EvaluationOptions(region_mode="dreams"))


def test_chance_is_seeded(corpus: Corpus) -> None:
    def drawn(seed: int) -> Evaluation:
        return done(
            request_baseline_evaluation(
                project=corpus.version.project, by=None, version=corpus.version, split="test",
                seed=seed, options=OPTIONS, queue=False,
            )
        )  # fmt: skip

    rows = [drawn(3), drawn(3), drawn(4)]
    assert rows[0].figures == rows[1].figures != rows[2].figures
    assert rows[0].sha256 == rows[1].sha256
    assert [(row.source, row.label) for row in rows[1:]] == [
        ("baseline", "Random (seed 3)"),
        ("baseline", "Random (seed 4)"),
    ]
    interval = rows[0].figures["retrieval"]["im2txt"]
    assert interval["low"] <= interval["value"] <= interval["high"]


def test_human_evaluation_has_agreement_and_matching(corpus: Corpus, work: Work) -> None:
    from validation.services.localization import launch_localization

    batch, _ = launch_localization(project=work.project, n=2, seed=0, by=None)
    work.publish(batch)
    for hit in Hit.objects.filter(unit__batch=batch):
        truth = hit.unit.payload["truth"]
        keys = list(truth)
        others = dict(zip(keys, keys[1:] + keys[:1], strict=True))
        given = {one: truth[one if hit.unit.pk % 2 else others[one]] for one in keys}
        answer = {"matches": [{"inference": a, "region": b} for a, b in given.items()]}
        work.answered(hit, "MATCHER", answer, status=AssignmentStatus.APPROVED)
    row = done(
        request_judgments_evaluation(
            project=work.project, by=None, version=corpus.version, split="test", queue=False
        )
    )
    comparison = row.figures["comparison"]
    assert comparison["model"]["value"] is None
    assert comparison["human"]["value"] == pytest.approx(100)
    assert comparison["oracle"]["value"] == pytest.approx(100)
    assert row.figures["localization"]["gt_images"] == 2
    assert row.figures["localization"]["gt_accuracy"]["value"] == pytest.approx(50)
    assert "retrieval" not in row.figures
    assert predictions_file(row) is None
    with pytest.raises(Refused, match="has no scores of the comparison task"):
        comparison_scores(row)


def test_external_predictions_are_scored(corpus: Corpus, knowing: Knowing, tmp_path: Path) -> None:
    first = done(asked(corpus))
    path = predictions_file(first)
    assert path is not None

    def taken(file: Path, label: str = "Theirs") -> Evaluation:
        return request_file_evaluation(
            project=corpus.version.project, by=None, version=corpus.version, split="test", predictions=file,
            options=EvaluationOptions(sets=OPTIONS.sets, label=label), queue=False,
        )  # fmt: skip

    assert done(taken(path)).figures == first.figures
    with zipfile.ZipFile(path) as archive:
        (tmp_path / "comparison.npy").write_bytes(archive.read("test_set_predictions/comparison.npy"))
    alone = done(taken(tmp_path / "comparison.npy"))
    assert alone.figures["comparison"]["model"] == first.figures["comparison"]["model"]
    assert set(alone.figures) == {"comparison"}
    np.save(tmp_path / "retrieval_0.npy", np.zeros(35))
    row = taken(tmp_path / "retrieval_0.npy")
    assert row.job is not None
    assert "35 scores instead of 36: 1 missing" in jobs.run_in_process(job=row.job).error
    with pytest.raises(Refused, match="label: is missing"):
        taken(path, label="")
    with pytest.raises(Refused, match="there is no such file"):
        taken(tmp_path / "nothing.zip")


def test_prediction_file_precision_is_kept(corpus: Corpus, tmp_path: Path) -> None:
    fine = np.array([1.0, 1.0 + 1e-12, 1.0 - 1e-12])  # one and the same as float32
    np.save(tmp_path / "comparison.npy", fine)
    row = done(
        request_file_evaluation(
            project=corpus.version.project, by=None, version=corpus.version, split="test",
            predictions=tmp_path / "comparison.npy", options=EvaluationOptions(label="Fine"), queue=False,
        )
    )  # fmt: skip
    assert sorted(comparison_scores(row).values()) == sorted(fine.tolist())


def test_scorer_evaluation_counts_known_pairs(corpus: Corpus, knowing: Knowing) -> None:
    scorer = Scorer.objects.create(
        project=corpus.version.project, name="Ours", version=corpus.version, path="scorers/1",
        splits={"train": "test", "val": "val"}, is_ready=True, weights_sha256="f" * 64,
    )  # fmt: skip
    row = done(asked(corpus, encoder="scorer:Ours"))
    assert (row.source, row.scorer, row.label) == ("scorer", scorer, "Ours")
    assert row.options["encoder"] == f"scorer:{scorer.pk}"
    assert row.provenance["weights_sha256"] == "f" * 64
    assert row.provenance["pairs_known_from_training"] == 12
    assert row.job is not None
    assert "12 of these 12 pairs were used to train or select this scorer" in " ".join(
        line.text for line in row.job.lines.all()
    )


def test_comparison_scores_are_found_by_pair_and_candidate(corpus: Corpus, knowing: Knowing) -> None:
    row = done(asked(corpus))
    gold = corpus.pairs[0].instance_id
    assert read_comparison_scores(row) == {(gold, pair.instance_id): 0.0 for pair in corpus.pairs[3:6]}
    assert len(comparison_scores(row)) == 3


def test_stopped_evaluation_resumes_and_finished_one_is_not_repeated(
    corpus: Corpus, knowing: Knowing, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = asked(corpus)
    assert row.job is not None

    def breaks(texts: Sequence[str]) -> Any:
        raise Refused("texts: cannot be had now")

    monkeypatch.setattr(knowing, "encode_texts", breaks)
    assert jobs.run_in_process(job=row.job).state == JobState.FAILED
    row.refresh_from_db()
    assert row.figures == {}
    assert not evaluation_folder(row).exists()
    assert finished_evaluations(corpus.version.project) == []
    monkeypatch.undo()
    using(monkeypatch, knowing)
    regions = knowing.calls
    row.job = jobs.resume_job(job=row.job, queue=False)
    done(row)
    assert knowing.calls == regions == 32, "the regions' vectors were kept"
    sha256 = row.sha256
    Job.objects.filter(evaluation=row).update(state=JobState.QUEUED)
    row.job.refresh_from_db()
    done(row)
    assert row.sha256 == sha256


def test_same_evaluation_cannot_run_twice_at_once(corpus: Corpus) -> None:
    asked(corpus)
    with pytest.raises(Conflict, match="is running already"):
        asked(corpus)
    assert Evaluation.objects.count() == 1
    asked(corpus, region_mode="none")


def test_invalid_evaluations_are_refused(corpus: Corpus, work: Work) -> None:
    from curation.services import versions as services

    draft = services.create_version(project=work.project, name="v2", by=None)
    for more, message in (
        ({"split": "val"}, "split: v1 has no pair in val; it has test"),
        ({"encoder": "scorer:Nobody"}, "is no scorer of this project"),
        ({"encoder": "efficientnet-lite0"}, "encodes images only"),
        ({"texts": "poems"}, "texts: 'poems' is not known"),
        ({"options": EvaluationOptions(proposals=99)}, "no run 99"),
    ):
        with pytest.raises(Refused, match=message):
            asked(corpus, **more)
    with pytest.raises(Refused, match="seal it first"):
        request_judgments_evaluation(project=work.project, by=None, version=draft, split="", queue=False)
    clues = EvaluationOptions(sets=EvaluationSetOptions(texts="clue"))
    with pytest.raises(Refused, match="people judged inferences"):
        request_judgments_evaluation(
            project=work.project, by=None, version=corpus.version, split="test", options=clues, queue=False
        )
    assert not Evaluation.objects.exists()


def command(*args: str) -> dict[str, Any]:
    out = StringIO()
    call_command("evaluate_scorer", *args, "--json", stdout=out, stderr=StringIO())
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def test_command_reports_progress_without_a_terminal(
    corpus: Corpus, knowing: Knowing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    of = ("--project", corpus.version.project.slug, "--version", "v1", "--chunk", "6")
    call_command("evaluate_scorer", *of, "--scorer", "label-sentence", stdout=StringIO())
    stderr = capsys.readouterr().err
    lines = [line for line in stderr.splitlines() if re.search(r": \d+ of \d+", line)]
    assert len(lines) > 1
    assert "\r" not in stderr


def test_unknown_scorer_creates_no_rows(corpus: Corpus) -> None:
    of = ("--project", corpus.version.project.slug, "--version", "v1")
    with pytest.raises(CommandError, match=r"no such scorer in [a-z-]+; known: none yet; or name"):
        command(*of, "--scorer", "frist")
    assert not Evaluation.objects.exists()


def test_evaluate_command(corpus: Corpus, knowing: Knowing) -> None:
    of = ("--project", corpus.version.project.slug, "--version", "v1", "--chunk", "6")
    result = command(*of, "--scorer", "label-sentence")
    assert (result["p_at_1"], result["gt_accuracy"]) == (100, 100)
    assert Evaluation.objects.get(pk=result["evaluation"]).figures["retrieval"]["chunks"] == 2
    assert command(*of, "--random", "--random-seed", "7")["state"] == "done"
    assert command(*of, "--judgments")["human"] == 100
    with pytest.raises(CommandError, match="choose what to evaluate"):
        command(*of)
    with pytest.raises(CommandError, match="give --version"):
        command("--random")


def test_real_encoder_scores_its_own_predictions(corpus: Corpus, tmp_path: Path) -> None:
    folder = save_tiny_clip(tmp_path / "clip")
    row = done(asked(corpus, encoder=f"clip:{folder}"))
    encoder = get_feature_encoder(f"clip:{folder}")
    gold, candidates = corpus.pairs[0], corpus.pairs[3:6]
    with gold.image.file.open("rb") as file, Pillow.open(file) as picture:
        region = encoder.encode_regions([picture.convert("RGB")], [[Region(**box) for box in gold.boxes]])
    plain = (region @ encoder.encode_texts([pair.inference for pair in candidates]).T)[0]
    found = read_comparison_scores(row)
    scores = [found[gold.instance_id, pair.instance_id] for pair in candidates]
    np.testing.assert_allclose(scores, plain, atol=1e-4)
    assert row.provenance["revision"] == encoder.revision
    assert row.provenance["region_mode"] == "highlight"


def test_bertscore_of_retrieved_texts(corpus: Corpus, knowing: Knowing, tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "bert")

    def scored(**more: Any) -> Evaluation:
        kept = {"bertscore": {"folder": str(folder), "layer": 2, "baseline": 0.5} | more}
        return asked(corpus, options=EvaluationOptions(sets=OPTIONS.sets, extra_facts=kept))

    row = done(scored())
    assert value(row, "retrieval", "bertscore") == pytest.approx(100), "each image got its own inference"
    assert value(row, "retrieval", "p_at_1") == 100
    chance = done(
        request_baseline_evaluation(
            project=corpus.version.project, by=None, version=corpus.version, split="test",
            options=EvaluationOptions(sets=OPTIONS.sets, extra_facts=row.options), queue=False,
        )
    )  # fmt: skip
    assert value(chance, "retrieval", "bertscore") < 100
    for more, message in (
        ({"layer": 3}, "layer 3 is not between 0 and 2"),
        ({"folder": str(tmp_path)}, "has no model"),
    ):
        broken = scored(**more)
        assert broken.job is not None
        assert message in jobs.run_in_process(job=broken.job).error
