"""Titles of the audits of image triplets by their stored names, for pages, cards and versions."""

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    "people_without_premise": "People without the premise",
    "model_without_premise": "Model without the premise",
    "single_hypothesis: pixels": "Brightness, contrast and colour",
    "single_hypothesis: production": "Way of making",
    "single_hypothesis: image features": "Image features",
    "single_hypothesis: texts": "Texts alone",
    "likeness": "Likeness to the premise",
    "style_distance": "Style",
    "text: length": "Length of the texts",
    "text: negations": "Negations",
    "label_balance": "Balance of gold",
    "mixed: generators": "Mixed generators",
    "mixed: sizes": "Mixed sizes",
    "mixed: seeds": "Mixed seeds",
    "agreement": "Agreement",
    "agreement by country": "Agreement by country",
}


def split_name(name: str) -> tuple[str, str]:
    """Return the name of the audit, and the model, category or country that it is about, if it is about one."""
    if name in TITLES:
        return name, ""
    family, _, about = name.partition(": ")
    return family, about


def audit_title(name: str) -> str:
    """Return an audit's title, with what it is about: \"Balance of gold, social\"."""
    family, about = split_name(name)
    title = TITLES.get(family, family.replace("_", " ").capitalize())
    return f"{title}, {about}" if about else title
