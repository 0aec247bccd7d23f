"""Image generators over HTTP, through the real openai package, against a small server on this machine."""

import base64
import io
import traceback
from email import message_from_bytes
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from curation.generation.errors import BadReply, CallFailed, ContentRefused, LacksAbility, Permanent
from curation.generation.image_factory import get_generator
from curation.generation.images import ImageGenerator, ImageRequest
from curation.generation.pictures import mask_from_boxes
from curation.generation.retries import call_with_retries
from curation.records import InvalidInput, Region
from tests.support.generation import picture_file, pixels
from tests.support.model_server import KEY, Answer, ModelServer, error, image_body


def generator(server: ModelServer, model: str = "flux", **environment: str) -> ImageGenerator:
    return get_generator(f"openai:{model}", environment=server.environment("IMAGES", **environment))


def ask(server: ModelServer, body: Any, request: ImageRequest | None = None, **environment: str) -> Any:
    server.answers = [body if isinstance(body, Answer) else Answer(body=body)]
    server.asked.clear()
    return generator(server, **environment).generate(request or ImageRequest("a cat", 128, 64))


def fail(server: ModelServer, body: Any) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        ask(server, body)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.raw)
    assert "sk-test" not in shown
    assert "\n" not in str(caught.value)
    return caught.value


def form(asked: Any) -> dict[str, Any]:
    """Return the fields of a multipart request: texts, or bytes of files."""
    message = message_from_bytes(
        b"Content-Type: " + asked.headers["content-type"].encode() + b"\r\n\r\n" + asked.data
    )
    fields = {}
    for part in message.get_payload():
        data = part.get_payload(decode=True)
        name = part.get_param("name", header="content-disposition")
        fields[name] = data if part.get_filename() else data.decode()
    return fields


def test_one_image_is_asked_for_and_comes_back_as_png(server: ModelServer) -> None:
    body = image_body(picture_file("JPEG", (128, 64)), revised_prompt="a black cat") | {
        "model": "flux-1",
        "usage": {"n": 1},
    }
    request = ImageRequest("a cat", 128, 64, negative="dogs", seed=3, steps=20, guidance=4.5)
    reply = ask(server, body, request)
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/images/generations")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json == {
        "model": "flux",
        "prompt": "a cat",
        "n": 1,
        "size": "128x64",
        "response_format": "b64_json",
        "seed": 3,
        "negative_prompt": "dogs",
        "num_inference_steps": 20,
        "guidance_scale": 4.5,
    }
    assert Pillow.open(io.BytesIO(reply.png)).format == "PNG"
    assert pixels(reply.png).tobytes() == pixels(picture_file("JPEG", (128, 64))).tobytes()
    assert (reply.width, reply.height, reply.model, reply.revised_prompt) == (
        128,
        64,
        "flux-1",
        "a black cat",
    )
    assert reply.usage == {"n": 1}
    assert "b64_json" not in str(reply.metadata)
    assert reply.flagged is None


def test_a_seed_counts_as_used_only_where_that_is_certain(server: ModelServer) -> None:
    image, request = picture_file(), ImageRequest("a cat", 64, 64, seed=3)
    assert ask(server, image_body(image), request).seed is None
    assert ask(server, image_body(image, seed=99), request).seed == 99
    assert ask(server, image_body(image) | {"seed": 98}, request).seed == 98
    assert ask(server, image_body(image, seed="x"), request, CAN="seed").seed == 3


def test_an_ability_that_is_missing_is_refused_before_anything_is_sent(server: ModelServer) -> None:
    reference = picture_file()
    asked_for = {
        "a given seed": ImageRequest("a", 64, 64, seed=1),
        "a negative prompt": ImageRequest("a", 64, 64, negative="b"),
        "starting from an image with a strength": ImageRequest(
            "a", 64, 64, reference=reference, strength=0.5
        ),
    }
    for ability, request in asked_for.items():
        with pytest.raises(
            LacksAbility, match=f"^openai:gpt-image-1.5: does not support {ability}; it supports inpaint, ref"
        ):
            generator(server, "gpt-image-1.5").generate(request)
    with pytest.raises(LacksAbility, match="does not support a reference image; it supports seed"):
        generator(server, CAN="seed").generate(ImageRequest("a", 64, 64, reference=reference))
    assert server.asked == []
    with pytest.raises(InvalidInput, match="IMAGES_API_CAN: 'magic' is not known"):
        generator(server, CAN="seed,magic")


def test_an_edit_sends_the_image_and_a_mask_that_is_transparent_where_it_is_redrawn(
    server: ModelServer,
) -> None:
    reference = picture_file("JPEG", (80, 64))
    mask = mask_from_boxes((80, 64), [Region(10, 0, 30, 64)])
    reply = ask(
        server, image_body(picture_file()), ImageRequest("a hat", 64, 64, reference=reference, mask=mask)
    )
    (asked,) = server.asked
    fields = form(asked)
    assert asked.path == "/v1/images/edits"
    assert (fields["prompt"], fields["n"], fields["size"], fields["model"]) == ("a hat", "1", "64x64", "flux")
    assert pixels(fields["image"]).tobytes() == pixels(reference).tobytes()
    alpha = np.asarray(Pillow.open(io.BytesIO(fields["mask"])).getchannel("A"))
    assert (alpha[:, 10:40] == 0).all()
    assert (alpha[:, :10] == 255).all()
    assert (alpha[:, 40:] == 255).all()
    assert reply.width == 64


