"""What people type on the page of texts: one form for each analysis."""

from typing import Any, ClassVar

from django import forms
from django.core.files.uploadedfile import UploadedFile

from curation.dedup.cuts import Linkage
from curation.features.encoder import is_hub_id
from curation.models import AnalysisKind, PairText
from curation.services.texts import (
    FROM_FILE,
    MAX_FILE_BYTES,
    MAX_QUEUED,
    MAX_TOPICS,
    MODEL_PREFIX,
    WORD_LIST,
    AnalysisOptions,
    CaptionOptions,
    DuplicateOptions,
    TopicOptions,
    ToxicityOptions,
    store_file,
)
from curation.texts.captions import Measure
from hits.forms import PageForm

PERCENT = 100


class AnalysisForm(PageForm):
    """What all of them ask: which split, and the seed."""

    kind: ClassVar[AnalysisKind]
    action: ClassVar[str]  # the button
    purpose: ClassVar[str]  # what the page says before the first analysis
    seed = forms.IntegerField(
        min_value=0, initial=0, label="Seed", help_text="Equal seeds give equal results. Default 0."
    )
    split = forms.ChoiceField(required=False, label="Split")

    def __init__(self, splits: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"{self.kind.value}_%s", **kwargs)
        named = [(name, name.capitalize()) for name in splits if name]
        if len(splits) > 1:
            self.fields["split"].choices = [("", "All"), *named]  # type: ignore[attr-defined]
        else:
            del self.fields["split"]  # nothing to choose
        asked_last = [name for name in ("split", "seed") if name in self.fields]
        self.order_fields([*(name for name in self.fields if name not in asked_last), *asked_last])

    @property
    def options(self) -> AnalysisOptions:
        """The options; the form has to be valid.

        Raises:
            Refused: a file that cannot be kept.
        """
        raise NotImplementedError

    def clean_upload(self) -> UploadedFile | None:
        """Refuse a file that is too large before it is read."""
        upload: UploadedFile | None = self.cleaned_data["upload"]
        if upload is not None and (upload.size or 0) > MAX_FILE_BYTES:
            raise forms.ValidationError(f"Use a file of {MAX_FILE_BYTES // 2**20} MiB or less.")
        return upload

    def _kept(self) -> dict[str, str]:
        upload = self.cleaned_data.pop("upload", None)
        if upload is None:
            return {}
        return {"file": store_file(data=upload.read()), "file_name": str(upload.name)[:120]}


class DuplicatesForm(AnalysisForm):
    """How copies and near-copies are looked for."""

    kind = AnalysisKind.DUPLICATES
    action = "Find copies"
    purpose = (
        "Texts that are copied word for word, and groups of texts that say nearly the same. The analysis also counts "
        "the texts that soft de-duplication would leave out of comparison sets."
    )
    field = forms.ChoiceField(
        choices=[(field.value, f"{field.value.capitalize()}s") for field in reversed(PairText)], label="Texts"
    )
    share = forms.IntegerField(
        min_value=1,
        max_value=PERCENT,
        initial=80,
        label="Texts to keep, %",
        help_text="Texts are joined until this share of groups is left, even if they differ. Default and paper: 80.",
    )
    distance = forms.FloatField(
        required=False,
        min_value=0,
        label="Maximum cosine distance",
        help_text="Joins texts up to this distance (1 − cosine, 0 to 2) instead of by share. 0.2 joins near-copies.",
    )
    linkage = forms.ChoiceField(
        choices=[(linkage.value, linkage.value.capitalize()) for linkage in Linkage], label="Linkage"
    )
    cap = forms.IntegerField(
        min_value=1,
        max_value=100,
        initial=3,
        label="Copies to keep",
        help_text="Exact copies of one text that stay. Default and paper: 3.",
    )

    @property
    def options(self) -> DuplicateOptions:
        """The options; the form has to be valid."""
        return DuplicateOptions(**self.cleaned_data | {"share": self.cleaned_data["share"] / PERCENT})


class TopicsForm(AnalysisForm):
    """How topics are fitted."""

    kind = AnalysisKind.TOPICS
    action = "Find topics"
    purpose = (
        "Topics of clues and of inferences, and which topic of clues leads to which topic of inferences."
    )
    topics = forms.IntegerField(
        min_value=2,
        max_value=MAX_TOPICS,
        initial=10,
        label="Topics",
        help_text="Number of topics, of clues and of inferences alike. Default 10.",
    )
    passes = forms.IntegerField(
        min_value=1,
        max_value=200,
        initial=10,
        label="Passes",
        help_text="How often the fit uses each text. Default 10.",
    )
    least_texts = forms.IntegerField(
        min_value=1,
        max_value=1000,
        initial=2,
        label="Minimum texts per word",
        help_text="A word in fewer texts is ignored. Default 2.",
    )

    @property
    def options(self) -> TopicOptions:
        """The options; the form has to be valid."""
        return TopicOptions(**self.cleaned_data)


