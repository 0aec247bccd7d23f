"""Scorers: asking for a training, its run's folder, the training itself, and what became of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from curation.models import DatasetVersion, Scorer, ScorerOrigin
from curation.pipelines.training.training_files import load_or_write_run
from curation.pipelines.training.training_progress import TrainingProgress
from curation.scorer.config import TINY, TrainingConfig
from curation.scorer.model.folder import save_scorer
from curation.scorer.training.starting_weights import load_starting_model
from curation.selectors.scorers import (
    SplitCount,
    count_known_and_accepted_pairs,
    scorer_folder,
    weights_folder,
)
from curation.services import versions as services
from curation.services.scorer_splits import TrainingSplits, choose_splits, validation_image_hashes
from curation.services.scorers import next_free_name, request_training
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db
SMALL = TrainingConfig(model=TINY, batch_size=4, epochs=2, warmup_steps=1, checkpoint_every=2, device="cpu")


@pytest.fixture
def images(work: Work) -> list[Image]:
    """Return four photos with three approved pairs each."""
    found = [work.image(seed) for seed in range(4)]
    for number, image in enumerate(found):
        work.observed(image, worker=f"W{number}")
    return found


@pytest.fixture
def sealed(work: Work, images: list[Image]) -> DatasetVersion:
    """Return a sealed version of them, whose photos have no split."""
    return services.create_sealed_version(project=work.project, name="v1.0", by=None)


def ask(version: DatasetVersion, **changes: Any) -> Scorer:
    options: dict[str, Any] = {"name": "first", "config": SMALL, "by": None, "queue": False} | changes
    return request_training(project=changes.pop("project", version.project), version=version, **options)


def run(scorer: Scorer) -> Scorer:
    assert scorer.job is not None
    jobs.run_in_process(job=scorer.job)
    scorer.refresh_from_db()
    return scorer


def lines(scorer: Scorer, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (scorer_folder(scorer) / name).read_text().splitlines()]


# --- asking


def test_a_training_is_a_row_and_a_resumable_job(sealed: DatasetVersion, researcher: User) -> None:
    scorer = ask(sealed, by=researcher, recipe="vit-b-16")
    job = scorer.job
    assert job is not None
    assert (job.task, job.resumable, job.args) == ("curation.train_scorer", True, {"scorer": scorer.pk})
    assert job.exclusive_key == f"scorer:{scorer.pk}"
    assert scorer.path == f"scorers/{sealed.project.pk}/{scorer.pk}"
    assert TrainingConfig.from_json(scorer.config) == SMALL
    assert scorer.provenance["version_seal"] == sealed.manifest_sha256
    assert (scorer.created_by, scorer.recipe, scorer.is_ready) == (researcher, "vit-b-16", False)
    assert scorer.splits == {"train": "", "val": "", "val_share": 0.1, "seed": 0}


def config(**changes: Any) -> TrainingConfig:
    return TrainingConfig.from_json(SMALL.as_json() | changes)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": "a/b"}, "name: "),
    ({"name": "12"}, "name: "),
    ({"train_split": "train"}, "train_split: this version has no pair in train; it has no split"),
    ({"val_split": "val"}, "val_split: this version has no pair in val"),
    ({"val_share": 0.0}, "val_share: 0 is not between 0 and 1"),
    ({"config": config(batch_size=64)}, "batch_size: 64 is more than the 11 pairs"),
    ({"config": config(model="clip:../etc")}, "model: 'clip:../etc' is not known"),
    ({"config": config(model="resnet")}, "model: 'resnet' is not known"),
    (
        {"config": config(model="scorer:nobody")},
        "model: 'nobody' is no scorer of this project; ready are none yet",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_invalid_options_give_one_line_error(
    sealed: DatasetVersion, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(Refused) as refused:
        ask(sealed, **changes)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert not Scorer.objects.exists()
    assert not Job.objects.filter(task="curation.train_scorer").exists()


def test_a_draft_and_a_version_of_another_project_are_refused(
    sealed: DatasetVersion, work: Work, rehearsal: Project
) -> None:
    draft = services.create_version(project=work.project, name="v1.1", by=None)
    with pytest.raises(Refused, match=r"version: v1.1 is a draft"):
        ask(draft)
    with pytest.raises(Refused, match="is another project's"):
        request_training(project=rehearsal, version=sealed, name="x", config=SMALL, by=None)


def test_a_name_is_given_once(sealed: DatasetVersion) -> None:
    ask(sealed)
    with pytest.raises(Refused, match="there is a scorer first already"):
        ask(sealed)
    assert Job.objects.filter(task="curation.train_scorer").count() == 1
    assert next_free_name(sealed.project, "first") == "first 1"


def test_real_data_never_builds_on_a_rehearsal_s_scorer(sealed: DatasetVersion) -> None:
    parent = ask(sealed, name="played")
    Scorer.objects.filter(pk=parent.pk).update(
        is_ready=True, weights_sha256="ab", provenance={"rehearsal": True}
    )
    with pytest.raises(Refused, match="was trained on a rehearsal"):
        ask(sealed, config=config(model="scorer:played"))


def test_scorer_trained_on_rehearsal_is_labelled(rehearsal: Project) -> None:
    work = Work(rehearsal)
    for seed in range(3):
        work.observed(work.image(seed), worker=f"W{seed}")
    version = services.create_sealed_version(project=rehearsal, name="play", by=None)
    assert ask(version).provenance["rehearsal"] is True


# --- splits

COUNTS = {"train": SplitCount(90, 30), "val": SplitCount(9, 3), "test": SplitCount(9, 3)}


@pytest.mark.parametrize(
    ("present", "train", "val", "chosen"),
    [
        (("train", "val", "test"), None, None, TrainingSplits("train", "val", 0.0)),
        (("train", "test"), None, None, TrainingSplits("train", "train", 0.1)),
        (("val",), None, None, TrainingSplits("val", "val", 0.1)),
        (("train", "val"), "train", "train", TrainingSplits("train", "train", 0.1)),
        (("train", "val", "test"), "train", "test", TrainingSplits("train", "test", 0.0)),
    ],
)
def test_which_pairs_train_and_which_validate(
    present: tuple[str, ...], train: str | None, val: str | None, chosen: TrainingSplits
) -> None:
    counts = {name: COUNTS[name] for name in present}
    assert choose_splits(counts, train, val, share=0.1, seed=0) == chosen


def test_a_split_has_to_be_named_where_there_is_no_telling() -> None:
    with pytest.raises(Refused, match="train_split: this version has no pair in train; it has val, test"):
        choose_splits({"val": COUNTS["val"], "test": COUNTS["test"]}, None, None, share=0.1, seed=0)
    with pytest.raises(Refused, match="have only one photo; validation needs another"):
        choose_splits({"": SplitCount(5, 1)}, None, None, share=0.1, seed=0)


def test_held_photos_are_drawn_by_seed_and_share() -> None:
    hashes = [f"{n:064x}" for n in range(100)]
    held = validation_image_hashes(hashes, 0.25, 0)
    assert len(held) == 25
    assert held == validation_image_hashes(reversed(hashes), 0.25, 0), "their order does not matter"
    assert held != validation_image_hashes(hashes, 0.25, 1)
    assert len(held - validation_image_hashes(hashes[1:], 0.25, 0)) <= 2, "a photo that goes moves few others"
    assert len(validation_image_hashes(hashes[:2], 0.99, 0)) == 1, "one at least is left to train on"


# --- the run's folder


def test_a_run_holds_whole_photos_on_either_side(sealed: DatasetVersion, images: list[Image]) -> None:
    scorer = ask(sealed)
    made = load_or_write_run(scorer)
    train, val = lines(scorer, "train.jsonl"), lines(scorer, "val.jsonl")
    assert (len(train), len(val)) == (9, 3)
    assert not {row["image"] for row in train} & {row["image"] for row in val}
    assert made.counts == {"train_pairs": 9, "train_images": 3, "val_pairs": 3, "val_images": 1}
    settings = json.loads((scorer_folder(scorer) / "run.json").read_text())
    assert settings["format"] == "deerstalker-run/1"
    assert all((Path(settings["images"]) / row["image"]).is_file() for row in train + val)
    row = sealed.rows.get(instance_id=train[0]["id"]).row
    assert train[0]["clue"] == row["inputs"]["clue"]
    assert train[0]["inference"] == row["targets"]["inference"]
    assert train[0]["boxes"] == [
        {side: box[side] for side in ("left", "top", "width", "height")} for box in row["inputs"]["bboxes"]
    ]


def test_photos_that_were_taken_down_are_left_out_and_counted(
    sealed: DatasetVersion, images: list[Image]
) -> None:
    scorer = ask(sealed)
    withdraw(images[0])
    counts = load_or_write_run(scorer).counts
    assert counts["left_out_pairs"] == 3
    assert counts["train_pairs"] + counts["val_pairs"] == 9
    used = {row["image"] for name in ("train.jsonl", "val.jsonl") for row in lines(scorer, name)}
    assert images[0].file.name not in used


def test_a_run_whose_photo_was_taken_down_does_not_go_on(sealed: DatasetVersion, images: list[Image]) -> None:
    scorer = ask(sealed)
    assert load_or_write_run(scorer).counts["train_pairs"] == 9
    withdraw(images[1])
    with pytest.raises(Refused, match="photos: 1 of this run was taken down meanwhile"):
        load_or_write_run(scorer)


def test_damaged_pairs_file_gives_error(sealed: DatasetVersion) -> None:
    scorer = ask(sealed)
    load_or_write_run(scorer)
    (scorer_folder(scorer) / "train.jsonl").write_text('{"id": "x", ')
    with pytest.raises(Refused, match="the run's pairs are damaged; start a new training"):
        load_or_write_run(scorer)


def withdraw(image: Image) -> None:
    Image.objects.filter(pk=image.pk).update(taken_down_at="2026-11-21T10:00Z")


# --- training


def test_a_training_makes_a_scorer(sealed: DatasetVersion) -> None:
    scorer = run(ask(sealed))
    assert scorer.job is not None
    assert scorer.job.state == JobState.DONE, scorer.job.error
    assert scorer.is_ready
    assert len(scorer.weights_sha256) == 64
    assert scorer.figures["steps"] == 4
    assert 0 <= scorer.figures["p_at_1"] <= 100
    assert scorer.environment
    assert scorer.splits["train_pairs"] == 9
    assert scorer.job.result["weights_sha256"] == scorer.weights_sha256
    log_lines = list(scorer.job.lines.values_list("text", flat=True))
    assert "Training on 9 pairs of 3 photos, validating with 3 pairs of 1 photos" in log_lines
    assert any(line.startswith("Step 4: validation loss") for line in log_lines)


class Stops:
    """A training loop that is cancelled at its first step, and done at its second run."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, folder: Path, *, report_progress: Any) -> None:
        self.runs += 1
        if self.runs == 1:
            Job.objects.update(cancel_requested=True)
            report_progress(1, 4)


