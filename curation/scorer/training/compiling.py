"""``torch.compile`` for the towers, with a clear message if this machine cannot compile."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from curation.records import InvalidInput

COMPILE_HINT = "install a C++ compiler (a GPU also needs triton), or train without compile"


def compile_function(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return a compiled function; it compiles at its first call, and again for new shapes.

    Raises:
        InvalidInput: by the returned function, if compiling fails.
    """
    compiled_function = torch.compile(function)

    @functools.wraps(function)
    def run(*args: Any) -> torch.Tensor:
        try:
            return compiled_function(*args)
        except Exception as error:
            if not _is_compiler_error(error):
                raise
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InvalidInput(
                f"compile: not possible on this machine ({lines[0][:120]}); {COMPILE_HINT}"
            ) from error

    return run


def _is_compiler_error(error: BaseException) -> bool:
    """Whether torch's compiler or its backend raised this; their classes have no public base class."""
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))
