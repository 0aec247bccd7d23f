"""What the pages of evaluations show, made from rows: cells, groups that may be compared, and plots."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from curation.evaluation.measures import MEASURES, Measure, count_of, figure_of, pearson
from curation.evaluation.retrieval import by_chance
from curation.models import Evaluation, EvaluationSource
from curation.scorer.recipes import BERTSCORE
from curation.selectors.evaluations import SHORTCUT, boxes_of, differing, is_usual
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation.evaluation_charts import DotPlot, Named
from curation.views.plots import Plot
from hits.domain.states import OPEN_JOB_STATES, JobState
from validation.domain.reports.plots import decimals

MOST_PLOTTED = 12
SHORTEST_HASH = 40  # digits of a sha1, as commits have
SPLIT_WORDS = {"": "all splits"}  # a split without a name is the whole version
TEXT_WORDS = {"inference": "inferences", "clue": "clues"}
SOURCE_WORDS = {
    EvaluationSource.SCORER.value: "Scorer",
    EvaluationSource.ENCODER.value: "Encoder, not trained here",
    EvaluationSource.BASELINE.value: "Baseline",
    EvaluationSource.PREDICTIONS.value: "Predictions file",
    EvaluationSource.JUDGMENTS.value: "People’s judgments",
}


@dataclass(frozen=True, slots=True)
class FigureCell:
    """A figure in a table: its value and interval as words, and over how many."""

    name: str
    words: str
    short: str
    value: str
    interval: str
    count: int | None
    of: str
    unit: str


@dataclass(frozen=True, slots=True)
class Group:
    """Evaluations that may be compared: of the same sets, proposed boxes among them, and regions shown alike.

    Its key names version, split and kind of text, and what is not usual about them.
    """

    key: str
    words: str
    rows: tuple[Evaluation, ...]


def split_words(split: str) -> str:
    """Return a split as a page names it."""
    return SPLIT_WORDS.get(split, split)


def cells(evaluation: Evaluation) -> list[FigureCell]:
    """Return an evaluation's measures in the order of the tables; what was not measured is a dash.

    Of people's judgments the comparison figure is people's own: one person's ratings, measured by the other's.
    """
    own = {"comparison": ("comparison", "human")} if evaluation.source == EvaluationSource.JUDGMENTS else {}
    return [
        _cell(evaluation.figures, measure, own.get(measure.name, measure.path))
        for measure in MEASURES.values()
    ]


def all_cells(evaluation: Evaluation) -> list[FigureCell]:
    """Return an evaluation's measures, and its BERTScore where it has one, which few have."""
    more = _cell(evaluation.figures, BERTSCORE, BERTSCORE.path)
    return cells(evaluation) + ([] if more.count is None else [more])


TOO_FEW = "too few for an interval"


def _cell(figures: Mapping[str, Any], measure: Measure, path: tuple[str, str]) -> FigureCell:
    found = figure_of(figures, path)
    value = found.get("value")
    return FigureCell(
        name=measure.name,
        words=measure.title,
        short=measure.short,
        value="–" if value is None else decimals(value, 1),
        interval=charts.interval(found) or (TOO_FEW if value is not None else ""),
        count=count_of(figures, measure) if value is not None else None,
        of=measure.counted,
        unit=measure.unit,
    )


def groups_of(evaluations: Iterable[Evaluation]) -> list[Group]:
    """Return the evaluations with figures in groups, the group with the newest one first.

    One without proposed boxes, such as of texts alone, is comparable with any run of them: it is in several groups.
    """
    found: dict[str, list[Evaluation]] = {}
    for one in evaluations:
        if one.figures:
            unlike = [f"{name}-{value}" for name, value in differing(one).items()]
            key = ":".join([str(one.version_id), one.split, one.texts, *unlike])
            found.setdefault(key, []).append(one)
    return [group for key, rows in found.items() for group in _by_boxes(key, rows)]


def _by_boxes(key: str, rows: Sequence[Evaluation]) -> list[Group]:
    """Return a group for each run of proposed boxes, or one where there is none."""
    runs = list(dict.fromkeys(boxes for one in rows if (boxes := boxes_of(one)) is not None))
    words = _group_words(rows[0])
    if not runs:
        return [Group(key, words, tuple(rows))]
    return [
        Group(
            f"{key}:run-{run}",
            f"{words}, boxes of run {run}" if len(runs) > 1 else words,
            tuple(one for one in rows if boxes_of(one) in {run, None}),
        )
        for run in runs
    ]


def most_telling(groups: Sequence[Group]) -> Group | None:
    """Return the newest group in which there is something to compare, else the newest, if any."""
    return next((one for one in groups if len(one.rows) > 1), groups[0] if groups else None)


def _group_words(one: Evaluation) -> str:
    unlike = [f"{name.replace('_', ' ')} {value}" for name, value in differing(one).items()]
    said = [one.version.name, split_words(one.split), TEXT_WORDS.get(one.texts, one.texts), *unlike]
    return ", ".join(said)


def plots(rows: Sequence[Evaluation], slug: str) -> list[DotPlot]:
    """Return a dot plot of each measure over evaluations of one group."""
    shown = rows[:MOST_PLOTTED]
    names = _told_apart(shown)
    chances = _chances(rows)
    made = [
        charts.dot_plot(
            measure.title,
            [
                Named(
                    names[one.pk],
                    reverse("evaluation", args=[slug, one.pk]),
                    {"ours": figure_of(one.figures, measure.path)},
                )
                for one in shown
            ],
            unit=measure.axis,
            lines=_lines(rows, measure, chances),
            note=NOTES.get(measure.name, ""),
        )
        for measure in MEASURES.values()
    ]
    return [plot for plot in made if plot is not None]


