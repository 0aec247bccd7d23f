"""Scene files: what is read, and that each bad input gives one line with file, row, field and mend."""

import csv
import io
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from curation.image_triplets.scene_files import (
    MAX_ROWS,
    SceneFileError,
    WrittenScene,
    parse_scenes,
    read_scenes,
)
from hits.domain.answers.scene_facets import DOMAINS
from hits.domain.answers.scene_rules import SAME_HYPOTHESES

GOOD = {
    "premise": "A man sits on a hospital bed with his leg in a cast.",
    "plausible": "The man slips on a wet floor without a sign.",
    "implausible": "The man slips on a wet floor beside a yellow sign.",
    "category": "logical",
    "direction": "backward",
    "duration": "short",
    "domain": "healthcare",
    "why": "Nobody warned the man.",
}
OTHER = GOOD | {
    "premise": "A wedding cake stands on a table with one slice cut out.",
    "plausible": "A couple holds one knife together.",
    "implausible": "A couple holds one spoon together.",
    "category": "cultural",
    "direction": "parallel",
    "duration": "",
    "domain": "daily life and hospitality",
    "culture": "many Western weddings",
    "language": "en-GB",
    "licence": "CC-BY-4.0",
    "replaces": "0123456789abcdef" * 2,
}
CATEGORY_LIST = "physical, functional, logical, emotional, social, cultural"
Rows = list[dict[str, Any]]


def as_csv(rows: Rows, columns: list[str] | None = None) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns or list(dict.fromkeys(key for row in rows for key in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def problems(content: bytes, name: str = "scenes.csv", **options: Any) -> list[str]:
    with pytest.raises(SceneFileError) as caught:
        parse_scenes(content, name, **options)
    assert all("\n" not in problem for problem in caught.value.problems)
    return caught.value.problems


def problems_of(change: dict[str, str], **options: Any) -> list[str]:
    """Return the problems of a changed scene in a CSV file; those in a JSON file are the same, one row earlier."""
    rows = [OTHER, {**dict.fromkeys(OTHER, ""), **GOOD, **change}]
    in_json = problems(as_jsonl(rows), "scenes", **options)
    found = problems(as_csv(rows), "scenes", **options)
    assert [re.sub(r"row (\d)", lambda row: f"row {int(row[1]) + 1}", text) for text in in_json] == found
    return found


@pytest.mark.parametrize("write", [as_csv, as_jsonl])
def test_both_formats_give_the_same_scenes(write: Any, tmp_path: Path) -> None:
    path = tmp_path / "scenes.txt"
    path.write_bytes(
        b"\xef\xbb\xbf" + write([OTHER, GOOD | {"category": " Logical ", "premise": "  Two\tcats\nsleep. "}])
    )
    first, second = read_scenes(path, domains=DOMAINS)
    assert first == WrittenScene(**OTHER)
    assert second == WrittenScene(**{**GOOD, "premise": "Two cats sleep."})
    assert (second.language, second.culture, second.licence, second.replaces) == ("en", "", "", "")
    assert (first.row, second.row) == ((2, 3) if write is as_csv else (1, 2))


def test_columns_stand_in_any_order_and_optional_ones_may_be_absent() -> None:
    columns = list(reversed(GOOD))
    assert parse_scenes(as_csv([GOOD], columns), "a.csv") == [WrittenScene(**GOOD)]
    without = {key: value for key, value in OTHER.items() if key not in {"duration", "culture"}}
    (scene,) = parse_scenes(as_jsonl([without]), "a.jsonl")
    assert (scene.duration, scene.culture) == ("", "")


def test_domain_is_written_as_the_project_has_it() -> None:
    (scene,) = parse_scenes(as_csv([GOOD | {"domain": "HEALTHCARE"}]), "a.csv", domains=DOMAINS)
    assert scene.domain == "healthcare"
    (scene,) = parse_scenes(as_csv([GOOD | {"domain": "Deep sea"}]), "a.csv")
    assert scene.domain == "Deep sea"


def test_row_of_a_text_over_several_lines_is_its_first_line() -> None:
    rows = [GOOD | {"why": "One.\nTwo.\nThree."}, OTHER | {"category": "moral"}]
    assert problems(as_csv(rows))[0].startswith(
        "scenes.csv, row 5, category: 'moral' is unknown; use physical,"
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"category": "moral"}, f"row 3, category: 'moral' is unknown; use {CATEGORY_LIST}"),
        ({"category": ""}, f"row 3, category: is empty; use {CATEGORY_LIST}"),
        ({"direction": "sideways"}, "row 3, direction: 'sideways' is unknown; use forward, backward, parallel"),
        ({"duration": "medium"}, "row 3, duration: 'medium' is unknown; use short, long"),
        ({"duration": ""}, "row 3, duration: use short or long: only a parallel scene has no duration"),
        ({"direction": "parallel"}, "row 3, duration: leave it out: a parallel scene has no duration"),
        ({"domain": " "}, "row 3, domain: is empty; fill it in"),
        ({"domain": "d" * 61}, "row 3, domain: has 61 characters: use 60 or fewer"),
        ({"premise": ""}, "row 3, premise: is empty: describe what the picture shows"),
        ({"premise": " … "}, "row 3, premise: is empty: describe what the picture shows"),
        ({"plausible": "p" * 401}, "row 3, plausible: has 401 characters: use 400 or fewer"),
        ({"why": ""}, "row 3, why: is empty: say in one sentence why the more plausible hypothesis fits better"),
        ({"why": "w" * 601}, "row 3, why: has 601 characters: use 600 or fewer"),
        ({"culture": "c" * 81}, "row 3, culture: has 81 characters: use 80 or fewer"),
        (
            {"implausible": "the man slips, on a WET floor without a sign"},
            f"row 3, implausible: {SAME_HYPOTHESES}",
        ),
        ({"premise": "A bell\u0007rings"}, "row 3, premise: contains the control character U+0007: remove it"),
        ({"language": "English"}, "row 3, language: 'English' is no language code; write for instance en or pt-BR"),
        ({"licence": "l" * 121}, "row 3, licence: has 121 characters: use 120 or fewer"),
        (
            {"replaces": "scene 4"},
            "row 3, replaces: 'scene 4' is no id of a scene; copy its 32 letters and digits from the scene's page",
        ),
        ({"replaces": OTHER["replaces"]}, "row 3, replaces: row 2 revises the same scene; keep one revision"),
    ],
)  # fmt: skip
def test_bad_value_is_named_with_row_field_and_fix(change: dict[str, str], expected: str) -> None:
    assert problems_of(change) == [f"scenes, {expected}"]


