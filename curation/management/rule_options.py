"""Options for the rules of comparison sets, shared by the commands that build them from files and from projects."""

from enum import StrEnum
from typing import Any

from curation.dedup.cuts import Linkage
from curation.negatives import options

NUMBER_OPTIONS = ("size", "min_candidates", "max_verbatim", "weight", "promise_weight")
FLAG_NAMES = {"disqualification": "--disqualify"}
_DEFAULTS = options.ComparisonSetOptions()


def add_comparison_set_options(parser: Any) -> None:
    """Add the options in ``NUMBER_OPTIONS`` and ``options.RULES``, with the defaults of ``ComparisonSetOptions``."""
    for name in NUMBER_OPTIONS:
        default = getattr(_DEFAULTS, name)
        parser.add_argument(_flag(name), type=type(default), default=default)
    for name, rule in options.RULES.items():
        add_rule_option(parser, name, rule)


def add_rule_option(parser: Any, name: str, rule: type[StrEnum]) -> None:
    """Add the option of a rule; its help is the first line of the rule's docstring."""
    summary = (rule.__doc__ or "").strip().splitlines()[0].replace("%", "%%")
    parser.add_argument(
        FLAG_NAMES.get(name) or _flag(name),
        dest=name,
        choices=[item.value for item in rule],
        default=getattr(_DEFAULTS, name).value,
        help=summary,
    )


def add_soft_deduplication_options(
    parser: Any, *, keep: options.KeepRule | None = None, keep_help: str
) -> None:
    """Add the options of soft de-duplication; ``keep`` is the default of ``--keep``."""
    parser.add_argument("--soft-share", type=float, default=options.DEFAULT_SOFT_SHARE)
    parser.add_argument("--linkage", choices=[item.value for item in Linkage], default=Linkage.AVERAGE.value)
    parser.add_argument(
        "--keep",
        choices=[item.value for item in options.KeepRule],
        default=keep.value if keep else None,
        help=keep_help,
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
