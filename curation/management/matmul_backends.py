"""The option ``--filter`` of commands that multiply many vectors: it changes the time, never the result.

torch is imported only for so many rows that it saves more time than its import takes.
"""

from typing import Any

from curation.dedup.matmul_backends import MatmulBackend, NumpyFloat32Backend
from curation.negatives.matmul_backends import NumpyScoreBackend, ScoreBackend
from curation.records import InvalidInput

FILTERS = ("auto", "fp32", "bf16")
ROWS_WORTH_TORCH = 20_000


def add_filter_option(parser: Any) -> None:
    """Add the option ``--filter``."""
    help_text = "precision of the matrix product that finds near pairs; changes the time, never the result"
    parser.add_argument("--filter", choices=FILTERS, default="auto", help=help_text)


def choose_clustering_backend(name: str, rows: int) -> MatmulBackend:
    """Return the matrix product for clustering. Raises InvalidInput if the processor does not support it."""
    if rows < ROWS_WORTH_TORCH and name != "bf16":
        return NumpyFloat32Backend()
    from curation.pipelines import matmul_backends

    if name == "fp32":
        return matmul_backends.choose_float32_backend()
    _check_backend(name)
    return matmul_backends.choose_matmul_backend()


def choose_scoring_backend(name: str, rows: int) -> ScoreBackend:
    """Return the matrix product for scoring. Raises InvalidInput if the processor does not support it."""
    if name == "fp32" or (rows < ROWS_WORTH_TORCH and name != "bf16"):
        return NumpyScoreBackend()
    from curation.pipelines.score_matmul_backends import choose_score_backend

    _check_backend(name)
    return choose_score_backend()


def _check_backend(name: str) -> None:
    from curation.pipelines.matmul_backends import has_bfloat16_instructions

    if name == "bf16" and not has_bfloat16_instructions():
        raise InvalidInput("--filter bf16: this processor does not support bfloat16; use fp32")
