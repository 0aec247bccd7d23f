"""Parse XML from text: no document type, no entities, and a declared encoding is ignored."""

from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser


class NotPlainXml(ValueError):
    """Text that is not well-formed XML, or XML with a document type or entities; the message names the reason."""


def parse_plain_xml(text: str) -> Element:
    """Return the root element. Raises NotPlainXml.

    A declaration such as ``encoding="ISO-8859-1"`` is ignored: the text comes from JSON or a form, so it is decoded
    already, and decoding it again would garble it.
    """
    parser = DefusedXMLParser(encoding="utf-8", forbid_dtd=True)
    try:
        parser.feed(text.encode("utf-8", "surrogatepass"))
        root: Element = parser.close()
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise NotPlainXml(str(error)) from None
    return root
