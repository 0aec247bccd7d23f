"""Sections of the evaluation pages: table cells, groups of comparable evaluations, and plots."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from curation.evaluation.measures import MEASURES, Measure, get_count, get_figure, pearson
from curation.evaluation.retrieval import retrieval_chance_figures
from curation.models import ChoiceEvaluation, Evaluation, EvaluationSource
from curation.scorer.recipes import BERTSCORE
from curation.selectors.evaluations import (
    SHORTCUT_OPTION,
    has_default_options,
    non_default_options,
    proposal_run_number,
)
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation.evaluation_charts import DotPlot, DotRowData
from hits.charts.chart import Chart
from hits.charts.scale import decimal_text
from hits.domain.states import OPEN_JOB_STATES, JobState

MAX_PLOTTED = 12
MIN_HASH_LENGTH = 40  # digits of a sha1, as in commits
SPLIT_LABELS = {"": "all splits"}  # an empty split means the whole version
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
    """A figure in a table: its formatted value and interval, and the number of items."""

    name: str
    title: str
    label: str
    value: str
    interval: str
    count: int | None
    count_label: str
    unit: str


@dataclass(frozen=True, slots=True)
class EvaluationGroup:
    """Comparable evaluations: of the same sets (including proposed boxes), with regions shown in the same way.

    The key has version, split, kind of text, and any non-default options.
    """

    key: str
    label: str
    rows: tuple[Evaluation, ...]


def split_label(split: str) -> str:
    """Return a split's label."""
    return SPLIT_LABELS.get(split, split)


def figure_cells(evaluation: Evaluation) -> list[FigureCell]:
    """Return an evaluation's measures in table order; missing ones are dashes.

    For people's judgments, the comparison figure is one person's ratings measured against the other's.
    """
    own = {"comparison": ("comparison", "human")} if evaluation.source == EvaluationSource.JUDGMENTS else {}
    paths = ((measure, own.get(measure.name, measure.figure_path)) for measure in MEASURES.values())
    return [_figure_cell(evaluation.figures, measure, path) for measure, path in paths]


def figure_cells_with_bertscore(evaluation: Evaluation) -> list[FigureCell]:
    """Return an evaluation's measures, and its BERTScore if it was requested."""
    bertscore = _figure_cell(evaluation.figures, BERTSCORE, BERTSCORE.figure_path)
    return figure_cells(evaluation) + ([] if bertscore.count is None else [bertscore])


def _figure_cell(figures: Mapping[str, Any], measure: Measure, path: tuple[str, str]) -> FigureCell:
    found = get_figure(figures, path)
    value = found.get("value")
    return FigureCell(
        name=measure.name,
        title=measure.title,
        label=measure.label,
        value="–" if value is None else decimal_text(value, 1),
        interval=charts.format_interval(found) or ("no interval" if value is not None else ""),
        count=get_count(figures, measure) if value is not None else None,
        count_label=measure.count_label,
        unit=measure.unit,
    )


def group_evaluations(evaluations: Iterable[Evaluation]) -> list[EvaluationGroup]:
    """Return the finished evaluations in groups, the group with the newest one first.

    Evaluations without proposed boxes are comparable with any run, so they can be in several groups.
    """
    found: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        if evaluation.figures:
            changed = [f"{name}-{value}" for name, value in non_default_options(evaluation).items()]
            key = ":".join([str(evaluation.version_id), evaluation.split, evaluation.texts, *changed])
            found.setdefault(key, []).append(evaluation)
    return [group for key, rows in found.items() for group in _group_by_boxes(key, rows)]


def _group_by_boxes(key: str, rows: Sequence[Evaluation]) -> list[EvaluationGroup]:
    """Return a group for each run of proposed boxes, or one group if there is none."""
    numbers = map(proposal_run_number, rows)
    runs = list(dict.fromkeys(number for number in numbers if number is not None))
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
    """Return the newest group with several evaluations, or else the newest, if any."""
    return next((group for group in groups if len(group.rows) > 1), groups[0] if groups else None)


def _group_label(evaluation: Evaluation) -> str:
    changed = [f"{name.replace('_', ' ')} {value}" for name, value in non_default_options(evaluation).items()]
    labels = [
        evaluation.version.name,
        split_label(evaluation.split),
        TEXT_LABELS.get(evaluation.texts, evaluation.texts),
        *changed,
    ]
    return ", ".join(labels)


