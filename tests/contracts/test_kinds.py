"""What every HIT kind keeps to. A new folder is tested here without a line being added."""

import ast
import json
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import get_template

from curation.versions.family import Family
from hits import registry
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import HitKind, InvalidAnswer, InvalidUnit, Schema
from hits.markdown import find_problem, picture_sources
from tests.support.paths import ROOT
from validation.domain.judging.spec import JudgingSpec

NAMES = registry.kind_names()
IMAGES = {
    n: ImageFacts(n, f"http://127.0.0.1:8000/media/{n}.jpg", 640, 480, alt="a room") for n in range(1, 10)
}


def _folder(name: str) -> Path:
    (found,) = [path for path in ROOT.glob(f"*/kinds/{name}") if (path / "kind.py").exists()]
    return found


def _imported(tree: ast.AST) -> set[str]:
    """Return ``package.name`` of everything that is imported from somewhere."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        (HitKind, "once", "is_single_attempt"),
        (JudgingSpec, "takes_gold", "can_be_gold"),
        (Family, "evaluates", "can_evaluate"),
    ],
)
def test_a_class_with_an_old_attribute_name_is_refused(base: type, old: str, new: str) -> None:
    with pytest.raises(TypeError, match=rf"Theirs: {old} is now called {new}$"):
        type("Theirs", (base,), {old: True})
    type("Theirs", (base,), {new: True})


def test_kinds_are_found_by_folder() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/kinds/*/kind.py")}
    assert set(NAMES) == folders
    assert {"sherlock_observation", "observation_review", "likert_comparison"} <= folders


@pytest.mark.parametrize("name", NAMES)
class TestEveryKind:
    def test_is_a_complete_definition(self, name: str) -> None:
        kind = registry.get_kind(name)
        assert kind.version >= 1
        assert kind.reward_cents > 0
        assert kind.duration_seconds >= 30
        assert kind.expected_seconds < kind.duration_seconds
        assert 1 <= kind.redundancy <= 9
        assert len(kind.title) <= 128
        assert re.search(r"et al\. \d{4} §|^No paper", kind.paper)
        assert kind.purpose in Purpose
        assert (kind.bonus_cents > 0) == (kind.max_bonus_items > 0)

    def test_pay_at_expected_speed_reaches_the_papers_rate(self, name: str) -> None:
        kind = registry.get_kind(name)
        assert (
            kind.reward_cents * 3600 / kind.expected_seconds >= 1200
        )  # the paper's median worker: $12 an hour

    def test_has_page_script_and_labels(self, name: str) -> None:
        kind = registry.get_kind(name)
        get_template(kind.template)
        assert finders.find(f"{name}/task.js")
        assert "aper" in (_folder(name) / "README.md").read_text(encoding="utf-8")

    def test_instructions_are_valid_for_the_instruction_editor(self, name: str) -> None:
        kind = registry.get_kind(name)
        body = kind.instructions_markdown()
        if body is None:
            assert "{% block how %}" in (_folder(name) / "templates" / kind.template).read_text(
                encoding="utf-8"
            )
            return
        assert find_problem(body) == ""
        assert picture_sources(body) == []
        for row in kind.examples:
            assert set(row) <= {"weak", "good", "why", "picture", "alt"}
            assert row["good"]
            if "picture" in row:
                assert finders.find(row["picture"])
                assert row["alt"]

    def test_schemas_refuse_unknown_fields(self, name: str) -> None:
        kind = registry.get_kind(name)
        for schema in (kind.Unit, kind.Answer):
            assert issubclass(schema, Schema)
            assert schema.model_json_schema()["additionalProperties"] is False

    @pytest.mark.parametrize("raw", [None, [], "text", 3, {}, {"surprise": 1}])
    def test_invalid_units_are_refused_by_field(self, name: str, raw: object) -> None:
        kind = registry.get_kind(name)
        with pytest.raises(InvalidUnit) as caught:
            kind.parse_unit(raw)
        assert all(error.field and error.message for error in caught.value.errors)
        with pytest.raises(InvalidAnswer):
            kind.parse_answer({}, IMAGES, raw)

    def test_imports_neither_rows_nor_another_kind(self, name: str) -> None:
        tree = ast.parse((_folder(name) / "kind.py").read_text(encoding="utf-8"))
        modules = _imported(tree)
        ours = {module for module in modules if module.split(".")[0] in {"hits", "validation", "curation"}}
        allowed = ("hits.kind", "hits.observing", "hits.hints", "hits.domain", "validation.domain")
        own = ".".join([*_folder(name).relative_to(ROOT).parts, ""])
        assert all(module.startswith((*allowed, own)) for module in ours)


def test_unknown_kind_error_lists_known_kinds() -> None:
    with pytest.raises(LookupError, match="sherlock_observation"):
        registry.get_kind("crossword")


def test_a_unit_for_page_is_json() -> None:
    kind = registry.get_kind("sherlock_observation")
    json.dumps(kind.unit_for_page({"image": 1}, IMAGES, seed="x"))
