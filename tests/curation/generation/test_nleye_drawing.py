"""Test drawings: the same everywhere, and every way of drawing offline."""

import dataclasses

import numpy as np
import pytest
from PIL import Image as Pillow

from curation.generation.drawing import LICENCE, DrawingGenerator
from curation.generation.drawing_objects import find_objects
from curation.generation.drawing_people import count_people, find_mood
from curation.generation.image_factory import get_generator
from curation.generation.images import ImageReply, ImageRequest
from curation.generation.pictures import mask_from_boxes
from curation.records import InvalidInput, Region
from tests.support.generation import picture_file, pixels

PROMPT = "Two children laugh in the rain with a red umbrella."
BASE = ImageRequest(PROMPT, 256, 256, seed=1)


def draw(request: ImageRequest = BASE, **changes: object) -> ImageReply:
    return DrawingGenerator().generate(dataclasses.replace(request, **changes))


def array(reply: ImageReply) -> np.ndarray:
    return np.asarray(pixels(reply.png)).astype(int)


def test_a_drawing_depends_on_prompt_and_seed_alone() -> None:
    first = draw()
    assert first.png == draw().png
    assert len({first.png, draw(seed=2).png, draw(prompt="A dog.").png, draw(negative="umbrella").png}) == 4
    assert (first.seed, first.width, first.height, first.flagged) == (1, 256, 256, False)
    assert first.model == "test drawing"


def test_without_a_seed_the_prompt_gives_one_and_it_is_reported() -> None:
    reply = draw(seed=None)
    assert reply.seed is not None
    assert draw(seed=reply.seed).png == reply.png == draw(seed=None).png
    assert draw(seed=None, prompt="A dog.").seed != reply.seed


@pytest.mark.parametrize("size", [(64, 64), (512, 300), (300, 512), (1024, 1024)])
def test_drawings_have_the_size_that_was_asked_for(size: tuple[int, int]) -> None:
    reply = draw(width=size[0], height=size[1])
    assert pixels(reply.png).size == size
    assert array(reply).std() > 20, "not a plain surface"


def test_the_words_and_the_watermark_are_on_the_drawing() -> None:
    """The caption's strip is light with dark letters; another prompt of the same length has other letters."""
    strips = [
        array(draw(prompt=prompt, width=512, height=512))[420:] for prompt in ("A cat sits.", "A dog runs.")
    ]
    for strip in strips:
        assert (strip.min(axis=2) > 235).mean() > 0.7
        assert 0.005 < (strip.max(axis=2) < 90).mean() < 0.2
    assert (strips[0] != strips[1]).any()
    corner = array(draw(width=512, height=512))[8:26, -80:-12]
    assert (corner.max(axis=2) < 90).mean() > 0.4
    assert (corner.min(axis=2) > 200).mean() > 0.02


def test_a_very_long_prompt_and_a_very_long_word_fit() -> None:
    for prompt in ("word " * 1000, "x" * 4000, "Grüße 猫 🐈 \u202e!", "a\nb\tc"):
        assert pixels(draw(prompt=prompt).png).size == (256, 256)


def test_the_same_seed_shows_the_same_place_and_people() -> None:
    """Images with one seed share their scenery: the sky of two prompts is the same."""
    prompts = ("A man walks in the park with a dog.", "A man sits in the park with a cake.")
    same = [array(draw(prompt=prompt, seed=5))[:20, :150] for prompt in prompts]
    assert (same[0] == same[1]).mean() > 0.95
    other = array(draw(prompt=prompts[0], seed=6))[:20, :150]
    assert (same[0] == other).mean() < 0.5


def test_a_mask_redraws_its_white_part_and_keeps_every_other_pixel() -> None:
    reference = draw()
    mask = mask_from_boxes((256, 256), [Region(100, 20, 90, 120)])
    edited = draw(prompt="A dog with a ball.", seed=9, reference=reference.png, mask=mask)
    before, after = array(reference), array(edited)
    changed = (before != after).any(axis=2)
    assert not changed[:, :100].any()
    assert not changed[:, 190:].any()
    assert not changed[:20].any()
    assert not changed[140:].any()
    assert changed[20:140, 100:190].mean() > 0.5
    assert edited.png == draw(prompt="A dog with a ball.", seed=9, reference=reference.png, mask=mask).png


