"""What each audit of image triplets means in one sentence, and where its limits are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.evaluation.nleye_audits import CHANCE, MAX_SHARE
from curation.image_triplets.audit_titles import audit_title, split_name

PEOPLE_WITHOUT_PREMISE = "people_without_premise"
MODEL_WITHOUT_PREMISE = "model_without_premise"
AGREEMENT, BY_COUNTRY = "agreement", "agreement by country"
LABEL_BALANCE = "label_balance"
HIGH_LIMIT, LOW_LIMIT = MAX_SHARE, 2 * CHANCE - MAX_SHARE


@dataclass(frozen=True, slots=True)
class AuditLabel:
    """An audit's meaning. limits: figures in percent beyond which it is flagged, if a share decides."""

    meaning: str = ""
    limits: Sequence[float] = ()


ONE_SIDE, BOTH_SIDES = (HIGH_LIMIT,), (LOW_LIMIT, HIGH_LIMIT)
LABELS: Mapping[str, AuditLabel] = {
    PEOPLE_WITHOUT_PREMISE: AuditLabel(
        "How often people find gold without the premise. About half means that the premise is needed.",
        ONE_SIDE,
    ),
    MODEL_WITHOUT_PREMISE: AuditLabel(
        "How often a model finds gold without the premise. About half means that the premise is needed.",
        ONE_SIDE,
    ),
    "single_hypothesis: pixels": AuditLabel(
        "How often a classifier finds gold by the pixels of single hypotheses. Over half, they give it away.",
        ONE_SIDE,
    ),
    "single_hypothesis: production": AuditLabel(
        "How often a classifier finds gold by generator, attempts, edits and file size. They must not differ.",
        ONE_SIDE,
    ),
    "single_hypothesis: image features": AuditLabel(
        "How often a classifier finds gold by the features of single images, without the premise.",
        ONE_SIDE,
    ),
    "single_hypothesis: texts": AuditLabel(
        "How often a classifier finds gold by the text of single hypotheses, without the premise.",
        ONE_SIDE,
    ),
    "likeness": AuditLabel(
        "How often gold is the hypothesis whose image is nearer to the premise. Far from half, likeness finds it.",
        BOTH_SIDES,
    ),
    "style_distance": AuditLabel(
        "How often gold is farther from the premise in brightness, contrast, colour and sharpness. Both should be "
        "equally far.",
        BOTH_SIDES,
    ),
    "text: length": AuditLabel(
        "How often gold has the longer text. Far from half, length finds it.",
        BOTH_SIDES,
    ),
    "text: negations": AuditLabel(
        "How often gold has more negations. Far from half, they find it.", BOTH_SIDES
    ),
    LABEL_BALANCE: AuditLabel(
        "How often gold is hypothesis 1. Half means that always choosing one gains nothing.",
    ),
    "mixed: generators": AuditLabel(
        "How many triplets have images of different generators. One for each triplet is best.",
    ),
    "mixed: sizes": AuditLabel(
        "How many triplets have images of different sizes. One for each triplet is best."
    ),
    "mixed: seeds": AuditLabel(
        "How many triplets have images with and without a known seed. One way for each triplet is best.",
    ),
    AGREEMENT: AuditLabel(
        "How much people agree, as Krippendorff’s α. Low agreement means that gold is a matter of opinion.",
    ),
    BY_COUNTRY: AuditLabel("How much people of one declared country agree, as Krippendorff’s α."),
}


@dataclass(frozen=True, slots=True)
class AuditName:
    """An audit's name in parts: its title, what it means, and the model, category or country that it is about."""

    title: str
    label: AuditLabel
    family: str
    about: str = ""


def read_name(name: str) -> AuditName:
    """Return the parts of an audit's stored name, such as ``label_balance: social``."""
    family, about = split_name(name)
    return AuditName(audit_title(family), LABELS.get(family, AuditLabel()), family, about)
