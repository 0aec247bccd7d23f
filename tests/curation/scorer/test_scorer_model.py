"""The scorer's towers: equal to transformers and OpenAI's ModifiedResNet, and trainable."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from curation.features.crops import Crop
from curation.records import InvalidInput
from curation.scorer.config import TextMode
from curation.scorer.model.architecture import Architecture
from curation.scorer.model.openai_weights import build_from_openai, infer_architecture, unwrap_names
from curation.scorer.model.published_scorers import PUBLISHED_SCORERS
from curation.scorer.model.tokens import ByteTokenizer, load_clip_tokenizer, normalise_text, trim_padding
from curation.scorer.model.towers import DualEncoder, build_empty_model, build_from_clip
from curation.scorer.training.starting_weights import TINY_ARCHITECTURE, load_starting_model
from hits.domain.images.region_drawing import RegionMode
from tests.support.scorer_weights import (
    TINY_RESNET,
    State,
    clip_as_openai,
    openai_shapes,
    random_weights,
)

TEXTS = ["a cat", "the person is about to leave the house", "", "x"]


def tiny_clip_model(*, act: str = "quick_gelu") -> Any:
    """Return a CLIPModel whose towers differ in width and depth, so that nothing can be mixed up."""
    from transformers import CLIPConfig, CLIPModel

    text = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 1, "intermediate_size": 256}
    text |= {"vocab_size": 54, "eos_token_id": 53, "bos_token_id": 52, "pad_token_id": 0, "hidden_act": act}
    vision = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
    vision |= {"image_size": 24, "patch_size": 8, "hidden_act": act}
    torch.manual_seed(3)
    config = CLIPConfig(
        text_config=text | {"max_position_embeddings": 20}, vision_config=vision, projection_dim=16
    )
    model = CLIPModel(config).eval()
    for parameter in model.parameters():  # biases and norms start as 0 and 1, which would hide a mix-up
        parameter.data.add_(torch.randn(parameter.shape) * 0.1)
    return model


def tokens_of(texts: list[str], *, length: int = 20) -> torch.Tensor:
    """Return made-up tokens of a 54-token vocabulary that ends texts with 53."""
    rows = torch.zeros((len(texts), length), dtype=torch.int64)
    for row, text in enumerate(texts):
        found = [52, *(ord(c) % 50 for c in text[: length - 2]), 53]
        rows[row, : len(found)] = torch.tensor(found)
    return rows


class TestVisionTransformer:
    def test_openai_weights_equal_transformers_output(self) -> None:
        clip = tiny_clip_model()
        pixels, tokens = torch.randn(2, 2, 3, 24, 24), tokens_of(TEXTS)
        model = build_from_openai(clip_as_openai(clip))
        with torch.no_grad():
            views = clip.get_image_features(pixel_values=pixels.flatten(0, 1)).pooler_output
            expected = F.normalize(views.reshape(2, 2, 16).mean(dim=1), dim=-1)
            torch.testing.assert_close(model.encode_images(pixels), expected, atol=1e-6, rtol=1e-5)
            rows = F.normalize(clip.get_text_features(input_ids=tokens).pooler_output, dim=-1)
            torch.testing.assert_close(model.encode_texts(tokens), rows, atol=1e-6, rtol=1e-5)
            assert model.scale() == clip.logit_scale.exp()

    def test_architecture_is_inferred_from_shapes(self) -> None:
        found = infer_architecture(clip_as_openai(tiny_clip_model()))
        assert (found.dim, found.side, found.context_length, found.vocabulary, found.end) == (
            16,
            24,
            20,
            54,
            53,
        )
        assert (found.text.width, found.text.layers, found.text.heads, found.text.hidden) == (64, 3, 1, 256)
        assert found == build_from_clip(tiny_clip_model()).architecture
        assert Architecture.from_json(found.as_json()) == found

    def test_transformers_weights_equal_transformers_output(self) -> None:
        clip = tiny_clip_model(act="gelu")
        model = build_from_clip(clip)
        tokens = tokens_of(TEXTS)
        with torch.no_grad():
            rows = F.normalize(clip.get_text_features(input_ids=tokens).pooler_output, dim=-1)
            torch.testing.assert_close(model.encode_texts(tokens), rows, atol=1e-6, rtol=1e-5)

    def test_half_precision_weights_become_float32(self) -> None:
        halves = {name: tensor.half() for name, tensor in clip_as_openai(tiny_clip_model()).items()}
        assert {tensor.dtype for tensor in build_from_openai(halves).state_dict().values()} == {torch.float32}


def plain_resnet(weights: State, pixels: torch.Tensor, blocks: tuple[int, ...]) -> torch.Tensor:
    """Return what a ModifiedResNet gives, written once more with nothing but functions."""

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        mean, variance, weight, bias = (
            weights[f"visual.{name}.{part}"].view(1, -1, 1, 1)
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / torch.sqrt(variance + 1e-5) * weight + bias

    def convolve(x: torch.Tensor, name: str, **more: int) -> torch.Tensor:
        return F.conv2d(x, weights[f"visual.{name}.weight"], **more)

    x = norm(convolve(pixels, "conv1", stride=2, padding=1), "bn1").clamp(min=0)
    x = norm(convolve(x, "conv2", padding=1), "bn2").clamp(min=0)
    x = norm(convolve(x, "conv3", padding=1), "bn3").clamp(min=0)
    x = F.avg_pool2d(x, 2)
    for stage, count in enumerate(blocks, start=1):
        for n in range(count):
            here, shrink = f"layer{stage}.{n}", 2 if stage > 1 and n == 0 else 1
            y = norm(convolve(x, f"{here}.conv1"), f"{here}.bn1").clamp(min=0)
            y = norm(convolve(y, f"{here}.conv2", padding=1), f"{here}.bn2").clamp(min=0)
            y = F.avg_pool2d(y, shrink) if shrink > 1 else y
            y = norm(convolve(y, f"{here}.conv3"), f"{here}.bn3")
            if n == 0:
                x = F.avg_pool2d(x, shrink) if shrink > 1 else x
                x = norm(convolve(x, f"{here}.downsample.0"), f"{here}.downsample.1")
            x = (x + y).clamp(min=0)
    return _plain_attention_pool(weights, x)


def _plain_attention_pool(weights: State, x: torch.Tensor) -> torch.Tensor:
    """Return what torch's own multi-head attention makes of a map and its mean, asked with the mean."""
    pool = {name.removeprefix("visual.attnpool."): tensor for name, tensor in weights.items()}
    channels = x.shape[1]
    places = x.reshape(len(x), channels, -1).permute(2, 0, 1)
    places = torch.cat([places.mean(dim=0, keepdim=True), places]) + pool["positional_embedding"][:, None]
    found, _ = F.multi_head_attention_forward(
        query=places[:1],
        key=places,
        value=places,
        embed_dim_to_check=channels,
        num_heads=channels // 64,
        q_proj_weight=pool["q_proj.weight"],
        k_proj_weight=pool["k_proj.weight"],
        v_proj_weight=pool["v_proj.weight"],
        in_proj_weight=None,
        in_proj_bias=torch.cat([pool["q_proj.bias"], pool["k_proj.bias"], pool["v_proj.bias"]]),
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=pool["c_proj.weight"],
        out_proj_bias=pool["c_proj.bias"],
        use_separate_proj_weight=True,
        training=False,
        need_weights=False,
    )
    return found[0]


