"""What every encoder keeps to, in every region mode."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from annotation_site.demo.photos import sample_photos
from curation.features.crops import Crop
from curation.features.encoder import POOLED_ENCODER, Encoder, Precision
from curation.features.factory import get_encoder
from curation.features.label_sentence import PooledImageEncoder
from curation.features.parallel import map_in_threads
from curation.features.prompted import PromptedEncoder
from curation.records import InvalidInput, Region
from curation.scorer.config import TextMode
from curation.scorer.model.encoder import ScorerEncoder
from curation.scorer.model.folder import save_scorer
from curation.scorer.model.published_scorers import convert_published
from curation.scorer.training.batches import training_tokens
from curation.scorer.training.inputs import Pair
from curation.scorer.training.starting_weights import load_starting_model
from hits.domain.images.region_drawing import RegionMode
from tests.support.curation.fakes import save_tiny_clip
from tests.support.scorer_weights import TINY_RESNET, random_weights, save_checkpoint

NAMES = ["label-sentence", "clip", "clip-openvino", "scorer-tiny", "scorer-resnet"]
TEXTS = ["a cat", "a cup", "a tower on a hill"]
BOXES = [
    [Region(120, 60, 180, 170)],
    [Region(140, 40, 320, 320), Region(0, 0, 9, 9)],
    [Region(200, 90, 150, 200)],
]
DRAWING = [mode for mode in RegionMode if mode is not RegionMode.NONE]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def _made(name: str, models: Path) -> Any:
    clip = models / "clip"
    if not clip.exists():
        save_tiny_clip(clip)
    if name == "scorer-tiny":
        save_scorer(models / "tiny", load_starting_model("tiny"))
        return ScorerEncoder(models / "tiny", precision=Precision.FP32)
    if name == "scorer-resnet":
        path = save_checkpoint(models / "resnet.pt", random_weights(TINY_RESNET))
        if not (models / "resnet").exists():
            convert_published(path, str(clip), models / "resnet", text_mode=TextMode.MULTITASK)
        return ScorerEncoder(models / "resnet", precision=Precision.FP32)
    if name == "clip-openvino":
        pytest.importorskip("openvino", reason="openvino is not installed: ITS ENCODER IS SKIPPED")
    return get_encoder(f"{name}:{clip}" if name != "label-sentence" else name, precision=Precision.FP32)


@pytest.fixture(scope="module", params=NAMES)
def encoder(request: pytest.FixtureRequest, models: Path) -> Any:
    """Return every encoder there is."""
    return _made(request.param, models)


@pytest.fixture(scope="module")
def pictures() -> list[Pillow.Image]:
    """Return three sample photographs that packages ship, reduced."""
    names = {"chelsea.png", "coffee.png", "china.jpg"}
    found = [Pillow.open(photo.path).convert("RGB") for photo in sample_photos() if photo.name in names]
    assert len(found) == 3
    return found


def are_unit_rows(rows: Any, count: int, dim: int) -> bool:
    lengths = np.linalg.norm(rows, axis=1)
    return (
        rows.shape == (count, dim) and rows.dtype == np.float32 and bool(np.allclose(lengths, 1, atol=1e-5))
    )


@pytest.fixture(scope="module")
def pooled() -> PooledImageEncoder:
    return PooledImageEncoder()


class TestThePooledEncoder:
    """It reads photos alone: what it keeps to is the half of the contract that is about them."""

    def test_rows_are_unit_float32(self, pooled: PooledImageEncoder, pictures: list[Pillow.Image]) -> None:
        assert are_unit_rows(pooled.encode_images(pictures), 3, pooled.dim)
        assert pooled.encode_images([]).shape == (0, pooled.dim)

    def test_rows_are_independent_of_batch_and_thread(
        self, pooled: PooledImageEncoder, pictures: list[Pillow.Image]
    ) -> None:
        alone = list(map_in_threads(pooled.encode_images, [[one] for one in pictures] * 2, threads=4))
        np.testing.assert_allclose(np.concatenate(alone[:3]), pooled.encode_images(pictures), atol=1e-5)
        np.testing.assert_array_equal(alone[3:], alone[:3])

    def test_has_name_revision_and_dimension(self, pooled: PooledImageEncoder) -> None:
        assert pooled.revision
        assert pooled.preprocessing["precision"] == "fp32"
        assert pooled.name == f"{POOLED_ENCODER} pooled"


class TestEveryEncoder:
    def test_rows_are_unit_float32(self, encoder: Encoder, pictures: list[Pillow.Image]) -> None:
        assert are_unit_rows(encoder.encode_images(pictures), 3, encoder.dim)
        assert are_unit_rows(encoder.encode_texts(TEXTS), 3, encoder.dim)
        assert are_unit_rows(encoder.encode_regions(pictures, BOXES), 3, encoder.dim)

    def test_empty_input_gives_no_rows(self, encoder: Encoder) -> None:
        for rows in (encoder.encode_images([]), encoder.encode_texts([]), encoder.encode_regions([], [])):
            assert rows.shape == (0, encoder.dim)
            assert rows.dtype == np.float32

    def test_rows_are_independent_of_the_batch(self, encoder: Encoder, pictures: list[Pillow.Image]) -> None:
        alone = np.concatenate([encoder.encode_images([picture]) for picture in pictures])
        np.testing.assert_allclose(encoder.encode_images(pictures), alone, atol=1e-5)
        texts = [*TEXTS, "", "so long " * 80]
        alone = np.concatenate([encoder.encode_texts([text]) for text in texts])
        np.testing.assert_allclose(encoder.encode_texts(texts), alone, atol=1e-5)

    def test_batches_keep_their_order(self, encoder: Encoder) -> None:
        texts = [f"{n} cats and {n * n} dogs" for n in range(70)]
        turned = encoder.encode_texts(texts[::-1])[::-1]
        np.testing.assert_allclose(encoder.encode_texts(texts), turned, atol=1e-5)

    def test_threads_may_share_it(self, encoder: Encoder, pictures: list[Pillow.Image]) -> None:
        texts = [["abc"[: n % 3 + 1] * (n + 1), "x"] for n in range(24)]
        together = list(map_in_threads(encoder.encode_texts, texts, threads=4))
        np.testing.assert_allclose(together, [encoder.encode_texts(few) for few in texts], atol=1e-5)
        shown = [[picture] for picture in pictures] * 2
        found = list(map_in_threads(encoder.encode_images, shown, threads=4))
        np.testing.assert_allclose(found, [encoder.encode_images(few) for few in shown], atol=1e-5)

    def test_has_name_revision_and_dimension(self, encoder: Encoder) -> None:
        assert encoder.revision
        assert encoder.preprocessing["precision"] == "fp32"
        assert encoder.is_clip or "not CLIP" in encoder.name
        assert RegionMode.NONE in encoder.region_modes

    def test_region_mode_none_is_the_plain_picture(
        self, encoder: Encoder, pictures: list[Pillow.Image]
    ) -> None:
        plain = encoder.encode_images(pictures)
        np.testing.assert_allclose(encoder.encode_regions(pictures, BOXES, RegionMode.NONE), plain, atol=1e-6)


@pytest.mark.parametrize("mode", DRAWING)
class TestEveryRegionMode:
    """A mode is done honestly, or refused in one line that says which are."""

    def rows(self, encoder: Encoder, pictures: list[Pillow.Image], mode: RegionMode) -> Any:
        if mode not in encoder.region_modes:
            with pytest.raises(InvalidInput) as caught:
                encoder.encode_regions(pictures, BOXES, mode)
            message = str(caught.value)
            assert "\n" not in message
            assert mode.value in message
            assert all(able.value in message for able in encoder.region_modes)
            return None
        return encoder.encode_regions(pictures, BOXES, mode)

    def test_region_changes_unit_rows(
        self, encoder: Encoder, pictures: list[Pillow.Image], mode: RegionMode
    ) -> None:
        rows = self.rows(encoder, pictures, mode)
        if rows is None:
            return
        assert are_unit_rows(rows, 3, encoder.dim)
        plain = encoder.encode_regions(pictures, BOXES, RegionMode.NONE)
        assert (np.abs(rows - plain).max(axis=1) > 1e-4).all()
        other_region = encoder.encode_regions(pictures, [[Region(0, 0, 90, 60)]] * 3, mode)
        assert (np.abs(rows - other_region).max(axis=1) > 1e-4).any()

    def test_region_rows_are_repeatable_and_independent_of_the_batch(
        self, encoder: Encoder, pictures: list[Pillow.Image], mode: RegionMode
    ) -> None:
        rows = self.rows(encoder, pictures, mode)
        if rows is None:
            return
        np.testing.assert_array_equal(rows, encoder.encode_regions(pictures, BOXES, mode))
        alone = [
            encoder.encode_regions([picture], [boxes], mode)[0]
            for picture, boxes in zip(pictures, BOXES, strict=True)
        ]
        np.testing.assert_allclose(rows, alone, atol=1e-5)

    def test_region_mode_accepts_pictures_without_boxes(
        self, encoder: Encoder, pictures: list[Pillow.Image], mode: RegionMode
    ) -> None:
        if mode in encoder.region_modes:
            assert are_unit_rows(encoder.encode_regions(pictures, [[], [], []], mode), 3, encoder.dim)


class TestScorers:
    """What a scorer's card decides."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return tmp_path / "scorer"

    def saved(self, place: Path, **card: Any) -> ScorerEncoder:
        save_scorer(place, load_starting_model("tiny", **card))
        return ScorerEncoder(place, precision=Precision.FP32)

    @pytest.mark.parametrize("mode", RegionMode)
    def test_scorer_draws_regions_by_its_card(
        self, place: Path, pictures: list[Pillow.Image], mode: RegionMode
    ) -> None:
        encoder = self.saved(place, region_mode=mode)
        assert encoder.region_mode is mode
        found = encoder.encode_regions(pictures, BOXES)
        np.testing.assert_array_equal(found, encoder.encode_regions(pictures, BOXES, mode))
        other = RegionMode.HIDE if mode is RegionMode.NONE else RegionMode.NONE
        assert not np.allclose(found, encoder.encode_regions(pictures, BOXES, other), atol=1e-4)

    @pytest.mark.parametrize("crop", Crop)
    def test_scorer_agrees_with_its_source_clip(
        self, place: Path, models: Path, pictures: list[Pillow.Image], crop: Crop
    ) -> None:
        clip = models / "clip"
        if not clip.exists():
            save_tiny_clip(clip)
        save_scorer(place, load_starting_model(f"clip:{clip}", crop=crop))
        scorer = ScorerEncoder(place, precision=Precision.FP32)
        plain = get_encoder(f"clip:{clip}", precision=Precision.FP32, crop=crop)
        for mode in RegionMode:
            rows = plain.encode_regions(pictures, BOXES, mode)
            np.testing.assert_allclose(scorer.encode_regions(pictures, BOXES, mode), rows, atol=1e-5)
        np.testing.assert_allclose(scorer.encode_texts(TEXTS), plain.encode_texts(TEXTS), atol=1e-5)

    @pytest.mark.parametrize("name", ["scorer-tiny", "scorer-resnet"])
    def test_precisions_agree_but_never_share_a_revision(
        self, models: Path, pictures: list[Pillow.Image], name: str
    ) -> None:
        exact = _made(name, models)
        short = ScorerEncoder(models / name.removeprefix("scorer-"), precision=Precision.BF16)
        assert exact.revision != short.revision
        assert short.preprocessing["precision"] == "bf16"
        assert (exact.encode_images(pictures) * short.encode_images(pictures)).sum(axis=1).min() > 0.99
        assert (exact.encode_texts(TEXTS) * short.encode_texts(TEXTS)).sum(axis=1).min() > 0.99

    def test_only_multitask_scorers_separate_clues_and_inferences(self, place: Path) -> None:
        single = self.saved(place)
        np.testing.assert_array_equal(single.encode_clues(TEXTS), single.encode_texts(TEXTS))
        both = self.saved(place, text_mode=TextMode.MULTITASK)
        put = single.encode_texts([f"inference: {text}" for text in TEXTS])
        np.testing.assert_array_equal(both.encode_texts(TEXTS), put)
        put = single.encode_texts([f"clue: {text}" for text in TEXTS])
        np.testing.assert_array_equal(both.encode_clues(TEXTS), put)

    def test_texts_have_the_same_prompt_in_training_and_use(self, place: Path) -> None:
        loaded = load_starting_model("tiny", text_mode=TextMode.MULTITASK)
        loaded = replace(loaded, card=replace(loaded.card, prompt="a photo of {}"))
        pair = Pair("1", "a.png", (Region(1, 1, 2, 2),), clue="a wet {street}", inference="it rained")
        tokens = training_tokens([pair], loaded)
        assert [one.tolist() for one in tokens.kinds] == [
            loaded.tokenizer([f"a photo of {prefix}{text}"]).tolist()
            for prefix, text in (("clue: ", pair.clue), ("inference: ", pair.inference))
        ]
        save_scorer(place, loaded)
        used = ScorerEncoder(place, precision=Precision.FP32)
        plain = self.saved(place.with_name("plain"))
        np.testing.assert_array_equal(
            used.encode_clues([pair.clue]), plain.encode_texts([f"a photo of clue: {pair.clue}"])
        )

    def test_prompt_contains_the_text_and_changes_the_revision(self, place: Path) -> None:
        plain = self.saved(place, text_mode=TextMode.MULTITASK, region_mode=RegionMode.HIDE)
        asked = PromptedEncoder(plain, "a photo of {}")
        texts = ["a cat", "{braces} {0}"]
        put = [f"a photo of {text}" for text in texts]
        np.testing.assert_array_equal(asked.encode_texts(texts), plain.encode_texts(put))
        np.testing.assert_array_equal(asked.encode_clues(texts), plain.encode_clues(put))
        assert asked.revision != plain.revision
        assert asked.region_mode is RegionMode.HIDE

    def test_revisions_name_weights_card_and_precision(self, place: Path) -> None:
        found = [self.saved(place).revision, self.saved(place, region_mode=RegionMode.HIDE).revision]
        found += [
            self.saved(place, text_mode=TextMode.CLUE).revision,
            self.saved(place, crop=Crop.PAD).revision,
        ]
        found += [self.saved(place, seed=1).revision, ScorerEncoder(place, precision=Precision.BF16).revision]
        assert len(set(found)) == len(found)
        assert self.saved(place).revision == found[0]
        assert self.saved(place).name == "Scorer scorer"
        assert ScorerEncoder(place, name="ours").name == "Scorer ours"

    def test_scorer_in_memory_is_copied(self, pictures: list[Pillow.Image]) -> None:
        loaded = load_starting_model("tiny")
        loaded.model.train()
        encoder = ScorerEncoder(loaded, precision=Precision.BF16)
        assert are_unit_rows(encoder.encode_images(pictures), 3, encoder.dim)
        assert loaded.model.training
        assert loaded.model.logit_scale.dtype.itemsize == 4
        other = ScorerEncoder(load_starting_model("tiny", seed=1), precision=Precision.BF16)
        assert other.revision != encoder.revision

    def test_n_pictures_and_m_texts_need_n_plus_m_encodings(
        self, place: Path, pictures: list[Pillow.Image]
    ) -> None:
        encoder = self.saved(place)
        scores = encoder.encode_regions(pictures, BOXES) @ encoder.encode_texts(TEXTS[:2]).T
        assert scores.shape == (3, 2)
        one = encoder.encode_regions(pictures[2:], BOXES[2:]) @ encoder.encode_texts(TEXTS[1:2]).T
        np.testing.assert_allclose(scores[2, 1], one[0, 0], atol=1e-5)
