"""P_rel by a fine-tuned cross-encoder, P_sim by an NLI model; tiny models of random weights."""

import json
from pathlib import Path

import numpy as np
import pytest

from curation.records import InvalidInput
from curation.relevance import cross_training
from curation.relevance.cross import LABELS, CrossRelevance, find_base_model
from curation.relevance.cross_training import FIGURES_FILE, FineTuning, fine_tune
from curation.relevance.factory import get_similarity
from curation.relevance.interfaces import ModelUnavailable, Texts
from curation.relevance.names import parse_relevance, parse_similarity
from curation.relevance.nli import NliSimilarity
from tests.support.curation.pair_models import save_tiny_pair_model

TOPICS = ("rain", "cake", "horse", "piano")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny model to start from; its head has three labels."""
    return save_tiny_pair_model(tmp_path_factory.mktemp("pairs") / "base", ["a", "b", "c"], TOPICS)


def topic_texts(count: int) -> tuple[list[str], list[str]]:
    topics = [TOPICS[index % len(TOPICS)] for index in range(count)]
    return topics, list(topics)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.long
@pytest.mark.usefixtures("one_thread")
def test_cross_encoder_learns_which_topics_belong_together(base: Path, tmp_path: Path) -> None:
    queries, responses = topic_texts(80)
    settings = FineTuning(learning_rate=3e-3, epochs=20, batch_size=16)
    fine_tune(base, tmp_path / "tuned", queries, responses, settings)
    model = CrossRelevance(tmp_path / "tuned", "base")
    block = model.block(Texts(queries[:4]), Texts(responses[:4]))
    assert block.shape == (4, 4)
    assert (block.argmax(axis=1) == np.arange(4)).all(), block
    rows, columns = np.array([2, 0]), np.array([1, 3])
    found = model.pairs(Texts(queries[:4]), Texts(responses[:4]), rows, columns)
    assert found == pytest.approx(block[rows, columns], abs=1e-5)
    assert model.name == "cross:base"
    assert model.revision.startswith("sha256:")
    losses = json.loads((tmp_path / "tuned" / FIGURES_FILE).read_text())["losses"]
    assert losses[-1] < losses[0]


@pytest.mark.usefixtures("one_thread")
def test_fine_tuning_stopped_and_resumed_gives_the_same_weights(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_training, "STEPS_PER_CHECKPOINT", 3)
    queries, responses = topic_texts(24)
    settings = FineTuning(learning_rate=1e-3, epochs=2, batch_size=16, seed=5)
    fine_tune(base, tmp_path / "whole", queries, responses, settings)

    def stop(done: int, total: int) -> None:
        if done == 8:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fine_tune(base, tmp_path / "resumed", queries, responses, settings, stop)
    assert not (tmp_path / "resumed").exists(), "nothing half-written"
    steps: list[int] = []
    fine_tune(
        base, tmp_path / "resumed", queries, responses, settings, lambda done, total: steps.append(done)
    )
    assert steps[0] == 6, "it resumes at its last checkpoint"
    assert bytes_of(tmp_path / "resumed") == bytes_of(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["resumed", "whole"]


def test_fine_tuning_uses_at_most_the_given_examples(base: Path, tmp_path: Path) -> None:
    totals: list[int] = []
    fine_tune(
        base,
        tmp_path / "few",
        *topic_texts(40),
        FineTuning(epochs=1, batch_size=8, examples=12),
        lambda done, total: totals.append(total),
    )
    assert totals[0] == 6, "twelve triplets are 48 pairs"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs: 0 is too few"),
        ({"batch_size": 0}, "batch size: 0 is too few"),
        ({"learning_rate": 0.0}, "learning rate: 0 is not between 0 and 1"),
        ({"examples": 0}, "examples: 0 is too few"),
    ],
)
def test_fine_tuning_settings_out_of_range_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        FineTuning(**values)  # type: ignore[arg-type]


def test_nli_takes_the_greater_entailment_of_both_orders(tmp_path: Path) -> None:
    folder = save_tiny_pair_model(
        tmp_path / "nli", ["contradiction", "entailment", "neutral"], ["rich", "poor"]
    )
    model = NliSimilarity(folder)
    texts = Texts(["rich", "poor", "rich rich poor", "rich"])
    block = model.block(texts, texts)
    assert np.array_equal(block, block.T)
    assert (block.diagonal() == 1).all()
    assert block[0, 3] == 1, "a verbatim copy"
    orders = model._model.probabilities([("rich", "poor"), ("poor", "rich")], 1)
    assert block[0, 1] == pytest.approx(orders.max())
    assert orders[0] != orders[1]
    assert model.name == "nli:nli"
    assert model.stand_in == ""


def test_nli_without_the_label_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_pair_model(tmp_path / "nli", list(LABELS))
    with pytest.raises(
        ModelUnavailable, match=r"none of its labels is called entailment \(irrelevant, relevant\)"
    ):
        get_similarity(f"nli:{folder}")


def test_weights_that_cannot_be_had_give_one_clear_error(base: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"use a folder with config\.json, weights and tokenizer"):
        get_similarity(f"nli:{tmp_path / 'none'}")
    with pytest.raises(ModelUnavailable, match="cross:gt-minilm, or a folder"):
        find_base_model(str(tmp_path / "none"))
    broken = save_tiny_pair_model(tmp_path / "broken", ["a", "b"])
    (broken / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelUnavailable, match="relevance: "):
        fine_tune(broken, tmp_path / "out", *topic_texts(20), FineTuning())
    assert not (tmp_path / "out").exists()


def test_minilm_is_found_in_its_package() -> None:
    assert (find_base_model("gt-minilm") / "model.safetensors").is_file()


@pytest.mark.parametrize("name", ["", "bert", "cross:", "nli:x"])
def test_unknown_relevance_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidInput, match="use vectors, cross:gt-minilm, or cross:FOLDER"):
        parse_relevance(name)


@pytest.mark.parametrize("name", ["", "cosine", "nli:", "cross:x"])
def test_unknown_similarity_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"use vectors \(a stand-in\), or nli:FOLDER"):
        parse_similarity(name)
