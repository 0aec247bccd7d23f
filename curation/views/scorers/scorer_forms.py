"""Forms for training scorers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django import forms

from curation.models import DatasetVersion, Scorer
from curation.records import InvalidInput
from curation.scorer.config import TINY, TextMode, TrainingConfig
from curation.selectors.scorers import SplitCount
from curation.services.scorer_splits import VAL_SHARE
from curation.services.scorers import PUBLISHED_MODEL
from curation.views.features import CROP_LABELS, PRECISION_LABELS
from curation.views.fields import checkbox, choice_field, float_field, integer_field, text_field
from hits.domain.images.region_drawing import RegionMode
from hits.forms import PageForm
from hits.services.errors import Refused

DEFAULTS = TrainingConfig(model=PUBLISHED_MODEL)
PERCENT = 100
REGION_MODE_LABELS = {
    RegionMode.HIGHLIGHT: "Highlighted (Hessel et al. 2022)",
    RegionMode.HIDE: "Hidden (only context)",
    RegionMode.ONLY_REGION: "Region only (no context)",
    RegionMode.POSITION_ONLY: "Position and shape only",
    RegionMode.NONE: "No region",
}
TEXT_MODE_LABELS = {
    TextMode.INFERENCE: "Inferences (Hessel et al. 2022)",
    TextMode.CLUE: "Clues",
    TextMode.MULTITASK: "Both, distinguished by a prefix",
}
MODEL_LABELS = {
    PUBLISHED_MODEL: "CLIP ViT-B/16 (Hessel et al. 2022)",
    "clip:openai/clip-vit-base-patch32": "CLIP ViT-B/32",
    "clip:openai/clip-vit-large-patch14": "CLIP ViT-L/14",
    TINY: "Tiny (random weights, for a dry run)",
}
SPLIT_LABELS = {"train": "Train", "val": "Val", "test": "Test", "none": "Photos without a split"}
SWITCHES = ("augment", "reduce_on_plateau", "compile")
_VERSION_SPLITS = "own"  # the version's default splits


def model_choices(scorers: Sequence[Scorer]) -> list[tuple[str, str]]:
    """Return the models that training can start from: published ones, and the project's ready scorers."""
    return [
        *MODEL_LABELS.items(),
        *((scorer.encoder_name, f"Scorer {scorer.name}, trained further") for scorer in scorers),
    ]


