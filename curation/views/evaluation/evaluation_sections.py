"""What the pages of evaluations show, made from rows: cells, groups that may be compared, and plots."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from curation.evaluation.measures import MEASURES, Measure, get_count, get_figure, pearson
from curation.evaluation.retrieval import chance_figures
from curation.models import Evaluation, EvaluationSource
from curation.scorer.recipes import BERTSCORE
from curation.selectors.evaluations import SHORTCUT, changed_options, has_default_options, proposal_run_number
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation.evaluation_charts import DotPlot, NamedFigures
from hits.charts.chart import Chart
from hits.charts.scale import decimals
from hits.domain.states import OPEN_JOB_STATES, JobState

MAX_PLOTTED = 12
MIN_HASH_LENGTH = 40  # digits of a sha1, as commits have
SPLIT_LABELS = {"": "all splits"}  # a split without a name is the whole version
TEXT_LABELS = {"inference": "inferences", "clue": "clues"}
SOURCE_LABELS = {
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
    title: str
    short: str
    value: str
    interval: str
    count: int | None
    count_label: str
    unit: str


@dataclass(frozen=True, slots=True)
class EvaluationGroup:
    """Evaluations that may be compared: of the same sets, proposed boxes among them, and regions shown alike.

    Its key names version, split and kind of text, and what is not usual about them.
    """

    key: str
    label: str
    rows: tuple[Evaluation, ...]


def split_label(split: str) -> str:
    """Return a split as a page names it."""
    return SPLIT_LABELS.get(split, split)


def figure_cells(evaluation: Evaluation) -> list[FigureCell]:
    """Return an evaluation's measures in the order of the tables; what was not measured is a dash.

    Of people's judgments the comparison figure is people's own: one person's ratings, measured by the other's.
    """
    own = {"comparison": ("comparison", "human")} if evaluation.source == EvaluationSource.JUDGMENTS else {}
    return [
        _cell(evaluation.figures, measure, own.get(measure.name, measure.path))
        for measure in MEASURES.values()
    ]


def all_figure_cells(evaluation: Evaluation) -> list[FigureCell]:
    """Return an evaluation's measures, and its BERTScore where it has one, which few have."""
    bertscore = _cell(evaluation.figures, BERTSCORE, BERTSCORE.path)
    return figure_cells(evaluation) + ([] if bertscore.count is None else [bertscore])


TOO_FEW = "too few for an interval"


def _cell(figures: Mapping[str, Any], measure: Measure, path: tuple[str, str]) -> FigureCell:
    found = get_figure(figures, path)
    value = found.get("value")
    return FigureCell(
        name=measure.name,
        title=measure.title,
        short=measure.short,
        value="–" if value is None else decimals(value, 1),
        interval=charts.interval(found) or (TOO_FEW if value is not None else ""),
        count=get_count(figures, measure) if value is not None else None,
        count_label=measure.count_label,
        unit=measure.unit,
    )


def group_evaluations(evaluations: Iterable[Evaluation]) -> list[EvaluationGroup]:
    """Return the evaluations with figures in groups, the group with the newest one first.

    One without proposed boxes, such as of texts alone, is comparable with any run of them: it is in several groups.
    """
    found: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        if evaluation.figures:
            changed = [f"{name}-{value}" for name, value in changed_options(evaluation).items()]
            key = ":".join([str(evaluation.version_id), evaluation.split, evaluation.texts, *changed])
            found.setdefault(key, []).append(evaluation)
    return [group for key, rows in found.items() for group in _group_by_boxes(key, rows)]


def _group_by_boxes(key: str, rows: Sequence[Evaluation]) -> list[EvaluationGroup]:
    """Return a group for each run of proposed boxes, or one where there is none."""
    runs = list(
        dict.fromkeys(boxes for evaluation in rows if (boxes := proposal_run_number(evaluation)) is not None)
    )
    label = _group_label(rows[0])
    if not runs:
        return [EvaluationGroup(key, label, tuple(rows))]
    return [
        EvaluationGroup(
            f"{key}:run-{run}",
            f"{label}, boxes of run {run}" if len(runs) > 1 else label,
            tuple(evaluation for evaluation in rows if proposal_run_number(evaluation) in {run, None}),
        )
        for run in runs
    ]


def default_group(groups: Sequence[EvaluationGroup]) -> EvaluationGroup | None:
    """Return the newest group in which there is something to compare, else the newest, if any."""
    return next((group for group in groups if len(group.rows) > 1), groups[0] if groups else None)


def _group_label(evaluation: Evaluation) -> str:
    changed = [f"{name.replace('_', ' ')} {value}" for name, value in changed_options(evaluation).items()]
    labels = [
        evaluation.version.name,
        split_label(evaluation.split),
        TEXT_LABELS.get(evaluation.texts, evaluation.texts),
        *changed,
    ]
    return ", ".join(labels)


def dot_plots(rows: Sequence[Evaluation], slug: str) -> list[DotPlot]:
    """Return a dot plot of each measure over evaluations of one group."""
    shown = rows[:MAX_PLOTTED]
    names = _unique_labels(shown)
    chances = _chance_levels(rows)
    candidates = [
        charts.dot_plot(
            measure.title,
            [
                NamedFigures(
                    names[evaluation.pk],
                    reverse("evaluation", args=[slug, evaluation.pk]),
                    {"ours": get_figure(evaluation.figures, measure.path)},
                )
                for evaluation in shown
            ],
            unit=measure.axis,
            lines=_reference_lines(rows, measure, chances),
            note=NOTES.get(measure.name, ""),
        )
        for measure in MEASURES.values()
    ]
    return [plot for plot in candidates if plot is not None]


