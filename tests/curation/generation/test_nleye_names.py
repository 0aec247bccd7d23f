"""The names of generators and chat models."""

import pytest

from curation.generation import names
from curation.generation.names import ModelName, parse_chat_model, parse_generator
from curation.records import InvalidInput

GENERATORS = {
    "": ModelName("drawing", "drawing"),
    "drawing": ModelName("drawing", "drawing"),
    "import": ModelName("import", "import"),
    "openai:gpt-image-1.5": ModelName("openai:gpt-image-1.5", "openai", "gpt-image-1.5"),
    "openai:black-forest/flux": ModelName("openai:black-forest/flux", "openai", "black-forest/flux"),
    "diffusers:owner/name@v1.0": ModelName("diffusers:owner/name@v1.0", "diffusers", "owner/name", "v1.0"),
    "diffusers:owner/name": ModelName("diffusers:owner/name", "diffusers", "owner/name"),
    "diffusers:/models/sd": ModelName("diffusers:/models/sd", "diffusers", "/models/sd"),
    "diffusers:./sd@2": ModelName("diffusers:./sd@2", "diffusers", "./sd@2"),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_generator_names_are_parsed(name: str) -> None:
    assert parse_generator(name) == GENERATORS[name]


@pytest.mark.parametrize(
    "name",
    [
        "dalle",
        "drawing:",
        "drawing:blue",
        "import:folder",
        "openai:",
        "openai: gpt",
        "openai:a\nb",
        "canned",
        "diffusers:",
        "diffusers:models",
        "diffusers:owner/name@",
        "diffusers:owner/name@a b",
        "diffusers:../../x/../y@z\0",
        "openai:" + "x" * 200,
    ],
)
def test_other_generator_names_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_generator(name)
    assert str(caught.value).startswith("generator: ")
    assert "\n" not in str(caught.value)
    assert "use " in str(caught.value) or "give a folder" in str(caught.value)


def test_chat_names_are_parsed() -> None:
    assert parse_chat_model("") == parse_chat_model("canned") == ModelName("canned", "canned")
    assert parse_chat_model("openai:gpt-4o").source == "gpt-4o"
    assert parse_chat_model("canned:runs/a.jsonl").source == "runs/a.jsonl"


@pytest.mark.parametrize("name", ["gpt-4o", "canned:", "canned:a.csv", "drawing", "diffusers:a/b", "openai:"])
def test_other_chat_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^chat model: .* is not known; use canned"):
        parse_chat_model(name)


def test_abilities_by_name() -> None:
    """OpenAI's own models take no seed, behind whatever gateway; only loading a pipeline tells what it can."""
    expected = {
        "drawing": frozenset(names.ABILITIES),
        "import": frozenset(),
        "openai:gpt-image-2": frozenset({"reference", "inpaint"}),
        "openai:azure/dall-e-3": frozenset({"reference", "inpaint"}),
        "openai:flux": frozenset(names.ABILITIES),
        "diffusers:a/b@c": None,
    }
    assert {name: names.expected_abilities(parse_generator(name)) for name in expected} == expected
