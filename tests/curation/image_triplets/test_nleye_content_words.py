"""Content words that an augmented prompt lost or changed."""

import pytest

from curation.image_triplets.word_diff import MarkedWord, changed_content_words, lost_content_words

BOY = "The boy is crying."


def words(marked: list[MarkedWord]) -> list[str]:
    return [word.text for word in marked]


@pytest.mark.parametrize(
    ("rewritten", "changed", "lost"),
    [
        ("The curly-haired boy with the green shirt is crying in a park.", [], []),
        ("The teenager is crying.", ["boy"], []),
        ("The curly-haired boy is wearing a green shirt.", ["crying"], []),
        ("The curly-haired boy.", [], ["crying"]),
        ("A boy is CRYING!", [], []),
        ("In a park, crying, sits the boy’s double.", [], []),
        ("The boy cries.", ["crying"], []),
        ("", [], ["boy", "crying"]),
    ],
)
def test_changed_and_lost_words_are_marked(rewritten: str, changed: list[str], lost: list[str]) -> None:
    assert words(changed_content_words(BOY, rewritten)) == changed
    assert words(lost_content_words(BOY, rewritten)) == lost


def test_replacement_and_place_are_returned() -> None:
    (word,) = changed_content_words("A wet floor without a sign.", "A dry floor without a sign.")
    assert word == MarkedWord("wet", 2, 5, "dry")


@pytest.mark.parametrize(
    ("original", "rewritten", "lost"),
    [
        ("The floor has no sign.", "The floor has a sign.", ["no"]),
        ("Two dogs sleep.", "Dogs sleep.", ["Two"]),
        ("The cup is in the box.", "The cup is on the box.", []),
        ("A ten-year-old plays.", "A child, ten years old, plays; a year passes.", []),
        ("The girl's dog barks.", "The girl and the dog: the dog barks.", []),
    ],
)
def test_negations_and_numbers_are_content_and_articles_are_not(
    original: str, rewritten: str, lost: list[str]
) -> None:
    missing = [*lost_content_words(original, rewritten), *changed_content_words(original, rewritten)]
    assert words(missing) == lost


def test_marks_are_places_of_the_original() -> None:
    original = "An old man feeds three grey pigeons near the fountain."
    for rewritten in ("A man feeds pigeons.", "Grey pigeons and a fountain", "nothing alike"):
        marked = [*lost_content_words(original, rewritten), *changed_content_words(original, rewritten)]
        assert marked
        assert all(original[word.start : word.end] == word.text for word in marked)
