"""Function words of English, which hardly change what a picture of a sentence shows. The page has the same list."""


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _split("""
    a an the this that these those some any each every its his her their my your our
    he she it they him them himself herself itself themselves we us you i who whom whose which what
    is are was were be been being am has have had having does do did will would shall should can could may might must
    and or but so then than as if when while where there here also too very just still
    of to at in on for with by from into onto
    s t d ll ve re m
    """)
_ENDINGS = ("'s", "'d", "'ll", "'ve", "'re", "'m")


def is_function_word(word: str) -> bool:
    """Return whether a word in lower case is a function word, or a contraction of one such as "she's".

    Negations and numbers are content: "not", "no", "never", "without", "isn't", "two".
    """
    if word in FUNCTION_WORDS:
        return True
    ending = next((ending for ending in _ENDINGS if word.endswith(ending)), "")
    return bool(ending) and word.removesuffix(ending) in FUNCTION_WORDS
