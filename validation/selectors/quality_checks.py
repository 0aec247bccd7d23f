"""The gold desk: gold items with how they were answered, and judged units that may become gold."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from hits import registry
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Match
from hits.models import Assignment, Image, Project, Unit
from hits.selectors.images.images import facts
from hits.selectors.records import NOT_REJECTED
from validation.domain.judging.quality_checks import check, labels_of
from validation.domain.judging.spec import ItemView
from validation.models import GoldItem
from validation.registry import spec_of, specs

PER_PAGE = 20
DOUBTFUL_FROM, DOUBTFUL_PERCENT = 10, 60
_STANDING = [status.value for status in NOT_REJECTED]


@dataclass(frozen=True, slots=True)
class Looks:
    """How a unit looks on the gold desk: what its spec says, its images that are there, and what it is called."""

    view: ItemView
    images: Sequence[ImageFacts]
    called: str

    @property
    def boxes(self) -> Sequence[Mapping[str, Any]]:
        """The boxes on its first image."""
        return [box for group in self.view.groups for box in group["boxes"]]

    @property
    def lacks_images(self) -> bool:
        """Whether an image was taken down; the unit is left out of rounds then."""
        return len(self.images) < len(self.view.images)


@dataclass(frozen=True, slots=True)
class GoldLine:
    """A gold item as the desk lists it: how many answered it, and how many of them as expected."""

    gold: GoldItem
    looks: Looks
    answered: int
    right: int

    @property
    def percent(self) -> float | None:
        """Share answered as expected, 0 to 100; ``None`` without answers."""
        return 100 * self.right / self.answered if self.answered else None

    @property
    def doubtful(self) -> bool:
        """Whether so many miss it that the item may be wrong, rather than they."""
        return self.answered >= DOUBTFUL_FROM and 100 * self.right < DOUBTFUL_PERCENT * self.answered


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """A unit that people judged: how many did, and how often each label was given, by what it is about."""

    unit: Unit
    looks: Looks
    judges: int
    votes: Mapping[str, Mapping[str | int, int]]
    is_gold: bool


@dataclass(frozen=True, slots=True)
class GoldPage:
    """One page of the gold desk, and how many items there are: used ones, and retired ones."""

    page: "Page[GoldItem]"
    lines: Sequence[GoldLine]
    active: int
    retired: int


def gold_kinds() -> list[str]:
    """Return the kinds whose judged units can become gold items; where units know what is right, none are needed."""
    return [spec.name for spec in specs() if spec.takes_gold]


def gold_page(project: Project, kind: str, *, retired: bool = False, page: str = "1") -> GoldPage:
    """Return a page of a kind's gold items, newest first; five queries."""
    rows = GoldItem.objects.filter(project=project, kind=kind)
    counts = rows.aggregate(
        active=Count("pk", filter=Q(is_active=True)), retired=Count("pk", filter=Q(is_active=False))
    )
    chosen = rows.filter(is_active=not retired).select_related("created_by").order_by("-pk")
    found = Paginator(chosen, PER_PAGE).get_page(page)
    golds = list(found)
    answers = _answers(golds, kind)
    looks = _looks(kind, [gold.payload for gold in golds])
    lines = [
        GoldLine(gold, look, len(answers[gold.pk]), sum(answers[gold.pk]))
        for gold, look in zip(golds, looks, strict=True)
    ]
    return GoldPage(found, lines, counts["active"], counts["retired"])


def _answers(golds: Collection[GoldItem], kind: str) -> dict[int, list[bool]]:
    """Return by gold item whether each answer was as expected when its unit was launched; one query."""
    found: dict[int, list[bool]] = defaultdict(list)
    rows = Assignment.objects.filter(
        match=Match.MATCHED,
        status__in=_STANDING,
        hit__unit__control__gold__in=[gold.pk for gold in golds],
    )
    fields = ("hit__unit__control__gold_id", "hit__unit__control__expected", "submission__answer")
    for gold, expected, answer in rows.values_list(*fields):
        found[gold].append(check(answer, expected, spec_of(kind)).passed)
    return found


