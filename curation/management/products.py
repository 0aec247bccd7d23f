"""The ``--filter`` of commands that multiply many vectors: it changes the time, never the result.

torch is only loaded where it saves more time than loading it takes.
"""

from typing import Any

from curation.dedup.products import BlockProduct, Float32Product
from curation.negatives.products import PlainProduct, ScoreProduct
from curation.records import InvalidInput

FILTERS = ("auto", "fp32", "bf16")
ROWS_WORTH_TORCH = 20_000


def add_filter(parser: Any) -> None:
    """Declare the flag."""
    parser.add_argument(
        "--filter", choices=FILTERS, default="auto", help="changes the time, never the result"
    )


def block_product(name: str, rows: int) -> BlockProduct:
    """The product by which so many vectors are clustered. Raises InvalidInput where the processor lacks it."""
    if rows < ROWS_WORTH_TORCH and name != "bf16":
        return Float32Product()
    from curation.pipelines import matmul_backends

    if name == "fp32":
        return matmul_backends.float32_product()
    _check(name)
    return matmul_backends.best_product()


def score_product(name: str, rows: int) -> ScoreProduct:
    """The product by which so many instances are scored. Raises InvalidInput where the processor lacks it."""
    if name == "fp32" or (rows < ROWS_WORTH_TORCH and name != "bf16"):
        return PlainProduct()
    from curation.pipelines.score_matmul_backends import best_score_product

    _check(name)
    return best_score_product()


def _check(name: str) -> None:
    from curation.pipelines.matmul_backends import multiplies_bfloat16

    if name == "bf16" and not multiplies_bfloat16():
        raise InvalidInput("--filter bf16: this processor does not multiply bfloat16; take fp32")
