"""``manage.py judge_explanations --version V --model M [--repeats 3]``."""

from argparse import ArgumentParser
from typing import Any

from curation.generation.chat_factory import get_chat_model
from curation.management.bertscore_options import add_bertscore_options
from curation.management.lookups import get_version
from curation.management.model_calls import ModelCallCommand
from curation.management.option_fields import option_fields
from curation.management.triplet_options import add_chat_options
from curation.models import TripletEvaluation
from curation.selectors.jobs import JUDGE_EXPLANATIONS
from curation.services.triplets.judging import JudgeOptions, request_judge
from hits.management.jobs import job_facts
from hits.management.lookups import find_project
from hits.models import Job

DEFAULTS = JudgeOptions()


class Command(ModelCallCommand):
    """Let a chat model grade explanations of models against references, and check the judge."""

    help = "Grade the explanations of evaluated models against gold and validated references; text only."
    tasks = (JUDGE_EXPLANATIONS,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--version", dest="version_name", default="", help="a sealed version")
        parser.add_argument("--project", default="", help="required if several projects have such a version")
        parser.add_argument(
            "--repeats", type=int, default=DEFAULTS.repeats, help="grades of each explanation; default: 3"
        )
        add_bertscore_options(
            parser.add_argument_group("BERTScore with the nearest reference, with a model saved in a folder")
        )
        add_chat_options(parser, defaults=DEFAULTS)

    def check_models(self, **options: Any) -> None:
        """Load the chat model, and the language model of BERTScore."""
        get_chat_model(options["model"])
        if options["bertscore"]:
            from curation.pipelines.triplets.explanation_similarity import ReferenceSimilarity  # loads torch

            ReferenceSimilarity(JudgeOptions(**option_fields(JudgeOptions, options)))

    def create_run(self, *, queue: bool, **options: Any) -> Job:
        """Create the run and its job."""
        project = find_project(options["project"]) if options["project"] else None
        return request_judge(
            version=get_version(options["version_name"], project),
            options=JudgeOptions(**option_fields(JudgeOptions, options)),
            by=None,
            queue=queue,
        )

    def report_figures(self, job: Job, options: dict[str, Any]) -> None:
        """Print the judge's score and its agreement with people."""
        figures = TripletEvaluation.objects.get(pk=job.result["evaluation"]).figures
        judge = figures.get("judge", {})
        shown = _percent((judge.get("auto_score") or {}).get("value"))
        count, missing = judge.get("explanations", 0), judge.get("missing", 0)
        text = f"{count} explanations, {shown} valid; {missing} without a grade"
        agreement = _percent(judge.get("agreement"))
        other = _percent((judge.get("checks", {}).get("other_triplet", {}).get("score") or {}).get("value"))
        text += (
            f"; agreement with people {agreement}; explanations of other triplets {other} valid (0 is right)"
        )
        if "bertscore" in judge:
            text += f"; BERTScore {_percent(judge['bertscore']['value'])}"
        self.report(options, {**job_facts(job), "figures": figures}, text)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} %"
