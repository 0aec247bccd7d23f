"""Forms of the pages about interesting photos."""

from typing import Any

from curation.interest.rules import HardRules
from curation.models import InterestModelKind
from curation.records import InvalidInput
from curation.selectors.features import used_encoders
from curation.selectors.scorers import SCORER_PREFIX, scorer_encoder_choices
from curation.services.interest import TrainingOptions
from curation.views.features import ENCODER_LABELS
from curation.views.fields import choice_field, float_field, integer_field
from hits.forms import PageForm
from hits.models import Project

DEFAULTS, RULES = TrainingOptions(), HardRules()
KIND_LABELS = {
    InterestModelKind.COUNTS.value: "Numbers of people and other objects",
    InterestModelKind.FEATURES.value: "The numbers and image features",
}
OKAY_LABELS = {"left-out": "Left out", "interesting": "Interesting", "boring": "Boring"}


class TrainingForm(PageForm):
    """A request for a model. Folders of weights can only be given on the command line."""

    kind = choice_field("The model sees", KIND_LABELS)
    encoder = choice_field("Encoder", help_text="For image features.")
    min_precision = integer_field(
        "Precision, %",
        "Wanted share of interesting photos among those that are kept. Zellers et al. (2019) take 70.",
        low=1,
        high=100,
        initial=round(100 * DEFAULTS.min_precision),
    )
    folds = integer_field(
        "Folds of films",
        "The precision is measured on films that the model has not seen.",
        low=2,
        high=50,
        initial=DEFAULTS.folds,
    )
    okay = choice_field("Photos without a clear verdict", OKAY_LABELS)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        used = [name for name in used_encoders(project) if name not in ENCODER_LABELS]
        names = [(name, name) for name in used if not name.startswith(SCORER_PREFIX)]
        choices = [*ENCODER_LABELS.items(), *scorer_encoder_choices(project).items(), *names]
        self.fields["encoder"].choices = choices  # type: ignore[attr-defined]

    @property
    def options(self) -> TrainingOptions:
        """The options; the form must be valid."""
        given = self.cleaned_data
        has_encoder = given["kind"] == InterestModelKind.FEATURES
        return TrainingOptions(
            kind=given["kind"],
            encoder=given["encoder"] if has_encoder else "",
            min_precision=given["min_precision"] / 100,
            folds=given["folds"],
            okay=given["okay"],
        )


class RulesForm(PageForm):
    """The hard rules of a selection."""

    min_objects = integer_field("Objects, at least", low=0, high=1000, initial=RULES.min_objects)
    min_people = integer_field("People, at least", low=0, high=1000, initial=RULES.min_people)
    min_score = float_field(
        "Minimum score of an object",
        "Objects with a lower score of the detector do not count.",
        low=0,
        high=1,
        initial=RULES.min_score,
    )

    @property
    def rules(self) -> HardRules:
        """The rules; the form must be valid."""
        return HardRules(**self.cleaned_data)

    def clean(self) -> dict[str, Any]:
        """Check the rules themselves, such as a score that is no number."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                HardRules(**cleaned)
            except InvalidInput as error:
                self.add_error("min_score", f"{error}.")
        return cleaned
