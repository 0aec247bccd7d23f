"""A judging kind's judgments described as data: dimensions, scales, labels, quality checks, and how items look.

Reports, decisions, gold items, attention checks, imports and exports read a ``JudgingSpec`` and never test which kind
it belongs to. Each judging kind has a ``SPEC`` in ``judging.py`` beside its ``kind.py``.

The level of a scale decides which agreement figures are meaningful (Stevens 1946, doi:10.1126/science.103.2684.677;
Krippendorff 2018, Content Analysis, 4th edition, chapter 12).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from hits.domain.renamed import RefusesOldNames
from hits.kind import HitKind
from validation.domain.judging.judgment_rows import JudgmentFileError, ParsedJudgment
from validation.domain.judging.quality_check_types import AttentionCheck, QualityCheckError, RoundUnit

Label = str | int
LABEL_SEPARATOR = "|"  # between the ticked labels of a multiple choice in one cell of a file


class Scale(StrEnum):
    """The level of a dimension's labels."""

    NOMINAL = "nominal"  # labels without an order
    ORDINAL = "ordinal"  # labels from low to high
    INTERVAL = "interval"  # numbers whose differences are meaningful
    MULTIPLE = "multiple"  # any number of labels at once
    TEXT = "text"  # free text: listed, never counted


class Material(StrEnum):
    """The units of a round of the kind, which decide the service that launches it."""

    RECORDS = "records"  # one collected record for each unit, of the spec's ``record_type``
    CANDIDATE_SETS = "candidate_sets"  # candidate texts for one region
    REGION_SETS = "region_sets"  # regions of one image and as many texts
    SUBMISSIONS = "submissions"  # one submission with its records, of the spec's ``record_type``
    QUESTIONS = "questions"  # one multiple-choice question about records of the spec's ``record_type``
    SCENES = "scenes"  # one written scene: a premise and two hypotheses, as texts
    TRIPLETS = "triplets"  # one image triplet, whose more plausible hypothesis is chosen
    EXPLANATIONS = "explanations"  # several explanations of one image triplet
    CANDIDATES = "candidates"  # several candidate images of one text
    IMAGES = "images"  # several images, each a part of the unit; -1, 0 and 1 say how interesting they are
    UNITS = "units"  # units from a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One question that judges answer about an item.

    ``labels`` run from low to high if the scale has an order; a nominal dimension without labels takes them from each
    unit. ``page_order`` is their order on the task's page, ``label_texts`` is what people read. An item is accepted
    if most judges choose a ``favourable`` label; a dimension without favourable labels decides nothing. Under
    ``share_heading`` (title, note), reports show the share of items that most judges favour. ``round_note`` is the
    note in the table of rounds. ``gold_question`` asks for the right labels on the gold page, which suggests none if
    the dimension ``is_subjective``: no label is wrong then. ``measure`` is the ``worker_status.Measure`` of worker
    rules that counts a worker's favoured records. An answer may leave an ``is_optional`` dimension out. In a kind
    with parts, ``is_whole`` marks a dimension of the whole item. ``unit_labels`` is the singular and plural noun for
    labels that each unit brings.
    """

    name: str
    title: str
    question: str
    scale: Scale
    labels: tuple[Label, ...] = ()
    page_order: tuple[Label, ...] = ()
    label_texts: Mapping[Label, str] = field(default_factory=dict)
    favourable: frozenset[Label] = frozenset()
    share_heading: tuple[str, str] | None = None
    round_note: str = ""
    gold_question: str = ""
    is_subjective: bool = False
    measure: str = ""
    is_optional: bool = False
    is_whole: bool = False
    unit_labels: tuple[str, str] = ("region", "regions")

    @property
    def page_labels(self) -> tuple[Label, ...]:
        """The labels as the page lists them."""
        return self.page_order or self.labels

    @property
    def labels_best_first(self) -> tuple[Label, ...]:
        """The labels from high to low; in the page's order if the scale has no order."""
        return tuple(reversed(self.labels)) if self.is_ordered else self.page_labels

    @property
    def has_fixed_labels(self) -> bool:
        """Whether the labels are the same for every unit."""
        return bool(self.labels)

    @property
    def is_ordered(self) -> bool:
        """Whether the labels have an order."""
        return self.scale in {Scale.ORDINAL, Scale.INTERVAL}

    @property
    def is_numeric(self) -> bool:
        """Whether the labels are numbers and so have a mean."""
        return bool(self.labels) and all(isinstance(label, int) for label in self.labels)

    @property
    def values(self) -> tuple[float, ...]:
        """The labels as numbers, low to high: the labels themselves, or their ranks from 0."""
        if self.is_numeric:
            return tuple(float(label) for label in self.labels)
        return tuple(float(rank) for rank in range(len(self.labels)))

    def label_text(self, label: object) -> str:
        """Return a label as people read it; an unknown label unchanged."""
        if isinstance(label, list | tuple):
            return ", ".join(self.label_text(each) for each in label) or "none"
        for known, text in self.label_texts.items():
            if str(known) == str(label):
                return text
        return str(label)


