"""The card of an exported version: what it holds, how it was made, and what the audits found."""

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from curation.families.nleye.columns import ColumnMap
from curation.families.nleye.rows import PROVENANCE, TRIPLET
from curation.image_triplets.audit_titles import audit_title
from curation.models import DatasetVersion, VersionRow

CANARY = "Benchmark data: please keep this file and its texts out of training corpora. Canary"
_CHUNK_SIZE = 1000
_MARKDOWN_PATTERN = re.compile(r"([\\`*_\[\]#~!])")


def card(version: DatasetVersion, columns: ColumnMap) -> str:
    """Return the card of the full files, as Markdown with the YAML head that dataset hubs read."""
    facts = _image_facts(version)
    splits = list(
        VersionRow.objects.filter(version=version, part=TRIPLET)
        .order_by("split")
        .values_list("split", flat=True)
        .distinct()
    )
    licence = _flat(next(iter(facts["licences"]))) if len(facts["licences"]) == 1 else "other"
    head = [
        "---",
        f"license: {json.dumps(licence)}",
        "language:",
        *(f"- {json.dumps(language)}" for language in version.provenance.get("languages") or ["en"]),
        "task_categories:",
        "- visual-question-answering",
        "tags:",
        "- visual abductive reasoning",
        "- image triplets",
        f"pretty_name: {json.dumps(_flat(f'{version.project.name} {version.name}'))}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        *(f"  - split: {split}\n    path: {split}_set.csv" for split in splits),
        "---",
    ]
    body = [
        f"# {_plain(version.project.name)}, version {_plain(version.name)}",
        _summary(version),
        "## Files",
        "`<split>_set.csv` is the table, `images/<sample_id>/` has its pictures. `sample_id` numbers this version "
        "only. `provenance.jsonl` has the origin of each picture, `nleye_answer.jsonl` people's answers with hashed "
        "workers, `nleye_explanation.jsonl` all explanations with their votes.",
        "Column names that could not be read in the published release, and are ours: "
        f"{', '.join(map(_plain, columns.unverified)) or 'none'}.",
        "## Pictures",
        _table(("generator", "pictures"), facts["generators"]),
        _table(("licence of the pictures", "pictures"), facts["licences"]),
        "Who owns generated pictures is not settled everywhere; the licences are as the makers typed them.",
        "## People and gold",
        _against_gold(version),
        "## Audits",
        _audits(version),
        f"{CANARY} {version.manifest_sha256[:32]}.",
    ]
    return "\n".join(head) + "\n\n" + "\n\n".join(part for part in body if part) + "\n"


def public_card(version: DatasetVersion, instances: int) -> str:
    """Return the card of a version whose answers are held back: it tells nothing of gold."""
    return (
        f"# {_plain(version.project.name)}, version {_plain(version.name)}\n\n"
        f"{instances:,} instances without answers: `instances.jsonl` names the pictures of each. Answers are held "
        "back for a leaderboard. Equal pictures show which instances belong together.\n"
    )


def _summary(version: DatasetVersion) -> str:
    statistics = version.statistics
    made = "Rehearsal: answers may be simulated. This is no data. " if version.rehearsal else ""
    return (
        f"{made}{statistics.get('triplets', 0):,} image triplets: a premise and two hypotheses, of which one is more "
        "plausible. Layout after NL-Eye (Ventura et al. 2025)."
    )


def _image_facts(version: DatasetVersion) -> dict[str, dict[str, int]]:
    generators: dict[str, int] = {}
    licences: dict[str, int] = {}
    rows = VersionRow.objects.filter(version=version, part=PROVENANCE).order_by("pk")
    for row in rows.values_list("row", flat=True).iterator(chunk_size=_CHUNK_SIZE):
        for image in (value for value in row.values() if isinstance(value, Mapping)):
            name = " ".join(filter(None, (image["generator"], image["model"], image["revision"])))
            generators[name] = generators.get(name, 0) + 1
            licences[image["licence"]] = licences.get(image["licence"], 0) + 1
    return {"generators": dict(sorted(generators.items())), "licences": dict(sorted(licences.items()))}


def _against_gold(version: DatasetVersion) -> str:
    found: Mapping[str, Any] = version.provenance.get("against_gold") or {}
    judged, against = found.get("judged", 0), found.get("against", 0)
    if not judged:
        return "No triplet was judged by three people."
    counted = (
        f"Three or more people judged {judged:,} triplets. In {against:,} ({100 * against / judged:.1f} %), gold has "
        "no majority."
    )
    if not against:
        return counted
    kept = found.get("kept", 0)
    return f"{counted} A less plausible hypothesis can happen. A person looked at {kept:,} of these and kept them."


def _audits(version: DatasetVersion) -> str:
    lines = []
    for audit in version.provenance.get("audits", []):
        flag = "**flagged**" if audit["flagged"] else "not flagged"
        lines.append(
            f"- {_plain(audit_title(audit['name']))}: {_plain(audit['why'])} ({flag}, n = {audit['n']:,})"
        )
    return "\n".join(lines) or "No audit was run."


def _table(header: tuple[str, str], rows: Mapping[str, int]) -> str:
    lines = [f"| {header[0]} | {header[1]} |", "|---|---|"]
    return "\n".join(
        [*lines, *(f"| {_plain(name).replace('|', '/')} | {count:,} |" for name, count in rows.items())]
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    """Return a typed text in one line, of which a page of Markdown shows each character as it is."""
    return _MARKDOWN_PATTERN.sub(r"\\\1", html.escape(_flat(text), quote=False))