def test_a_larger_strength_leaves_the_reference_farther() -> None:
    reference = draw()
    distances = []
    for strength in (0.1, 0.5, 0.9):
        variant = draw(prompt="A dog.", seed=3, reference=reference.png, strength=strength)
        distances.append(np.abs(array(variant)[:200] - array(reference)[:200]).mean())
    assert distances == sorted(distances)
    assert distances[0] < distances[2] / 3


def test_a_reference_gives_the_colours() -> None:
    sunset = draw(prompt="The beach at sunset.", seed=4)
    night = draw(prompt="The sea at night.", seed=4)
    for reference in (sunset, night):
        following = draw(prompt="A man on the grass in a park.", seed=8, reference=reference.png)
        sky = [array(reply)[30:50, :40].mean(axis=(0, 1)) for reply in (reference, following)]
        assert np.abs(sky[0] - sky[1]).max() < 40
    photo = picture_file("JPEG", (90, 60))
    assert pixels(draw(reference=photo).png).size == (256, 256)


def test_a_negative_prompt_leaves_its_objects_out() -> None:
    words = "a red umbrella and a dog"
    assert [item.colour is not None for item in find_objects(words)] == [True, False]
    assert len(find_objects(words, "dogs, cats")) == 1


@pytest.mark.parametrize(
    ("words", "people"),
    [
        ("a man and a woman", 2),
        ("he looks", 1),
        ("two friends", 2),
        ("a crowd", 4),
        ("a dog", 0),
        ("a man, he smiles", 1),
    ],
)
def test_people_are_counted(words: str, people: int) -> None:
    assert count_people(words) == people


def test_moods_are_read() -> None:
    assert [find_mood(words) for words in ("she laughs", "he cries", "they wait")] == ["happy", "sad", "calm"]


def test_provenance_describes_a_test_drawing() -> None:
    generator = get_generator()
    assert (generator.name, generator.model, generator.revision) == ("drawing", "test drawing", "drawing/1")
    assert generator.licence == LICENCE == "CC0-1.0"
    assert generator.can == {"seed", "negative", "reference", "inpaint", "img2img"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 4000}, "drawing: 4000 × 256 pixels; use at most 2,048"),
        ({"width": 10}, "width: 10 pixels; use 64 to"),
        ({"prompt": " "}, "prompt: is empty"),
        ({"prompt": "x" * 8001}, "longer than 8,000 characters"),
        ({"seed": 2**32}, "seed: 4294967296; use a whole number"),
        ({"seed": -1}, "seed: -1"),
        ({"steps": 0}, "steps: 0; use 1 to"),
        ({"guidance": float("nan")}, "guidance: nan"),
        ({"n": 2}, "n: 2 images; each call draws one image"),
        ({"strength": 0.5}, "strength: needs a reference image"),
        ({"mask": b"x"}, "mask: needs a reference image"),
        ({"reference": b"x"}, "reference image: is not a readable image"),
        ({"reference": picture_file(), "strength": 0.0}, "strength: 0.0; use a number over 0"),
        ({"reference": picture_file(), "strength": float("nan")}, "strength: nan"),
        (
            {"reference": picture_file(), "mask": picture_file(size=(65, 64))},
            "mask: 65 × 64 pixels, but the reference",
        ),
    ],
)
def test_wrong_requests_are_refused_in_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        draw(**changes)
    assert message in str(caught.value)


def test_a_mask_without_white_is_refused() -> None:
    import io

    buffer = io.BytesIO()
    Pillow.new("L", (64, 64)).save(buffer, "PNG")
    with pytest.raises(InvalidInput, match="mask: is black all over"):
        draw(reference=picture_file(), mask=buffer.getvalue())