class TestModifiedResNet:
    def test_forward_equals_plain_functions(self) -> None:
        weights = random_weights(TINY_RESNET)
        model = build_from_openai(unwrap_names(weights))
        pixels = torch.randn(3, 3, 64, 64, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            expected = plain_resnet(weights, pixels, (2, 1, 1, 2))
            assert expected.abs().max() > 0.1
            torch.testing.assert_close(model.encode_views(pixels), expected, atol=1e-5, rtol=1e-4)

    @pytest.mark.parametrize(
        ("name", "width", "blocks", "side", "dim"),
        [("rn50x16", 96, (6, 8, 18, 8), 384, 768), ("rn50x64", 128, (3, 15, 36, 10), 448, 1024)],
    )
    def test_the_published_sizes_have_the_published_shapes(
        self, name: str, width: int, blocks: tuple[int, ...], side: int, dim: int
    ) -> None:
        shapes = openai_shapes(
            dim=dim,
            text_width=dim,
            text_layers=12,
            vocabulary=49408,
            context=77,
            resnet=(width, blocks, side),
        )
        with torch.device("meta"):
            weights = {key: torch.empty(shape) for key, shape in shapes.items()}
        kept = unwrap_names(weights)
        assert infer_architecture(kept) == PUBLISHED_SCORERS[name].architecture
        model = build_empty_model(PUBLISHED_SCORERS[name].architecture)
        own = {key: tensor.shape for key, tensor in model.state_dict().items() if key.startswith("vision.")}
        expected = {
            key.replace("visual.", "vision."): tensor.shape
            for key, tensor in kept.items()
            if key.startswith("visual.")
        }
        assert own == expected
        learned = [s for key, s in shapes.items() if "running_" not in key and "num_batches" not in key]
        assert sum(p.numel() for p in model.parameters()) == sum(math.prod(shape) for shape in learned)

    def test_the_published_vision_transformer_has_its_size(self) -> None:
        model = build_empty_model(PUBLISHED_SCORERS["vit-b16"].architecture)
        assert sum(p.numel() for p in model.parameters()) == 149_620_737  # as CLIP's paper's model is counted

    def test_embedding_is_independent_of_the_batch_while_training(self) -> None:
        model = build_from_openai(unwrap_names(random_weights(TINY_RESNET))).double().train()
        pixels = torch.randn(4, 1, 3, 64, 64, dtype=torch.float64)
        before = {name: tensor.clone() for name, tensor in model.named_buffers()}
        together = model.encode_images(pixels)
        parts = torch.cat([model.encode_images(part) for part in pixels.split(1)])
        torch.testing.assert_close(together, parts, atol=1e-12, rtol=0)
        assert all(torch.equal(before[name], tensor) for name, tensor in model.named_buffers())


@pytest.fixture(params=["tiny", "resnet"])
def model(request: pytest.FixtureRequest) -> DualEncoder:
    """Return both kinds of picture tower."""
    if request.param == "tiny":
        return load_starting_model("tiny").model
    return build_from_openai(unwrap_names(random_weights(TINY_RESNET)))


class TestEveryTower:
    def pixels(self, model: DualEncoder, count: int = 3, views: int = 2) -> torch.Tensor:
        return torch.randn(
            count, views, 3, model.side, model.side, generator=torch.Generator().manual_seed(0)
        )

    def test_views_are_averaged_before_normalisation(self, model: DualEncoder) -> None:
        pixels = self.pixels(model)
        pixels[:, 1] = pixels[:, 1] * 8 + 3  # so that both views have vectors of unlike lengths
        with torch.no_grad():
            views = torch.stack([model.encode_views(pixels[:, view]) for view in range(2)], dim=1)
            lengths = views.norm(dim=-1)
            assert (lengths[:, 0] / lengths[:, 1]).log().abs().max() > 0.05
            mean = views.mean(dim=1)
            found = model.encode_images(pixels)
        torch.testing.assert_close(found, mean / mean.norm(dim=1, keepdim=True), atol=1e-5, rtol=1e-5)
        scaled_first = F.normalize(F.normalize(views, dim=-1).mean(dim=1), dim=-1)
        assert not torch.allclose(found, scaled_first, atol=1e-5)

    def test_model_runs_in_float64_and_under_autocast(self, model: DualEncoder) -> None:
        pixels = self.pixels(model)
        tokens = torch.full((2, 5), 1)
        tokens[:, 4] = model.architecture.end
        with torch.no_grad():
            single = model.encode_images(pixels)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                short, short_texts = model(pixels, tokens)
            double, texts = model.double()(pixels.double(), tokens)
        assert (short.dtype, short_texts.dtype) == (torch.float32, torch.float32)
        assert (double.dtype, texts.dtype) == (torch.float64, torch.float64)
        assert (single * double).sum(dim=1).min() > 1 - 1e-6
        assert (short * double).sum(dim=1).min() > 0.99
        torch.testing.assert_close(short.norm(dim=1), torch.ones(3), atol=1e-5, rtol=0)

    def test_gradients_reach_every_weight_of_the_towers(self, model: DualEncoder) -> None:
        tokens = torch.full((3, 6), 2)
        tokens[:, 0] = torch.tensor([3, 4, 5])
        tokens[:, 5] = model.architecture.end
        images, texts = model.train()(self.pixels(model), tokens)
        F.cross_entropy(model.scale() * images @ texts.T, torch.arange(3)).backward()
        without = [name for name, one in model.named_parameters() if one.grad is None]
        assert without == []

    def test_state_dict_round_trip(self, model: DualEncoder) -> None:
        other = DualEncoder(model.architecture)
        other.load_state_dict(model.state_dict())
        pixels = self.pixels(model)
        with torch.no_grad():
            assert torch.equal(other.eval().encode_images(pixels), model.encode_images(pixels))

    @pytest.mark.long
    def test_model_compiles_as_one_graph(self, model: DualEncoder) -> None:
        """Without the last step, that makes machine code of the graph and takes minutes."""
        pixels = self.pixels(model)
        traced = torch.compile(model.encode_images, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(traced(pixels), model.encode_images(pixels), atol=1e-5, rtol=1e-5)


class TestTokens:
    def test_byte_tokens_are_truncated_and_padded(self) -> None:
        rows = ByteTokenizer(8)(["ab", "é", "much too long", ""])
        assert rows.tolist() == [
            [256, 97, 98, 257, 0, 0, 0, 0],
            [256, 195, 169, 257, 0, 0, 0, 0],
            [256, *b"much t", 257],
            [256, 257, 0, 0, 0, 0, 0, 0],
        ]

    def test_clip_tokens_equal_transformers(self, clip_folder: Path) -> None:
        from transformers import AutoTokenizer

        mine, theirs = load_clip_tokenizer(str(clip_folder), 12), AutoTokenizer.from_pretrained(clip_folder)
        texts = ["A Cat", "so much that it is to be cut", "", "  twice   spaced "]
        found = mine(texts)
        assert found.shape == (4, 12)
        assert found.dtype == torch.int64
        for row, text in zip(found.tolist(), texts, strict=True):
            expected = theirs(text, truncation=True, max_length=12)["input_ids"]
            assert row == expected + [0] * (12 - len(expected))
            assert row[len(expected) - 1] == mine.end

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("the man’s “first” hat", 'the man\'s "first" hat'),
            ("salt &amp;amp; pepper &#39;", "salt & pepper '"),
            ("ﬁne ＡＢ　", "fine AB "),
            ("café – 猫", "café – 猫"),
        ],
    )
    def test_texts_are_cleaned_as_by_the_clip_tokenizer(self, text: str, expected: str) -> None:
        assert normalise_text(text) == expected

    def test_no_texts_give_no_rows(self, clip_folder: Path) -> None:
        assert load_clip_tokenizer(str(clip_folder), 12)([]).shape == (0, 12)
        assert ByteTokenizer(9)([]).shape == (0, 9)
        assert trim_padding(ByteTokenizer(9)([]), ByteTokenizer.end).shape == (0, 9)

    def test_tokens_after_the_end_do_not_change_the_embedding(self) -> None:
        loaded = load_starting_model("tiny")
        tokens = loaded.tokenizer(TEXTS)
        short = trim_padding(tokens, loaded.tokenizer.end)
        assert short.shape[1] == len(TEXTS[1]) + 2
        with torch.no_grad():
            whole = loaded.model.encode_texts(tokens)
            torch.testing.assert_close(loaded.model.encode_texts(short), whole, atol=1e-6, rtol=1e-5)