def suggest_settings(pairs: int) -> dict[str, int]:
    """Return suggested settings for a number of pairs: the paper's, or for few pairs a smaller batch and warm-up.

    A batch of a quarter of the pairs gives at least four steps per epoch.
    """
    batch = 2
    while batch * 2 <= min(DEFAULTS.batch_size, pairs // 4):
        batch *= 2
    steps_per_epoch = max(1, pairs // batch)
    return {
        "batch_size": batch,
        "warmup_steps": min(DEFAULTS.warmup_steps, DEFAULTS.epochs * steps_per_epoch // 4),
        "checkpoint_every": min(DEFAULTS.checkpoint_every, steps_per_epoch),
    }


class TrainingForm(PageForm):
    """A request for a training run. The defaults are the values of Hessel et al. 2022."""

    name = text_field("Name", "In commands, the scorer is “scorer:” followed by this name.", max_length=60)
    version = choice_field("Version", help_text="A sealed version, so that its pairs never change.")
    train_split = choice_field("Train on", required=False)
    val_split = choice_field(
        "Validation split",
        help_text="The checkpoint with the best P@1 on this split is kept.",
        required=False,
    )
    model = choice_field("Start from", help_text="CLIP is fetched from the Hugging Face hub.")
    text_mode = choice_field("Texts", TEXT_MODE_LABELS)
    region_mode = choice_field("Region", REGION_MODE_LABELS)
    crop = choice_field("Non-square photos", CROP_LABELS)
    batch_size = integer_field(
        "Batch size",
        "Pairs per step. All other pairs of the batch are negatives. Hessel et al. (2022): 512 for ViT-B/16.",
        low=2,
    )
    epochs = integer_field(
        "Epochs", "Passes over the pairs. The published recipe: 5.", low=1, initial=DEFAULTS.epochs
    )
    learning_rate = float_field("Learning rate", "For AdamW. Hessel et al. (2022): 1e-5.", initial="1e-5")
    warmup_steps = integer_field(
        "Warm-up steps", "The learning rate rises over them. Hessel et al. (2022): 500 or 1,000.", low=0
    )
    checkpoint_every = integer_field("Steps between validations", "Hessel et al. (2022): 300.", low=1)
    chunk_size = integer_field(
        "Pairs in memory",
        "0 means the whole batch. Fewer pairs need less memory, with the same gradients (gradient caching).",
        low=0,
        initial=0,
    )
    max_steps = integer_field(
        "Maximum steps", "0 means that only the number of epochs limits the training.", low=0, initial=0
    )
    patience = integer_field(
        "Patience", "Stop after this many validations without a better P@1; 0 means never.", low=0, initial=0
    )
    weight_decay = float_field("Weight decay", low=0, initial=DEFAULTS.weight_decay)
    grayscale = float_field("Share of greyscale pictures", low=0, high=1, initial=DEFAULTS.grayscale)
    val_share = float_field(
        "Photos held out for validation, %",
        "Only if one split is used for training and validation. Whole photos are chosen at random.",
        low=1,
        high=90,
        initial=int(PERCENT * VAL_SHARE),
    )
    precision = choice_field("Precision", PRECISION_LABELS)
    processes = integer_field("Processes", "Several processes run under torchrun.", low=1, initial=1)
    seed = integer_field("Seed", "For all random choices.", low=0, initial=0)
    augment = checkbox("Augment the pictures, as Hessel et al. (2022) do", initial=True)
    reduce_on_plateau = checkbox(
        "Divide the learning rate by 10 when validation stalls, as in the published code"
    )
    compile = checkbox("Compile the towers (worthwhile for long runs on a GPU)")

    def __init__(
        self,
        versions: Mapping[DatasetVersion, Mapping[str, SplitCount]],
        scorers: Sequence[Scorer],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Set up the choices from the sealed versions with their split counts, and the ready scorers."""
        super().__init__(*args, auto_id="train_%s", **kwargs)
        self._versions = {str(version.pk): version for version in versions}
        named = [(str(version.pk), _version_label(version, counts)) for version, counts in versions.items()]
        present = {split or "none" for counts in versions.values() for split in counts}
        splits = [
            (_VERSION_SPLITS, "The version’s default"),
            *((name, label) for name, label in SPLIT_LABELS.items() if name in present),
        ]
        named_splits = {"train_split": splits, "val_split": splits}
        choices = {"version": named, **named_splits, "model": model_choices(scorers)}
        for name, offered in choices.items():
            self.fields[name].choices = offered  # type: ignore[attr-defined]
        for name, value in suggest_settings(_count_training_pairs(next(iter(versions.values()), {}))).items():
            self.fields[name].initial = value

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        """The collapsed settings."""
        steps = ("val_share", "warmup_steps", "checkpoint_every", "chunk_size", "max_steps", "patience")
        names = (*steps, "weight_decay", "grayscale", "precision", "processes", "seed")
        return [self[name] for name in names]

    @property
    def advanced_checkboxes(self) -> list[forms.BoundField]:
        """The collapsed checkboxes."""
        return [self[name] for name in SWITCHES]

    @property
    def shows_advanced(self) -> bool:
        """Whether a collapsed setting has an error."""
        return any(field.name in self.errors for field in (*self.advanced_fields, *self.advanced_checkboxes))

    @property
    def config(self) -> TrainingConfig:
        """Return the settings; the form must be valid. Raises InvalidInput for an invalid combination."""
        given = {name: self.cleaned_data[name] for name in asdict(DEFAULTS) if name in self.cleaned_data}
        return TrainingConfig.from_json(given)

    @property
    def training_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``request_training`` except project and user; the form must be valid."""
        given = self.cleaned_data
        return {
            "version": self._versions[given["version"]],
            "name": given["name"],
            "config": self.config,
            "train_split": _split_from_choice(given["train_split"]),
            "val_split": _split_from_choice(given["val_split"]),
            "val_share": given["val_share"] / PERCENT,
        }

    def add_service_error(self, error: Refused | InvalidInput) -> None:
        """Add a service's error message to the field it names."""
        field, colon, message = str(error).partition(": ")
        known = bool(colon) and field in self.fields
        text = message if known else str(error)
        self.add_error(field if known else None, f"{text[:1].upper()}{text[1:].rstrip('.')}.")


def _split_from_choice(chosen: str) -> str | None:
    return None if chosen in {"", _VERSION_SPLITS} else "" if chosen == "none" else chosen


def _count_training_pairs(counts: Mapping[str, SplitCount]) -> int:
    """Return the number of training pairs by default: those of train, or all if there is no such split."""
    found = counts.get("train") or max(counts.values(), key=lambda count: count.pairs, default=None)
    return found.pairs if found else 0


def _version_label(version: DatasetVersion, counts: Mapping[str, SplitCount]) -> str:
    return f"{version.name}: {', '.join(_format_split_counts(counts.items())) or 'no pair'}"


def _format_split_counts(counts: Iterable[tuple[str, SplitCount]]) -> Iterable[str]:
    for split, count in counts:
        yield f"{count.pairs:,} {split}".strip() + (" pairs" if not split else "")