def test_unknown_domain_lists_the_projects_domains() -> None:
    assert problems_of({"domain": "space"}, domains=["healthcare", "daily life and hospitality"]) == [
        "scenes, row 3, domain: 'space' is unknown; use healthcare, daily life and hospitality"
    ]


def test_all_problems_are_listed_in_the_order_of_rows_and_no_scene_is_taken() -> None:
    third = OTHER | {"premise": "A tower of plates.", "replaces": "", "direction": "up"}
    rows = [GOOD, OTHER | {"category": "x", "why": ""}, GOOD, third]
    found = problems(as_csv(rows))
    assert [text.split(":")[0] for text in found] == [
        "scenes.csv, row 3, category", "scenes.csv, row 3, why", "scenes.csv, row 4, premise",
        "scenes.csv, row 5, direction",
    ]  # fmt: skip


def test_many_problems_are_counted() -> None:
    rows = [GOOD | {"category": f"c{n}", "premise": f"A cat {n}"} for n in range(30)]
    with pytest.raises(
        SceneFileError, match=r"row 2, category: 'c0' is unknown; .*; 29 more rows are wrong$"
    ) as caught:
        parse_scenes(as_csv(rows), "scenes.csv")
    assert (len(caught.value.problems), caught.value.count) == (20, 30)


def test_two_problems_of_one_row_are_no_further_row() -> None:
    rows = [GOOD | {"category": "x", "direction": "y"}]
    with pytest.raises(SceneFileError) as caught:
        parse_scenes(as_csv(rows), "scenes.csv")
    assert caught.value.count == 2
    assert "more row" not in str(caught.value)
    rows.append(OTHER | {"category": "x"})
    with pytest.raises(SceneFileError, match=r"; 1 more row is wrong$"):
        parse_scenes(as_csv(rows), "scenes.csv")


