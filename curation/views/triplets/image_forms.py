"""Forms about generated images: a run of a generator, one more candidate, and the cap of a run."""

import json
from collections.abc import Sequence
from typing import Any

from django import forms

from curation.models import GeneratedImage, ModelRun, RunPurpose
from curation.records import InvalidInput
from curation.services.triplets.generation import (
    EDIT_WAYS,
    MAX_CANDIDATES,
    MAX_SIDE,
    MIN_SIDE,
    SEED_RANGE,
    EditOptions,
    GenerationOptions,
    project_prices,
)
from curation.services.triplets.model_calls import MAX_CAP_USD, MICRO_DOLLARS
from curation.views.fields import checkbox, float_field, integer_field, text_field
from hits.forms import PageForm
from hits.models import Project
from hits.services.errors import Refused

DEFAULTS = GenerationOptions()
MAX_NAME, MAX_PROMPT, MAX_NEGATIVE, MAX_BOXES = 200, 8000, 1000, 20
CAP_HELP = "US dollars. A call that could exceed the cap is not sent."
_PRICE_LABEL = "Draw although the price table has no price"
# A page has a box to tick where a command has a flag.
_FLAG = ("say --price-unknown to go on without a cap in dollars", f"tick “{_PRICE_LABEL}”")
WAY_LABELS = {
    "again": "Again: the same prompt and seed",
    "variation": "From this picture, as far away as the strength says",
    "region": "Only a region of this picture",
}


def generator_suggestions(project: Project) -> list[str]:
    """Return the generators that a project has prices or earlier runs for, and the one for test drawings."""
    try:
        priced = list(project_prices(project).images)
    except Refused:
        priced = []  # the page of settings says what is wrong with the table
    used = ModelRun.objects.filter(project=project, purpose=RunPurpose.IMAGES)
    names = [*priced, *used.order_by().values_list("generator", flat=True).distinct(), DEFAULTS.generator]
    return list(dict.fromkeys(names))


def cap_field(**options: Any) -> forms.FloatField:
    """Return a field for a cap in dollars."""
    return float_field("Cap", CAP_HELP, low=0, high=MAX_CAP_USD, **options)


class GenerationForm(PageForm):
    """What a run draws, and the most that it may cost."""

    generator = text_field(
        "Generator",
        "drawing (test drawings), openai:MODEL, or diffusers:OWNER/NAME@REVISION.",
        max_length=MAX_NAME,
        initial=DEFAULTS.generator,
    )
    candidates = integer_field(
        "Candidates of each role", low=1, high=MAX_CANDIDATES, initial=DEFAULTS.candidates
    )
    width = integer_field("Width, pixels", low=MIN_SIDE, high=MAX_SIDE, initial=DEFAULTS.width)
    height = integer_field("Height, pixels", low=MIN_SIDE, high=MAX_SIDE, initial=DEFAULTS.height)
    cap_usd = cap_field(initial=f"{DEFAULTS.cap_usd:g}")
    price_unknown = checkbox(_PRICE_LABEL)
    negative = text_field(
        "Shall not show",
        "A negative prompt, for generators that take one.",
        required=False,
        max_length=MAX_NEGATIVE,
    )
    seed = integer_field(
        "First seed",
        "Candidate k of every role gets the same seed. Empty: the generator chooses.",
        low=0,
        high=SEED_RANGE - 1,
        required=False,
        initial=DEFAULTS.seed,
    )
    steps = integer_field("Steps", "Of diffusion models.", low=1, high=1000, required=False)
    guidance = float_field("Guidance", "Of diffusion models.", low=0, high=100, required=False)
    condition = checkbox(
        "Draw hypotheses beside the picked premise, if the generator takes a reference image", initial=True
    )
    unattended = checkbox("Do not wait for picks: take the first premise")

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suggestions = generator_suggestions(project)
        self.fields["generator"].widget.attrs |= {
            "list": "generators",
            "autocomplete": "off",
            "spellcheck": "false",
        }

    @property
    def options(self) -> GenerationOptions:
        """The options; the form must be valid. Raises Refused, whose message names the field."""
        return GenerationOptions(**self.cleaned_data)

    @property
    def ticks(self) -> list[forms.BoundField]:
        """The boxes to tick."""
        return [self[name] for name in ("condition", "unattended", "price_unknown")]

    @property
    def has_more(self) -> bool:
        """Whether to open the section of further options: one has an error or another value than by default."""
        names = ("negative", "steps", "guidance", "seed", "condition", "unattended", "price_unknown")
        return any(self[name].errors or self[name].value() != self[name].initial for name in names)


