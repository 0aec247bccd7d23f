"""What a chat model is sent in each setup and strategy: which images and texts, in which order, and nothing else."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from PIL import Image as Pillow

from curation.generation.canned import MadeUpReplies
from curation.generation.chat import ChatReply, ChatRequest
from curation.models import ImageTriplet, TripletEvaluation, TripletPrediction
from curation.selectors.triplets.evaluations import EvaluatedTriplet, version_triplets
from hits.models import Image, Project
from tests.support.generation import pixels
from tests.support.nleye_jobs import evaluate, sealed_triplets
from tests.support.undone import undone

pytestmark = pytest.mark.django_db
NAMES = ("premise", "hypothesis1", "hypothesis2")
ORDERS = {"as_listed": ("hypothesis1", "hypothesis2"), "swapped": ("hypothesis2", "hypothesis1")}


@pytest.fixture
def triplets(project: Project, researcher: User) -> list[EvaluatedTriplet]:
    """Return the triplets of a sealed version."""
    return version_triplets(sealed_triplets(project, 2, researcher))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ChatRequest]:
    """Return the requests to the made-up replies in their order."""
    requests: list[ChatRequest] = []
    real = MadeUpReplies.reply

    def note(self: MadeUpReplies, request: ChatRequest) -> ChatReply:
        requests.append(request)
        return real(self, request)

    monkeypatch.setattr(MadeUpReplies, "reply", note)
    return requests


def shas(request: ChatRequest) -> list[str]:
    """Return the hashes of a request's images in their order."""
    return [image.sha256 for image in request.images]


def text(request: ChatRequest) -> str:
    """Return everything that a request says."""
    return json.dumps([[message.role, message.text] for message in request.messages]) + json.dumps(
        request.schema
    )


def check_no_secret(
    requests: Sequence[ChatRequest], rows: Sequence[EvaluatedTriplet], *, texts: bool
) -> None:
    """See that no request names gold, its reason, a triplet or a scene; with ``texts``, no description either."""
    secret = [row.row["gold_explanation"] for row in rows] + [row.id for row in rows]
    secret += [row.public_id for row in ImageTriplet.objects.all()]
    secret += [row.scene.public_id for row in ImageTriplet.objects.select_related("scene")]
    secret += [row.scene.why for row in ImageTriplet.objects.select_related("scene")]
    if texts:
        secret += [row.row[f"{name}_description"] for row in rows for name in NAMES]
    for request in requests:
        question = text(request)
        assert not any(part in question for part in secret)
        assert not any(
            word in question.lower() for word in ("gold", "as_listed", "swapped", "hypothesis1", "h1")
        )


def expected_orders(rows: Sequence[EvaluatedTriplet]) -> list[tuple[EvaluatedTriplet, tuple[str, str]]]:
    """Return each triplet in both orders, as they are asked."""
    return [(row, order) for row in rows for order in ORDERS.values()]


def check_choice_between_images(
    project: Project,
    triplets: list[EvaluatedTriplet],
    asked: list[ChatRequest],
    strategy: str,
) -> None:
    """See that premise and hypotheses are sent in both orders, or the hypotheses alone."""
    premise = () if strategy == "hypotheses-only" else ("premise",)
    evaluate(project, strategy=strategy)
    expected = [
        [row.row["images"][name] for name in (*premise, *order)] for row, order in expected_orders(triplets)
    ]
    assert [shas(request) for request in asked] == expected
    check_no_secret(asked, triplets, texts=True)
    labels = [part for part in asked[0].messages[1].parts if isinstance(part, str)][:-1]
    assert labels == [*(["Context:"] if premise else []), "Image 1:", "Image 2:"]
    assert [row.presentation for row in TripletPrediction.objects.order_by("pk")] == [*ORDERS, *ORDERS]


def check_score_of_one_hypothesis(
    project: Project,
    triplets: list[EvaluatedTriplet],
    asked: list[ChatRequest],
    strategy: str,
) -> None:
    """See that premise and one hypothesis are sent, or the hypothesis alone."""
    premise = () if strategy == "hypotheses-only" else ("premise",)
    evaluate(project, setup="pairs", strategy=strategy)
    expected = [
        [row.row["images"][name] for name in (*premise, side)] for row in triplets for side in NAMES[1:]
    ]
    assert [shas(request) for request in asked] == expected
    check_no_secret(asked, triplets, texts=True)
    assert {request.schema["properties"]["score"]["maximum"] for request in asked if request.schema} == {10}
    is_blind = not premise
    assert all(("you do not see it" in text(request)) == is_blind for request in asked)


def check_one_picture(
    project: Project, triplets: list[EvaluatedTriplet], asked: list[ChatRequest], setup: str
) -> None:
    """See that one picture shows premise and hypotheses from left to right."""
    evaluate(project, setup=setup, strategy="combined")
    check_no_secret(asked, triplets, texts=True)
    orders: Any = expected_orders(triplets)
    if setup == "pairs":
        orders = [(row, (side,)) for row in triplets for side in NAMES[1:]]
    for request, (row, order) in zip(asked, orders, strict=True):
        (image,) = request.images
        picture = pixels(image.read())
        names = ("premise", *order)
        assert picture.size == (512 * len(names) + 16 * (len(names) - 1), 512)
        originals = {name: _stored_pixels(row.row["images"][name]) for name in NAMES}
        for place, name in enumerate(names):
            tile = picture.crop((528 * place, 0, 528 * place + 512, 512))
            small = np.asarray(tile.resize((64, 64), Pillow.Resampling.BOX), dtype=float)
            differences = {key: np.abs(small - found).mean() for key, found in originals.items()}
            assert min(differences, key=differences.__getitem__) == name
            assert differences[name] < 0.5 * sorted(differences.values())[1]


