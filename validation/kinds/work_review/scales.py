"""The questions about a triplet and about a whole submission (Zellers et al. 2019, §B.3)."""

from enum import StrEnum


class QuestionVerdict(StrEnum):
    """Whether the question asks for something worth an answer."""

    GOOD = "good"
    PLAIN = "plain"
    GENERIC = "generic"
    UNSEEN = "unseen"


class AnswerVerdict(StrEnum):
    """Whether the answer is reasonable for this image."""

    REASONABLE = "reasonable"
    UNLIKELY = "unlikely"
    WRONG = "wrong"


class RationaleVerdict(StrEnum):
    """Whether the rationale says why the answer is right."""

    EXPLAINS = "explains"
    RESTATES = "restates"
    STORY = "story"


class TagsVerdict(StrEnum):
    """Whether the tags name the objects that the texts are about."""

    RIGHT = "right"
    WRONG_OBJECT = "wrong_object"
    MISSING = "missing"


class Overall(StrEnum):
    """What should become of the author's work."""

    KEEP = "keep"
    KEEP_ADVICE = "keep_advice"
    DEQUALIFY = "dequalify"


QUESTION_TEXTS = {
    QuestionVerdict.GOOD: "good",
    QuestionVerdict.PLAIN: "too plain",
    QuestionVerdict.GENERIC: "too generic",
    QuestionVerdict.UNSEEN: "cannot be told from the picture",
}
ANSWER_TEXTS = {
    AnswerVerdict.REASONABLE: "reasonable",
    AnswerVerdict.UNLIKELY: "unlikely",
    AnswerVerdict.WRONG: "wrong",
}
RATIONALE_TEXTS = {
    RationaleVerdict.EXPLAINS: "explains",
    RationaleVerdict.RESTATES: "restates",
    RationaleVerdict.STORY: "story without ground",
}
TAGS_TEXTS = {
    TagsVerdict.RIGHT: "right",
    TagsVerdict.WRONG_OBJECT: "wrong object",
    TagsVerdict.MISSING: "missing",
}
OVERALL_TEXTS = {
    Overall.KEEP: "keep",
    Overall.KEEP_ADVICE: "keep, with advice",
    Overall.DEQUALIFY: "de-qualify?",
}
