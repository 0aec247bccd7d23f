"""Old spellings of command options: they work for one release, and each use prints a notice on stderr."""

from argparse import Action
from collections.abc import Iterator

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandParser

from hits.management.base import RenamedOption

PACKAGES = ("annotation_site", "curation", "hits", "validation")


def project_parsers() -> Iterator[tuple[str, CommandParser]]:
    """Yield the name and the parser of each command of this project."""
    for name, app in sorted(get_commands().items()):
        if isinstance(app, str) and app.partition(".")[0] in PACKAGES:
            yield name, load_command_class(app, name).create_parser("manage.py", name)


def option_values(action: Action) -> list[str]:
    """Return valid values of an option or a positional argument, none for a flag."""
    if action.nargs == 0:
        return []
    if action.choices:
        return [str(next(iter(action.choices)))]
    return ["7" if action.type in {int, float} else "text"]


def required_arguments(parser: CommandParser, without: Action) -> list[str]:
    """Return the arguments that a command needs besides the option ``without``."""
    groups = [group._group_actions for group in parser._mutually_exclusive_groups if group.required]
    needed = [action for action in parser._actions if action.required and action is not without]
    needed += [group[0] for group in groups if without not in group]
    return [text for action in needed for text in (*action.option_strings[:1], *option_values(action))]


def test_old_spelling_gives_the_same_value_and_a_notice(capsys: pytest.CaptureFixture[str]) -> None:
    tested = []
    for command, parser in project_parsers():
        for action in parser._actions:
            if not isinstance(action, RenamedOption):
                continue
            new, *old_spellings = action.option_strings
            assert old_spellings, f"{command} {new} has no old spelling: it is an ordinary option"
            arguments, values = required_arguments(parser, action), option_values(action)
            expected = parser.parse_args([*arguments, new, *values])
            assert getattr(expected, action.dest) != action.default, f"{command} {new} changes nothing"
            assert capsys.readouterr().err == "", f"{command} {new} is the current spelling"
            for old in old_spellings:
                assert parser.parse_args([*arguments, old, *values]) == expected, f"{command} {old}"
                assert capsys.readouterr().err == (
                    f"{old} is now {new}; the next release drops the old spelling\n"
                )
                tested.append((command, old))
    assert tested, "no option is renamed in this release: remove RenamedOption and this test"


def test_renamed_option_is_stored_under_its_new_name() -> None:
    for command, parser in project_parsers():
        for action in parser._actions:
            if isinstance(action, RenamedOption):
                assert action.dest == action.option_strings[0].removeprefix("--").replace("-", "_"), command
