"""Forms of the instruction editor: a text and its worked examples, readable while still invalid."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from django import forms

from hits.domain.images.geometry import Box
from hits.domain.instructions import (
    MAX_BODY,
    MAX_EXAMPLE_TEXT,
    MAX_EXAMPLES,
    MAX_NOTE,
    MAX_SUMMARY,
    Example,
    InstructionText,
    format_boxes,
    parse_boxes,
)
from hits.forms.fields import PageForm
from hits.kind import HitKind
from hits.selectors.instructions import drawing_alt_texts


class InstructionsForm(PageForm):
    """The text of a new version. Its worked examples are separate forms."""

    summary = forms.CharField(
        max_length=MAX_SUMMARY,
        label="Summary",
        help_text="One line, shown beside “How to do this” above the text.",
    )
    body = forms.CharField(
        label="Text",
        widget=forms.Textarea(attrs={"rows": 16, "maxlength": MAX_BODY, "spellcheck": "true"}),
        help_text="Markdown: “1. ” or “- ” starts a list item, **bold**, *italic*, ## heading. "
        "![what it shows](photo:12) shows photo 12 of this project.",
    )
    note = forms.CharField(
        max_length=MAX_NOTE, label="What changed", help_text="For colleagues; workers do not see it."
    )
    based_on = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)

    @property
    def typed_values(self) -> dict[str, Any]:
        """The typed values, to show them again."""
        return {name: self.data.get(name, "") for name in self.fields}

    def typed_text(self, examples: "ExampleForms") -> InstructionText:
        """Return the text as typed, truncated just above its maximum length; it need not be valid."""
        body = "\n".join(self.data.get("body", "")[: 2 * MAX_BODY].splitlines())[: MAX_BODY + 1]
        read_examples = [form.example() for form in examples.forms]
        return InstructionText(
            self.data.get("summary", "")[: MAX_SUMMARY + 1],
            body,
            tuple(row for row in read_examples if row is not None),
        )

    def add_refusal(self, message: str) -> None:
        """Add a service's refusal, which starts with a field's name, to that field."""
        name, _, rest = message.partition(": ")
        known = name in self.fields
        self.add_error(name if known else None, f"{rest[:1].upper()}{rest[1:]}." if known else f"{message}.")


DRAWING_PREFIX = "drawing:"


class ExampleForm(PageForm):
    """One worked example. An empty form is no example."""

    weak = forms.CharField(required=False, label="Weak", widget=forms.Textarea(attrs={"rows": 2}))
    good = forms.CharField(required=False, label="Works", widget=forms.Textarea(attrs={"rows": 2}))
    why = forms.CharField(required=False, label="Why", widget=forms.Textarea(attrs={"rows": 2}))
    picture = forms.ChoiceField(required=False, label="Picture")
    photo = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=10**15,
        label="Photo number",
        help_text="The Photos page shows it.",
    )
    boxes = forms.CharField(
        required=False,
        label="Boxes",
        max_length=400,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "120, 80, 200, 150"}),
        help_text="One box per line: left, top, width and height in pixels of the photo.",
    )
    leave_out = forms.BooleanField(required=False, label="Leave this example out")

    def __init__(self, *args: Any, drawings: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        picture: Any = self.fields["picture"]
        picture.choices = [
            ("", "None"),
            ("photo", "A photo"),
            *((DRAWING_PREFIX + path, "Built-in drawing") for path in drawings),
        ]

    def clean_boxes(self) -> tuple[Box, ...]:
        """Return boxes; the service checks that they lie within the photo."""
        try:
            return parse_boxes(self.cleaned_data["boxes"])
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from None

    def clean(self) -> dict[str, Any]:
        """Require the photo's number if the example uses a photo."""
        data = super().clean() or {}
        if data.get("picture") == "photo" and not data.get("photo") and "photo" not in self.errors:
            self.add_error("photo", "Enter the photo’s number; the Photos page shows it.")
        return data

    def example(self) -> Example | None:
        """Return the valid part of the example, or ``None`` if it is empty or to be left out."""
        data = getattr(self, "cleaned_data", None) or {}
        # Truncated just above the maximum length, which the service refuses.
        texts = [data.get(name, "").strip()[: MAX_EXAMPLE_TEXT + 1] for name in ("weak", "good", "why")]
        picture, photo = data.get("picture", ""), data.get("photo")
        if data.get("leave_out") or not (any(texts) or picture or photo):
            return None
        weak, good, why = texts
        is_drawing = picture.startswith(DRAWING_PREFIX)
        return Example(
            weak=weak,
            good=good,
            why=why,
            image=None if is_drawing else photo,
            boxes=() if is_drawing or not photo else data.get("boxes") or (),
            picture=picture.removeprefix(DRAWING_PREFIX) if is_drawing else "",
        )


ExampleForms: TypeAlias = "forms.BaseFormSet[ExampleForm]"


def build_example_forms(
    kind: HitKind, examples: Sequence[Example], data: Mapping[str, Any] | None = None, *, extra: int = 0
) -> ExampleForms:
    """Return the forms of a text's examples, from ``examples`` or from typed ``data``, with an empty one at the end.

    ``extra`` is the number of empty forms to add to typed ones.
    """
    kwargs = {"drawings": list(drawing_alt_texts(kind))}
    if data is not None and not extra:
        return _ExampleFormSet(data, prefix="examples", form_kwargs=kwargs)
    rows = [_initial_values(row) for row in examples]
    if data is not None:
        typed = _ExampleFormSet(data, prefix="examples", form_kwargs=kwargs)
        names = list(ExampleForm.base_fields)
        rows = [{name: form[name].data for name in names} for form in typed.forms]
    return _ExampleFormSet(initial=rows, prefix="examples", form_kwargs=kwargs)


def _initial_values(row: Example) -> dict[str, Any]:
    picture = DRAWING_PREFIX + row.picture if row.picture else "photo" if row.image else ""
    texts = {"weak": row.weak, "good": row.good, "why": row.why}
    return texts | {"picture": picture, "photo": row.image, "boxes": format_boxes(row.boxes)}


_ExampleFormSet = forms.formset_factory(
    ExampleForm,
    extra=1,
    max_num=MAX_EXAMPLES,
    absolute_max=MAX_EXAMPLES,
    validate_max=True,
)