@pytest.mark.parametrize("swapped", [False, True])
def test_repeated_row_names_the_first_one(swapped: bool) -> None:
    copy = GOOD | {"premise": GOOD["premise"].upper(), "why": "Another reason."}
    if swapped:
        copy |= {"plausible": GOOD["implausible"], "implausible": GOOD["plausible"]}
    assert problems(as_csv([GOOD, OTHER, copy])) == [
        "scenes.csv, row 4, premise: the scene repeats row 2; delete one of the rows"
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "scenes.csv, row 1: has no column premise; add it. The header is: nothing"),
        (as_csv([], list(GOOD)), "scenes.csv: has no rows; write one scene a row"),
        (
            as_csv([], ["premise", "plausible", "Wrong"]),
            "scenes.csv, row 1: has no column implausible; add it. The header is: premise, plausible, wrong",
        ),
        (
            as_csv([GOOD | {"cultur": "x"}]),
            "scenes.csv, row 1: the column 'cultur' is unknown; delete it, or call it one of premise, plausible, "
            "implausible, category, direction, duration, domain, why, culture, language, licence, replaces",
        ),
        (
            as_csv([], list(GOOD)).replace(b"why", b"why,why"),
            "scenes.csv, row 1: the column why occurs twice; keep one",
        ),
        (
            as_csv([GOOD]) + b"only,two\r\n",
            "scenes.csv, row 3: has 2 values and the header has 8; correct the commas and quotes",
        ),
        (as_csv([GOOD]) + b'"open', "scenes.csv, row 3: is not readable CSV (unexpected end of data); save"),
        (as_csv([GOOD]).replace(b"wet", b"w\xe9t"), "scenes.csv: byte "),
        (as_csv([GOOD]).replace(b"leg", b"l\0g"), "row 2, premise: contains the control character U+0000"),
    ],
)  # fmt: skip
def test_unreadable_csv_is_refused_in_one_line(content: bytes, expected: str) -> None:
    (found,) = problems(content)
    assert expected in found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"premise": ', "row 2: is not JSON at character 13; write one object per line"),
        ("[1]", 'row 2: is not a JSON object; write {"premise": "…", …}'),
        ('{"premise": "A cat sleeps."}', "row 2: has no plausible; add it. The row has: premise"),
        ('{"why": null, "category": 3}', "row 2, category: is not a text; put it in quotes"),
        ('{"why": NaN}', "row 2, why: is not a text; put it in quotes"),
        ('{"why": ' + "9" * 5000 + "}", "row 2, why: is not a text; put it in quotes"),
        ('{"why": "a", "why": "b"}', "row 2, why: occurs twice; write it once"),
        ('{"\\ud800a": "a"}', "row 2, \\ud800a: is unknown; delete it, or use premise,"),
        ('{"\\ud800": "a", "\\ud800": "b"}', "row 2, \\ud800: occurs twice; write it once"),
        ('{"gold": "a"}', "row 2, gold: is unknown; delete it, or use premise,"),
        ("[" * 100_000, "row 2: is nested too deeply; write one object of texts per line"),
        (json.dumps(OTHER | {"why": "a\0b"}), "row 2, why: contains the control character U+0000: remove it"),
        (json.dumps(OTHER | {"why": "a\ud800b"}), "row 2, why: contains the control character U+D800: remove it"),
    ],
)  # fmt: skip
def test_unreadable_json_line_is_refused_in_one_line(line: str, expected: str) -> None:
    (found,) = problems(as_jsonl([GOOD]) + line.encode(), "scenes.jsonl")
    assert f"scenes.jsonl, {expected}" in found


def test_line_of_very_many_keys_is_refused_at_once() -> None:
    line = json.dumps({f"key {number}": "" for number in range(60_000)}).encode()
    header = ",".join(["premise"] * 60_000 + list(GOOD)).encode()
    started = time.process_time()
    assert problems(line, "a.jsonl")[0].startswith("a.jsonl, row 1, key 0: is unknown;")
    assert problems(header, "a.csv") == ["a.csv, row 1: the column premise occurs twice; keep one"]
    # 60,000 names take a tenth of a second; a comparison of each with each takes minutes.
    assert time.process_time() - started < 5


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(SceneFileError, match=rf"^{path.name}: .+; choose another file$"):
            read_scenes(path)


def test_file_with_too_many_rows_is_refused() -> None:
    content = b'{"premise": 1}\n' + b"\n" * MAX_ROWS + b'{"premise": 1}\n'
    assert problems(content, "a.jsonl") == [
        "a.jsonl: has more than 100,000 rows; split it into several files"
    ]


def test_page_may_read_fewer_rows_than_a_command() -> None:
    rows = [GOOD, OTHER]
    assert len(parse_scenes(as_csv(rows), "a.csv", max_rows=2)) == 2
    assert problems(as_csv(rows), "a.csv", max_rows=1) == [
        "a.csv: has more than 1 rows; split it, or use manage.py import_scenes"
    ]
