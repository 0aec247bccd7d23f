"""QuestionForms and AnswerKeys as requesters send them."""

from hits.marketplace.formats.xml_reader import SCHEMAS

FORM = f"{SCHEMAS}/2017-11-06/QuestionForm.xsd"
OLD_FORM = f"{SCHEMAS}/2005-10-01/QuestionForm.xsd"
KEY = f"{SCHEMAS}/2005-10-01/AnswerKey.xsd"


def form_xml(*parts: str, namespace: str = FORM) -> str:
    """Return a QuestionForm of the given Overviews and Questions."""
    return f'<?xml version="1.0"?><QuestionForm xmlns="{namespace}">{"".join(parts)}</QuestionForm>'


def question(
    identifier: str, answer: str, *, required: bool = False, name: str = "", text: str = "Why?"
) -> str:
    """Return a Question with an answer specification."""
    shown = f"<DisplayName>{name}</DisplayName>" if name else ""
    return (
        f"<Question><QuestionIdentifier>{identifier}</QuestionIdentifier>{shown}"
        f"<IsRequired>{str(required).lower()}</IsRequired>"
        f"<QuestionContent><Text>{text}</Text></QuestionContent>"
        f"<AnswerSpecification>{answer}</AnswerSpecification></Question>"
    )


def free_text(constraints: str = "", more: str = "") -> str:
    """Return a FreeTextAnswer."""
    held = f"<Constraints>{constraints}</Constraints>" if constraints else ""
    return f"<FreeTextAnswer>{held}{more}</FreeTextAnswer>"


def choice(*identifiers: str, most: int = 1, least: int = 1, style: str = "", other: str = "") -> str:
    """Return a SelectionAnswer."""
    selections = "".join(
        f"<Selection><SelectionIdentifier>{one}</SelectionIdentifier><Text>Selection {one}</Text></Selection>"
        for one in identifiers
    )
    suggestion = f"<StyleSuggestion>{style}</StyleSuggestion>" if style else ""
    return (
        f"<SelectionAnswer><MinSelectionCount>{least}</MinSelectionCount>"
        f"<MaxSelectionCount>{most}</MaxSelectionCount>{suggestion}"
        f"<Selections>{selections}{other}</Selections></SelectionAnswer>"
    )


def key_xml(*questions: str, mapping: str = "") -> str:
    """Return an AnswerKey; ``mapping`` is what QualificationValueMapping holds."""
    held = f"<QualificationValueMapping>{mapping}</QualificationValueMapping>" if mapping else ""
    return f'<AnswerKey xmlns="{KEY}">{"".join(questions)}{held}</AnswerKey>'


def key_question(identifier: str, scores: dict[str, int], default: int | None = None) -> str:
    """Return a Question of an AnswerKey; selections that belong together are joined by ``+``."""
    options = "".join(
        "<AnswerOption>"
        + "".join(f"<SelectionIdentifier>{one}</SelectionIdentifier>" for one in chosen.split("+"))
        + f"<AnswerScore>{score}</AnswerScore></AnswerOption>"
        for chosen, score in scores.items()
    )
    otherwise = "" if default is None else f"<DefaultScore>{default}</DefaultScore>"
    return f"<Question><QuestionIdentifier>{identifier}</QuestionIdentifier>{options}{otherwise}</Question>"


TEST = form_xml(
    "<Overview><Title>Before you start</Title><Text>Two questions about photos.</Text></Overview>",
    question("sky", choice("blue", "green"), required=True, name="The sky", text="What colour is it?"),
    question("fruit", choice("apple", "pear", "chair", most=3), required=True, text="Which are fruit?"),
)
TEST_KEY = key_xml(
    key_question("sky", {"blue": 5}),
    key_question("fruit", {"apple+pear": 5, "chair": -5}, default=1),
    mapping="<PercentageMapping><MaximumSummedScore>10</MaximumSummedScore></PercentageMapping>",
)