def test_the_image_may_lie_at_the_servers_own_address(server: ModelServer) -> None:
    server.files["/files/1.png"] = Answer(body=picture_file(size=(70, 64)))
    reply = ask(server, image_body(url=f"{server.url}/files/1.png"))
    assert (reply.width, reply.height) == (70, 64)
    assert [asked.method for asked in server.asked] == ["POST", "GET"]
    inline = "data:image/png;base64," + base64.b64encode(picture_file()).decode()
    assert ask(server, image_body(url=inline)).width == 64


FOREIGN = (
    "http://example.org/a.png",
    "https://{host}/a.png",
    "http://localhost:{port}/a.png",
    "http://{host}.example.org/a.png",
    "http://{host}@example.org/a.png",
    "file:///etc/passwd",
    "//x/y",
    "nonsense",
)


@pytest.mark.parametrize("address", FOREIGN)
def test_an_image_of_another_origin_is_not_fetched(server: ModelServer, address: str) -> None:
    host = server.url.removeprefix("http://")
    failure = fail(server, image_body(url=address.format(host=host, port=host.partition(":")[2])))
    assert isinstance(failure, BadReply)
    assert "of another origin, and was not fetched" in str(failure)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (Answer(302, b"", {"Location": "/files/2.png"}), "is a redirect, which is not followed"),
        (Answer(404, b""), "the image's address answers 404"),
        (Answer(200, b"GIF89a"), "is not a readable image"),
        (Answer(200, bytes(21 * 1024**2)), "larger than 20 MB"),
        (Answer(200, picture_file(), cut=99), "cannot be fetched"),
    ],
)
def test_an_image_that_cannot_be_fetched_is_a_bad_reply(
    server: ModelServer, file: Answer, message: str
) -> None:
    server.files["/files/1.png"] = file
    server.files["/files/2.png"] = Answer(body=picture_file())
    failure = fail(server, image_body(url=f"{server.url}/files/1.png"))
    assert isinstance(failure, BadReply)
    assert message in str(failure)
    assert failure.may_cost is True
    assert not any(asked.path == "/files/2.png" for asked in server.asked)


def test_an_image_whose_headers_never_end_is_a_bad_reply(server: ModelServer) -> None:
    server.files["/files/1.png"] = Answer(header_drip=0.05)
    server.answers = [Answer(body=image_body(url=f"{server.url}/files/1.png"))]
    generator = get_generator("openai:tiny", environment=server.environment("IMAGES", TIMEOUT="0.3"))
    with pytest.raises(BadReply, match=r"the image was not sent within 0\.3 seconds"):
        generator.generate(ImageRequest("a cat", 64, 64))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"created": 1, "data": []}, "the reply has no image"),
        ({"created": 1}, "the reply has no image"),
        (image_body(revised_prompt="x"), "the reply has no image"),
        ({"data": [{"b64_json": "not base64!"}]}, "the image is no base64"),
        (image_body(b"not an image"), "is not a readable image"),
        (image_body(picture_file(size=(300, 300))[:-500]), "is not a readable image"),
        (image_body(bytes(20 * 1024**2 + 1)), "larger than 20 MB"),
        (image_body(bytes(22 * 1024**2)), "larger than 28 MB, and was not read"),
        (b'{"data": [{"b64', "cut off or is no JSON"),
    ],
)
def test_a_reply_without_a_usable_image_is_a_bad_reply(server: ModelServer, body: Any, message: str) -> None:
    failure = fail(server, body)
    assert isinstance(failure, BadReply)
    assert message in str(failure)
    assert len(str(failure.raw)) < 2000


def test_a_refused_prompt_is_a_refusal(server: ModelServer) -> None:
    failure = fail(server, Answer(400, error(f"rejected; key {KEY}", code="moderation_blocked")))
    assert isinstance(failure, ContentRefused)
    assert "refuse the content" in str(failure)


def test_a_size_that_the_model_refuses_is_one_line(server: ModelServer) -> None:
    failure = fail(server, Answer(400, error("Invalid size 128x64", param="size")))
    assert isinstance(failure, Permanent)
    assert "answers 400 (Invalid size 128x64)" in str(failure)


def test_base64_is_asked_for_where_the_model_knows_it(server: ModelServer) -> None:
    image = Answer(body=image_body(picture_file()))
    server.answers = [
        Answer(400, error("Unknown parameter: 'response_format'.", param="response_format")),
        image,
    ]
    painter = generator(server, "other")
    request = ImageRequest("a", 64, 64)
    call_with_retries(lambda number: painter.generate(request), sleep=lambda seconds: None)
    painter.generate(request)
    assert ["response_format" in asked.json for asked in server.asked] == [True, False, False]
    server.asked.clear()
    for model in ("gpt-image-2", "dall-e-3"):
        generator(server, model).generate(request)
    assert ["response_format" in asked.json for asked in server.asked] == [False, True]


def test_requests_of_several_images_are_refused(server: ModelServer) -> None:
    with pytest.raises(InvalidInput, match="each call draws one image, so call it 4 times"):
        generator(server).generate(ImageRequest("a", n=4))
    assert server.asked == []