def test_cancelled_training_is_resumed(sealed: DatasetVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    from curation.scorer import train

    scorer = ask(sealed)
    assert scorer.job is not None
    real = train.train
    monkeypatch.setattr(train, "train", Stops())
    assert run(scorer).job.state == JobState.CANCELLED  # type: ignore[union-attr]
    assert not scorer.is_ready
    monkeypatch.setattr(train, "train", real)
    jobs.resume_job(job=scorer.job, queue=False)
    assert run(scorer).is_ready


def test_progress_is_written_once_a_second_at_most() -> None:
    written: list[tuple[int, int]] = []

    class Progress:
        def advance(self, done: int, total: int) -> None:
            written.append((done, total))

        def log(self, text: str) -> None: ...

    now = [0.0]
    progress = TrainingProgress(
        Progress(),  # type: ignore[arg-type]
        {},
        store=lambda: None,
        describe=lambda *_: "",
        clock=lambda: now[0],
    )
    for step in range(1, 31):
        now[0] += 0.1
        progress(step, 30)
    assert written[-1] == (30, 30)
    assert len(written) <= 5


def test_a_scorer_starts_from_another(sealed: DatasetVersion) -> None:
    first = run(ask(sealed))
    second = ask(sealed, name="second", config=config(model="scorer:first", max_steps=1))
    assert second.parent == first
    assert second.config["model"] == f"scorer:{first.pk}"
    assert run(second).is_ready
    settings = json.loads((scorer_folder(second) / "run.json").read_text())
    assert settings["config"]["model"] == f"scorer:{weights_folder(first).absolute()}"
    assert second.weights_sha256 != first.weights_sha256
    assert second.provenance["parent_weights_sha256"] == first.weights_sha256


def test_a_scorer_knows_the_pairs_that_it_and_its_parents_learned_from(
    sealed: DatasetVersion, work: Work
) -> None:
    scorer = ask(sealed)
    assert count_known_and_accepted_pairs(scorer) == (12, 12)
    work.observed(work.image(9), worker="W9")
    assert count_known_and_accepted_pairs(scorer) == (12, 15)


# --- commands


def test_the_command_trains_in_the_same_way(
    sealed: DatasetVersion, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--project", sealed.project.slug, "--version", "v1.0", "--model", "tiny", "--json"]
    small = [
        "--batch-size",
        "4",
        "--max-steps",
        "2",
        "--warmup-steps",
        "1",
        "--no-augment",
        "--device",
        "cpu",
    ]
    call_command("train_scorer", *place, *small)
    result = json.loads(capsys.readouterr().out)
    scorer = Scorer.objects.get()
    assert (result["state"], result["weights_sha256"]) == ("done", scorer.weights_sha256)
    assert scorer.name == "v1.0 tiny 1"
    assert scorer.config["augment"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--version", "v9"], "--version v9: there is no such version in street-scenes; known: v1.0"),
        (["--version", "v1.0", "--text-mode", "songs"], "text_mode: 'songs' is not known"),
        (["--version", "v1.0", "--recipe", "random"], "recipe: random trains nothing"),
    ],
)
def test_the_command_refuses_in_one_line(sealed: DatasetVersion, words: list[str], message: str) -> None:
    with pytest.raises(CommandError) as error:
        call_command("train_scorer", "--project", sealed.project.slug, *words)
    assert str(error.value).startswith(message)
    assert error.value.returncode == 2


def test_a_scorer_s_folder_is_taken_in_whole(sealed: DatasetVersion, tmp_path: Path) -> None:
    first = run(ask(sealed))
    folder = weights_folder(first)
    call_command("import_scorer", str(folder), "--project", sealed.project.slug, "--name", "copy of it")
    taken = Scorer.objects.get(name="copy of it")
    assert (taken.origin, taken.is_ready, taken.version) == (ScorerOrigin.IMPORTED, True, None)
    assert taken.weights_sha256 == first.weights_sha256
    assert sorted(path.name for path in weights_folder(taken).iterdir()) == sorted(
        path.name for path in folder.iterdir()
    )
    with pytest.raises(CommandError, match="there is a scorer copy of it already"):
        call_command("import_scorer", str(folder), "--project", sealed.project.slug, "--name", "copy of it")


def test_a_broken_folder_leaves_nothing(sealed: DatasetVersion, tmp_path: Path, settings: Any) -> None:
    with pytest.raises(CommandError, match=r"is not a scorer's folder"):
        call_command("import_scorer", str(tmp_path), "--project", sealed.project.slug, "--name", "x")
    (tmp_path / "scorer.json").write_text("{}")
    with pytest.raises(CommandError, match="format None"):
        call_command("import_scorer", str(tmp_path), "--project", sealed.project.slug, "--name", "x")
    assert not Scorer.objects.exists()
    assert not list((Path(settings.MEDIA_ROOT) / "scorers").rglob("*.partial"))


def test_card_copies_no_file_outside_its_folder(
    sealed: DatasetVersion, tmp_path: Path, settings: Any
) -> None:
    save_scorer(tmp_path / "a" / "scorer", load_starting_model("tiny"))
    secret = tmp_path / "secret"
    secret.write_text("no business of anybody")
    path = tmp_path / "a" / "scorer" / "scorer.json"
    card = json.loads(path.read_text())
    card["files"]["extra"] = {"file": "../../secret", "sha256": ""}
    path.write_text(json.dumps(card))
    with pytest.raises(CommandError, match="its files are not those of a scorer"):
        call_command("import_scorer", str(path.parent), "--project", sealed.project.slug, "--name", "x")
    assert not Scorer.objects.exists()
    assert not list(Path(settings.MEDIA_ROOT).rglob("secret"))


def test_a_rehearsal_s_mark_goes_along(rehearsal: Project) -> None:
    work = Work(rehearsal)
    for seed in range(3):
        work.observed(work.image(seed), worker=f"W{seed}")
    first = run(ask(services.create_sealed_version(project=rehearsal, name="play", by=None)))
    folder = str(weights_folder(first))
    call_command("import_scorer", folder, "--project", rehearsal.slug, "--name", "taken")
    assert Scorer.objects.get(name="taken").provenance["rehearsal"] is True
