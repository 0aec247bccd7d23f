"""The scorer m(image, region, inference): its model, its loss and its training loop. Uses torch, not Django.

The names below are loaded at first use, so that pages can read a configuration without torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "config": ["TextMode", "TrainingConfig"],
        "model.encoder": ["ScorerEncoder"],
        "training.inputs": ["Pair", "write_run"],
    },
)
