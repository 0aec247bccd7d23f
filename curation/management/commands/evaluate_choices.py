"""``manage.py evaluate_choices --answer-key K --predictions P``, or ``--project P --set NAME``."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.evaluation.choice_files import (
    read_answer_key_lines,
    read_partial_predictions_csv,
    read_predictions_csv,
)
from curation.evaluation.choice_paper import CITATION, VAL, published_rows
from curation.evaluation.choices import CHANCE, CHOICES_TASK, MEASURE_NAMES, PERCENT
from curation.evaluation.perturb import is_perturbation
from curation.management.file_messages import convert_input_errors
from curation.management.lookups import find_question_set, find_ready_chooser
from curation.models import ChoiceEvaluation
from curation.selectors.jobs import EVALUATE_CHOICES
from curation.services.choice_evaluations import (
    ALL,
    PredictionFiles,
    request_chooser_evaluation,
    request_file_evaluation,
    request_people_evaluation,
)
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.models import Job

LABELS = {"q_a": "Q→A", "qa_r": "QA→R", "q_ar": "Q→AR"}
COPIES = "singular, plural, mask-top1, keep-top1, keep-top3 or the like"
DIGITS = 6  # of shares that were percentages
TOLERANCE = 1e-6  # rounding error of a number of questions


class Command(JobCommand):
    """Score the published CSV against an answer key; or evaluate predictions or people on a question set."""

    help = (
        "Measure Q→A, QA→R and Q→AR of predictions or of people, beside the published results. Figures are shares "
        "from 0 to 1, as the published scorer prints them; intervals are bootstrap intervals over images."
    )
    tasks = (EVALUATE_CHOICES,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--answer-key", type=Path, help="one JSON object per line, with annot_id and both labels")
        add(
            "--predictions",
            type=Path,
            help="CSV of the published leaderboard: annot_id and 20 columns of scores",
        )
        changed = f"predictions on a changed copy of the questions; NAME is {COPIES}"
        add("--changed", action="append", default=[], metavar="NAME=FILE", help=changed)
        add("--project", help="the project's short name")
        add("--set", help="name of a question set of the project")
        add("--split", default="", help=f"train, val, test, blind or {ALL} (default)")
        add("--chooser", default="", help="evaluate a trained chooser of the project")
        copies = f"with --chooser: also measure its losses on changed copies, comma-separated: {COPIES}"
        add("--perturb", default="", help=copies)
        add("--judgments", action="store_true", help="evaluate people, by their choices in choice rounds")
        add(
            "--label",
            default="",
            help="the evaluation's name in tables; required with --set and --predictions",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Score files at once, or evaluate on a set as a job."""
        if options["resume"] is None and bool(options["answer_key"]) == bool(options["set"]):
            raise input_error("give --answer-key FILE, or --project and --set")
        subjects = [name for name in ("predictions", "judgments", "chooser") if options[name]]
        if options["resume"] is None and len(subjects) != 1:
            raise input_error(
                "give --predictions FILE; or, with a question set, --judgments or --chooser NAME"
            )
        if options["answer_key"]:
            if not options["predictions"]:
                raise input_error(f"--{subjects[0]}: needs --set; with --answer-key, give --predictions")
            self._score_files(options)
        else:
            super().handle(*args, **options)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the evaluation and its job."""
        common: dict[str, Any] = {
            "question_set": find_question_set(options["project"], options["set"]),
            "split": options["split"],
            "label": options["label"],
            "by": None,
            "queue": queue,
        }
        for option, subject in (("changed", "predictions"), ("perturb", "chooser")):
            if options[option] and not options[subject]:
                raise input_error(f"--{option}: belongs to --{subject}; remove it")
        if options["judgments"]:
            row = request_people_evaluation(**common)
        elif options["chooser"]:
            chooser = find_ready_chooser(common["question_set"].project, options["chooser"])
            perturb = [name.strip() for name in options["perturb"].split(",") if name.strip()]
            row = request_chooser_evaluation(chooser=chooser, perturb=perturb, **common)
        else:
            files = PredictionFiles(options["predictions"], _parse_changed(options["changed"]))
            row = request_file_evaluation(files=files, **common)
        assert row.job is not None, "an evaluation is created with its job"
        return row.job

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the figures of the evaluation."""
        row = ChoiceEvaluation.objects.select_related("question_set").get(pk=job.args["evaluation"])
        facts = {"job": job.pk, "state": job.state, "evaluation": row.pk, "label": row.label}
        named = {"set": row.question_set.name, "split": row.split or ALL}
        self._report_figures(options, row.figures, row.split or VAL, facts | named)

    def _score_files(self, options: Mapping[str, Any]) -> None:
        from curation.pipelines.evaluation.evaluate_choices import measure_predictions

        changed = _parse_changed(options["changed"])
        with convert_input_errors():
            key = read_answer_key_lines(options["answer_key"])
            predictions = read_predictions_csv(options["predictions"], key.ids)
            copies = {name: read_partial_predictions_csv(path, key.ids) for name, path in changed.items()}
            figures = measure_predictions(key, predictions, copies)
        self._report_figures(dict(options), figures, options["split"] or VAL, {})

    def _report_figures(
        self, options: dict[str, Any], figures: Mapping[str, Any], split: str, facts: Mapping[str, Any]
    ) -> None:
        measured = figures[CHOICES_TASK]
        published = [_published_json(row.name, triple, row.source) for row, triple in published_rows(split)]
        result = {
            **facts,
            **{name: _share(measured, name) for name in MEASURE_NAMES},
            "questions": measured["questions"],
            "images": measured["images"],
            "counts": measured["counts"],
            "chance": {name: value / PERCENT for name, value in CHANCE.items()},
            "intervals": {name: _interval(measured.get(name, {})) for name in MEASURE_NAMES},
            **{name: _shares(found) for name, found in figures.items() if name != CHOICES_TASK},
            "published": published,
        }
        self.report(options, result, *_describe(result))


