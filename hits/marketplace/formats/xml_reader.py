"""Read a requester's XML: a root of a known schema, no doctype, no entities, errors that name elements."""

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from hits.domain.mturk_formats.answer_xml import clean_xml_text
from hits.domain.mturk_formats.external_question import QuestionInvalid, parse_question_root

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
XML_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_root(xml: str, name: str, versions: Sequence[str]) -> Element:
    """Return the root element; the schema's namespace is removed from all element names.

    ``versions`` are the accepted versions of the schema; errors suggest the first one.
    Raises QuestionTooLong, QuestionNotXml or QuestionInvalid.
    """
    root = parse_question_root(xml, name)
    for version in versions:
        namespace = f"{{{SCHEMAS}/{version}/{name}.xsd}}"
        if root.tag == f"{namespace}{name}":
            _strip_namespace(root, namespace)
            return root
    served = " or ".join(versions)
    raise QuestionInvalid(
        f"The root element must be {name} of schema {served}, got {short_tag(root.tag)!r}. "
        f'Write <{name} xmlns="{SCHEMAS}/{versions[0]}/{name}.xsd">.'
    )


def root_name(xml: str) -> str:
    """Return the name of the root element of any schema. Raises QuestionTooLong or QuestionNotXml."""
    return short_tag(parse_question_root(xml, "question").tag)


def short_tag(tag: str) -> str:
    """Return an element's name without its namespace, at most 80 characters."""
    return tag.rsplit("}", 1)[-1][:80]


def iter_children(parent: Element, *allowed: str) -> Iterator[Element]:
    """Yield the children in order. Raises QuestionInvalid for an element that is not allowed."""
    for child in parent:
        if child.tag not in allowed:
            raise QuestionInvalid(f"{short_tag(parent.tag)} cannot hold {short_tag(child.tag)}.")
        yield child


def check_children(parent: Element, *allowed: str) -> None:
    """Raise QuestionInvalid for a child that is not allowed."""
    list(iter_children(parent, *allowed))


def find_only_child(parent: Element, name: str) -> Element | None:
    """Return the child of that name, or None. Raises QuestionInvalid if there are several."""
    found = parent.findall(name)
    if len(found) > 1:
        raise QuestionInvalid(f"{short_tag(parent.tag)} holds {name} more than once.")
    return found[0] if found else None


def get_text(element: Element) -> str:
    """Return an element's text without surrounding white space. Raises QuestionInvalid for child elements."""
    if len(element):
        raise QuestionInvalid(
            f"{short_tag(element.tag)} holds text only, got the element {short_tag(element[0].tag)}."
        )
    return (element.text or "").strip()


def optional_text(parent: Element, name: str, default: str = "") -> str:
    """Return the text of a child, or the default if it is missing."""
    child = find_only_child(parent, name)
    return default if child is None else get_text(child)


def required_text(parent: Element, name: str) -> str:
    """Return the text of a child. Raises QuestionInvalid if it is missing or empty."""
    text = optional_text(parent, name)
    if not text:
        raise QuestionInvalid(f"{short_tag(parent.tag)} needs a {name} with a value.")
    return text


def get_identifier(element: Element) -> str:
    """Return an identifier with plain line feeds and without characters that XML answers cannot contain.

    Browsers send line ends as carriage return and line feed. Both sides are normalized, so that selections match and
    requesters find the identifier again.
    """
    return clean_xml_text(get_text(element)).strip()


def required_identifier(parent: Element, name: str) -> str:
    """Return the identifier in a child. Raises QuestionInvalid if it is missing or empty."""
    child = find_only_child(parent, name)
    identifier = "" if child is None else get_identifier(child)
    if not identifier:
        raise QuestionInvalid(f"{short_tag(parent.tag)} needs a {name} with a value.")
    return identifier


def parse_whole_number(text: str, name: str, low: int, high: int) -> int:
    """Return a whole number written in digits. Raises QuestionInvalid, which names ``name`` and the bounds."""
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 12 or not low <= int(text) <= high:  # noqa: PLR2004
        raise QuestionInvalid(f"{name} must be a whole number from {low} to {high}, got {text[:40]!r}.")
    return int(text)


def parse_boolean(text: str, name: str) -> bool:
    """Return an XML boolean. Raises QuestionInvalid."""
    if text not in XML_BOOLEANS:
        raise QuestionInvalid(f"{name} must be true or false, got {text[:40]!r}.")
    return XML_BOOLEANS[text]


def _strip_namespace(root: Element, namespace: str) -> None:
    for element in root.iter():
        if not element.tag.startswith(namespace):
            raise QuestionInvalid(
                f"The element {short_tag(element.tag)} is not in the schema of the root. "
                "HTML inside FormattedContent must be in <![CDATA[ … ]]>."
            )
        element.tag = element.tag.removeprefix(namespace)
