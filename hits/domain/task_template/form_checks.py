"""Checks of a page's form: fields without names or labels, broken radio groups, hidden required fields."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from hits.domain.task_template.findings import Finding, advice_finding, error_finding
from hits.domain.task_template.page import Element, Page, find_hiding_element, hiding_selectors

# Names of the marketplace's own fields; a page's field of that name would be lost.
RESERVED = frozenset({"assignmentid", "hitid", "workerid", "turksubmitto"})
_CROWD_FIELDS = "crowd-"
_LABELLED = ("aria-label", "aria-labelledby", "title")
_MTURK_SUBMIT_URL_PATTERN = re.compile(r"^(https?://[\w.-]*mturk\.com)?/mturk/externalSubmit$", re.I)
_VARIABLE_PATTERN = re.compile(r"\$\{[^}]*\}")


def check_form(page: Page) -> Iterator[Finding]:
    """Yield findings about the form as a whole."""
    answers = [field for field in page.fields if field.get("name")]
    crowd = [element for element in page.elements if element.tag.startswith(_CROWD_FIELDS)]
    if not answers and not crowd:
        yield error_finding(
            1,
            "no-fields",
            "the page has no field with a name, so no answer would be sent",
            "give each field a name attribute, or check that the whole page was pasted",
        )
    for line in page.nested_form_lines:
        yield error_finding(
            line,
            "nested-form",
            "a form starts inside another form; browsers drop the inner one",
            "keep one form around all fields, or remove all forms: a form is then added",
        )
    for line in page.unclosed_form_lines:
        yield advice_finding(
            line, "open-form", "the form is never closed", "close it with </form> after the last field"
        )
    for form in page.find_by_tag("form"):
        action = form.get("action")
        if action and not _MTURK_SUBMIT_URL_PATTERN.match(action) and not _VARIABLE_PATTERN.search(action):
            yield advice_finding(
                form.line,
                "form-action",
                f"the form is sent to {action[:80]}; here answers go to the project only",
                "remove the action, or send data there by other means",
            )


def check_fields(page: Page) -> Iterator[Finding]:
    """Yield findings about single fields."""
    selectors = hiding_selectors(page.styles)
    labels = {label.get("for") for label in page.find_by_tag("label") if label.get("for")}
    for field in page.fields:
        yield from _check_name(field)
        yield from _check_label(field, labels)
        yield from _check_required(field, selectors)
        if field.has("optional"):
            yield advice_finding(
                field.line,
                "optional",
                f"{describe_field(field)} has the attribute optional, which HTML does not have",
                "remove the attribute; a field without required is optional",
            )


def check_ids(page: Page) -> Iterator[Finding]:
    """Yield labels without a target, and repeated ids."""
    ids = Counter(element.get("id") for element in page.elements if element.get("id"))
    seen: set[str] = set()
    for element in page.elements:
        name = element.get("id")
        if name and ids[name] > 1 and name in seen:
            yield advice_finding(
                element.line,
                "duplicate-id",
                f"the id {name} occurs {ids[name]} times; labels and scripts find only the first",
                "give each element its own id",
            )
        seen.add(name)
    for label in page.find_by_tag("label"):
        target = label.get("for")
        if target and target not in ids:
            yield advice_finding(
                label.line,
                "label-target",
                f"the label “{label.full_text()[:60]}” is for {target}, but no element has that id",
                "write the field’s id into for, or put the field into the label",
            )


def check_radio_groups(page: Page) -> Iterator[Finding]:
    """Yield groups of choices with different names, so that a worker can tick all of them."""
    radios = [field for field in page.fields if field.get("type").lower() == "radio" and field.get("name")]
    uses = Counter(field.get("name") for field in radios)
    groups: dict[int, list[Element]] = {}
    around: dict[int, Element] = {}
    for radio in radios:
        group = _find_group(radio)
        if group is not None:
            groups.setdefault(id(group), []).append(radio)
            around[id(group)] = group
    for members in groups.values():
        alone = [radio for radio in members if uses[radio.get("name")] == 1]
        if len(alone) > 1:
            names = ", ".join(radio.get("name") for radio in alone[:5])
            yield error_finding(
                alone[0].line,
                "radio-names",
                f"{len(alone)} choices of one group have different names ({names}), so all can be ticked",
                "give the choices of one question the same name and different values",
            )


def describe_field(field: Element) -> str:
    """Return the name of a field in findings."""
    kind = field.get("type").lower() or "text" if field.tag == "input" else field.tag
    name = field.get("name") or field.get("id")
    return f"the {kind} field {name}" if name else f"a {kind} field"


def _check_name(field: Element) -> Iterator[Finding]:
    name, kind = field.get("name"), field.get("type").lower()
    if name.lower() in RESERVED and kind != "hidden":
        yield error_finding(
            field.line,
            "reserved-name",
            f"{describe_field(field)} has a name that the marketplace uses, so its answer is lost",
            "give it another name",
        )
    elif name == "csrfmiddlewaretoken":
        yield advice_finding(
            field.line,
            "csrf",
            "the page contains a security token of another site",
            "remove it; it has no effect here",
        )
    elif not name and kind != "hidden":
        yield advice_finding(
            field.line,
            "no-name",
            f"{describe_field(field)} has no name, so its value is not sent",
            "give it a name, unless only a script reads it",
        )
    if kind == "file":
        yield error_finding(
            field.line,
            "file",
            f"{describe_field(field)} asks for a file, but files cannot be submitted",
            "ask for a link or a text",
        )


def _check_label(field: Element, labels: set[str]) -> Iterator[Finding]:
    if field.get("type").lower() == "hidden" or any(field.get(name) for name in _LABELLED):
        return
    inside = any(around.tag == "label" and around.full_text() for around in field.ancestors())
    if inside or (field.get("id") and field.get("id") in labels):
        return
    yield advice_finding(
        field.line,
        "no-label",
        f"{describe_field(field)} has no label, so screen readers cannot announce the question",
        "write the question into a label whose for is the field’s id",
    )


def _check_required(field: Element, selectors: set[str]) -> Iterator[Finding]:
    if not field.has("required") or field.get("type").lower() == "hidden":
        return
    hiding = find_hiding_element(field, selectors)
    if hiding is not None:
        yield error_finding(
            field.line,
            "required-hidden",
            f"{describe_field(field)} is required but inside a hidden part (line {hiding.line}): workers who do not "
            "open it cannot submit and see no reason",
            "show that part, or let a script set required when it shows the part",
        )


def _find_group(radio: Element) -> Element | None:
    """Return the smallest element around a choice that contains another choice."""
    for around in radio.ancestors():
        others = (element for element in around.descendants() if element.get("type").lower() == "radio")
        if len(list(islice(others, 2))) > 1:
            return around
    return None
