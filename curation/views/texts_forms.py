"""Forms of the text analyses, and of reviews of texts."""

from typing import Any, ClassVar

from django import forms
from django.core.files.uploadedfile import UploadedFile

from curation.dedup.cuts import Linkage
from curation.features.encoder import is_hub_id
from curation.models import AnalysisKind, PairText
from curation.services import texts
from curation.texts.captions import CaptionMeasure
from curation.views.fields import choice_field, float_field, integer_field, text_field
from hits.forms import PageForm

PERCENT = 100


class AnalysisForm(PageForm):
    """Base form of all analyses: the split and the seed."""

    kind: ClassVar[AnalysisKind]
    action: ClassVar[str]  # the button's label
    purpose: ClassVar[str]  # shown before the first analysis
    seed = integer_field("Seed", "Equal seeds give equal results. Default 0.", low=0, initial=0)
    split = choice_field("Split", required=False)

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
    def options(self) -> texts.AnalysisOptions:
        """The options; the form has to be valid.

        Raises:
            Refused: the uploaded file cannot be stored.
        """
        raise NotImplementedError

    def clean_upload(self) -> UploadedFile | None:
        """Refuse a file that is too large before it is read."""
        upload: UploadedFile | None = self.cleaned_data["upload"]
        if upload is not None and (upload.size or 0) > texts.MAX_FILE_BYTES:
            raise forms.ValidationError(f"Use a file of {texts.MAX_FILE_BYTES // 2**20} MiB or less.")
        return upload

    def _store_upload(self) -> dict[str, str]:
        upload = self.cleaned_data.pop("upload", None)
        if upload is None:
            return {}
        return {"file": texts.store_uploaded_file(data=upload.read()), "file_name": str(upload.name)[:120]}


class DuplicatesForm(AnalysisForm):
    """Options of the search for copies and near-copies."""

    kind = AnalysisKind.DUPLICATES
    action = "Find copies"
    purpose = (
        "Texts that are copied word for word, and groups of texts that say nearly the same. The analysis also counts "
        "the texts that soft de-duplication would leave out of comparison sets."
    )
    field = choice_field(
        "Texts", [(field.value, f"{field.value.capitalize()}s") for field in reversed(PairText)]
    )
    share = integer_field(
        "Texts to keep, %",
        "Texts are joined until there are this many groups per 100 texts, even if the texts of a group differ. "
        "Default 80, as in Hessel et al. (2022).",
        low=1,
        high=PERCENT,
        initial=80,
    )
    distance = float_field(
        "Maximum cosine distance",
        "Joins texts up to this distance (1 − cosine, 0 to 2) instead of by share. 0.2 joins near-copies.",
        low=0,
        required=False,
    )
    linkage = choice_field("Linkage", [(linkage.value, linkage.value.capitalize()) for linkage in Linkage])
    cap = integer_field(
        "Copies to keep",
        "Exact copies of one text that stay. Default 3, as in Hessel et al. (2022).",
        low=1,
        high=100,
        initial=3,
    )

    @property
    def options(self) -> texts.DuplicateOptions:
        """The options; the form has to be valid."""
        return texts.DuplicateOptions(**self.cleaned_data | {"share": self.cleaned_data["share"] / PERCENT})


class TopicsForm(AnalysisForm):
    """Options of topic models."""

    kind = AnalysisKind.TOPICS
    action = "Find topics"
    purpose = (
        "Topics of clues and of inferences, and which topic of clues leads to which topic of inferences."
    )
    topics = integer_field(
        "Topics",
        "Number of topics, of clues and of inferences alike. Default 10.",
        low=2,
        high=texts.MAX_TOPICS,
        initial=10,
    )
    passes = integer_field(
        "Passes", "How often the fit uses each text. Default 10.", low=1, high=200, initial=10
    )
    least_texts = integer_field(
        "Minimum texts per word", "A word in fewer texts is ignored. Default 2.", low=1, high=1000, initial=2
    )

    @property
    def options(self) -> texts.TopicOptions:
        """The options; the form has to be valid."""
        return texts.TopicOptions(**self.cleaned_data)