class EditForm(PageForm):
    """One more candidate from an existing one. ``mask`` is a JSON list of boxes in the image's pixels."""

    way = forms.ChoiceField(label="How", choices=list(WAY_LABELS.items()), widget=forms.RadioSelect)
    prompt = forms.CharField(
        label="Prompt", required=False, max_length=MAX_PROMPT, widget=forms.Textarea({"rows": 4})
    )
    generator = text_field("Generator", required=False, max_length=MAX_NAME)
    strength = float_field(
        "Strength",
        "0.1 stays close to the picture; 1 ignores it.",
        low=0.01,
        high=1,
        required=False,
        initial=0.5,
    )
    cap_usd = cap_field()
    price_unknown = checkbox(_PRICE_LABEL)
    mask = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    def __init__(self, image: GeneratedImage, *args: Any, price: int | None = None, **kwargs: Any) -> None:
        initial = {
            "way": EDIT_WAYS[0],
            "prompt": image.prompt,
            "generator": "" if image.imported_row_id else image.generator,
            "cap_usd": f"{(price or 0) / MICRO_DOLLARS:g}",
        }
        super().__init__(*args, initial=initial | kwargs.pop("initial", {}), auto_id="edit_%s", **kwargs)
        self.image = image
        self.suggestions = generator_suggestions(image.scene.project)
        self.fields["generator"].widget.attrs |= {
            "list": "generators",
            "autocomplete": "off",
            "spellcheck": "false",
        }

    def clean_mask(self) -> list[dict[str, int]]:
        """Return the boxes; each lies in the image."""
        text = self.cleaned_data["mask"]
        try:
            boxes = _read_boxes(json.loads(text or "[]"), self.image.image.width, self.image.image.height)
        except (ValueError, RecursionError, InvalidInput) as error:
            raise forms.ValidationError(f"The region cannot be read ({error}); draw it again.") from None
        return boxes

    @property
    def options(self) -> EditOptions:
        """The options; the form must be valid. Raises Refused, whose message names the field."""
        data = self.cleaned_data
        is_region = data["way"] == "region"
        prompt = " ".join(data["prompt"].split())
        is_own = data["way"] == "again" or prompt == " ".join(self.image.prompt.split())
        return EditOptions(
            way=data["way"],
            prompt="" if is_own else prompt,
            generator=data["generator"],
            strength=0.5 if data["strength"] is None else data["strength"],
            mask=data["mask"] if is_region else (),
            cap_usd=data["cap_usd"],
            price_unknown=data["price_unknown"],
        )


def _read_boxes(rows: Any, width: int, height: int) -> list[dict[str, int]]:
    """Return boxes as plain data. Raises InvalidInput."""
    names = ("left", "top", "width", "height")
    if not isinstance(rows, list) or len(rows) > MAX_BOXES:
        raise InvalidInput(f"use at most {MAX_BOXES} boxes")
    found = []
    for row in rows:
        if (
            not isinstance(row, dict)
            or set(row) != set(names)
            or not all(type(row[name]) is int for name in names)
        ):
            raise InvalidInput("a box needs whole pixels")
        if row["left"] < 0 or row["top"] < 0 or row["width"] < 1 or row["height"] < 1:
            raise InvalidInput("a box has no area")
        if row["left"] + row["width"] > width or row["top"] + row["height"] > height:
            raise InvalidInput("a box reaches out of the image")
        found.append({name: row[name] for name in names})
    return found


class CapForm(PageForm):
    """A higher cap for a run that is resumed."""

    cap_usd = cap_field()


def add_refusal(form: forms.Form, error: Refused, names: Sequence[str] = ()) -> None:
    """Add a refusal to the field that its message names, or else to the whole form."""
    name, _, reason = str(error).partition(": ")
    field = {"cap": "cap_usd"}.get(name, name)
    if field in form.fields and field not in names:
        form.add_error(field, f"{reason[:1].upper()}{reason[1:].rstrip('.')}.")
    else:
        form.add_error(None, f"Not started: {str(error).rstrip('.').replace(*_FLAG)}.")