def dot_plots(rows: Sequence[Evaluation], project_slug: str) -> list[DotPlot]:
    """Return a dot plot of each measure over evaluations of one group."""
    shown = rows[:MAX_PLOTTED]
    names = _unique_labels(shown)
    chances = _chance_levels(rows)
    candidates = [
        charts.dot_plot(
            measure.title,
            [
                DotRowData(
                    names[evaluation.pk],
                    reverse("evaluation", args=[project_slug, evaluation.pk]),
                    {"ours": get_figure(evaluation.figures, measure.figure_path)},
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
    """Return each row's name in plots: its label, with its number if the label is not unique."""
    labels = {evaluation.pk: _plot_label(evaluation) for evaluation in rows}
    counts = Counter(labels.values())
    return {pk: f"{label}, {pk}" if counts[label] > 1 else label for pk, label in labels.items()}


NOTES = {
    "comparison": "Pairwise accuracy, rescaled: 0 is chance, 100 a perfect order.",
    "gt_accuracy": "Each of a photo’s inferences is assigned to one of its regions.",
    "auto_accuracy": "The best of 100 proposed boxes has an IoU over 0.5 with the pair’s box.",
    "p_at_1": "Share of pairs whose own text ranks first in its chunk.",
}


def _plot_label(evaluation: Evaluation) -> str:
    """Return an evaluation's name in plots, with a note if its pairs were known to the model."""
    return f"{evaluation.label} (pairs known)" if evaluation.known_pair_count else evaluation.label


def _chance_levels(rows: Iterable[Evaluation]) -> dict[str, float]:
    """Return the chance level of each measure for which it is known."""
    chances: dict[str, float] = {}
    for evaluation in rows:
        retrieval = evaluation.figures.get("retrieval", {})
        if retrieval.get("instances") and retrieval.get("chunks"):
            chances |= retrieval_chance_figures([retrieval["instances"] / retrieval["chunks"]])
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


_MODELS = (EvaluationSource.SCORER, EvaluationSource.ENCODER, EvaluationSource.PREDICTIONS)
_MODEL_SOURCES = {source.value for source in _MODELS}


def comparison_scatter_plot(rows: Iterable[Evaluation], project_slug: str) -> Chart | None:
    """Return a plot of P@1 against comparison (Hessel et al., ECCV 2022, figure 6), if two models have both."""
    points = []
    for evaluation in rows:
        x = get_figure(evaluation.figures, MEASURES["p_at_1"].figure_path).get("value")
        y = get_figure(evaluation.figures, MEASURES["comparison"].figure_path).get("value")
        is_model = (
            evaluation.texts == "inference"
            and evaluation.source in _MODEL_SOURCES
            and has_default_options(evaluation)
        )
        if x is not None and y is not None and is_model:
            url = reverse("evaluation", args=[project_slug, evaluation.pk])
            label = _plot_label(evaluation)
            points.append({"x": x, "y": y, "label": label, "url": url, "kind": evaluation.source})
    if len(points) < 2:  # noqa: PLR2004 - a dot alone shows nothing
        return None
    return charts.comparison_scatter(points, summary=_describe_correlation(points))


def _describe_correlation(points: Sequence[Mapping[str, Any]]) -> str:
    found = pearson([point["x"] for point in points], [point["y"] for point in points])
    subject = f"P@1 and comparison of {len(points)} models"
    if found is None:
        return f"{subject}: too few different values for a correlation."
    return f"{subject}: Pearson correlation {decimal_text(found, 2)}."


def evaluation_state(evaluation: Evaluation | ChoiceEvaluation) -> str:
    """Return an evaluation's state: ``done``, ``running``, ``failed`` or ``stopped``."""
    if evaluation.figures:
        return "done"
    job = evaluation.job
    if job is None:
        return "stopped"
    if job.state in OPEN_JOB_STATES:
        return "running"
    return "failed" if job.state == JobState.FAILED else "stopped"


def comparison_plot(evaluation: Evaluation) -> DotPlot | None:
    """Return a plot of a model between chance and people on the comparison task, if it has that task."""
    figures = evaluation.figures
    labels = {
        "model": evaluation.label,
        "human": "One judge, measured against the other",
        "oracle": "Mean of both judges",
    }
    rows = [
        DotRowData(label, "", {"ours": get_figure(figures, ("comparison", name))})
        for name, label in labels.items()
    ]
    return charts.dot_plot(
        "Comparison: agreement with people’s order of candidates",
        rows,
        lines={"Chance": 0.0},
        note=NOTES["comparison"],
    )


BASELINE_MEANINGS = {
    "random": "Random scores. Every model should do better than this.",
    "text_only": (
        "The photo is not used: the true clue’s words are compared with the words of each inference. The higher "
        "this figure is, the more inferences follow from the clue’s words alone, and the less a model’s figure says "
        "about vision."
    ),
    "answer_prior": (
        "Neither photo nor clue is used, only the candidate’s own words. A result above chance means that some "
        "inferences are rated well or badly whatever the photo shows; choose other candidates, or use other photos."
    ),
}


def baseline_meaning(evaluation: Evaluation) -> str:
    """Return what a high figure of a baseline means, or an empty string for models."""
    return BASELINE_MEANINGS.get(str(evaluation.options.get(SHORTCUT_OPTION, "")), "")


FACTS = {
    "encoder": "Encoder",
    "proposals": "Run of proposals",
    "chunks": "Pairs of each chunk",
    "pairs_sha256": "Pairs",
    "seal": "Version’s checksum",
    "bertscore": "BERTScore",
}


def fact_rows(facts: Mapping[str, Any], *, without: Iterable[str] = ()) -> list[tuple[str, str, bool]]:
    """Return stored facts as (name, text, whether it is a long hash), without empty and nested ones."""
    rows = []
    for name, value in facts.items():
        if name in without or value in ("", None, [], {}) or isinstance(value, Mapping):
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        is_hash = len(text) >= MIN_HASH_LENGTH and " " not in text
        rows.append((FACTS.get(name, name.replace("_", " ").capitalize()), text, is_hash))
    return rows