class ToxicityForm(AnalysisForm):
    """Which texts are scored, and by what."""

    kind = AnalysisKind.TOXICITY
    action = "Score texts"
    purpose = (
        "The texts that a scorer finds most toxic, in a queue for a person to review. Most are harmless."
    )
    scorer = forms.ChoiceField(
        choices=[
            (WORD_LIST, "The built-in word list (no model)"),
            (MODEL_PREFIX, "A text classifier (transformers)"),
            (FROM_FILE, "Scores from a file, such as another service’s"),
        ],
        label="Scorer",
    )
    model = forms.CharField(
        required=False,
        max_length=110,
        label="Classifier",
        help_text="The hub id, owner/name. Use the command line for a folder of weights.",
    )
    label = forms.CharField(
        required=False,
        max_length=60,
        label="Toxic label",
        help_text="The classifier’s label for toxic texts. Needed if none is called toxic or toxicity.",
    )
    upload = forms.FileField(
        required=False,
        label="File of scores",
        help_text="CSV or JSON Lines with id, field (clue or inference) and score (0 to 1).",
    )
    sample = forms.IntegerField(
        min_value=0,
        initial=10_000,
        label="Pairs per split",
        help_text="Drawn at random; 0 takes all. Default 10,000.",
    )
    top = forms.IntegerField(
        min_value=1,
        max_value=MAX_QUEUED,
        initial=50,
        label="Texts to review per split",
        help_text="The texts with the highest scores. Default and paper: 50.",
    )

    def clean(self) -> dict[str, Any]:
        """See that what the scorer needs is there."""
        given = super().clean() or {}
        if given.get("scorer") == MODEL_PREFIX and not is_hub_id(given.get("model", "")):
            self.add_error("model", "Enter the classifier’s hub id, owner/name.")
        if given.get("scorer") == FROM_FILE and not given.get("upload"):
            self.add_error("upload", "Choose a file.")
        return given

    @property
    def options(self) -> ToxicityOptions:
        """The options; the form has to be valid."""
        given = dict(self.cleaned_data)
        model, scorer = given.pop("model"), given["scorer"]
        if scorer != MODEL_PREFIX:
            given["label"] = ""
        kept = self._kept() if scorer == FROM_FILE else {}
        given.pop("upload", None)
        return ToxicityOptions(
            **given | kept | {"scorer": scorer + model if scorer == MODEL_PREFIX else scorer}
        )


class CaptionsForm(AnalysisForm):
    """Which captions pairs are compared with."""

    kind = AnalysisKind.CAPTIONS
    action = "Compare with captions"
    purpose = (
        "How similar clues and inferences are to literal captions of the same photo. Clues should be similar, "
        "inferences should not."
    )
    source = forms.ChoiceField(
        choices=[
            ("auto", "Region descriptions, else alternative text"),
            ("regions", "Region descriptions of an imported source"),
            ("alt", "The photos’ alternative text"),
            (FROM_FILE, "A file"),
        ],
        label="Captions",
    )
    upload = forms.FileField(
        required=False,
        label="File of captions",
        help_text="CSV or JSON Lines with image (file name) and caption, one caption per row.",
    )
    against = forms.ChoiceField(
        choices=[
            ("overlap", "Only regions that overlap the pair’s boxes"),
            ("image", "All regions of the photo"),
        ],
        label="Region descriptions",
    )
    measure = forms.ChoiceField(
        choices=[(Measure.MEAN.value, "Mean of the cosines"), (Measure.MAX.value, "Largest cosine")],
        label="With several captions",
    )
    most = forms.IntegerField(min_value=1, max_value=50, initial=5, label="Maximum captions per pair")
    images = forms.IntegerField(
        min_value=0,
        initial=2_000,
        label="Photos",
        help_text="Drawn at random; 0 takes all. Default and paper: 2,000.",
    )

    def clean(self) -> dict[str, Any]:
        """See that a file is there when one is to be read."""
        given = super().clean() or {}
        if given.get("source") == FROM_FILE and not given.get("upload"):
            self.add_error("upload", "Choose a file.")
        return given

    @property
    def options(self) -> CaptionOptions:
        """The options; the form has to be valid."""
        given = dict(self.cleaned_data)
        kept = self._kept() if given["source"] == FROM_FILE else {}
        given.pop("upload", None)
        return CaptionOptions(**given | kept)


FORMS: dict[AnalysisKind, type[AnalysisForm]] = {
    form.kind: form for form in (DuplicatesForm, TopicsForm, ToxicityForm, CaptionsForm)
}


class ReadingForm(forms.Form):
    """A person's review of a text."""

    score = forms.IntegerField(min_value=1)
    concern = forms.ChoiceField(choices=[("no", "No concern"), ("yes", "Concern")])
    note = forms.CharField(required=False, max_length=400)
