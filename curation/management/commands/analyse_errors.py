"""``manage.py analyse_errors EVALUATION``: how predictable a model's errors are, and the worst of them."""

from argparse import ArgumentParser
from typing import Any

from curation.evaluation.errors import MIN_AGREEMENT
from curation.management.encoder_names import absolute_encoder
from curation.models import ErrorAnalysis, Evaluation
from curation.selectors.jobs import ERROR_ANALYSIS
from curation.services.error_analysis import ErrorOptions, request_error_analysis
from hits.management.base import emit_json, input_error
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
        parser.add_argument("evaluation", nargs="?", type=int, help="its number, as in its page's address")
        parser.add_argument(
            "--agreement",
            type=float,
            default=MIN_AGREEMENT,
            help=f"people agree by more than that ({MIN_AGREEMENT:g})",
        )
        parser.add_argument(
            "--encoder", type=absolute_encoder, default="", help="of image features, such as clip:<folder>"
        )
        parser.add_argument("--shown", type=int, default=12, help="mistakes per gallery (12)")
        parser.add_argument("--seed", type=int, default=0, help="of folds and intervals (0)")

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Request the analysis."""
        found = Evaluation.objects.filter(pk=options["evaluation"]).select_related("project").first()
        if found is None:
            rows = Evaluation.objects.exclude(figures={}).order_by("-pk").values_list("pk", flat=True)[:10]
            known = ", ".join(map(str, rows)) or "none yet"
            problem = (
                "is missing" if options["evaluation"] is None else f"{options['evaluation']} is not known"
            )
            raise input_error(f"evaluation: {problem}; the newest are {known}")
        error_options = ErrorOptions(
            agreement=options["agreement"],
            encoder=options["encoder"],
            seed=options["seed"],
            shown=options["shown"],
        )
        row = request_error_analysis(evaluation=found, options=error_options, by=None, queue=queue)
        assert row.job is not None
        return row.job

    def finish(self, job: Job, options: dict[str, Any]) -> None:
        """Print the AUCs and the paper's."""
        if options["background"]:
            super().finish(job, options)
            return
        row = ErrorAnalysis.objects.get(pk=job.result["analysis"])
        if options["json"]:
            emit_json(
                self, {"job": job.pk, "state": job.state, "figures": row.figures, "galleries": row.galleries}
            )
            return
        figures = row.figures
        self.stdout.write(
            f"{figures['kept']} of {figures['asked']} images; area under the ROC curve, chance 50:"
        )
        for name, area in figures["predictors"].items():
            chance = area["chance"]
            text = (
                f"{area['value']:.1f}, p = {chance['p']:.3f} (95 % by chance: {chance['low']:.1f} to "
                f"{chance['high']:.1f}); paper {area['paper']:.0f}"
            )
            self.stdout.write(f"  {PREDICTOR_LABELS[name]}: {text}")