def _told_apart(rows: Iterable[Evaluation]) -> dict[int, str]:
    """Return what a plot calls each row: its label, with its number where several have that label."""
    labels = {one.pk: _marked(one) for one in rows}
    often = Counter(labels.values())
    return {pk: f"{label}, {pk}" if often[label] > 1 else label for pk, label in labels.items()}


NOTES = {
    "comparison": "Pairwise accuracy, 0 is chance and 100 a perfect order.",
    "gt_accuracy": "Each of a photo’s inferences is given to one of its regions.",
    "auto_accuracy": "The best of 100 proposed boxes overlaps with the pair’s by more than half.",
    "p_at_1": "The pair’s own text is ranked first among those of its chunk.",
}


def _marked(one: Evaluation) -> str:
    """Return an evaluation's name in plots, with a word where its figures are flattered."""
    return f"{one.label} (pairs known)" if one.known_pairs else one.label


def _chances(rows: Iterable[Evaluation]) -> dict[str, float]:
    """What chance gives, by measure, where arithmetic tells."""
    chances: dict[str, float] = {}
    for one in rows:
        retrieval = one.figures.get("retrieval", {})
        if retrieval.get("instances") and retrieval.get("chunks"):
            chances |= by_chance([retrieval["instances"] / retrieval["chunks"]])
    return chances | {"comparison": 0.0}


def _lines(rows: Iterable[Evaluation], measure: Measure, chances: Mapping[str, float]) -> dict[str, float]:
    lines = {}
    if measure.name in chances and not measure.is_rank:
        lines["Chance"] = chances[measure.name]
    bounds = {
        "comparison": ("People", ("comparison", "human")),
        "auto_accuracy": ("A right box", ("localization", "auto_oracle_accuracy")),
    }
    if measure.name in bounds:
        words, path = bounds[measure.name]
        values = [figure_of(one.figures, path).get("value") for one in rows]
        known = [value for value in values if value is not None]
        if known:
            lines[words] = known[0]
    return lines


_MODELS = {EvaluationSource.SCORER.value, EvaluationSource.ENCODER.value, EvaluationSource.PREDICTIONS.value}


def scatter_of(rows: Iterable[Evaluation], slug: str) -> Plot | None:
    """Return P@1 against comparison over models that have both (paper 000 fig. 6), if there are two."""
    points = []
    for one in rows:
        x = figure_of(one.figures, MEASURES["p_at_1"].path).get("value")
        y = figure_of(one.figures, MEASURES["comparison"].path).get("value")
        is_model = one.texts == "inference" and one.source in _MODELS and is_usual(one)
        if x is not None and y is not None and is_model:
            url = reverse("evaluation", args=[slug, one.pk])
            points.append({"x": x, "y": y, "label": _marked(one), "url": url, "kind": one.source})
    if len(points) < 2:  # noqa: PLR2004 - a dot alone shows nothing
        return None
    return charts.scatter(points, summary=_correlation_words(points))


def _correlation_words(points: Sequence[Mapping[str, Any]]) -> str:
    found = pearson([point["x"] for point in points], [point["y"] for point in points])
    said = f"P@1 against comparison of {len(points)} models"
    if found is None:
        return f"{said}: too few, or all alike, for a correlation."
    return f"{said}: their correlation (Pearson) is {decimals(found, 2)}."


def state_of(evaluation: Evaluation) -> str:
    """Return ``done``, ``running``, ``failed`` or ``stopped``: where an evaluation stands."""
    if evaluation.figures:
        return "done"
    job = evaluation.job
    if job is None:
        return "stopped"
    if job.state in OPEN_JOB_STATES:
        return "running"
    return "failed" if job.state == JobState.FAILED else "stopped"


def compared_plot(evaluation: Evaluation) -> DotPlot | None:
    """Return how a model stands between chance and people on the comparison task; nothing without the task."""
    figures = evaluation.figures
    words = {
        "model": evaluation.label,
        "human": "One person for the other",
        "oracle": "Both people’s mean",
        "random": "Drawn at random",
    }
    rows = [
        Named(said, "", {"ours": figure_of(figures, ("comparison", name))}) for name, said in words.items()
    ]
    return charts.dot_plot(
        "Comparison: who orders the candidates as people do",
        rows,
        lines={"Chance": 0.0},
        note=NOTES["comparison"],
    )


MEANINGS = {
    "random": "Scores are drawn. Every model has to do better than this.",
    "text_only": (
        "No photo is looked at: the true clue’s words are compared with each inference’s. The more this reaches, the "
        "more inferences follow from the clue’s words alone, and the less a high figure of a model says about seeing."
    ),
    "answer_prior": (
        "Neither photo nor clue is looked at: a candidate’s own words decide. More than chance means that some "
        "inferences are liked, or wrong, whatever the photo; choose candidates anew or from other photos."
    ),
}


def meaning_of(evaluation: Evaluation) -> str:
    """Return what a high figure of a baseline means; empty for models."""
    return MEANINGS.get(str(evaluation.options.get(SHORTCUT, "")), "")


FACTS = {
    "encoder": "Encoder",
    "proposals": "Run of proposals",
    "chunks": "Pairs of each chunk",
    "pairs_sha256": "Pairs",
    "seal": "Version’s seal",
}


def facts_of(found: Mapping[str, Any], *, without: Iterable[str] = ()) -> list[tuple[str, str, bool]]:
    """Return stored facts as name, words and whether they are a long hash; empty and nested ones are left out."""
    made = []
    for name, value in found.items():
        if name in without or value in ("", None, [], {}) or isinstance(value, Mapping):
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        is_hash = len(text) >= SHORTEST_HASH and " " not in text
        made.append((FACTS.get(name, name.replace("_", " ").capitalize()), text, is_hash))
    return made