def _looks(kind: str, payloads: Sequence[Mapping[str, Any]]) -> list[Looks]:
    """Return how units of a kind look, in their order; one query."""
    spec = spec_of(kind)
    views = [spec.view(payload) for payload in payloads]
    wanted = {pk for view in views for pk in view.images}
    there = Image.objects.filter(pk__in=wanted, withdrawn_at__isnull=True)
    known = {image.pk: facts(image) for image in there}
    return [
        Looks(view, [known[pk] for pk in view.images if pk in known], f"{spec.item_word} {item}".strip())
        for view, item in zip(views, map(spec.item, payloads), strict=True)
    ]


def judged_units(
    project: Project, kind: str, *, item: str = "", page: str = "1"
) -> tuple["Page[Unit]", list[JudgedUnit]]:
    """Return a page of units that people judged, those with most judges first; ``item`` finds one; six queries."""
    rows = _judged(project, kind)
    if item:
        rows = rows.filter(**{f"payload__{spec_of(kind).item_field}": item})
    found = Paginator(rows, PER_PAGE).get_page(page)
    return found, _with_votes(project, kind, list(found))


def judged_unit(project: Project, kind: str, pk: int) -> JudgedUnit | None:
    """Return one judged unit of the project, or ``None``; a control is none."""
    unit = _judged(project, kind).filter(pk=pk).first()
    return None if unit is None else _with_votes(project, kind, [unit])[0]


def _judged(project: Project, kind: str) -> "QuerySet[Unit]":
    counted = Count(
        "hits__assignments",
        filter=Q(hits__assignments__match=Match.MATCHED, hits__assignments__status__in=_STANDING),
    )
    rows = Unit.objects.filter(batch__project=project, batch__kind=kind, control=None).select_related("batch")
    return rows.annotate(judges=counted).filter(judges__gt=0).order_by("-judges", "-pk")


def _with_votes(project: Project, kind: str, units: Sequence[Unit]) -> list[JudgedUnit]:
    votes: dict[int, dict[str, Counter[str | int]]] = defaultdict(lambda: defaultdict(Counter))
    judges: Counter[int] = Counter()
    rows = Assignment.objects.filter(hit__unit__in=units, match=Match.MATCHED, status__in=_STANDING)
    for unit, answer in rows.values_list("hit__unit_id", "submission__answer"):
        judges[unit] += 1
        for name, label in labels_of(answer, spec_of(kind)).items():
            if isinstance(label, str | int):  # several labels at once, and texts, are nothing to count here
                votes[unit][name][label] += 1
    looks = _looks(kind, [unit.payload for unit in units])
    known = golds_among(project, kind, [spec_of(kind).item(unit.payload) for unit in units])
    return [
        JudgedUnit(
            unit,
            look,
            judges[unit.pk],
            votes[unit.pk],
            spec_of(kind).item(unit.payload) in known,
        )
        for unit, look in zip(units, looks, strict=True)
    ]


def usable_golds(project: Project, kind: str) -> list[GoldItem]:
    """Return the active gold items of a kind whose photos are still there, oldest first; two queries."""
    definition = registry.get(kind)
    gone = set(project.images.filter(withdrawn_at__isnull=False).values_list("pk", flat=True))
    rows = GoldItem.objects.filter(project=project, kind=kind, is_active=True).order_by("pk")
    return [row for row in rows if gone.isdisjoint(definition.image_ids(row.payload))]


def golds_among(project: Project, kind: str, items: Collection[str]) -> set[str]:
    """Return which of these items are gold items, used or retired; one query."""
    field = f"payload__{spec_of(kind).item_field}"
    rows = GoldItem.objects.filter(project=project, kind=kind, **{f"{field}__in": list(items)})
    payloads: list[dict[str, Any]] = list(rows.values_list("payload", flat=True))
    return {spec_of(kind).item(payload) for payload in payloads}


def gold_of(project: Project, pk: int) -> GoldItem | None:
    """Return one gold item of the project, or ``None``."""
    return GoldItem.objects.filter(project=project, pk=pk).first()


def looks_of(gold: GoldItem) -> Looks:
    """Return how a gold item looks."""
    return _looks(gold.kind, [gold.payload])[0]