class TestStart:
    def test_tiny_model_is_seeded_and_keeps_the_global_generator(self) -> None:
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        one, two, other = (load_starting_model("tiny", seed=seed).model.state_dict() for seed in (1, 1, 2))
        assert torch.equal(torch.rand(3), expected)
        assert all(torch.equal(one[name], two[name]) for name in one)
        assert any(not torch.equal(one[name], other[name]) for name in one)

    def test_card_records_the_requested_input_format(self, clip_folder: Path) -> None:
        for name in ("tiny", f"clip:{clip_folder}"):
            loaded = load_starting_model(
                name, region_mode=RegionMode.HIDE, text_mode=TextMode.MULTITASK, crop=Crop.PAD
            )
            card = loaded.card
            assert (card.region_mode, card.text_mode, card.crop) == ("hide", "multitask", "pad")
            assert (card.side, card.dim) == (loaded.model.side, loaded.model.dim)

    def test_clip_starting_weights_equal_the_original(self, clip_folder: Path) -> None:
        from transformers import CLIPModel

        loaded = load_starting_model(f"clip:{clip_folder}")
        clip = CLIPModel.from_pretrained(clip_folder)
        tokens = loaded.tokenizer(["a cat"])
        with torch.no_grad():
            expected = clip.get_text_features(input_ids=tokens).pooler_output
            rows = loaded.model.encode_texts(tokens)
        torch.testing.assert_close(rows, F.normalize(expected, dim=-1), atol=1e-6, rtol=1e-5)
        assert loaded.card.made["weights"].startswith("sha256:")

    @pytest.mark.parametrize("name", ["", "clip", "clip:", "scorer:", "resnet", "tiny "])
    def test_unknown_model_lists_known_models(self, name: str) -> None:
        with pytest.raises(InvalidInput, match="use tiny, clip:openai"):
            load_starting_model(name)

    def test_missing_weights_are_refused_in_one_line(self, tmp_path: Path) -> None:
        for name in (f"clip:{tmp_path}", f"scorer:{tmp_path}"):
            with pytest.raises(InvalidInput) as caught:
                load_starting_model(name)
            assert "\n" not in str(caught.value)

    def test_tiny_model_overfits_a_few_pairs(self) -> None:
        loaded = load_starting_model("tiny")
        model = loaded.model.train()
        generator = torch.Generator().manual_seed(0)
        pixels = torch.randn(8, 1, 3, 32, 32, generator=generator)
        tokens = trim_padding(loaded.tokenizer([f"text {n * n}" for n in range(8)]), loaded.tokenizer.end)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
        losses = []
        for _ in range(30):
            images, texts = model(pixels, tokens)
            products = model.scale() * images @ texts.T
            loss = F.cross_entropy(products, torch.arange(8)) + F.cross_entropy(products.T, torch.arange(8))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
        assert losses[0] > 2
        assert losses[-1] < 0.2

    def test_tiny_model_is_small(self) -> None:
        assert sum(p.numel() for p in build_empty_model(TINY_ARCHITECTURE).parameters()) < 200_000
