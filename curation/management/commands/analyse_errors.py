"""``manage.py analyse_errors EVALUATION``: how predictable a model's errors are, and the worst of them."""

from argparse import ArgumentParser
from typing import Any

from curation.evaluation.errors import MIN_AGREEMENT
from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.option_fields import option_fields
from curation.models import ErrorAnalysis, Evaluation
from curation.selectors.jobs import ERROR_ANALYSIS
from curation.services.error_analysis import ErrorOptions, request_error_analysis
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.models import Job

PREDICTOR_LABELS = {
    "image": "features of the image",
    "text": "mean vector of the inferences",
    "agreement": "human agreement",
}


class Command(JobCommand):
    """Analyse the errors of an evaluation on the comparison task."""

    help = (
        "Measure how predictable a model's errors on the comparison task are, and collect the worst of them."
    )
    tasks = (ERROR_ANALYSIS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("evaluation", nargs="?", type=int, help="the evaluation's number, as in its page's address")
        least = f"analyse images whose human agreement is above this ({MIN_AGREEMENT:g})"
        add("--agreement", type=float, default=MIN_AGREEMENT, help=least)
        add(
            "--encoder",
            type=make_encoder_path_absolute,
            default="",
            help="encoder of the images, such as clip:<folder>; default: efficientnet-lite0",
        )
        shown_help = "number of false positives, and of false negatives, to list (12)"
        add("--shown", type=int, default=12, help=shown_help)
        add("--seed", type=int, default=0, help="seed of folds and intervals (0)")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Request the analysis."""
        found = Evaluation.objects.filter(pk=options["evaluation"]).select_related("project").first()
        if found is None:
            rows = Evaluation.objects.exclude(figures={}).order_by("-pk").values_list("pk", flat=True)[:10]
            known = ", ".join(map(str, rows)) or "none yet"
            number = options["evaluation"]
            problem = "is missing" if number is None else f"{number} is not known"
            raise input_error(f"evaluation: {problem}; the newest are {known}")
        error_options = ErrorOptions(**option_fields(ErrorOptions, options))
        row = request_error_analysis(evaluation=found, options=error_options, by=None, queue=queue)
        assert row.job is not None
        return row.job

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the AUC of each predictor next to the published one."""
        row = ErrorAnalysis.objects.get(pk=job.result["analysis"])
        figures = row.figures
        self.report(
            options,
            {"job": job.pk, "state": job.state, "figures": figures, "galleries": row.galleries},
            f"{figures['kept']} of {figures['asked']} images; area under the ROC curve, chance 50:",
            *(_describe_area(name, area) for name, area in figures["predictors"].items()),
        )


def _describe_area(name: str, area: dict[str, Any]) -> str:
    chance = area["chance"]
    return (
        f"  {PREDICTOR_LABELS[name]}: {area['value']:.1f}, p = {chance['p']:.3f} (95 % by chance: "
        f"{chance['low']:.1f} to {chance['high']:.1f}); paper {area['paper']:.0f}"
    )
