"""Read gold items with their answers, and judged units that can become gold items."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from hits import registry
from hits.domain.images.image_facts import ImageFacts
from hits.models import Assignment, Image, Project, Unit
from hits.selectors.images.images import image_facts
from validation.domain.judging.quality_checks import compare_with_expected, labels_by_name
from validation.domain.judging.spec import ItemView
from validation.models import GoldItem
from validation.registry import spec_of, specs
from validation.selectors.ratings import counted_assignment_filter

PER_PAGE = 20
DOUBTFUL_MIN_ANSWERS, DOUBTFUL_PERCENT = 10, 60  # doubtful: fewer than 60 % of answers are right


@dataclass(frozen=True, slots=True)
class UnitPreview:
    """What the gold pages show of a unit: the spec's view, the available images, and a label."""

    view: ItemView
    images: Sequence[ImageFacts]
    label: str

    @property
    def boxes(self) -> Sequence[Mapping[str, Any]]:
        """The boxes on the first image."""
        return [box for group in self.view.groups for box in group["boxes"]]

    @property
    def lacks_images(self) -> bool:
        """Whether an image was taken down. Rounds leave such a unit out."""
        return len(self.images) < len(self.view.images)


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A gold item as the list shows it: the number of answers, and how many of them are as expected."""

    gold: GoldItem
    preview: UnitPreview
    answered: int
    correct: int

    @property
    def percent(self) -> float | None:
        """Percent of answers that are as expected; ``None`` without answers."""
        return 100 * self.correct / self.answered if self.answered else None

    @property
    def is_doubtful(self) -> bool:
        """Whether so many workers miss the item that the expected answer may be wrong."""
        return self.answered >= DOUBTFUL_MIN_ANSWERS and 100 * self.correct < DOUBTFUL_PERCENT * self.answered


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """A judged unit: the number of judges, and the count of each label by question."""

    unit: Unit
    preview: UnitPreview
    judge_count: int
    votes: Mapping[str, Mapping[str | int, int]]
    is_gold: bool


@dataclass(frozen=True, slots=True)
class GoldPage:
    """One page of the gold list, with the numbers of active and retired items."""

    page: "Page[GoldItem]"
    rows: Sequence[GoldRow]
    active: int
    retired: int


def gold_kinds() -> list[str]:
    """Return the kinds whose judged units can become gold items; kinds with an answer key need none."""
    return [spec.name for spec in specs() if spec.can_be_gold]


def gold_page(project: Project, kind: str, *, retired: bool = False, page: str = "1") -> GoldPage:
    """Return a page of a kind's gold items, newest first; five queries."""
    rows = GoldItem.objects.filter(project=project, kind=kind)
    counts = rows.aggregate(
        active=Count("pk", filter=Q(is_active=True)), retired=Count("pk", filter=Q(is_active=False))
    )
    selected = rows.filter(is_active=not retired).select_related("created_by").order_by("-pk")
    found = Paginator(selected, PER_PAGE).get_page(page)
    gold_items = list(found)
    answers = _correctness_by_gold_item(gold_items, kind)
    previews = _build_previews(kind, [gold.payload for gold in gold_items])
    gold_rows = [
        GoldRow(gold, preview, len(answers[gold.pk]), sum(answers[gold.pk]))
        for gold, preview in zip(gold_items, previews, strict=True)
    ]
    return GoldPage(found, gold_rows, counts["active"], counts["retired"])


def _correctness_by_gold_item(gold_items: Collection[GoldItem], kind: str) -> dict[int, list[bool]]:
    """Return, by gold item, whether each answer is what was expected at launch; one query."""
    found: dict[int, list[bool]] = defaultdict(list)
    rows = Assignment.objects.filter(
        counted_assignment_filter(), hit__unit__quality_check__gold_item__in=[gold.pk for gold in gold_items]
    )
    fields = (
        "hit__unit__quality_check__gold_item_id",
        "hit__unit__quality_check__expected",
        "submission__answer",
    )
    for gold, expected, answer in rows.values_list(*fields):
        found[gold].append(compare_with_expected(answer, expected, spec_of(kind)).passed)
    return found


