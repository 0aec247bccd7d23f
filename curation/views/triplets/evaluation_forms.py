"""Forms that start an evaluation or a judge on a sealed version of image triplets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from curation.image_triplets.chat_prompts import VARIANTS
from curation.models import DatasetVersion, TripletEvaluation
from curation.records import InvalidInput
from curation.services.triplets.chat_options import MAX_THREADS, ChatOptions
from curation.services.triplets.evaluations import (
    BASELINE_PREFIX,
    BASELINES,
    IMAGE_TO_TEXT,
    NLI_PREFIX,
    PEOPLE,
    SEPARATE,
    EvaluationOptions,
)
from curation.services.triplets.judging import MAX_REPEATS, JudgeOptions
from curation.services.triplets.prediction_uploads import MAX_BYTES, UploadedPredictions
from curation.sources.folders import resolve_inside
from curation.views.fields import checkbox, choice_field, float_field, integer_field, text_field
from curation.views.triplets.evaluation_names import (
    BASELINE_LABELS,
    SETUP_LABELS,
    STRATEGY_LABELS,
    VARIANT_LABELS,
)
from hits.forms import PageForm
from hits.services.errors import Refused

SPLITS = (("", "All triplets"), ("train", "train"), ("val", "val"), ("test", "test"))
SETUPS = [(name, label) for name, label in SETUP_LABELS.items() if name != "explanations"]
IMPORTED = "folder:"  # before the name of a folder in the import folder
SERVER_NLI = "server"
RECORDED = "canned:"  # before the path of a file
_MODEL_FILE = "config.json"
MAX_CAP = 1_000_000  # dollars


class VersionForm(PageForm):
    """A form about one of the sealed versions."""

    what: ClassVar[str]
    version = choice_field("Version")

    def __init__(self, versions: Sequence[DatasetVersion], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"{self.what}_%s", **kwargs)
        self.versions = {str(row.pk): row for row in versions}
        self.fields["version"].choices = [(str(row.pk), row.name) for row in versions]  # type: ignore[attr-defined]

    @property
    def chosen_version(self) -> DatasetVersion:
        """The version; the form must be valid."""
        return self.versions[self.cleaned_data["version"]]

    def add_refusal(self, error: Refused) -> None:
        """Show a refusal at the field that it names, or else above the form."""
        name, _, text = str(error).partition(": ")
        field = {"cap": "cap_usd", "chat model": "model", "file": "predictions"}.get(name, name)
        if text and field in self.fields:
            self.add_error(field, f"{text[:1].upper()}{text[1:].rstrip('.')}.")
        else:
            self.add_error(None, f"Not started: {str(error).rstrip('.')}.")


class ChatForm(VersionForm):
    """What every run of a chat model has: the model, its caps and its pace."""

    model = text_field(
        "Model",
        "canned makes replies up and costs nothing. openai:MODEL asks the server of CHAT_API_URL.",
        initial=ChatOptions().model,
        max_length=200,
    )
    cap_usd = float_field(
        "Cap, $", "Reserved and paid dollars never exceed it.", low=0, high=MAX_CAP, initial=0
    )
    cap_calls = integer_field("Cap, calls", "Leave empty for no limit.", low=1, required=False)
    per_minute = float_field("Requests a minute", "Leave empty for no limit.", low=0.01, required=False)
    threads = integer_field("Requests at once", low=1, high=MAX_THREADS, initial=1)
    fresh = text_field(
        "New replies under the name",
        "Stored replies are used again. With a name, all are asked anew.",
        required=False,
        max_length=40,
    )
    price_unknown = checkbox("Go on without a price; the cap in dollars does not count then")

    def clean(self) -> dict[str, Any]:
        """Refuse files of recorded replies, whose paths are of the server."""
        given: dict[str, Any] = super().clean() or {}
        for field in ("model", "describer"):
            if str(given.get(field, "")).startswith(RECORDED):
                self.add_error(field, "Recorded replies are read by the command evaluate_triplets alone.")
        return given

    def chat_options(self) -> dict[str, Any]:
        """Return the options of a run; the form must be valid."""
        names = ("model", "cap_usd", "cap_calls", "per_minute", "threads", "fresh", "price_unknown")
        return {name: self.cleaned_data[name] for name in names}


class ModelForm(ChatForm):
    """A chat model in one setup, with one strategy."""

    what: ClassVar[str] = "model"
    setup = choice_field("It gives", SETUPS)
    strategy = choice_field("It sees", list(STRATEGY_LABELS.items()), initial=SEPARATE)
    variant = choice_field("It is asked for", [(name, VARIANT_LABELS[name]) for name in VARIANTS])
    describer = text_field(
        "Describing model",
        "Of descriptions by a model. Empty: the model itself.",
        required=False,
        max_length=200,
    )
    split = choice_field("Split", SPLITS, required=False)
    field_order = ("version", "model", "setup", "strategy", "variant", "describer", "split")

    @property
    def options(self) -> EvaluationOptions:
        """The options. Raises Refused."""
        given = self.cleaned_data
        describer = given["describer"] if given["strategy"] == IMAGE_TO_TEXT else ""
        names = {name: given[name] for name in ("setup", "strategy", "variant", "split")}
        return EvaluationOptions(**self.chat_options(), **names, describer=describer)


class BaselineForm(VersionForm):
    """People, or a rule that needs no chat model."""

    what: ClassVar[str] = "baseline"
    subject = choice_field("People or baseline")
    setup = choice_field("It gives", SETUPS)
    split = choice_field("Split", SPLITS, required=False)

    def __init__(self, versions: Sequence[DatasetVersion], *args: Any, **kwargs: Any) -> None:
        super().__init__(versions, *args, **kwargs)
        choices = [
            (PEOPLE, "People"),
            *((f"{BASELINE_PREFIX}{name}", BASELINE_LABELS[name]) for name in BASELINES),
            *nli_choices(),
        ]
        self.fields["subject"].choices = choices  # type: ignore[attr-defined]

    @property
    def options(self) -> EvaluationOptions:
        """The options. Raises Refused."""
        given = self.cleaned_data
        subject = given["subject"]
        if subject.startswith(IMPORTED):
            root: Path | None = settings.IMPORTS_ROOT
            assert root is not None  # or else no folder is a choice
            try:
                folder = resolve_inside(root, subject.removeprefix(IMPORTED))
            except InvalidInput as error:
                raise Refused(f"subject: {error}") from error
            subject = f"{BASELINE_PREFIX}{NLI_PREFIX}{folder}"
        elif subject == SERVER_NLI:
            subject = f"{BASELINE_PREFIX}{NLI_PREFIX}{settings.HINTS_NLI_MODEL}"
        return EvaluationOptions(model=subject, setup=given["setup"], split=given["split"])


class PredictionsForm(VersionForm):
    """A file of answers, as ``manage.py evaluate nleye`` reads it."""

    what: ClassVar[str] = "file"
    label = text_field("Name of the model", max_length=120)
    setup = choice_field("The file has", SETUPS)
    split = choice_field("Split", SPLITS, required=False)
    predictions = forms.FileField(
        label="Predictions", max_length=255, help_text=f"JSON lines, at most {MAX_BYTES // 1_000_000} MB."
    )

    def upload(self) -> UploadedPredictions:
        """Return the file. Raises Refused."""
        given = self.cleaned_data
        file = given["predictions"]
        data = file.read(MAX_BYTES + 1)
        return UploadedPredictions(file.name, data, given["label"], given["setup"], given["split"])


class JudgeForm(ChatForm):
    """A chat model that grades explanations."""

    what: ClassVar[str] = "judge"
    repeats = integer_field(
        "Grades of each explanation",
        "The references stand in another order each time.",
        low=1,
        high=MAX_REPEATS,
        initial=3,
    )
    field_order = ("version", "model", "repeats")

    @property
    def options(self) -> JudgeOptions:
        """The options. Raises Refused."""
        return JudgeOptions(**self.chat_options(), repeats=self.cleaned_data["repeats"])


FORMS: Mapping[str, type[VersionForm]] = {
    form.what: form for form in (ModelForm, BaselineForm, PredictionsForm, JudgeForm)
}


def nli_choices() -> list[tuple[str, str]]:
    """Return the models of inference that pages offer: that of this server, and those in its import folder."""
    root: Path | None = settings.IMPORTS_ROOT
    found = [(SERVER_NLI, "Inference between texts, the server’s model")] if settings.HINTS_NLI_MODEL else []
    if root is not None and root.is_dir():
        folders = sorted(
            path.parent for path in (*root.glob(f"*/{_MODEL_FILE}"), *root.glob(f"*/*/{_MODEL_FILE}"))
        )
        names = [str(folder.relative_to(root)) for folder in folders]
        found += [(f"{IMPORTED}{name}", f"Inference between texts, {name}") for name in names]
    return found


def initial_like(row: TripletEvaluation) -> dict[str, Any]:
    """Return the initial values of a form that starts the same evaluation again."""
    return {name: value for name, value in row.options.items() if value is not None} | {
        "version": row.version_id
    }
