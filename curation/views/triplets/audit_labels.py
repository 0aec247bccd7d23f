"""What each audit of image triplets is called, what it means in one sentence, and where its limits are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.evaluation.nleye_audits import CHANCE, MAX_SHARE

PEOPLE_WITHOUT_PREMISE = "people_without_premise"
MODEL_WITHOUT_PREMISE = "model_without_premise"
AGREEMENT, BY_COUNTRY = "agreement", "agreement by country"
LABEL_BALANCE = "label_balance"
HIGH_LIMIT, LOW_LIMIT = MAX_SHARE, 2 * CHANCE - MAX_SHARE


@dataclass(frozen=True, slots=True)
class AuditLabel:
    """An audit's title and meaning. limits: figures in percent beyond which it is flagged, if a share decides."""

    title: str
    meaning: str
    limits: Sequence[float] = ()


ONE_SIDE, BOTH_SIDES = (HIGH_LIMIT,), (LOW_LIMIT, HIGH_LIMIT)
LABELS: Mapping[str, AuditLabel] = {
    PEOPLE_WITHOUT_PREMISE: AuditLabel(
        "People without the premise",
        "How often people find gold without the premise. About half means that the premise is needed.",
        ONE_SIDE,
    ),
    MODEL_WITHOUT_PREMISE: AuditLabel(
        "Model without the premise",
        "How often a model finds gold without the premise. About half means that the premise is needed.",
        ONE_SIDE,
    ),
    "single_hypothesis: pixels": AuditLabel(
        "Brightness, contrast and colour",
        "How often a classifier finds gold by the pixels of single hypotheses. Over half, they give it away.",
        ONE_SIDE,
    ),
    "single_hypothesis: production": AuditLabel(
        "Way of making",
        "How often a classifier finds gold by generator, attempts, edits and file size. They must not differ.",
        ONE_SIDE,
    ),
    "single_hypothesis: image features": AuditLabel(
        "Image features",
        "How often a classifier finds gold by the features of single images, without the premise.",
        ONE_SIDE,
    ),
    "single_hypothesis: texts": AuditLabel(
        "Texts alone",
        "How often a classifier finds gold by the text of single hypotheses, without the premise.",
        ONE_SIDE,
    ),
    "likeness": AuditLabel(
        "Likeness to the premise",
        "How often gold is the hypothesis whose image is nearer to the premise. Far from half, likeness finds it.",
        BOTH_SIDES,
    ),
    "style_distance": AuditLabel(
        "Style",
        "How often gold is farther from the premise in brightness, contrast, colour and sharpness. Both should be "
        "equally far.",
        BOTH_SIDES,
    ),
    "text: length": AuditLabel(
        "Length of the texts",
        "How often gold has the longer text. Far from half, length finds it.",
        BOTH_SIDES,
    ),
    "text: negations": AuditLabel(
        "Negations", "How often gold has more negations. Far from half, they find it.", BOTH_SIDES
    ),
    LABEL_BALANCE: AuditLabel(
        "Balance of gold",
        "How often gold is hypothesis 1. Half means that always choosing one gains nothing.",
    ),
    "mixed: generators": AuditLabel(
        "Mixed generators",
        "How many triplets have images of different generators. One for each triplet is best.",
    ),
    "mixed: sizes": AuditLabel(
        "Mixed sizes", "How many triplets have images of different sizes. One for each triplet is best."
    ),
    "mixed: seeds": AuditLabel(
        "Mixed seeds",
        "How many triplets have images with and without a known seed. One way for each triplet is best.",
    ),
    AGREEMENT: AuditLabel(
        "Agreement",
        "How much people agree, as Krippendorff’s α. Low agreement means that gold is a matter of opinion.",
    ),
    BY_COUNTRY: AuditLabel(
        "Agreement by country", "How much people of one declared country agree, as Krippendorff’s α."
    ),
}


@dataclass(frozen=True, slots=True)
class AuditName:
    """An audit's name in parts: its label, and the model, category or country that it is about."""

    label: AuditLabel
    family: str
    about: str = ""


def read_name(name: str) -> AuditName:
    """Return the label of an audit by its stored name, such as ``label_balance: social``."""
    if name in LABELS:
        return AuditName(LABELS[name], name)
    family, _, about = name.partition(": ")
    label = LABELS.get(family, AuditLabel(name.replace("_", " ").capitalize(), ""))
    return AuditName(label, family, about)


def audit_title(name: str) -> str:
    """Return an audit's title with what it is about, on one line."""
    found = read_name(name)
    return f"{found.label.title}, {found.about}" if found.about else found.label.title