def _parse_changed(given: Sequence[str]) -> dict[str, Path]:
    """Return the files of changed copies by name."""
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not is_perturbation(name) or not path or name in found:
            raise input_error(f"--changed {text}: give NAME=FILE once for each copy: {COPIES}")
        found[name] = Path(path)
    return found


def _share(measured: Mapping[str, Any], name: str) -> float | None:
    """Return a measure as a share; exactly the quotient where each question is right or wrong."""
    value = measured.get(name, {}).get("value")
    if value is None:
        return None
    right, n = value / PERCENT * measured["counts"][name], measured["counts"][name]
    whole = round(right)
    return float((whole if abs(right - whole) < TOLERANCE else right) / n)


def _interval(figure: Mapping[str, Any]) -> list[float] | None:
    low, high = figure.get("low"), figure.get("high")
    return (
        None if low is None or high is None else [round(low / PERCENT, DIGITS), round(high / PERCENT, DIGITS)]
    )


def _shares(found: Any) -> Any:
    """Return figures with all percentages as shares; whole numbers are counts and stay."""
    if isinstance(found, Mapping):
        return {name: _shares(value) for name, value in found.items()}
    return round(found / PERCENT, DIGITS) if isinstance(found, float) else found


def _published_json(name: str, triple: Sequence[float], source: str) -> dict[str, Any]:
    shares = {
        measure: round(value / PERCENT, DIGITS) for measure, value in zip(MEASURE_NAMES, triple, strict=True)
    }
    return {"name": name, **shares, "source": source}


def _describe(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each measure, each drop, the joint choice, and each published row."""
    for name, label in LABELS.items():
        share, interval = result[name], result["intervals"][name]
        shown = "nothing to measure" if share is None else f"{PERCENT * share:.1f} %"
        between = f" ({PERCENT * interval[0]:.1f} to {PERCENT * interval[1]:.1f})" if interval else ""
        yield f"{label}: {shown}{between}"
    for name, drop in result.get("drops", {}).items():
        lost = ", ".join(
            f"{LABELS[measure]} {-PERCENT * drop[measure]['drop']:+.1f}" for measure in MEASURE_NAMES
        )
        yield f"{name}, {drop['questions']} questions: {lost} points"
    for stage, lift in result.get("joint", {}).items():
        yield f"all {stage}s of a fold together: {PERCENT * lift['lift']:+.1f} points"
    yield f"{result['questions']} questions of {result['images']} images; published, {CITATION}:"
    for row in result["published"]:
        yield f"  {row['name']}: " + " / ".join(f"{PERCENT * row[measure]:.1f}" for measure in MEASURE_NAMES)