def _unique_labels(rows: Iterable[Evaluation]) -> dict[int, str]:
    """Return what a plot calls each row: its label, with its number where several have that label."""
    labels = {evaluation.pk: _plot_label(evaluation) for evaluation in rows}
    counts = Counter(labels.values())
    return {pk: f"{label}, {pk}" if counts[label] > 1 else label for pk, label in labels.items()}


NOTES = {
    "comparison": "Pairwise accuracy, 0 is chance and 100 a perfect order.",
    "gt_accuracy": "Each of a photo’s inferences is given to one of its regions.",
    "auto_accuracy": "The best of 100 proposed boxes overlaps with the pair’s by more than half.",
    "p_at_1": "The pair’s own text is ranked first among those of its chunk.",
}


def _plot_label(evaluation: Evaluation) -> str:
    """Return an evaluation's name in plots, with a word where its figures are flattered."""
    return f"{evaluation.label} (pairs known)" if evaluation.known_pairs else evaluation.label


def _chance_levels(rows: Iterable[Evaluation]) -> dict[str, float]:
    """What chance gives, by measure, where arithmetic tells."""
    chances: dict[str, float] = {}
    for evaluation in rows:
        retrieval = evaluation.figures.get("retrieval", {})
        if retrieval.get("instances") and retrieval.get("chunks"):
            chances |= chance_figures([retrieval["instances"] / retrieval["chunks"]])
    return chances | {"comparison": 0.0}


def _reference_lines(
    rows: Iterable[Evaluation], measure: Measure, chances: Mapping[str, float]
) -> dict[str, float]:
    lines = {}
    if measure.name in chances and not measure.is_rank:
        lines["Chance"] = chances[measure.name]
    bounds = {
        "comparison": ("People", ("comparison", "human")),
        "auto_accuracy": ("A right box", ("localization", "auto_oracle_accuracy")),
    }
    if measure.name in bounds:
        label, path = bounds[measure.name]
        values = [get_figure(evaluation.figures, path).get("value") for evaluation in rows]
        known = [value for value in values if value is not None]
        if known:
            lines[label] = known[0]
    return lines


_MODEL_SOURCES = {
    EvaluationSource.SCORER.value,
    EvaluationSource.ENCODER.value,
    EvaluationSource.PREDICTIONS.value,
}


def scatter_plot(rows: Iterable[Evaluation], slug: str) -> Chart | None:
    """Return P@1 against comparison over models that have both (paper 000 fig. 6), if there are two."""
    points = []
    for evaluation in rows:
        x = get_figure(evaluation.figures, MEASURES["p_at_1"].path).get("value")
        y = get_figure(evaluation.figures, MEASURES["comparison"].path).get("value")
        is_model = (
            evaluation.texts == "inference"
            and evaluation.source in _MODEL_SOURCES
            and has_default_options(evaluation)
        )
        if x is not None and y is not None and is_model:
            url = reverse("evaluation", args=[slug, evaluation.pk])
            points.append(
                {"x": x, "y": y, "label": _plot_label(evaluation), "url": url, "kind": evaluation.source}
            )
    if len(points) < 2:  # noqa: PLR2004 - a dot alone shows nothing
        return None
    return charts.comparison_scatter(points, summary=_describe_correlation(points))


def _describe_correlation(points: Sequence[Mapping[str, Any]]) -> str:
    found = pearson([point["x"] for point in points], [point["y"] for point in points])
    subject = f"P@1 against comparison of {len(points)} models"
    if found is None:
        return f"{subject}: too few, or all alike, for a correlation."
    return f"{subject}: their correlation (Pearson) is {decimals(found, 2)}."


def evaluation_state(evaluation: Evaluation) -> str:
    """Return ``done``, ``running``, ``failed`` or ``stopped``: where an evaluation stands."""
    if evaluation.figures:
        return "done"
    job = evaluation.job
    if job is None:
        return "stopped"
    if job.state in OPEN_JOB_STATES:
        return "running"
    return "failed" if job.state == JobState.FAILED else "stopped"


def comparison_plot(evaluation: Evaluation) -> DotPlot | None:
    """Return how a model stands between chance and people on the comparison task; nothing without the task."""
    figures = evaluation.figures
    labels = {
        "model": evaluation.label,
        "human": "One person for the other",
        "oracle": "Both people’s mean",
        "random": "Drawn at random",
    }
    rows = [
        NamedFigures(label, "", {"ours": get_figure(figures, ("comparison", name))})
        for name, label in labels.items()
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


def baseline_meaning(evaluation: Evaluation) -> str:
    """Return what a high figure of a baseline means; empty for models."""
    return MEANINGS.get(str(evaluation.options.get(SHORTCUT, "")), "")


FACTS = {
    "encoder": "Encoder",
    "proposals": "Run of proposals",
    "chunks": "Pairs of each chunk",
    "pairs_sha256": "Pairs",
    "seal": "Version’s seal",
}


def fact_rows(facts: Mapping[str, Any], *, without: Iterable[str] = ()) -> list[tuple[str, str, bool]]:
    """Return stored facts as name, words and whether they are a long hash; empty and nested ones are left out."""
    rows = []
    for name, value in facts.items():
        if name in without or value in ("", None, [], {}) or isinstance(value, Mapping):
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        is_hash = len(text) >= MIN_HASH_LENGTH and " " not in text
        rows.append((FACTS.get(name, name.replace("_", " ").capitalize()), text, is_hash))
    return rows
