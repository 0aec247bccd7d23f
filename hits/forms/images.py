"""What a person may change about a photo: everything but its pixels."""

from django import forms

from hits.forms.parts import PageForm
from hits.models import Image

FIELDS = ("credit", "licence", "alt", "split")


class ImageForm(PageForm):
    """Credit, licence, alternative text and split of one photo."""

    credit = forms.CharField(max_length=300, required=False, label="Credit", help_text="Who took the photo.")
    licence = forms.CharField(
        max_length=120, required=False, label="Licence", help_text="For instance CC BY 2.0."
    )
    alt = forms.CharField(
        max_length=300,
        required=False,
        label="Alternative text",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="What the photo shows, for workers who cannot see it. Don’t give the answer away.",
    )
    split = forms.ChoiceField(
        choices=[("", "None"), ("train", "train"), ("val", "val"), ("test", "test")],
        required=False,
        label="Split",
        help_text="A version keeps the split that a photo has when the version is sealed.",
    )

    @staticmethod
    def values_of(image: Image) -> dict[str, str]:
        """Return what the row says."""
        return {name: getattr(image, name) for name in FIELDS}
