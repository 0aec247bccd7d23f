"""The form of a new audit."""

import secrets
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from curation.audits.codebook import Codebook
from curation.audits.parsing import MAX_BYTES, parse_codebook
from curation.audits.sampling import MAX_PAIRS, SampleRecipe, SamplingMethod, default_sample_size
from curation.models import TextAnalysis
from curation.records import InvalidInput
from curation.services.audits import MAX_NAME_LENGTH, MAX_READERS
from curation.views.fields import choice_field, integer_field, text_field
from hits.forms import PageForm
from validation.domain.judging.sampling import MAX_SEED, NO_SPLIT
from validation.views.judging_forms import SEED_RANGE

OWN = "own"
ALL = "*"  # no split has this name
SAMPLING_CHOICES = (
    (SamplingMethod.RANDOM.value, "A random sample"),
    (SamplingMethod.PER_SPLIT.value, "A random sample of each split"),
    (SamplingMethod.TOP.value, "The highest scores of each split"),
)


class AuditForm(PageForm):
    """A new audit: its name, codebook, sample and readers."""

    name = text_field("Name", max_length=MAX_NAME_LENGTH)
    codebook = choice_field("Codebook")
    own_file = forms.FileField(required=False, label="Your codebook as a file", max_length=255)
    own_text = text_field(
        "Or paste the codebook",
        "TOML or JSON, at most 64 kB.",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "wrap": "off"}),
    )
    how = choice_field("Sample", SAMPLING_CHOICES)
    n = integer_field(
        "Sample size",
        "In total, or per split. Leave empty for the codebook’s published number.",
        low=1,
        high=MAX_PAIRS,
        required=False,
    )
    split = choice_field("Split", required=False)
    analysis = choice_field(
        "Scores", help_text="Only for the sample “The highest scores of each split”.", required=False
    )
    seed = integer_field(
        "Seed",
        "The pairs and their order are drawn with this seed. It is stored with the audit.",
        low=0,
        high=MAX_SEED,
    )
    readers = integer_field("Readers per pair", low=1, high=MAX_READERS, initial=2)

    def __init__(
        self,
        codebooks: dict[str, Codebook],
        splits: list[str],
        analyses: list[TextAnalysis],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        initial = {"seed": secrets.randbelow(SEED_RANGE), "split": ALL}
        super().__init__(*args, initial=initial, **kwargs)
        self.codebooks = codebooks
        self.selected_codebook: Codebook | None = None
        self._set_choices(splits, analyses)

    def _set_choices(self, splits: list[str], analyses: list[TextAnalysis]) -> None:
        codebooks = self.codebooks.items()
        shipped = [(key, f"{codebook.title}{_published_size_text(codebook)}") for key, codebook in codebooks]
        self._set_field_choices("codebook", [*shipped, (OWN, "Your own")])
        named = [(name, name.capitalize() or NO_SPLIT.capitalize()) for name in splits]
        self._set_field_choices("split", [(ALL, "All"), *named])
        scored = [(row.pk, f"Toxicity, analysis {row.pk}, {row.pairs} pairs") for row in analyses]
        self._set_field_choices("analysis", scored)
        if not analyses:
            self._set_field_choices(
                "how", [choice for choice in SAMPLING_CHOICES if choice[0] != SamplingMethod.TOP.value]
            )
            del self.fields["analysis"]
        if len(splits) <= 1:
            del self.fields["split"]

    def _set_field_choices(self, name: str, choices: list[Any]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Find the selected codebook, or parse the user's own."""
        data = super().clean() or {}
        if data.get("codebook") == OWN:
            self._parse_own_codebook(data)
        elif data.get("codebook"):
            self.selected_codebook = self.codebooks[data["codebook"]]
        if self.selected_codebook is not None and data.get("how") and "n" in data and data["n"] is None:
            self._set_default_sample_size(data, self.selected_codebook)
        return data

    def _set_default_sample_size(self, data: dict[str, Any], codebook: Codebook) -> None:
        try:
            data["n"] = default_sample_size(codebook, SamplingMethod(data["how"]))
        except InvalidInput as error:
            self.add_error("n", f"{str(error).removeprefix('n: ').capitalize()}.")

    def _parse_own_codebook(self, data: dict[str, Any]) -> None:
        file = data.get("own_file")
        field = "own_file" if isinstance(file, UploadedFile) else "own_text"
        try:
            self.selected_codebook = parse_codebook(*self._own_codebook_text(data))
        except InvalidInput as error:
            self.add_error(field, f"{error}.")

    def _own_codebook_text(self, data: dict[str, Any]) -> tuple[str, str]:
        """Return the text and name of the user's codebook; a file's text is copied into the text field."""
        file = data.get("own_file")
        if not isinstance(file, UploadedFile):
            if not data.get("own_text", "").strip():
                raise InvalidInput("codebook: choose a file, or paste its text")
            return data["own_text"], "your codebook"
        name = file.name or "your file"
        if (file.size or 0) > MAX_BYTES:
            raise InvalidInput(f"{name}: over {MAX_BYTES:,} bytes; a codebook is a page or two")
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{name}: is not UTF-8 text; save it as UTF-8") from error
        self.data = {**self.data.dict(), "own_text": text}  # type: ignore[attr-defined]
        return text, name

    @property
    def recipe(self) -> SampleRecipe:
        """The sample's recipe; the form must be valid.

        Raises:
            InvalidInput: two fields contradict each other.
        """
        data = self.cleaned_data
        how, split = SamplingMethod(data["how"]), data.get("split") if "split" in self.fields else ALL
        return SampleRecipe(
            method=how,
            n=data["n"],
            seed=data["seed"],
            split=None if split == ALL or how is SamplingMethod.PER_SPLIT else split or "",
            analysis=int(data["analysis"]) if how is SamplingMethod.TOP and data.get("analysis") else None,
        )


def _published_size_text(codebook: Codebook) -> str:
    if codebook.pairs_per_split:
        return f" ({codebook.pairs_per_split} of each split in Hessel et al. 2022)"
    return f" ({codebook.pairs} in Hessel et al. 2022)" if codebook.pairs else ""