def _build_previews(kind: str, payloads: Sequence[Mapping[str, Any]]) -> list[UnitPreview]:
    """Return the previews of units of a kind, in order; one query."""
    spec = spec_of(kind)
    views = [spec.item_view(payload) for payload in payloads]
    image_ids = {pk for view in views for pk in view.images}
    available = Image.objects.filter(pk__in=image_ids, taken_down_at__isnull=True)
    facts_by_id = {image.pk: image_facts(image) for image in available}
    return [
        UnitPreview(
            view,
            [facts_by_id[pk] for pk in view.images if pk in facts_by_id],
            f"{spec.item_label} {item}".strip(),
        )
        for view, item in zip(views, map(spec.item_id, payloads), strict=True)
    ]


def judged_unit_page(
    project: Project, kind: str, *, item: str = "", page: str = "1"
) -> tuple["Page[Unit]", list[JudgedUnit]]:
    """Return a page of judged units, most judges first; ``item`` selects one; six queries."""
    rows = _judged_units(project, kind)
    if item:
        rows = rows.filter(**{f"payload__{spec_of(kind).item_field}": item})
    found = Paginator(rows, PER_PAGE).get_page(page)
    return found, _build_judged_units(project, kind, list(found))


def judged_unit(project: Project, kind: str, pk: int) -> JudgedUnit | None:
    """Return one judged unit of the project, or ``None``; quality checks are excluded."""
    unit = _judged_units(project, kind).filter(pk=pk).first()
    return None if unit is None else _build_judged_units(project, kind, [unit])[0]


def _judged_units(project: Project, kind: str) -> "QuerySet[Unit]":
    judge_count = Count("hits__assignments", filter=counted_assignment_filter("hits__assignments__"))
    rows = Unit.objects.filter(batch__project=project, batch__kind=kind, quality_check=None).select_related(
        "batch"
    )
    return rows.annotate(judge_count=judge_count).filter(judge_count__gt=0).order_by("-judge_count", "-pk")


def _build_judged_units(project: Project, kind: str, units: Sequence[Unit]) -> list[JudgedUnit]:
    votes: dict[int, dict[str, Counter[str | int]]] = defaultdict(lambda: defaultdict(Counter))
    judges: Counter[int] = Counter()
    rows = Assignment.objects.filter(counted_assignment_filter(), hit__unit__in=units)
    for unit, answer in rows.values_list("hit__unit_id", "submission__answer"):
        judges[unit] += 1
        for name, label in labels_by_name(answer, spec_of(kind)).items():
            if isinstance(label, str | int):  # multiple choices and texts cannot be counted
                votes[unit][name][label] += 1
    previews = _build_previews(kind, [unit.payload for unit in units])
    gold_item_ids = find_gold_item_ids(project, kind, [spec_of(kind).item_id(unit.payload) for unit in units])
    return [
        JudgedUnit(
            unit,
            preview,
            judges[unit.pk],
            votes[unit.pk],
            spec_of(kind).item_id(unit.payload) in gold_item_ids,
        )
        for unit, preview in zip(units, previews, strict=True)
    ]


def usable_gold_items(project: Project, kind: str) -> list[GoldItem]:
    """Return the active gold items of a kind without a photo that was taken down, oldest first; two queries."""
    definition = registry.get_kind(kind)
    taken_down = set(project.images.filter(taken_down_at__isnull=False).values_list("pk", flat=True))
    rows = GoldItem.objects.filter(project=project, kind=kind, is_active=True).order_by("pk")
    return [row for row in rows if taken_down.isdisjoint(definition.image_ids(row.payload))]


def find_gold_item_ids(project: Project, kind: str, items: Collection[str]) -> set[str]:
    """Return which of these items are gold items, active or retired; one query."""
    field = f"payload__{spec_of(kind).item_field}"
    rows = GoldItem.objects.filter(project=project, kind=kind, **{f"{field}__in": list(items)})
    payloads: list[dict[str, Any]] = list(rows.values_list("payload", flat=True))
    return {spec_of(kind).item_id(payload) for payload in payloads}


def gold_preview(gold: GoldItem) -> UnitPreview:
    """Return the preview of a gold item."""
    return _build_previews(gold.kind, [gold.payload])[0]
