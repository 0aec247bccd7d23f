"""Write a scene: a premise and two hypotheses, one of them more plausible (Ventura et al. 2025 §2.2, §3)."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from hits.domain.answers.content_words import FUNCTION_WORDS
from hits.domain.answers.evidence import EvidenceRow, humanize
from hits.domain.answers.records import Record
from hits.domain.answers.review_flags import ReviewCheck, check_pace
from hits.domain.answers.scene_facets import (
    CATEGORY_TEXTS,
    DIRECTION_TEXTS,
    DOMAINS,
    DURATION_TEXTS,
    MAX_CHARACTERS,
    MAX_REASON_CHARACTERS,
    Category,
    Direction,
    Duration,
)
from hits.domain.answers.scene_rules import (
    MAX_CULTURE_CHARACTERS,
    MAX_DOMAIN_CHARACTERS,
    clean_scene,
    page_limits,
)
from hits.domain.answers.text import TextError, clean_line
from hits.domain.answers.word_diff import Hunk, HunkKind, compare_texts
from hits.domain.states import Purpose
from hits.hints.card import Hint, HintRule
from hits.hints.scene_drafts import read_scene_draft
from hits.hints.scenes import EARLIER_SCENES, SCENE_RULES, find_scene_hints
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema
from hits.kinds.nleye_scene.checks import run_checks

_FACET_TEXTS: Mapping[str, Mapping[Any, str]] = {
    "category": CATEGORY_TEXTS,
    "direction": DIRECTION_TEXTS,
    "duration": DURATION_TEXTS,
}
SCENE = "scene"  # record type
LANGUAGE = "en"
MAX_DOMAINS = 40
OTHER_CATEGORY = "this task asks for a scene of another category: reload it"
OTHER_DOMAIN = "choose one of the task's domains"


class Unit(Schema):
    """One scene to write. With a category, the scene has that one; otherwise the writer chooses."""

    number: int = Field(ge=1)
    category: Literal[Category, ""] = ""
    domains: list[str] = Field(default=list(DOMAINS), min_length=1, max_length=MAX_DOMAINS)

    @field_validator("domains")
    @classmethod
    def _check_domains(cls, domains: list[str]) -> list[str]:
        for domain in domains:
            try:
                is_clean = clean_line(domain, maximum=MAX_DOMAIN_CHARACTERS) == domain
            except TextError as error:
                raise ValueError(f"{domain[:MAX_DOMAIN_CHARACTERS]!r} {error}") from error
            if not domain or not is_clean:
                raise ValueError(f"{domain!r} is empty or has spaces at its ends: write it as one line")
        if len(set(domains)) != len(domains):
            raise ValueError("a domain occurs twice: list each once")
        return domains


class Answer(Schema):
    """A scene as its page sends it; ``clean_scene`` checks lengths, the hypotheses and the duration."""

    premise: str
    plausible: str
    implausible: str
    category: Category
    direction: Direction
    duration: Duration = ""
    domain: str
    culture: str = ""
    why: str


class SceneFields(Schema):
    """The fields of a record of type ``scene``."""

    premise: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    plausible: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    implausible: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    category: Category
    direction: Direction
    duration: Duration
    domain: str = Field(min_length=1, max_length=MAX_DOMAIN_CHARACTERS)
    culture: str = Field(max_length=MAX_CULTURE_CHARACTERS)
    why: str = Field(min_length=1, max_length=MAX_REASON_CHARACTERS)
    language: Literal["en"]


class NleyeScene(HitKind):
    """Collects scenes for image triplets, as texts."""

    name: ClassVar[str] = "nleye_scene"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Write a scene in three short texts"
    description: ClassVar[str] = (
        "Describe a picture and two others that might go with it, one of them more plausible. No image is shown."
    )
    keywords: ClassVar[str] = "writing, scene, picture, reasoning, story, plausible"
    paper: ClassVar[str] = "Ventura et al. 2025 §2.2, §3"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    families: ClassVar[frozenset[str]] = frozenset({"nleye"})
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 150
    expected_seconds: ClassVar[int] = 360
    duration_seconds: ClassVar[int] = 45 * 60
    hint_rules: ClassVar[tuple[HintRule, ...]] = SCENE_RULES
    earlier_for_hints: ClassVar[int] = EARLIER_SCENES
    unit_word: ClassVar[tuple[str, str]] = ("scene", "scenes")
    record_word: ClassVar[tuple[str, str]] = ("scene", "scenes")
    record_types: ClassVar[Mapping[str, type[Schema]]] = {SCENE: SceneFields}
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "Premise: “A girl eats breakfast.” · More plausible: “The girl goes to school and learns that it "
            "will rain.” · Less plausible: “An elephant dances.”",
            "good": "Premise: “A dog with muddy paws sits on a doormat.” · More plausible: “The dog digs a hole in a "
            "*flower bed*.” · Less plausible: “The dog digs a hole in a *snowdrift*.” · physical, backward, short",
            "why": "nobody needs the breakfast to rule out the elephant, and no picture shows what the girl learns. "
            "In the second scene, one thing differs, everybody can see it, and only the mud decides: with wet, clean "
            "paws, the snow would be right.",
            "picture": "nleye_scene/example.svg",
            "alt": "Three drawings. Above, a dog with brown paws sits on a doormat. Below on the left, it digs a "
            "hole in a flower bed; below on the right, it digs a hole in snow.",
        },
    )

    def image_ids(self, unit: Payload) -> list[int]:
        """Return nothing: a scene is written without an image."""
        return []

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the category asked for, the facets with their definitions, the domains, and the rules.

        ``preview`` is a drawn order of the hypotheses, in which the writer sees them as a judge would.
        """
        preview = ["plausible", "implausible"]
        Random(seed).shuffle(preview)  # noqa: S311 - an order, no secret
        return {
            "category": unit["category"],
            "category_text": CATEGORY_TEXTS.get(unit["category"], ""),
            "facets": {name: _choices(texts) for name, texts in _FACET_TEXTS.items()},
            "domains": unit["domains"],
            "preview": preview,
            "limits": page_limits(),
            "function_words": sorted(FUNCTION_WORDS),
        }

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check texts, facets and what the unit asks for; return the normalized answer and its problems."""
        assert isinstance(answer, Answer)
        cleaned, errors = clean_scene(answer.model_dump())
        if unit["category"] and answer.category != unit["category"]:
            errors.append(FieldError("category", OTHER_CATEGORY))
        if answer.domain not in unit["domains"]:
            errors.append(FieldError("domain", OTHER_DOMAIN))
        return cleaned, errors

    def records(self, unit: Payload, answer: Payload) -> list[Record]:
        """Return the scene, whose texts are English."""
        return [Record(SCENE, 1, (), {**answer, "language": LANGUAGE})]

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return both hypotheses in parts, of which those that differ are marked, and the facets."""
        hunks = compare_texts(answer["plausible"], answer["implausible"])
        return {
            "plausible": [_part(hunk, hunk.before) for hunk in hunks if hunk.kind is not HunkKind.INSERT],
            "implausible": [_part(hunk, hunk.after) for hunk in hunks if hunk.kind is not HunkKind.DELETE],
            "facets": _facets(answer),
        }

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the asked category."""
        return [EvidenceRow("Category asked for", unit["category"] or "any")]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return texts, facets and reason, as people read them."""
        texts = [
            EvidenceRow("Premise", answer["premise"]),
            EvidenceRow("More plausible", answer["plausible"]),
            EvidenceRow("Less plausible", answer["implausible"]),
        ]
        facets = [EvidenceRow(row["label"], row["value"]) for row in _facets(answer)]
        return [*texts, *facets, EvidenceRow("Why", answer["why"])]

    def checks(
        self,
        unit: Payload,
        images: ImagesById,
        answer: Payload,
        *,
        active_seconds: float,
        expected_seconds: int,
    ) -> list[ReviewCheck]:
        """Return the checks of the texts, and the pace."""
        hints = find_scene_hints(read_scene_draft(answer))
        return [*run_checks(hints), check_pace(active_seconds, expected_seconds)]

    def own_hints(
        self,
        unit: Payload,
        images: ImagesById,
        draft: Payload,
        earlier: Sequence[tuple[Payload, Payload]] = (),
    ) -> list[Hint]:
        """Return the hints on the texts of a draft."""
        return find_scene_hints(read_scene_draft(draft, [answer for _, answer in earlier]))


def _part(hunk: Hunk, text: str) -> dict[str, Any]:
    """Return a part of a hypothesis without the spaces at its end, which follow as ``gap``."""
    shown = text.rstrip()
    return {"text": shown, "gap": text[len(shown) :], "is_marked": hunk.kind is not HunkKind.EQUAL}


def _choices(texts: Mapping[Any, str]) -> list[dict[str, str]]:
    return [{"value": value, "text": text} for value, text in texts.items()]


def _facets(answer: Payload) -> list[dict[str, str]]:
    """Return the facets as rows of a label, a value and its definition; those without a value are left out."""
    return [
        {
            "label": humanize(name),
            "value": humanize(answer[name]) if name in _FACET_TEXTS else answer[name],
            "definition": _FACET_TEXTS.get(name, {}).get(answer[name], ""),
        }
        for name in ("category", "direction", "duration", "domain", "culture")
        if answer[name]
    ]


KIND = NleyeScene()
