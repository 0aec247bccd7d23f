"""Files of published proposals: layouts, ranking, and errors with the record."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.proposals.published import (
    LAYOUT_SAMPLE_SIZE,
    BoxLayout,
    entry_boxes,
    read_entries,
    recognise_layout,
)
from curation.records import InvalidInput

SIZES = {"a.jpg": (100, 80), "b.jpg": (60, 60)}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """Return a writer of files of proposals: text as it is, anything else as JSON."""

    def write(content: Any) -> Path:
        path = tmp_path / "boxes.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def read(path: Path, layout: BoxLayout | None = None, *, limit: int = 100) -> dict[str, list[Any]]:
    layout = layout or recognise_layout(path, SIZES.get)
    return {
        entry.url: entry_boxes(entry, layout, SIZES[entry.url], limit=limit).rows()
        for entry in read_entries(path)
    }


class TestPublished:
    @pytest.mark.parametrize(
        ("content", "layout"),
        [
            ({"a.jpg": [[10, 20, 90, 70]]}, BoxLayout.CORNERS),
            ({"a.jpg": [[10, 20, 80, 50]], "b.jpg": [[30, 30, 10, 10]]}, BoxLayout.SIZES),
            ({"a.jpg": [{"left": 10, "top": 20, "width": 80, "height": 50}]}, BoxLayout.SIZES),
            ({"a.jpg": [{"x": 10, "y": 20, "w": 80, "h": 50}]}, BoxLayout.SIZES),
            ({"a.jpg": [{"x1": 10, "y1": 20, "x2": 90, "y2": 70}]}, BoxLayout.SIZES),
            ({"a.jpg": {"boxes": [[10, 20, 90, 70]]}}, BoxLayout.CORNERS),
            ({"a.jpg": {"bboxes": [[10.2, 19.8, 89.9, 70.4]]}}, BoxLayout.CORNERS),
        ],
    )
    def test_each_layout_is_recognised(
        self, write: Callable[[Any], Path], content: Any, layout: BoxLayout
    ) -> None:
        path = write(content)
        assert recognise_layout(path, SIZES.get) is layout
        assert read(path)["a.jpg"] == [[10, 20, 80, 50, None]]

    def test_layout_is_recognised_from_known_images_at_any_position(
        self, write: Callable[[Any], Path]
    ) -> None:
        others = {f"other-{n}.jpg": [[50, 20, 10, 10]] for n in range(LAYOUT_SAMPLE_SIZE + 1)}
        assert recognise_layout(write(others | {"a.jpg": [[10, 20, 95, 70]]}), SIZES.get) is BoxLayout.CORNERS
        assert recognise_layout(write(others | {"a.jpg": [[50, 20, 10, 10]]}), SIZES.get) is BoxLayout.SIZES

    def test_contradicting_boxes_name_both_records(self, write: Callable[[Any], Path]) -> None:
        path = write({"a.jpg": [[50, 20, 10, 10]], "b.jpg": [[30, 30, 50, 50]]})
        with pytest.raises(InvalidInput, match="use one layout in the whole file"):
            recognise_layout(path, SIZES.get)

    def test_boxes_are_ranked_by_score_and_limited(self, write: Callable[[Any], Path]) -> None:
        five = write({"a.jpg": [[0, 0, 10, 10, 0.1], [0, 0, 90, 70, 0.9], [5, 5, 99, 70, 0.5]]})
        assert [row[4] for row in read(five)["a.jpg"]] == [0.9, 0.5, 0.1]
        assert read(five, limit=1)["a.jpg"] == [[0, 0, 90, 70, 0.9]]
        beside = write(
            {
                "a.jpg": {
                    "boxes": [[20, 0, 30, 10], [0, 0, 90, 70], [20, 5, 99, 70]],
                    "scores": [0.1, 0.9, 0.5],
                }
            }
        )
        assert [row[4] for row in read(beside)["a.jpg"]] == [0.9, 0.5, 0.1]

    def test_boxes_without_scores_keep_their_order(self, write: Callable[[Any], Path]) -> None:
        path = write({"a.jpg": [[50, 50, 90, 70], [0, 0, 90, 70]]})
        assert [row[0] for row in read(path)["a.jpg"]] == [50, 0]

    def test_byte_order_mark_is_skipped(self, write: Callable[[Any], Path]) -> None:
        path = write("\ufeff" + json.dumps({"a.jpg": [[0, 0, 90, 70]]}))
        assert read(path, BoxLayout.CORNERS)["a.jpg"]

    def test_long_file_is_read_in_chunks(self, write: Callable[[Any], Path]) -> None:
        content = {f"photo {n}.jpg": [[n % 50, 1, 90, 70]] * 100 for n in range(1200)}
        assert len(json.dumps(content)) > 1 << 20
        entries = list(read_entries(write(content)))
        assert [entry.url for entry in entries] == list(content)
        assert entries[1199].boxes[99].numbers == (1199 % 50, 1, 90, 70)
        assert list(read_entries(write(" { } \n"))) == []

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "boxes.json: is not an object of the form"),
            ("[]", "boxes.json: is not an object of the form"),
            ('{"a.jpg": [[1, 2, 3', "boxes.json: invalid at character 10; expected a complete JSON value"),
            ('{"a.jpg": [] "b.jpg": []}', "boxes.json: invalid at character 14; expected a comma"),
            ('{"a.jpg": []} {}', "boxes.json: invalid at character 14; expected the end"),
            ('{"a.jpg" []}', "boxes.json: invalid at character 9, where a whole|address and a colon"),
            ("{3: []}", "expected an image address and a colon"),
            ({"a.jpg": 3}, r"boxes.json: record 1 \('a.jpg'\): holds int; give a list of boxes"),
            ({"a.jpg": [], "b.jpg": [[1, 2, 3]]}, r"record 2 \('b.jpg'\): box 1 is \[1, 2, 3\]; give four"),
            ({"a.jpg": [[1, 2, 3, "4"]]}, r"record 1 .*: box 1 is \"4\"; give a finite number"),
            ('{"a.jpg": [[1, 2, 3, NaN]]}', "record 1 .*: box 1 is NaN; give a finite number"),
            ({"a.jpg": [{"left": 1, "top": 2}]}, "record 1 .*: box 1 has left, top; give left, top, width"),
            ({"a.jpg": {"rois": []}}, "record 1 .*: has rois; give boxes"),
            (
                {"a.jpg": {"boxes": [[1, 2, 3, 4]], "scores": []}},
                "record 1 .*: scores must be a list as long",
            ),
            ({"a.jpg": [[0.1, 0.2, 0.5, 0.9]]}, "boxes.json: its numbers are shares of the image"),
            ({"a.jpg": [[10, 20, 30, 40]]}, "boxes.json: its numbers may be two corners or.*--layout"),
            (
                {"a.jpg": [[50, 20, 90, 70], [60, 20, 10, 10]]},
                r"record 1 .*: box \[60.*\] cannot be two corners, and .*box \[50.*\] cannot be a corner",
            ),
            ({"a.jpg": [[10, 20, 90, 70], [5, 5, 90, 70, 0.3]]}, "record 1 .*: only some boxes have a score"),
        ],
    )
    def test_invalid_files_are_refused_with_the_record(
        self, write: Callable[[Any], Path], content: Any, message: str
    ) -> None:
        with pytest.raises(InvalidInput, match=message) as raised:
            read(write(content))
        assert "\n" not in str(raised.value)

    def test_box_of_another_image_is_refused(self, write: Callable[[Any], Path]) -> None:
        with pytest.raises(InvalidInput, match=r"box \[300.*\], read as left, top, width, height, is not in"):
            read(write({"a.jpg": [[300, 20, 30, 40]]}), BoxLayout.SIZES)

    def test_unreadable_files_are_named(self, tmp_path: Path, write: Callable[[Any], Path]) -> None:
        with pytest.raises(InvalidInput, match=r"nothing\.json: cannot be read"):
            list(read_entries(tmp_path / "nothing.json"))
        path = write("")
        path.write_bytes(b'{"\xff": []}')
        with pytest.raises(InvalidInput, match="is not UTF-8"):
            list(read_entries(path))
