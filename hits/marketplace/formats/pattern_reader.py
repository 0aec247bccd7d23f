"""Recursive-descent parser of patterns in JavaScript's dialect. It returns fragments that append the steps."""

from bisect import bisect_right

from .pattern_steps import (
    UNBOUNDED,
    CharacterTest,
    Fragment,
    PatternError,
    alternation_fragment,
    anchor_fragment,
    character_fragment,
    is_digit,
    is_word_character,
    repetition_fragment,
    sequence_fragment,
    to_upper_if_one_character,
)

MAX_REPEATS = 500
_SPACE_CHARACTERS = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_LINE_ENDS = "\n\r\u2028\u2029"
_CONTROL_CHARACTERS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}


def _is_space(character: str) -> bool:
    return character in _SPACE_CHARACTERS


def _negate(test: CharacterTest) -> CharacterTest:
    return lambda character: not test(character)


_CHARACTER_CLASSES: dict[str, CharacterTest] = {
    "d": is_digit,
    "w": is_word_character,
    "s": _is_space,
    "D": _negate(is_digit),
    "W": _negate(is_word_character),
    "S": _negate(_is_space),
}


class PatternReader:
    """Parses a pattern from left to right."""

    def __init__(self, source: str, ignores_case: bool) -> None:
        self.source = source
        self.ignores_case = ignores_case
        self.position = 0
        self.depth = 0

    def unread_text(self) -> str:
        """Return the text that is not read yet."""
        return self.source[self.position :]

    def read_alternatives(self) -> Fragment:
        """Read up to the end or the closing parenthesis."""
        fragments = [self._read_sequence()]
        while self._consume_if_next("|"):
            fragments.append(self._read_sequence())
        return alternation_fragment(fragments)

    def _consume_if_next(self, text: str) -> bool:
        is_next = self.source.startswith(text, self.position)
        self.position += len(text) if is_next else 0
        return is_next

    def _read_character(self, context: str) -> str:
        if self.position >= len(self.source):
            raise PatternError(f"it ends inside {context}")
        self.position += 1
        return self.source[self.position - 1]

    def _read_sequence(self) -> Fragment:
        fragments = []
        while self.position < len(self.source) and self.source[self.position] not in "|)":
            fragments.append(self._apply_quantifiers(self._read_atom()))
        return sequence_fragment(fragments)

    def _read_atom(self) -> Fragment:
        symbol = self._read_character("a term")
        if symbol == "(":
            return self._read_group()
        if symbol == "[":
            return character_fragment(self._read_character_class())
        if symbol == "\\":
            return self._read_escape()
        if symbol in "^$":
            return anchor_fragment(symbol)
        if symbol == ".":
            return character_fragment(lambda character: character not in _LINE_ENDS)
        if symbol in "*+?":
            raise PatternError(f"“{symbol}” at character {self.position} repeats nothing")
        return character_fragment(self._make_literal_test(symbol))

    def _read_group(self) -> Fragment:
        if not self._consume_if_next("?:") and self.source.startswith("?", self.position):
            raise PatternError(
                "look-ahead, look-behind and named groups (“(?…”) are not supported; “(?:…)” and “(…)” are"
            )
        self.depth += 1
        if self.depth > 20:  # noqa: PLR2004
            raise PatternError("its groups are nested too deeply")
        fragment = self.read_alternatives()
        self.depth -= 1
        if not self._consume_if_next(")"):
            raise PatternError("a “(” is never closed")
        return fragment

    def _apply_quantifiers(self, fragment: Fragment) -> Fragment:
        while True:
            bounds = self._read_quantifier()
            if bounds is None:
                return fragment
            fragment = repetition_fragment(fragment, *bounds)

    def _read_quantifier(self) -> tuple[int, int] | None:
        simple = {"*": (0, UNBOUNDED), "+": (1, UNBOUNDED), "?": (0, 1)}
        symbol = self.source[self.position : self.position + 1]
        if symbol in simple and symbol:
            self.position += 1
            self._consume_if_next("?")  # a lazy quantifier matches the same texts
            return simple[symbol]
        end = self.source.find("}", self.position)
        low, comma, high = self.source[self.position + 1 : end].partition(",")
        is_count = symbol == "{" and end > 0 and low.isdecimal() and (not high or high.isdecimal())
        if not is_count:
            return None  # JavaScript reads such a brace literally
        self.position = end + 1
        self._consume_if_next("?")
        least = int(low[:6])
        most = least if not comma else int(high[:6]) if high else UNBOUNDED
        if max(least, most) > MAX_REPEATS or (comma and high and most < least):
            raise PatternError(f"a count in braces must be at most {MAX_REPEATS} and in order")
        return least, most

    def _read_escape(self) -> Fragment:
        symbol = self._read_character("an escape")
        if symbol in "bB":
            return anchor_fragment(symbol)
        if (symbol.isdigit() and symbol != "0") or symbol == "k":
            raise PatternError(f"back-references (“\\{symbol}”) are not supported")
        if symbol in _CHARACTER_CLASSES:
            return character_fragment(_CHARACTER_CLASSES[symbol])
        return character_fragment(self._make_literal_test(self._read_escaped_character(symbol)))

    def _read_escaped_character(self, symbol: str) -> str:
        lengths = {"x": 2, "u": 4}
        if symbol in lengths:
            digits = self.source[self.position : self.position + lengths[symbol]]
            try:
                code = int(digits, 16) if len(digits) == lengths[symbol] else -1
            except ValueError:
                code = -1
            if code >= 0:
                self.position += len(digits)
                return chr(code)
        return _CONTROL_CHARACTERS.get(symbol, symbol)

    def _read_character_class(self) -> CharacterTest:
        is_negated = self._consume_if_next("^")
        ranges: list[tuple[str, str]] = []
        tests: list[CharacterTest] = []
        while not self._consume_if_next("]"):
            first = self._read_character_class_member()
            if not isinstance(first, str):
                tests.append(first)
            elif not self.source.startswith("-]", self.position) and self._consume_if_next("-"):
                last = self._read_character_class_member()
                if not isinstance(last, str) or last < first:
                    raise PatternError("a range in brackets is out of order")
                ranges.append((first, last))
            else:
                ranges.append((first, first))
        tests = [*dict.fromkeys(tests), _make_range_test(ranges)]  # few, even for a long class
        if not self.ignores_case:
            return lambda character: any(test(character) for test in tests) is not is_negated
        # The text is in capitals here: a class accepts a letter if it accepts either case.
        return lambda c: any(test(c) or test(c.lower()) for test in tests) is not is_negated

    def _read_character_class_member(self) -> str | CharacterTest:
        symbol = self._read_character("brackets")
        if symbol != "\\":
            return symbol
        symbol = self._read_character("brackets")
        if symbol in _CHARACTER_CLASSES:
            return _CHARACTER_CLASSES[symbol]
        return "\b" if symbol == "b" else self._read_escaped_character(symbol)

    def _make_literal_test(self, expected: str) -> CharacterTest:
        if self.ignores_case:
            expected = to_upper_if_one_character(expected)
        return lambda character: character == expected


def _make_range_test(ranges: list[tuple[str, str]]) -> CharacterTest:
    """Return a test for any of the ranges, by binary search over merged ranges."""
    firsts: list[str] = []
    lasts: list[str] = []
    for first, last in sorted(ranges):
        if lasts and first <= lasts[-1]:
            lasts[-1] = max(lasts[-1], last)
        else:
            firsts.append(first)
            lasts.append(last)

    def test(character: str) -> bool:
        position = bisect_right(firsts, character)
        return position > 0 and character <= lasts[position - 1]

    return test
