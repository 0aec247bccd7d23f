"""The form for a photo's description."""

from django import forms

from hits.forms.fields import PageForm
from hits.models import Image

IMAGE_FIELDS = ("credit", "licence", "alt", "split")


class ImageForm(PageForm):
    """Credit, licence, alternative text and split of one photo."""

    credit = forms.CharField(
        max_length=300, required=False, label="Credit", help_text="Name of the photographer."
    )
    licence = forms.CharField(
        max_length=120, required=False, label="Licence", help_text="For example CC BY 2.0."
    )
    alt = forms.CharField(
        max_length=300,
        required=False,
        label="Alternative text",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Describes the photo to workers who cannot see it. It must not reveal the answer.",
    )
    split = forms.ChoiceField(
        choices=[("", "None"), ("train", "train"), ("val", "val"), ("test", "test")],
        required=False,
        label="Split",
        help_text="A sealed version keeps the split that the photo had when the version was sealed.",
    )

    @staticmethod
    def initial_values(image: Image) -> dict[str, str]:
        """Return the form's values from the row."""
        return {name: getattr(image, name) for name in IMAGE_FIELDS}
