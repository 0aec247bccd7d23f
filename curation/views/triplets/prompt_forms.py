"""Forms of the pages about prompts: filters, prompts by hand, and a run of a chat model."""

from collections import Counter
from typing import Any

from django import forms

from curation.models import PromptSet, PromptWay, Scene
from curation.selectors.triplets.prompt_queue import PromptQueueState
from curation.services.triplets.augmentation import AugmentOptions
from curation.services.triplets.chat_options import MAX_THREADS
from curation.services.triplets.prompts import (
    MAX_COMPONENT,
    MAX_ENVIRONMENT,
    MAX_PROMPT,
    WrittenPrompts,
    plain_prompts,
)
from curation.views.fields import checkbox, float_field, integer_field, text_field
from hits.forms import PageForm

ALL = "all"
DEFAULT_MODEL = AugmentOptions().model
MAX_SEARCH = 100
MAX_CAP_DOLLARS = 1_000_000
MAX_CALLS = 10_000_000


class PromptFilterForm(PageForm):
    """Filters of the prompts; invalid values are ignored. Without a state, those that wait for a verdict."""

    q = text_field("Containing", required=False, max_length=MAX_SEARCH)
    state = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, counts: Counter[PromptQueueState], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="filter_%s", **kwargs)
        self.is_valid()
        waits = counts[PromptQueueState.WAITING] and not self.cleaned_data.get("q")
        self.default = PromptQueueState.WAITING if waits else None

    @property
    def chosen_state(self) -> PromptQueueState | None:
        """The state to list; ``None`` for all."""
        name = self.cleaned_data.get("state")
        if name == ALL:
            return None
        return PromptQueueState(name) if name in set(PromptQueueState) else self.default

    @property
    def text(self) -> str:
        """What is searched for."""
        return str(self.cleaned_data.get("q") or "")


def _prompt_field(label: str) -> forms.CharField:
    return text_field(label, max_length=MAX_PROMPT, widget=forms.Textarea({"rows": 4}))


class ManualPromptsForm(PageForm):
    """Prompts of a scene by hand."""

    premise = _prompt_field("Premise")
    plausible = _prompt_field("More plausible hypothesis")
    implausible = _prompt_field("Less plausible hypothesis")
    first = text_field(
        "Component 1",
        "A person or thing that all three images show alike. For the record: write it into each prompt, too.",
        required=False,
        max_length=MAX_COMPONENT,
    )
    second = text_field("Component 2", required=False, max_length=MAX_COMPONENT)
    environment = text_field(
        "Environment", "The place of all three.", required=False, max_length=MAX_ENVIRONMENT
    )
    based_on = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, scene: Scene, prompts: PromptSet | None, *args: Any, **kwargs: Any) -> None:
        self.scene = scene
        texts = (
            {role: prompts.prompt(role) for role in ("premise", "a", "b")}
            if prompts
            else plain_prompts(scene).texts
        )
        components = [*(prompts.components if prompts else []), "", ""]
        initial = {
            **{name: texts[role] for name, role in self._roles().items()},
            "first": components[0],
            "second": components[1],
            "environment": prompts.environment if prompts else "",
            "based_on": prompts.pk if prompts else 0,
        }
        super().__init__(*args, initial=initial, auto_id="prompts_%s", **kwargs)

    def _roles(self) -> dict[str, str]:
        other = "b" if self.scene.plausible == "a" else "a"
        return {"premise": "premise", "plausible": self.scene.plausible, "implausible": other}

    @property
    def written(self) -> WrittenPrompts:
        """The prompts; the form must be valid."""
        given = self.cleaned_data
        return WrittenPrompts(
            PromptWay.MANUAL,
            {role: given[name] for name, role in self._roles().items()},
            [text for text in (given["first"], given["second"]) if text],
            given["environment"],
        )


class AugmentationForm(PageForm):
    """A run of a chat model that writes prompts."""

    model = text_field(
        "Chat model",
        "openai:MODEL asks the server that the administrator has set up; canned is made up, for practice.",
        initial=DEFAULT_MODEL,
        max_length=200,
    )
    cap_usd = float_field(
        "Cap, US dollars",
        "The price of a call is reserved before it is sent.",
        low=0,
        high=MAX_CAP_DOLLARS,
        initial=0,
    )
    cap_calls = integer_field("Cap, calls", "Empty: no cap.", low=1, high=MAX_CALLS, required=False)
    per_minute = float_field("Calls a minute", "Empty: no limit.", low=0.01, high=100_000, required=False)
    threads = integer_field("Calls at once", low=1, high=MAX_THREADS, initial=1)
    price_unknown = checkbox("Call although the price table has no price of this model")
    again = checkbox("Write prompts also for the scenes that have some")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="augment_%s", **kwargs)

    def clean_model(self) -> str:
        """Refuse a file of replies: pages read no files of the server."""
        model: str = self.cleaned_data["model"].strip()
        if model.startswith(f"{DEFAULT_MODEL}:"):
            raise forms.ValidationError("Files of recorded replies can only be named in a command.")
        return model

    @property
    def options(self) -> AugmentOptions:
        """The options; the form must be valid. Raises Refused with the name of an option."""
        given = self.cleaned_data
        return AugmentOptions(
            model=given["model"],
            cap_usd=given["cap_usd"],
            cap_calls=given["cap_calls"],
            per_minute=given["per_minute"],
            threads=given["threads"],
            price_unknown=given["price_unknown"],
            again=given["again"],
        )