class ToxicityForm(AnalysisForm):
    """Options of toxicity scoring: the texts and the scorer."""

    kind = AnalysisKind.TOXICITY
    action = "Score texts"
    purpose = (
        "The texts that a scorer finds most toxic, in a queue for a person to review. Most are harmless."
    )
    scorer = choice_field(
        "Scorer",
        [
            (texts.WORD_LIST, "The built-in word list (no model)"),
            (texts.MODEL_PREFIX, "A text classifier (transformers)"),
            (texts.FROM_FILE, "Scores from a file, such as another service’s"),
        ],
    )
    model = text_field(
        "Classifier",
        "The hub id, owner/name. Use the command line for a folder of weights.",
        required=False,
        max_length=110,
    )
    label = text_field(
        "Toxic label",
        "The classifier’s label for toxic texts. Needed if no label is called toxic or toxicity.",
        required=False,
        max_length=60,
    )
    upload = forms.FileField(
        required=False,
        label="File of scores",
        help_text="CSV or JSON Lines with id, field (clue or inference) and score (0 to 1).",
    )
    sample = integer_field(
        "Pairs per split", "Drawn at random; 0 takes all. Default 10,000.", low=0, initial=10_000
    )
    top = integer_field(
        "Texts to review per split",
        "The texts with the highest scores. Default 50, as in Hessel et al. (2022).",
        low=1,
        high=texts.MAX_QUEUED,
        initial=50,
    )

    def clean(self) -> dict[str, Any]:
        """Check that the classifier's id or the file is given, if the scorer needs it."""
        given = super().clean() or {}
        if given.get("scorer") == texts.MODEL_PREFIX and not is_hub_id(given.get("model", "")):
            self.add_error("model", "Enter the classifier’s hub id, owner/name.")
        if given.get("scorer") == texts.FROM_FILE and not given.get("upload"):
            self.add_error("upload", "Choose a file.")
        return given

    @property
    def options(self) -> texts.ToxicityOptions:
        """The options; the form has to be valid."""
        given = dict(self.cleaned_data)
        model, scorer = given.pop("model"), given["scorer"]
        if scorer != texts.MODEL_PREFIX:
            given["label"] = ""
        kept = self._store_upload() if scorer == texts.FROM_FILE else {}
        given.pop("upload", None)
        given["scorer"] = scorer + model if scorer == texts.MODEL_PREFIX else scorer
        return texts.ToxicityOptions(**given | kept)


class CaptionsForm(AnalysisForm):
    """Options of the comparison with captions."""

    kind = AnalysisKind.CAPTIONS
    action = "Compare with captions"
    purpose = (
        "How similar clues and inferences are to literal captions of the same photo. Clues should be similar, "
        "inferences should not."
    )
    source = choice_field(
        "Captions",
        [
            ("auto", "Region descriptions, else alt text"),
            ("regions", "Region descriptions of an imported source"),
            ("alt", "The photos’ alternative text"),
            (texts.FROM_FILE, "A file"),
        ],
    )
    upload = forms.FileField(
        required=False,
        label="File of captions",
        help_text="CSV or JSON Lines with image (file name) and caption, one caption per row.",
    )
    against = choice_field(
        "Region descriptions",
        [("overlap", "Regions that overlap the boxes"), ("image", "All regions of the photo")],
    )
    measure = choice_field(
        "With several captions",
        [(CaptionMeasure.MEAN.value, "Mean of the cosines"), (CaptionMeasure.MAX.value, "Largest cosine")],
    )
    most = integer_field("Maximum captions per pair", low=1, high=50, initial=5)
    images = integer_field(
        "Photos",
        "Drawn at random; 0 takes all. Default 2,000, as in Hessel et al. (2022).",
        low=0,
        initial=2_000,
    )

    def clean(self) -> dict[str, Any]:
        """Check that a file is given if captions come from a file."""
        given = super().clean() or {}
        if given.get("source") == texts.FROM_FILE and not given.get("upload"):
            self.add_error("upload", "Choose a file.")
        return given

    @property
    def options(self) -> texts.CaptionOptions:
        """The options; the form has to be valid."""
        given = dict(self.cleaned_data)
        kept = self._store_upload() if given["source"] == texts.FROM_FILE else {}
        given.pop("upload", None)
        return texts.CaptionOptions(**given | kept)


FORMS: dict[AnalysisKind, type[AnalysisForm]] = {
    form.kind: form for form in (DuplicatesForm, TopicsForm, ToxicityForm, CaptionsForm)
}


class TextReviewForm(forms.Form):
    """A person's review of a text."""

    score = forms.IntegerField(min_value=1)
    concern = forms.ChoiceField(choices=[("no", "No concern"), ("yes", "Concern")])
    note = forms.CharField(required=False, max_length=400)
