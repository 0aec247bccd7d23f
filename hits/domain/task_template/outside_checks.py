"""What a page fetches from elsewhere or expects of its own scripts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hits.domain.task_template.findings import Finding, advice, must
from hits.domain.task_template.page import Element, Page, rules_in

_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?")
_CSS_URL = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?P<url>[^'\")\s]+)", re.I)
_HANDLER_CALL = re.compile(r"(?<![\w.$])([A-Za-z_$][\w$]*)\s*\(")
_TEXT_OF = re.compile(r"""\$\(\s*['"]#([\w-]+)['"]\s*\)\.text\(""")
_MOST_NAMES = 100  # functions that are looked up; a page calls few from its attributes
_OF_JAVASCRIPT = re.compile(
    r"if|for|while|switch|catch|return|function|alert|confirm|prompt|parseInt|parseFloat|Number|String|Boolean|Array"
    r"|Object|Date|isNaN|setTimeout|clearTimeout|setInterval|clearInterval|encodeURIComponent|decodeURIComponent"
    r"|escape|unescape|eval|turkGetParam|turkSetAssignmentID|jQuery|\$"
)
_MTURK_HELPER = "/externalHIT_v1.js"
_CROWD_LIBRARY = "crowd-html-elements"


@dataclass(frozen=True, slots=True)
class Outside:
    """One thing that the page fetches: what it is for, and from where."""

    line: int
    what: str
    url: str

    @property
    def host(self) -> str:
        """The host, as the page's policy names it; empty for an address that is none of a known host."""
        return host_of(self.url)


def host_of(url: str) -> str:
    """Return the host of an https address with its port where it names one; empty for anything else."""
    address = f"https:{url}" if url.startswith("//") else url
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return ""
    host = parts.netloc.lower()
    return host if parts.scheme == "https" and _HOST.fullmatch(host) else ""


def fetched(page: Page) -> list[Outside]:
    """Return what the page fetches by itself, in the order of the page."""
    found = []
    for element in page.elements:
        what = _purpose(element)
        for name in ("src", "href", "data", "poster") if what else ():
            if element.get(name):
                found.append(Outside(element.line, what, element.get(name)))
        for match in _CSS_URL.finditer(element.text if element.tag == "style" else element.get("style")):
            found.append(Outside(element.line, "style", match["url"]))
    return [item for item in found if not is_within(item.url)]


def is_within(url: str) -> bool:
    """Tell whether an address leads nowhere outside of the page."""
    return url.strip().lower().startswith(("data:", "#", "about:", "javascript:"))


def check_outside(page: Page, allowed: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield what is fetched from hosts that are not allowed, and what cannot be fetched at all."""
    for item in fetched(page):
        if not is_open(item):
            yield from check_item(item, allowed)


def is_open(item: Outside) -> bool:
    """Tell whether only a row says from where: its column holds the address, or the beginning of one."""
    return "${" in item.url and not item.host and not item.url.lower().startswith("http:")


def check_item(item: Outside, allowed: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with one thing that is fetched."""
    if item.url.endswith(_MTURK_HELPER):
        yield advice(
            item.line,
            "mturk-helper",
            "Amazon’s externalHIT_v1.js does not load, and need not: its functions are there",
            "nothing, or remove the line",
        )
    elif _CROWD_LIBRARY in item.url and item.host not in allowed:
        yield must(
            item.line,
            "crowd-elements",
            "Amazon’s crowd elements are loaded from outside and do not load, so crowd-… fields stay empty",
            f"allow {item.host or 'the host'} at the launch, or use ordinary fields",
        )
    elif not item.host:
        yield _unreachable(item)
    elif item.host not in allowed:
        level = must if item.what == "script" else advice
        yield level(
            item.line,
            f"outside-{item.what}",
            f"the {item.what} {item.url[:80]} comes from {item.host} and does not load by itself",
            f"put it into the page, or allow {item.host} at the launch; its owner then learns who works here",
        )


def check_scripts(page: Page) -> Iterator[Finding]:
    """Yield handlers that call what nobody defines, and slips that published pages have."""
    scripts = "\n".join(element.text for element in page.named("script"))
    yield from _undefined(page, scripts)
    areas = {element.get("id") for element in page.named("textarea")} - {""}
    for script in page.named("script"):
        for match in _TEXT_OF.finditer(script.text):
            if match[1] in areas:
                yield advice(
                    script.line + script.text.count("\n", 0, match.start()),
                    "text-of-field",
                    f"a script reads or writes {match[1]} with .text(): that stops working once somebody typed there",
                    "use .val() for fields",
                )
    for style in page.named("style"):
        if any(
            "max-width" in rule.media and rule.hides and {"body", "html"} & set(rule.selectors)
            for rule in rules_in(style.text)
        ):
            yield advice(
                style.line,
                "blank-phone",
                "the whole page is hidden on small screens",
                "remove that rule, or say so in the description",
            )


def _undefined(page: Page, scripts: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for element, handler, name in _calls(page):
        if name in seen or len(seen) >= _MOST_NAMES or _OF_JAVASCRIPT.fullmatch(name):
            continue
        seen.add(name)
        word = re.escape(name)
        if not re.search(rf"function\s+{word}\b|(?<![\w$]){word}\s*=[^=]", scripts):
            yield advice(
                element.line,
                "undefined-function",
                f"{handler} calls {name}(), which the page defines nowhere",
                "define it, or remove the call",
            )


def _calls(page: Page) -> Iterator[tuple[Element, str, str]]:
    """Yield what the handlers in attributes call: where, which handler, the function's name."""
    for element in page.elements:
        for handler, code in element.attributes.items():
            if handler.startswith("on"):
                for name in _HANDLER_CALL.findall(code):
                    yield element, handler, name


def _purpose(element: Element) -> str:
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


def _unreachable(item: Outside) -> Finding:
    if item.url.lower().startswith("http:"):
        return must(
            item.line,
            "not-https",
            f"the {item.what} {item.url[:80]} is fetched without https and cannot load",
            "use its https address",
        )
    return must(
        item.line,
        "relative",
        f"the {item.what} {item.url[:80]} has no address of its own, and stands nowhere here",
        "write its whole https address, or put it into the page",
    )
