"""The rules of html_template: a page of the project's own, whose fields are the answer."""

from typing import Any

import pytest

from hits.domain.states import Purpose
from hits.kind import InvalidAnswer, InvalidUnit
from hits.kinds.html_template.kind import KIND

UNIT = {"template": 3, "values": {"city": "Porto"}}


def test_terms() -> None:
    assert KIND.purpose is Purpose.COLLECTING
    assert (KIND.bonus_cents, KIND.max_bonus_items) == (0, 0)
    assert KIND.image_ids(UNIT) == []
    assert KIND.records(UNIT, {"fields": []}) == []


def test_unit_has_page_id_and_values() -> None:
    assert KIND.parse_unit(UNIT) == UNIT
    for raw, field in [
        ({"template": 0, "values": {}}, "template"),
        ({"template": 1, "values": {"a": 2}}, "values.a"),
        ({"template": 1, "values": {"": "x"}}, "values."),
        ({"template": 1, "values": {f"c{n}": "" for n in range(201)}}, "values"),
    ]:
        with pytest.raises(InvalidUnit) as caught:
            KIND.parse_unit(raw)
        assert caught.value.errors[0].field.startswith(field)


def test_unit_for_page_is_empty() -> None:
    assert KIND.unit_for_page(UNIT, {}, "seed") == {}


def test_answer_keeps_field_order_and_repeated_names() -> None:
    fields = [["why", "because\n"], ["has", "tram"], ["has", "harbour"], ["empty", ""]]
    assert KIND.parse_answer(UNIT, {}, {"fields": fields}) == {"fields": fields}
    assert KIND.parse_answer(UNIT, {}, {"fields": []}) == {"fields": []}


def test_answer_excludes_reserved_fields() -> None:
    fields = [["assignmentId", "A1"], ["WorkerId", "W"], ["why", "x"], ["hitId", ""], ["turkSubmitTo", ""]]
    assert KIND.parse_answer(UNIT, {}, {"fields": fields}) == {"fields": [["why", "x"]]}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ([["a"]], "fields[0]"),
        ([["a", "b", "c"]], "fields[0]"),
        ([["a", "b"], [" ", "x"]], "fields[1]"),
        ([["n" * 201, "x"]], "fields[0]"),
        ([["a", 1]], "fields[0][1]"),
        ([["a", "b"]] * 501, "fields"),
    ],
)
def test_invalid_fields_are_reported(fields: Any, field: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, {}, {"fields": fields})
    assert caught.value.errors[0].field == field
