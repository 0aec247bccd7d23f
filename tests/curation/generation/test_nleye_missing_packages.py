"""Without the optional packages, each use is refused in one line."""

import sys

import pytest

from curation.generation.errors import ModelUnavailable
from curation.generation.image_factory import get_generator


@pytest.mark.parametrize(
    ("name", "package", "message"),
    [
        ("diffusers:/models/sd", "diffusers", "the package diffusers is not installed, which draws images"),
        (
            "openai:flux",
            "openai",
            "the package openai is not installed, which talks to OpenAI-compatible servers",
        ),
    ],
)
def test_a_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelUnavailable) as caught:
        get_generator(name, environment={"IMAGES_API_URL": "http://127.0.0.1:9/v1"})
    assert str(caught.value).startswith(message)
    assert "run make generation, or pip install" in str(caught.value)
