"""The options of commands that measure BERTScore."""

from argparse import _ArgumentGroup

from curation.evaluation.bertscore import ROBERTA_BASELINE, ROBERTA_LAYER
from hits.management.jobs import absolute_path


def add_bertscore_options(group: _ArgumentGroup) -> None:
    """Add the options: the folder of a model, its layer, and the baseline of rescaling."""
    group.add_argument("--bertscore", type=absolute_path, default="", metavar="FOLDER")
    group.add_argument(
        "--bertscore-layer", type=int, default=ROBERTA_LAYER, help=f"{ROBERTA_LAYER} is for RoBERTa-Large"
    )
    baseline = "the baseline of rescaling; the default is RoBERTa-Large's, 0 means no rescaling"
    group.add_argument("--bertscore-baseline", type=float, default=ROBERTA_BASELINE, help=baseline)
