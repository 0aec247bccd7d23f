"""Checks of external resources and scripts of a page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hits.domain.task_template.findings import Finding, advice_finding, error_finding
from hits.domain.task_template.page import Element, Page, parse_rules

_HOST_PATTERN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?")
_CSS_URL_PATTERN = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?P<url>[^'\")\s]+)", re.I)
_HANDLER_CALL_PATTERN = re.compile(r"(?<![\w.$])([A-Za-z_$][\w$]*)\s*\(")
_TEXT_CALL_PATTERN = re.compile(r"""\$\(\s*['"]#([\w-]+)['"]\s*\)\.text\(""")
_MAX_NAMES = 100  # functions that are looked up; pages call few from their attributes
_KNOWN_NAME_PATTERN = re.compile(
    r"if|for|while|switch|catch|return|function|alert|confirm|prompt|parseInt|parseFloat|Number|String|Boolean|Array"
    r"|Object|Date|isNaN|setTimeout|clearTimeout|setInterval|clearInterval|encodeURIComponent|decodeURIComponent"
    r"|escape|unescape|eval|turkGetParam|turkSetAssignmentID|jQuery|\$"
)
_MTURK_HELPER = "/externalHIT_v1.js"
_CROWD_LIBRARY = "crowd-html-elements"


@dataclass(frozen=True, slots=True)
class ExternalResource:
    """One resource that the page fetches: its line, type and address."""

    line: int
    kind: str
    url: str

    @property
    def host(self) -> str:
        """The host in the page's policy; empty for an address without an https host."""
        return https_host(self.url)


def https_host(url: str) -> str:
    """Return the host of an https address, with its port if it has one; empty for other addresses."""
    address = f"https:{url}" if url.startswith("//") else url
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return ""
    host = parts.netloc.lower()
    return host if parts.scheme == "https" and _HOST_PATTERN.fullmatch(host) else ""


def external_resources(page: Page) -> list[ExternalResource]:
    """Return the resources that the page fetches, in the order of the page."""
    found = []
    for element in page.elements:
        kind = _resource_type(element)
        for name in ("src", "href", "data", "poster") if kind else ():
            if element.get(name):
                found.append(ExternalResource(element.line, kind, element.get(name)))
        for match in _CSS_URL_PATTERN.finditer(
            element.text if element.tag == "style" else element.get("style")
        ):
            found.append(ExternalResource(element.line, "style", match["url"]))
    return [item for item in found if not is_inline(item.url)]


def is_inline(url: str) -> bool:
    """Return whether an address is within the page."""
    return url.strip().lower().startswith(("data:", "#", "about:", "javascript:"))


def check_resources(page: Page, allowed: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield resources from hosts that are not allowed, and resources that cannot be fetched."""
    for item in external_resources(page):
        if not has_url_from_row(item):
            yield from check_resource(item, allowed)


def has_url_from_row(item: ExternalResource) -> bool:
    """Return whether a row has the address, or its beginning, in a column."""
    return "${" in item.url and not item.host and not item.url.lower().startswith("http:")


def check_resource(item: ExternalResource, allowed: Sequence[str]) -> Iterator[Finding]:
    """Yield the finding about one resource."""
    if item.url.endswith(_MTURK_HELPER):
        yield advice_finding(
            item.line,
            "mturk-helper",
            "Amazon’s externalHIT_v1.js does not load and is not needed: its functions are built in",
            "no fix is needed; you can remove the line",
        )
    elif _CROWD_LIBRARY in item.url and item.host not in allowed:
        yield error_finding(
            item.line,
            "crowd-elements",
            "Amazon’s crowd elements are external and do not load, so crowd-… fields stay empty",
            f"allow {item.host or 'the host'} at the launch, or use ordinary fields",
        )
    elif not item.host:
        yield _unreachable_finding(item)
    elif item.host not in allowed:
        level = error_finding if item.kind == "script" else advice_finding
        yield level(
            item.line,
            f"outside-{item.kind}",
            f"the {item.kind} {item.url[:80]} comes from {item.host} and does not load",
            f"put it into the page, or allow {item.host} at the launch; its owner then sees your workers’ requests",
        )


def check_scripts(page: Page) -> Iterator[Finding]:
    """Yield handlers that call undefined functions, and common mistakes of published pages."""
    scripts = "\n".join(element.text for element in page.find_by_tag("script"))
    yield from _check_undefined_calls(page, scripts)
    areas = {element.get("id") for element in page.find_by_tag("textarea")} - {""}
    for script in page.find_by_tag("script"):
        for match in _TEXT_CALL_PATTERN.finditer(script.text):
            if match[1] in areas:
                yield advice_finding(
                    script.line + script.text.count("\n", 0, match.start()),
                    "text-of-field",
                    f"a script reads or writes {match[1]} with .text(), which fails after somebody types there",
                    "use .val() for fields",
                )
    for style in page.find_by_tag("style"):
        if any(
            "max-width" in rule.media and rule.hides and {"body", "html"} & set(rule.selectors)
            for rule in parse_rules(style.text)
        ):
            yield advice_finding(
                style.line,
                "blank-phone",
                "the whole page is hidden on small screens",
                "remove that rule, or mention it in the description",
            )


def _check_undefined_calls(page: Page, scripts: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for element, handler, name in _handler_calls(page):
        if name in seen or len(seen) >= _MAX_NAMES or _KNOWN_NAME_PATTERN.fullmatch(name):
            continue
        seen.add(name)
        word = re.escape(name)
        if not re.search(rf"function\s+{word}\b|(?<![\w$]){word}\s*=[^=]", scripts):
            yield advice_finding(
                element.line,
                "undefined-function",
                f"{handler} calls {name}(), which the page does not define",
                "define it, or remove the call",
            )


def _handler_calls(page: Page) -> Iterator[tuple[Element, str, str]]:
    """Yield the calls of handlers in attributes: element, handler, function name."""
    for element in page.elements:
        for handler, code in element.attributes.items():
            if handler.startswith("on"):
                for name in _HANDLER_CALL_PATTERN.findall(code):
                    yield element, handler, name


def _resource_type(element: Element) -> str:
    if element.tag == "link":
        return "style" if "stylesheet" in element.get("rel").lower() else ""
    return {
        "script": "script",
        "img": "picture",
        "input": "picture",
        "audio": "sound",
        "video": "film",
        "source": "film",
        "iframe": "frame",
        "embed": "film",
        "object": "film",
    }.get(element.tag, "")


def _unreachable_finding(item: ExternalResource) -> Finding:
    if item.url.lower().startswith("http:"):
        return error_finding(
            item.line,
            "not-https",
            f"the {item.kind} {item.url[:80]} is fetched without https and cannot load",
            "use its https address",
        )
    return error_finding(
        item.line,
        "relative",
        f"the {item.kind} {item.url[:80]} has a relative address, which does not exist here",
        "write its full https address, or put it into the page",
    )
