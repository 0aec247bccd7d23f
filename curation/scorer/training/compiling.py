"""``torch.compile`` for the towers, and one clear line where this machine cannot compile."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from curation.records import InvalidInput

WAY_OUT = "install a C++ compiler (a GPU also needs triton), or train without compile"


def compiled(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the function compiled; that happens at its first call, and again where shapes differ.

    Raises:
        InvalidInput: by the function that is returned, where compiling fails.
    """
    fast = torch.compile(function)

    @functools.wraps(function)
    def run(*args: Any) -> torch.Tensor:
        try:
            return fast(*args)
        except Exception as error:
            if not _is_compiling_error(error):
                raise
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise InvalidInput(f"compile: this machine cannot ({said[0][:120]}); {WAY_OUT}") from error

    return run


def _is_compiling_error(error: BaseException) -> bool:
    """Whether torch's compiler or its backend raised this; their classes have no public common parent."""
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))
