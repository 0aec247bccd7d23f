"""Models that choose one of four responses to a question about an image (Zellers et al. 2019 §5). Torch, not Django.

The names below are loaded at first use, so that pages can read a configuration without torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "chooser": ["open_chooser", "predict_choices", "write_predictions"],
        "config": ["ChooserConfig"],
        "interface": ["Chooser"],
        "questions": ["ChoiceQuestion", "read_questions"],
        "recipes": ["make_config"],
        "training.inputs": ["write_run"],
    },
)
