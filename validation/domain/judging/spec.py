"""What a judging kind says about its judgments, as data: dimensions, scales, labels, controls, and how items look.

Reports, decisions, gold items, attention checks, imports and exports read a ``JudgingSpec`` and never ask which kind
it is of. Each judging kind keeps its own in ``judging.py`` beside ``kind.py``, as ``SPEC``.

The level of a scale decides which agreement figures mean anything (Stevens 1946, doi:10.1126/science.103.2684.677;
Krippendorff 2018, Content Analysis, 4th edition, chapter 12).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from hits.kind import HitKind
from validation.domain.judging.judgment_rows import FileError, Given
from validation.domain.judging.quality_check_types import Attention, ControlError, Own

Label = str | int
SEPARATOR = "|"  # between the ticked labels of a multiple choice, where one cell of a file holds them all


class Scale(StrEnum):
    """The level of a dimension's labels."""

    NOMINAL = "nominal"  # labels without an order
    ORDINAL = "ordinal"  # labels from low to high
    INTERVAL = "interval"  # numbers whose differences mean something
    MULTIPLE = "multiple"  # any number of labels at once
    TEXT = "text"  # free text: listed, never counted


class Material(StrEnum):
    """What a round of the kind is made of, and so which service launches it."""

    RECORDS = "records"  # one collected record for each unit, of the spec's ``record_type``
    CANDIDATE_SETS = "candidate_sets"  # candidate texts for one region
    REGION_SETS = "region_sets"  # regions of one image and as many texts
    UNITS = "units"  # units from a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One thing that judges are asked.

    ``labels`` run from low to high where the scale has an order; a nominal dimension without any takes its labels
    from each unit. ``on_page`` is their order on the task's page, ``words`` what people read. Most judges choosing a
    ``favourable`` label speaks for an item; a dimension without any accepts and rejects nothing. ``share`` is the
    title and the note of the share of items that most judges favour, where a report has it as a headline.
    ``round_note`` says what a table of rounds shows of it. ``gold_question`` is how the gold page asks which labels
    are right, ``is_taste`` that nobody is wrong, so that nothing is suggested there. ``measure`` names the standing
    measure that the share of a worker's favoured records feeds (``qualification.worker_status.Measure``).
    """

    name: str
    title: str
    question: str
    scale: Scale
    labels: tuple[Label, ...] = ()
    on_page: tuple[Label, ...] = ()
    words: Mapping[Label, str] = field(default_factory=dict)
    favourable: frozenset[Label] = frozenset()
    share: tuple[str, str] | None = None
    round_note: str = ""
    gold_question: str = ""
    is_taste: bool = False
    measure: str = ""

    @property
    def page_labels(self) -> tuple[Label, ...]:
        """The labels as the page lists them."""
        return self.on_page or self.labels

    @property
    def best_first(self) -> tuple[Label, ...]:
        """The labels from high to low; those without an order as the page lists them."""
        return tuple(reversed(self.labels)) if self.is_ordered else self.page_labels

    @property
    def is_fixed(self) -> bool:
        """Whether the labels are the same for every unit."""
        return bool(self.labels)

    @property
    def is_ordered(self) -> bool:
        """Whether the labels have an order."""
        return self.scale in {Scale.ORDINAL, Scale.INTERVAL}

    @property
    def is_numeric(self) -> bool:
        """Whether the labels are numbers, so that they have a mean."""
        return bool(self.labels) and all(isinstance(label, int) for label in self.labels)

    @property
    def values(self) -> tuple[float, ...]:
        """The labels as numbers, low to high: themselves, or their ranks from 0."""
        if self.is_numeric:
            return tuple(float(label) for label in self.labels)
        return tuple(float(rank) for rank in range(len(self.labels)))

    def label_words(self, label: object) -> str:
        """Return a label as people read it; an unknown one as it stands."""
        if isinstance(label, list | tuple):
            return ", ".join(self.label_words(one) for one in label) or "none"
        for known, words in self.words.items():
            if str(known) == str(label):
                return words
        return str(label)


class JudgedLabel(NamedTuple):
    """One label of an answer: about which dimension, and which part of the item ("" where the whole is judged)."""

    dimension: str
    part: str
    label: Any


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as console pages show it.

    ``images`` are the ids of all its images in their order, ``image`` is the first; either gives the other.
    ``groups`` are boxes on the first one, for the photo tag. ``texts`` are what is judged by part, "" for the whole;
    ``numbers`` the numbers of regions that have an id of their own.
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


class JudgingSpec:
    """How answers of one judging kind are read.

    Class attributes:
        title: what the judged items are called on console pages, plural.
        item_field: the unit's field with the id of what is judged. A control's unit key differs from it.
        dimensions: in the order of reports. page_order: in the order of the page, where that differs.
        material, record_type: what rounds are made of; the record type where the material is records.
        has_parts: whether an answer judges several parts of an item, each by itself. part_words: what one part and
            several are called. item_word: what stands before the id of an item that shows no text of its own.
        has_attention: whether attention checks can be made of a round's own units.
        has_truth: whether units know the right answer, so that nobody has to collect gold items.
        takes_gold: whether judged units can become gold items.
        order: position among the judging kinds on pages, low first.
    """

    title: ClassVar[str]
    item_field: ClassVar[str]
    dimensions: ClassVar[tuple[Dimension, ...]]
    page_order: ClassVar[tuple[str, ...]] = ()
    material: ClassVar[Material] = Material.UNITS
    record_type: ClassVar[str | None] = None
    has_parts: ClassVar[bool] = False
    part_words: ClassVar[tuple[str, str]] = ("Part", "Parts")
    item_word: ClassVar[str] = ""
    has_attention: ClassVar[bool] = False
    has_truth: ClassVar[bool] = False
    takes_gold: ClassVar[bool] = True
    order: ClassVar[int] = 100

    def __init__(self, kind: HitKind) -> None:
        self.kind = kind

    @property
    def name(self) -> str:
        """The kind's name."""
        return self.kind.name

    # What is judged

    def item(self, unit: Mapping[str, Any]) -> str:
        """Return the id of what a unit is about."""
        return str(unit[self.item_field])

    def key(self, unit: Mapping[str, Any]) -> str:
        """Return the key of a unit that is no control; unique in a round."""
        return self.item(unit)

    def subject(self, unit: Mapping[str, Any]) -> str:
        """Return what the unit shows, so that an attention check can borrow from something else."""
        return self.kind.subject(unit)

    def unit(self, source: Any) -> dict[str, Any]:
        """Return the unit that asks about ``source``, an object of ``validation.domain.judging.round_material``.

        Raises:
            NotImplementedError: the kind is launched from units alone.
        """
        raise NotImplementedError(f"{self.name} is launched from units")

    def shown_records(self, unit: Mapping[str, Any]) -> list[str]:
        """Return the ids of the records whose content a unit shows; their authors never judge it."""
        return [self.item(unit)] if self.material is Material.RECORDS else []

    def view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return how a unit's item looks on console pages."""
        boxes = [box.model_dump() for box in self.kind.region(unit)]
        groups = [{"index": 1, "boxes": boxes, "label": "Region"}] if boxes else []
        return ItemView(groups=groups, images=tuple(self.kind.image_ids(unit)))

    def record_view(self, images: Sequence[int], index: int, fields: Mapping[str, Any]) -> ItemView | None:
        """Return how a judged record looks that no unit of the project shows; ``None`` where nothing is known."""
        return None

    def record_boxes(self, fields: Mapping[str, Any]) -> Sequence[Mapping[str, int]]:
        """Return the boxes that a judged record's author drew, in image pixels; agreement on them is reported."""
        return ()

    def truth(self, unit: Mapping[str, Any]) -> Mapping[str, Label]:
        """Return the right label of each part, where the unit knows it."""
        return {}

    # How answers are read

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the labels of an answer; fields that it leaves out yield nothing."""
        for dimension in self.dimensions:
            label = answer.get(dimension.name)
            if label is not None:
                yield JudgedLabel(dimension.name, "", label)

    def answer(self, given: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer that gives these labels, by (dimension, part): the inverse of ``labels``."""
        return {name: label for (name, _), label in given.items()}

    def allowed(self, unit: Mapping[str, Any]) -> dict[str, list[Label]]:
        """Return every label that an answer to a unit may give, by ``label_name``, in the order of the page.

        Dimensions of free text and of several labels at once are left out: nothing can be expected of them.
        """
        order = self.page_order or tuple(dimension.name for dimension in self.dimensions)
        single = (self.dimension(name) for name in order)
        return {
            one.name: list(one.page_labels) for one in single if one.is_fixed and one.scale != Scale.MULTIPLE
        }

    def label_name(self, dimension: str, part: str) -> str:
        """Return the name under which a gold item keeps what is expected: dimension, part, or both."""
        if not part:
            return dimension
        return part if len(self.dimensions) == 1 else f"{part}/{dimension}"

    def read_json(self, raw: Any, *, made_up: bool = False) -> list[Given]:
        """Return the judgments in a JSON file of the kind's own; ``made_up``: whether a rehearsal's is taken.

        Raises:
            FileError: the kind has no such file, or it cannot be read.
        """
        raise FileError(f"is JSON, and {self.name} has no JSON file; give CSV or Parquet")

    # Controls

    def gold_text(self, unit: Mapping[str, Any], name: str) -> str:
        """Return what the gold page asks under a ``label_name``: the dimension's question, or the part's text."""
        if name in self.by_name:
            return self.by_name[name].gold_question or self.by_name[name].question
        part = name if len(self.dimensions) == 1 else name.rpartition("/")[0]
        return self.view(unit).texts.get(part, part)

    def dimension_of(self, label_name: str) -> Dimension:
        """Return the dimension that a ``label_name`` is about."""
        if label_name in self.by_name:
            return self.by_name[label_name]
        return (
            self.dimension(label_name.rpartition("/")[2]) if len(self.dimensions) > 1 else self.dimensions[0]
        )

    def disguise(
        self, units: Sequence[Mapping[str, Any]]
    ) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """Return a function that makes a gold unit look like ``units``, or gives ``None`` where it cannot."""
        return dict

    def attention(self, host: Own, others: Sequence[Own], rng: Any) -> Attention:
        """Return an attention check: ``host`` with something of ``others``, which are about other subjects.

        Raises:
            ControlError: it cannot be made of these units.
        """
        raise ControlError(f"attention checks: there are none for {self.name}; use 0")

    # What it comes to

    def sentence(self, figures: Mapping[str, Any]) -> str:
        """Return a report's result as one sentence; empty where there is none."""
        return ""

    def dimension(self, name: str) -> Dimension:
        """Return the dimension called so.

        Raises:
            LookupError: there is none; the message names those that there are.
        """
        found = self.by_name.get(name)
        if found is None:
            raise LookupError(f"{self.name} has no dimension {name!r}; use {', '.join(self.by_name)}")
        return found

    @cached_property
    def by_name(self) -> Mapping[str, Dimension]:
        """The dimensions by their names."""
        return {dimension.name: dimension for dimension in self.dimensions}

    @property
    def decided(self) -> tuple[Dimension, ...]:
        """The dimensions by which items are accepted or rejected."""
        return tuple(one for one in self.dimensions if one.favourable)

    @property
    def ranked(self) -> Dimension | None:
        """The dimension by which an item's parts can be put in order, if there is one."""
        return next((one for one in self.dimensions if self.has_parts and one.is_ordered), None)

    def title_of(self, name: str) -> str:
        """Return a dimension's title; the name itself of one that the kind no longer has."""
        found = self.by_name.get(name)
        return found.title if found else name.capitalize()

    def in_order(self, by_dimension: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return what is kept by dimension in the order of reports; PostgreSQL's JSON has another."""
        return [(name, by_dimension[name]) for name in self.by_name if name in by_dimension]
