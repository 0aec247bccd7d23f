"""The scorer m(image, region, inference): its model, its loss, its training loop. Torch; no Django.

The names below are loaded when they are first used, so that pages may read a configuration without torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "config": ["TextMode", "TrainingConfig"],
        "encoder": ["ScorerEncoder"],
        "inputs": ["Pair", "write_run"],
    },
)