class JudgedLabel(NamedTuple):
    """One label of an answer, with its dimension and the judged part of the item ("" for the whole item)."""

    dimension: str
    part: str
    label: Any


@dataclass(frozen=True, slots=True)
class ItemView:
    """What console pages show of an item.

    ``images`` are the ids of all its images in order, ``image`` is the first; each is derived from the other.
    ``groups`` are boxes on the first image, for the template tag ``photo``. ``texts`` are the judged texts by part
    ("" for the whole item), ``numbers`` the numbers of regions by their id.
    """

    image: int | None = None
    groups: Sequence[dict[str, Any]] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    clue: str | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)
    images: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.images and self.image is not None:
            object.__setattr__(self, "images", (self.image,))
        elif self.images and self.image is None:
            object.__setattr__(self, "image", self.images[0])


class JudgingSpec(RefusesOldNames):
    """How answers of one judging kind are read.

    Class attributes:
        title: what the judged items are called on console pages, plural.
        item_field: the unit's field with the id of the judged item. A quality check's unit key differs from it.
        dimensions: in the order of reports. page_order: in the order of the page, if that differs.
        material, record_type: what rounds are made of; the record type if the material is records.
        has_parts: whether an answer judges several parts of an item, each by itself. part_labels: the singular and
            plural noun for a part. example_part: an id of a part that the answer's schema accepts. item_label: the
            noun before the id of an item without a text of its own.
        has_attention_checks: whether attention checks can be made from a round's own units.
        has_truth: whether units contain the right answer, so that the kind needs no gold items and is closed to
            reviewers of the shown records. truth_labels_text: what is counted as right, and the singular and plural
            noun for an item, in texts about people's accuracy.
        can_be_gold: whether judged units can become gold items.
        order: position among the judging kinds on pages, low first.
    """

    RENAMED = {
        "item": "item_id",
        "item_word": "item_label",
        "part_words": "part_labels",
        "takes_gold": "can_be_gold",
        "has_attention": "has_attention_checks",
        "unit": "build_unit",
        "view": "item_view",
        "record_view": "item_view_of_record",
        "answer": "build_answer",
        "allowed": "allowed_labels",
        "gold_text": "gold_question",
        "disguise": "gold_adapter",
        "attention": "build_attention_check",
        "sentence": "summary",
    }
    title: ClassVar[str]
    item_field: ClassVar[str]
    dimensions: ClassVar[tuple[Dimension, ...]]
    page_order: ClassVar[tuple[str, ...]] = ()
    material: ClassVar[Material] = Material.UNITS
    record_type: ClassVar[str | None] = None
    has_parts: ClassVar[bool] = False
    part_labels: ClassVar[tuple[str, str]] = ("Part", "Parts")
    example_part: ClassVar[str] = "x"
    item_label: ClassVar[str] = ""
    has_attention_checks: ClassVar[bool] = False
    has_truth: ClassVar[bool] = False
    truth_labels_text: ClassVar[tuple[str, str, str]] = ("Right labels", "item", "items")
    can_be_gold: ClassVar[bool] = True
    order: ClassVar[int] = 100

    def __init__(self, kind: HitKind) -> None:
        self.kind = kind

    @property
    def name(self) -> str:
        """The kind's name."""
        return self.kind.name

    # What is judged

    def item_id(self, unit: Mapping[str, Any]) -> str:
        """Return the id of the item that a unit is about."""
        return str(unit[self.item_field])

    def key(self, unit: Mapping[str, Any]) -> str:
        """Return the key of a unit that is no quality check; unique in a round."""
        return self.item_id(unit)

    def subject(self, unit: Mapping[str, Any]) -> str:
        """Return an id of what the unit shows; an attention check borrows from units about another subject."""
        return self.kind.subject(unit)

    def build_unit(self, source: Any) -> dict[str, Any]:
        """Return the unit for ``source``, an object of ``validation.domain.judging.round_material``.

        Raises:
            NotImplementedError: the kind is launched from units only.
        """
        raise NotImplementedError(f"{self.name} is launched from units")

    def shown_records(self, unit: Mapping[str, Any]) -> list[str]:
        """Return the ids of the records whose content a unit shows; their authors never judge it."""
        return [self.item_id(unit)] if self.material is Material.RECORDS else []

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return how a unit's item looks on console pages."""
        boxes = [box.model_dump() for box in self.kind.region(unit)]
        groups = [{"index": 1, "boxes": boxes, "label": "Region"}] if boxes else []
        return ItemView(groups=groups, images=tuple(self.kind.image_ids(unit)))

    def item_view_of_record(
        self, images: Sequence[int], index: int, fields: Mapping[str, Any]
    ) -> ItemView | None:
        """Return how a judged record looks if no unit of the project shows it; ``None`` if nothing is known."""
        return None

    def record_boxes(self, fields: Mapping[str, Any]) -> Sequence[Mapping[str, int]]:
        """Return the boxes that a judged record's author drew, in image pixels; reports measure their agreement."""
        return ()

    def truth(self, unit: Mapping[str, Any]) -> Mapping[str, Label]:
        """Return the right label of each part, if the unit contains it; labels are those of the first dimension."""
        return {}

    def truth_labels(self, answer: Mapping[str, Any]) -> dict[str, Label]:
        """Return the labels of an answer that ``truth`` has right ones for, by part."""
        first = self.dimensions[0].name
        return {row.part: row.label for row in self.labels(answer) if row.dimension == first}

    def chance(self, truth: Mapping[str, Label]) -> float:
        """Return the expected share of right labels in a random answer: by default, of a one-to-one matching."""
        return 1 / len(truth)

    # How answers are read

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the labels of an answer; missing fields yield nothing."""
        for dimension in self.dimensions:
            label = answer.get(dimension.name)
            if label is not None:
                yield JudgedLabel(dimension.name, "", label)

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these labels by (dimension, part): the inverse of the method ``labels``."""
        return {name: label for (name, _), label in labels.items()}

    def allowed_labels(self, unit: Mapping[str, Any]) -> dict[str, list[Label]]:
        """Return the labels that an answer to a unit may have, by ``label_name``, in the order of the page.

        Free text and multiple-choice dimensions are left out: no gold item can expect a label of them.
        """
        order = self.page_order or tuple(dimension.name for dimension in self.dimensions)
        dimensions = (self.dimension(name) for name in order)
        return {
            dimension.name: list(dimension.page_labels)
            for dimension in dimensions
            if dimension.has_fixed_labels and dimension.scale != Scale.MULTIPLE
        }

    def label_name(self, dimension: str, part: str) -> str:
        """Return the name under which a gold item stores its expected labels: dimension, part, or both."""
        if not part:
            return dimension
        return part if len(self.dimensions) == 1 else f"{part}/{dimension}"

    def read_json(self, raw: Any, *, allow_simulated: bool = False) -> list[ParsedJudgment]:
        """Return the judgments in a JSON file of the kind's own format.

        Args:
            allow_simulated: whether to accept a file that a rehearsal exported.

        Raises:
            JudgmentFileError: the kind has no such format, or the file cannot be read.
        """
        raise JudgmentFileError(f"is JSON, and {self.name} has no JSON format; use CSV or Parquet")

    # Quality checks

    def gold_question(self, unit: Mapping[str, Any], label_name: str) -> str:
        """Return the gold page's question for a ``label_name``: the dimension's question, or the part's text."""
        dimension = self.dimensions_by_name.get(label_name)
        if dimension is not None:
            return dimension.gold_question or dimension.question
        part = label_name if len(self.dimensions) == 1 else label_name.rpartition("/")[0]
        return self.item_view(unit).texts.get(part, part)

    def dimension_of(self, label_name: str) -> Dimension:
        """Return the dimension that a ``label_name`` is about."""
        if label_name in self.dimensions_by_name:
            return self.dimensions_by_name[label_name]
        return (
            self.dimension(label_name.rpartition("/")[2]) if len(self.dimensions) > 1 else self.dimensions[0]
        )

    def gold_adapter(
        self, units: Sequence[Mapping[str, Any]]
    ) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """Return a function that adapts a gold unit to look like ``units``, or returns ``None`` if it cannot."""
        return dict

    def build_attention_check(self, host: RoundUnit, others: Sequence[RoundUnit], rng: Any) -> AttentionCheck:
        """Return an attention check: ``host`` with content from ``others``, which are about other subjects.

        Raises:
            QualityCheckError: it cannot be made from these units.
        """
        raise QualityCheckError(f"attention checks: there are none for {self.name}; use 0")

    # Results

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return a report's result as one sentence; empty without a result."""
        return ""

    def dimension(self, name: str) -> Dimension:
        """Return the dimension with this name.

        Raises:
            LookupError: there is none; the message lists the dimensions.
        """
        dimension = self.dimensions_by_name.get(name)
        if dimension is None:
            raise LookupError(
                f"{self.name} has no dimension {name!r}; use {', '.join(self.dimensions_by_name)}"
            )
        return dimension

    @cached_property
    def dimensions_by_name(self) -> Mapping[str, Dimension]:
        """The dimensions by their names."""
        return {dimension.name: dimension for dimension in self.dimensions}

    @property
    def deciding_dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions by which items are accepted or rejected."""
        return tuple(dimension for dimension in self.dimensions if dimension.favourable)

    @property
    def ranking_dimension(self) -> Dimension | None:
        """The dimension that ranks an item's parts, if there is one."""
        ordered = (row for row in self.dimensions if row.is_ordered and not row.is_whole)
        return next(ordered, None) if self.has_parts else None

    def dimension_title(self, name: str) -> str:
        """Return a dimension's title; its name if the kind no longer has it."""
        dimension = self.dimensions_by_name.get(name)
        return dimension.title if dimension else name.capitalize()

    def in_dimension_order(self, by_dimension: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return stored values by dimension in the order of reports; PostgreSQL does not keep the order of keys."""
        return [(name, by_dimension[name]) for name in self.dimensions_by_name if name in by_dimension]