def _stored_pixels(sha256: str) -> Any:
    with Image.objects.get(sha256=sha256).file.open("rb") as file:
        return np.asarray(pixels(file.read()), dtype=float)


def check_texts_alone(
    project: Project, triplets: list[EvaluatedTriplet], asked: list[ChatRequest], setup: str
) -> None:
    """See that the descriptions are sent in their order, and no image."""
    evaluate(project, setup=setup, strategy="text-only")
    check_no_secret(asked, triplets, texts=False)
    orders: Any = expected_orders(triplets)
    if setup == "pairs":
        orders = [(row, (side,)) for row in triplets for side in NAMES[1:]]
    for request, (row, order) in zip(asked, orders, strict=True):
        assert request.images == ()
        question = request.messages[1].text
        places = [question.index(row.row[f"{name}_description"]) for name in ("premise", *order)]
        assert places == sorted(places)
        others = [name for name in NAMES[1:] if name not in order]
        assert not any(row.row[f"{name}_description"] in question for name in others)


@pytest.fixture
def distinct(monkeypatch: pytest.MonkeyPatch, asked: list[ChatRequest]) -> None:
    """Describe each image in words of its own: made-up texts may be equal, and equal questions are one call."""
    real = MadeUpReplies.reply  # the one that notes what it is asked

    def describe(self: MadeUpReplies, request: ChatRequest) -> ChatReply:
        reply = real(self, request)
        if not request.images:
            return reply
        return replace(reply, text=json.dumps({"description": f"A picture, {shas(request)[0][:12]}."}))

    monkeypatch.setattr(MadeUpReplies, "reply", describe)


@pytest.mark.usefixtures("distinct")
def test_one_model_describes_each_image_by_itself_and_another_reads_the_texts(
    project: Project, triplets: list[EvaluatedTriplet], asked: list[ChatRequest]
) -> None:
    found = evaluate(project, strategy="image-to-text")
    captions = {shas(request)[0]: request for request in asked if request.images}
    assert set(captions) == {sha for row in triplets for sha in row.row["images"].values()}
    assert all(len(request.images) == 1 for request in captions.values())
    questions = [request for request in asked if not request.images]
    assert (len(asked), len(questions)) == (6 + 4, 4)  # each image is described once
    described = {sha: f"A picture, {sha[:12]}." for sha in captions}
    for request, (row, order) in zip(questions, expected_orders(triplets), strict=True):
        labels = ("Context", "Image 1", "Image 2")
        lines = [
            f"{label}: {described[row.row['images'][name]]}"
            for label, name in zip(labels, ("premise", *order), strict=True)
        ]
        assert request.messages[1].text.splitlines()[1:4] == lines
    check_no_secret(asked, triplets, texts=True)
    assert found["calls"] == 10
    provenance = TripletEvaluation.objects.get().provenance
    assert sorted(provenance["prompts"]) == ["again/1", "caption/1", "triplet/1"]


def check_variant(
    project: Project, triplets: list[EvaluatedTriplet], asked: list[ChatRequest], variant: str
) -> None:
    """See that the reply's fields are asked for in the order of the variant."""
    evaluate(project, variant=variant)
    is_first = variant in {"answer_first", "role"}
    for request in asked:
        assert request.schema is not None
        fields = list(request.schema["properties"])
        assert fields == (["choice", "explanation"] if is_first else ["explanation", "choice"])
    assert len({text(request) for request in asked}) == 1


Check = Callable[[Project, list[EvaluatedTriplet], list[ChatRequest], str], None]
CHECKS: list[tuple[Check, tuple[str, ...]]] = [
    (check_choice_between_images, ("separate", "hypotheses-only")),
    (check_score_of_one_hypothesis, ("separate", "hypotheses-only")),
    (check_one_picture, ("triplet", "pairs")),
    (check_texts_alone, ("triplet", "pairs")),
    (check_variant, ("answer_first", "explain_first", "steps", "role")),
]


@pytest.mark.parametrize(("check", "options"), CHECKS)
def test_each_strategy_sends_what_it_must_and_nothing_else(
    project: Project,
    triplets: list[EvaluatedTriplet],
    asked: list[ChatRequest],
    check: Check,
    options: tuple[str, ...],
) -> None:
    for option in options:
        asked.clear()
        with undone():
            check(project, triplets, asked, option)


def test_a_person_may_write_other_prompts(
    project: Project, triplets: list[EvaluatedTriplet], asked: list[ChatRequest], tmp_path: Any
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[triplet]\nversion = "mine/1"\nsystem = "Look."\nanswer_first = "Which?"\n')
    evaluate(project, prompts=str(path))
    assert {request.messages[0].text for request in asked} == {"Look."}
    assert "mine/1" in TripletEvaluation.objects.get().provenance["prompts"]
