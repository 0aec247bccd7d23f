"""Reading a pattern in JavaScript's dialect, from left to right, into parts that write its steps."""

from __future__ import annotations

from bisect import bisect_right

from .pattern_steps import (
    ANY_NUMBER,
    Part,
    PatternError,
    Test,
    capital,
    character_step,
    either,
    is_digit,
    is_word,
    place_step,
    repeated,
    sequence,
)

MAX_REPEATS = 500
_SPACE = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_LINE_ENDS = "\n\r\u2028\u2029"
_CONTROL = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}


def _is_space(character: str) -> bool:
    return character in _SPACE


def _other_than(test: Test) -> Test:
    return lambda character: not test(character)


_CLASSES: dict[str, Test] = {
    "d": is_digit,
    "w": is_word,
    "s": _is_space,
    "D": _other_than(is_digit),
    "W": _other_than(is_word),
    "S": _other_than(_is_space),
}


class PatternReader:
    """Reads a pattern from left to right."""

    def __init__(self, source: str, ignores_case: bool) -> None:
        self.source = source
        self.ignores_case = ignores_case
        self.at = 0
        self.depth = 0

    def rest(self) -> str:
        """Return what was not read yet."""
        return self.source[self.at :]

    def alternatives(self) -> Part:
        """Read up to the end or to the parenthesis that closes."""
        parts = [self._terms()]
        while self._takes("|"):
            parts.append(self._terms())
        return either(parts)

    def _takes(self, text: str) -> bool:
        found = self.source.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def _next(self, what: str) -> str:
        if self.at >= len(self.source):
            raise PatternError(f"it ends within {what}")
        self.at += 1
        return self.source[self.at - 1]

    def _terms(self) -> Part:
        parts = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self._quantified(self._atom()))
        return sequence(parts)

    def _atom(self) -> Part:
        mark = self._next("a term")
        if mark == "(":
            return self._group()
        if mark == "[":
            return character_step(self._class())
        if mark == "\\":
            return self._escape()
        if mark in "^$":
            return place_step(mark)
        if mark == ".":
            return character_step(lambda character: character not in _LINE_ENDS)
        if mark in "*+?":
            raise PatternError(f"“{mark}” at character {self.at} repeats nothing")
        return character_step(self._literal(mark))

    def _group(self) -> Part:
        if not self._takes("?:") and self.source.startswith("?", self.at):
            raise PatternError(
                "look-ahead, look-behind and named groups (“(?…”) are not served; “(?:…)” and “(…)” are"
            )
        self.depth += 1
        if self.depth > 20:  # noqa: PLR2004
            raise PatternError("its groups are nested too deeply")
        part = self.alternatives()
        self.depth -= 1
        if not self._takes(")"):
            raise PatternError("a “(” is never closed")
        return part

    def _quantified(self, one: Part) -> Part:
        while True:
            bounds = self._quantifier()
            if bounds is None:
                return one
            one = repeated(one, *bounds)

    def _quantifier(self) -> tuple[int, int] | None:
        simple = {"*": (0, ANY_NUMBER), "+": (1, ANY_NUMBER), "?": (0, 1)}
        mark = self.source[self.at : self.at + 1]
        if mark in simple and mark:
            self.at += 1
            self._takes("?")  # lazy or not: whether there is a match is the same
            return simple[mark]
        end = self.source.find("}", self.at)
        low, comma, high = self.source[self.at + 1 : end].partition(",")
        counted = mark == "{" and end > 0 and low.isdecimal() and (not high or high.isdecimal())
        if not counted:
            return None  # JavaScript takes such a brace for itself
        self.at = end + 1
        self._takes("?")
        least = int(low[:6])
        most = least if not comma else int(high[:6]) if high else ANY_NUMBER
        if max(least, most) > MAX_REPEATS or (comma and high and most < least):
            raise PatternError(f"a count in braces must be at most {MAX_REPEATS} and in order")
        return least, most

    def _escape(self) -> Part:
        mark = self._next("an escape")
        if mark in "bB":
            return place_step(mark)
        if (mark.isdigit() and mark != "0") or mark == "k":
            raise PatternError(f"back-references (“\\{mark}”) are not served")
        if mark in _CLASSES:
            return character_step(_CLASSES[mark])
        return character_step(self._literal(self._escaped(mark)))

    def _escaped(self, mark: str) -> str:
        lengths = {"x": 2, "u": 4}
        if mark in lengths:
            digits = self.source[self.at : self.at + lengths[mark]]
            try:
                code = int(digits, 16) if len(digits) == lengths[mark] else -1
            except ValueError:
                code = -1
            if code >= 0:
                self.at += len(digits)
                return chr(code)
        return _CONTROL.get(mark, mark)

    def _class(self) -> Test:
        refuses = self._takes("^")
        spans: list[tuple[str, str]] = []
        tests: list[Test] = []
        while not self._takes("]"):
            first = self._member()
            if not isinstance(first, str):
                tests.append(first)
            elif not self.source.startswith("-]", self.at) and self._takes("-"):
                last = self._member()
                if not isinstance(last, str) or last < first:
                    raise PatternError("a range in brackets is out of order")
                spans.append((first, last))
            else:
                spans.append((first, first))
        tests = [*dict.fromkeys(tests), _within(spans)]  # few, however long the class is
        if not self.ignores_case:
            return lambda character: any(test(character) for test in tests) is not refuses
        # The text is in capitals by then: a class takes a letter that it would take in either form.
        return lambda c: any(test(c) or test(c.lower()) for test in tests) is not refuses

    def _member(self) -> str | Test:
        mark = self._next("brackets")
        if mark != "\\":
            return mark
        mark = self._next("brackets")
        if mark in _CLASSES:
            return _CLASSES[mark]
        return "\b" if mark == "b" else self._escaped(mark)

    def _literal(self, wanted: str) -> Test:
        if self.ignores_case:
            wanted = capital(wanted)
        return lambda character: character == wanted


def _within(spans: list[tuple[str, str]]) -> Test:
    """Return a test for any of the spans that takes about as long for a hundred of them as for one."""
    firsts: list[str] = []
    lasts: list[str] = []
    for first, last in sorted(spans):
        if lasts and first <= lasts[-1]:
            lasts[-1] = max(lasts[-1], last)
        else:
            firsts.append(first)
            lasts.append(last)

    def test(character: str) -> bool:
        at = bisect_right(firsts, character)
        return at > 0 and character <= lasts[at - 1]

    return test
