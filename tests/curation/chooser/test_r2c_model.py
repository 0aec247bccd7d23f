"""R2C's parts against independent ones, its published sizes, and what padding and ablations change."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from torch import Tensor, nn

from curation.chooser.model.attention import BilinearAttention, maximum_over_time
from curation.chooser.model.detector import POSITIONS, SAMPLES, RegionEncoder, align_regions
from curation.chooser.model.frames import HEIGHT, WIDTH, make_frame, object_mask
from curation.chooser.model.object_vectors import GridEncoder, crop_edges
from curation.chooser.model.r2c import R2C, PaddedTexts, R2cBatch, R2cSizes
from curation.chooser.model.recurrent import BidirectionalLSTM, SharedDropout
from curation.chooser.questions import Stage, parse_image_item
from tests.support.curation._chooser_runs import draw_pictures, planted_questions, tiny_network

TINY = R2cSizes(words=6, visual=5, classes=7, class_size=3, objects=8, hidden=4, pool=9)
PUBLISHED = R2cSizes(words=768, visual=2048, classes=81, class_size=128, objects=512, hidden=256, pool=1024)


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def random_texts(lengths: list[int], objects: int, seed: int) -> PaddedTexts:
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    vectors = torch.randn(len(lengths), longest, TINY.words, generator=generator, dtype=torch.float64)
    places = torch.randint(objects, (len(lengths), longest), generator=generator)
    return PaddedTexts(vectors, places, torch.tensor(lengths))


def one_question(seed: int, objects: int, queries: list[int], responses: list[int]) -> R2cBatch:
    generator = torch.Generator().manual_seed(100 + seed)
    return R2cBatch(
        queries=random_texts(queries, objects, 2 * seed),
        responses=random_texts(responses, objects, 2 * seed + 1),
        objects=torch.randn(objects, TINY.visual, generator=generator, dtype=torch.float64),
        classes=torch.randint(TINY.classes, (objects,), generator=generator),
        counts=(objects,),
    )


def join(first: PaddedTexts, second: PaddedTexts, noise: float) -> PaddedTexts:
    """Pad both to the same length with values that must not matter."""
    longest = max(first.vectors.shape[1], second.vectors.shape[1])

    def padded(texts: PaddedTexts) -> Tensor:
        vectors = torch.full((len(texts.vectors), longest, TINY.words), noise, dtype=torch.float64)
        for row, length in enumerate(texts.lengths.tolist()):
            vectors[row, :length] = texts.vectors[row, :length]
        return vectors

    places = [
        nn.functional.pad(texts.places, (0, longest - texts.places.shape[1])) for texts in (first, second)
    ]
    return PaddedTexts(
        torch.cat([padded(first), padded(second)]),
        torch.cat(places),
        torch.cat([first.lengths, second.lengths]),
    )


@pytest.fixture
def model() -> R2C:
    torch.manual_seed(3)
    return R2C(TINY).double().eval()


def test_published_sizes_have_11_79_million_parameters_beside_the_cnn() -> None:
    with torch.device("meta"):
        from transformers import ResNetConfig, ResNetModel

        whole = R2C(PUBLISHED, RegionEncoder(ResNetModel(ResNetConfig())))
    assert whole.regions is not None
    assert whole.regions.size == PUBLISHED.visual
    cnn = parameters(whole.regions.backbone) + parameters(whole.regions.final_stage)
    counted = parameters(whole) - cnn
    assert counted == pytest.approx(11.79e6, rel=0.002)
    without_predictor = counted - parameters(whole.object_head.predict_class)
    assert without_predictor == pytest.approx(11.63e6, rel=0.002)
    assert cnn == pytest.approx(23.5e6, rel=0.01), "a ResNet-50 without its last layer"


def test_neighbours_and_padding_change_no_score(model: R2C) -> None:
    first = one_question(0, 3, [4, 4, 4, 4], [2, 5, 1, 3])
    second = one_question(1, 6, [7, 7, 7, 7], [6, 2, 9, 1])
    for noise in (0.0, 1e6):
        together = R2cBatch(
            queries=join(first.queries, second.queries, noise),
            responses=join(first.responses, second.responses, noise),
            objects=torch.cat([first.objects, second.objects]),
            classes=torch.cat([first.classes, second.classes]),
            counts=(3, 6),
        )
        with torch.no_grad():
            logits, class_logits = model(together)
            alone = [model(question) for question in (first, second)]
        torch.testing.assert_close(logits, torch.cat([one for one, _ in alone]), atol=1e-12, rtol=0)
        torch.testing.assert_close(class_logits, torch.cat([one for _, one in alone]), atol=1e-12, rtol=0)


def test_scores_equal_the_formulas_written_out(model: R2C) -> None:
    """Zellers et al. 2019 §5, for one response at a time, without masks, batches or packed sequences."""
    question = one_question(5, 4, [3, 5, 4, 6], [2, 1, 4, 3])

    def lstm(module: BidirectionalLSTM, rows: Tensor) -> Tensor:
        states, _ = module._lstm(rows[None])
        return states[0]

    def ground(texts: PaddedTexts, row: int, objects: Tensor) -> Tensor:
        length = int(texts.lengths[row])
        words, places = texts.vectors[row, :length], texts.places[row, :length]
        return lstm(model.ground, torch.cat([words, objects[places]], dim=1))

    head = model.object_head
    embedded = torch.cat([question.objects, head.class_embedding.weight[question.classes]], dim=1)
    expected = []
    with torch.no_grad():
        objects = torch.relu(embedded @ head.project[1].weight.T + head.project[1].bias)
        for row in range(4):
            query, response = (
                ground(texts, row, objects) for texts in (question.queries, question.responses)
            )
            attended = []
            for attention, memory in ((model.attend_objects, objects), (model.attend_query, query)):
                weights = (response @ attention.weight @ memory.T + attention.bias).softmax(dim=1)
                attended.append(weights @ memory)
            reasoned = lstm(model.reason, torch.cat([response, *attended], dim=1))
            pooled = torch.cat([reasoned, response, attended[1]], dim=1).max(dim=0).values
            expected.append(model.decide(pooled))
        logits, class_logits = model(question)
    torch.testing.assert_close(logits[0], torch.cat(expected), atol=1e-12, rtol=0)
    torch.testing.assert_close(class_logits, head.predict_class(question.objects))


@pytest.mark.parametrize(
    ("ablation", "missing"),
    [("use_query", "attend_query"), ("use_reasoning", "reason"), ("use_vision", "")],
)
def test_ablations_do_without_their_part(ablation: str, missing: str) -> None:
    torch.manual_seed(0)
    ablated = R2C(replace(TINY, **{ablation: False})).double().eval()
    assert not missing or getattr(ablated, missing) is None
    question = one_question(2, 3, [4, 4, 4, 4], [2, 5, 1, 3])
    logits, _ = ablated(question)
    logits.sum().backward()
    assert logits.shape == (1, 4)
    unused = {"use_query": "queries", "use_vision": ""}.get(ablation, "")
    if unused:
        changed = replace(question, queries=random_texts([4] * 4, 3, 99))
        torch.testing.assert_close(ablated(changed)[0], logits)
    if ablation == "use_vision":
        moved = replace(question, responses=replace(question.responses, places=question.responses.places * 0))
        torch.testing.assert_close(ablated(moved)[0], logits, msg="grounding looks at no object")


def test_weights_are_initialised_as_published() -> None:
    torch.manual_seed(1)
    lstm = BidirectionalLSTM(10, 8, layers=2)
    for name, parameter in lstm._lstm.named_parameters():
        if name.startswith("weight_ih"):
            bound = math.sqrt(6 / sum(parameter.shape))
            assert bound * 0.8 < parameter.abs().max() <= bound
        elif name.startswith("weight_hh"):
            torch.testing.assert_close(parameter.T @ parameter, torch.eye(8), atol=1e-5, rtol=0)
        elif name.startswith("bias_hh"):
            assert parameter.tolist() == [0.0] * 8 + [1.0] * 8 + [0.0] * 16
        else:
            assert not parameter.any()


def test_dropout_has_one_mask_for_all_time_steps() -> None:
    torch.manual_seed(0)
    dropout = SharedDropout(0.3)
    sequences = torch.ones(50, 7, 40)
    dropped = dropout(sequences)
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert dropped.unique().tolist() == [0.0, pytest.approx(1 / 0.7)]
    assert float((dropped == 0).float().mean()) == pytest.approx(0.3, abs=0.03)
    assert dropout.eval()(sequences) is sequences


def test_attention_and_maximum_ignore_padding() -> None:
    torch.manual_seed(0)
    attention = BilinearAttention(3, 5)
    queries, memory = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    is_real = torch.arange(6) < torch.tensor([[2], [6]])
    found = attention(queries, memory, is_real)
    torch.testing.assert_close(
        found[:1], attention(queries[:1], memory[:1, :2], torch.ones(1, 2, dtype=torch.bool))
    )
    torch.testing.assert_close(maximum_over_time(memory, is_real)[0], memory[0, :2].max(dim=0).values)


def bilinear(features: np.ndarray, row: float, column: float) -> np.ndarray:
    """Return the value at a place, where (0.5, 0.5) is the middle of the first position."""
    height, width = features.shape[1:]
    y, x = min(max(row - 0.5, 0), height - 1), min(max(column - 0.5, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = features[:, top, left] * (1 - x + left) + features[:, top, right] * (x - left)
    lower = features[:, bottom, left] * (1 - x + left) + features[:, bottom, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


def test_region_alignment_equals_sampling_point_by_point() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(3, 6, 12))
    boxes = np.array([[0, 0, 192, 96], [16, 16, 32, 32], [5.5, 7, 100, 90.5], [150, 60, 192, 96]])
    found = align_regions(torch.from_numpy(features), torch.from_numpy(boxes))
    assert found.shape == (4, 3, POSITIONS, POSITIONS)
    for number, (left, top, right, bottom) in enumerate(boxes / 16):
        for i in range(POSITIONS):
            for j in range(POSITIONS):
                steps = [(s + 0.5) / SAMPLES for s in range(SAMPLES)]
                points = [
                    bilinear(
                        features,
                        top + (bottom - top) * (i + y) / POSITIONS,
                        left + (right - left) * (j + x) / POSITIONS,
                    )
                    for y in steps
                    for x in steps
                ]
                np.testing.assert_allclose(found[number, :, i, j], np.mean(points, axis=0), atol=1e-12)


def test_regions_fine_tune_the_last_stage_alone_with_fixed_statistics() -> None:
    torch.manual_seed(0)
    regions = RegionEncoder(tiny_network()).train()
    images = torch.randn(2, 3, HEIGHT, WIDTH)
    boxes = torch.tensor([[0.0, 0, 768, 384], [10, 20, 200, 300], [0, 0, 768, 384]])
    before = {name: value.clone() for name, value in regions.state_dict().items()}
    masks = torch.zeros(3, 14, 14)
    vectors = regions(images, boxes, masks, [2, 1])
    assert vectors.shape == (3, 128)
    vectors.sum().backward()
    assert all(parameter.grad is None for parameter in regions.backbone.parameters())
    assert all(parameter.grad is not None for parameter in regions.final_stage.parameters())
    assert regions.mask_convolution.weight.grad is not None
    for name, value in regions.state_dict().items():
        assert torch.equal(value, before[name]), f"{name} is a statistic that must not move"
    with torch.no_grad():
        alone = regions(images[1:], boxes[2:], masks[2:], [1])
        torch.testing.assert_close(alone, vectors[2:].detach(), atol=1e-5, rtol=1e-4)
        assert not torch.allclose(regions(images, boxes, 1 - masks, [2, 1]), vectors)


def test_frames_keep_boxes_on_their_objects(tmp_path: Path) -> None:
    planted = planted_questions(1, split="val")
    images = draw_pictures(tmp_path, planted)
    question = parse_image_item(planted[0].line, "here").question(Stage.ANSWER)
    for shares in ((0.5, 0.5), (0.0, 1.0), (1.0, 0.0)):
        frame = make_frame(question, images, (0, 3), shares=shares)
        assert frame.pixels.shape == (HEIGHT, WIDTH, 3)
        assert frame.boxes[0].tolist() == [0, 0, 768, 384], "2 to 1, as the frame: nothing is padded"
        for box, person in zip(frame.boxes[1:], (0, 3), strict=True):
            middle = frame.pixels[int((box[1] + box[3]) / 2), int((box[0] + box[2]) / 2)]
            with Pillow.open(images / question.image) as picture:
                expected = picture.getpixel((2 + 23 * person + 10, 5 + 7 * person + 10))
            assert np.abs(middle.astype(int) - expected).max() <= 1
    tall = tmp_path / "film" / "val-0.png"
    Pillow.new("RGB", (60, 120), (200, 0, 0)).save(tall)
    left = make_frame(question, images, (0,), shares=(0.0, 0.0))
    right = make_frame(question, images, (0,), shares=(1.0, 0.0))
    assert left.boxes[0].tolist() == [0, 0, 192, 384]
    assert right.boxes[0].tolist() == [576, 0, 768, 384]
    assert (right.boxes[1] - left.boxes[1]).tolist() == [576, 0, 576, 0]
    assert left.pixels[:, 192:].max() == 0


def test_masks_are_the_points_inside_of_the_polygons() -> None:
    box = (10.0, 20.0, 38.0, 48.0)
    half = ((10.0, 20.0), (38.0, 20.0), (38.0, 34.0), (10.0, 34.0))
    assert object_mask(box, ()).sum() == 14 * 14, "an object without polygons fills its box"
    mask = object_mask(box, (half,))
    assert mask[:7].all()
    assert not mask[7:].any()
    both = object_mask(box, (half, ((10.0, 34.0), (38.0, 34.0), (38.0, 48.0), (10.0, 48.0))))
    assert both.all()
    assert not object_mask(box, (((100.0, 100.0), (120.0, 100.0), (110.0, 120.0)),)).any()


def test_crops_lie_within_the_image() -> None:
    assert crop_edges((1.7, 2.2, 9.1, 8.0), (10, 10)) == (1, 2, 10, 8)
    assert crop_edges((-5, 12, -4, 30), (10, 10)) == (0, 9, 1, 10)


def test_grid_has_the_mean_colours_of_sixteen_fields() -> None:
    picture = Pillow.new("RGB", (8, 8), (0, 0, 0))
    picture.paste((255, 0, 0), (0, 0, 2, 2))
    rows = GridEncoder().encode_images([picture, picture])
    assert rows.shape == (2, 48)
    assert rows[0, :6].tolist() == [1, -1, -1, -1, -1, -1]
    assert GridEncoder().encode_images([]).shape == (0, 48)
