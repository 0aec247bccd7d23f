"""The console's plain parts: checks, pay, charts, the photo tag, and how sums and times are written."""

from datetime import timedelta
from typing import Literal

import pytest
from django.template import Context, Template
from django.utils import timezone

from hits.domain.answers import evidence
from hits.domain.images.geometry import Box
from hits.domain.images.image_facts import ImageFacts
from hits.domain.money.fees import AMAZON_FEES, LOCAL_FEES
from hits.domain.money.pay import approval_cost, cents_per_hour, gap_cents, mean_cents, median_cents
from hits.kind import Schema
from hits.observing import checks
from hits.observing.pairs import Confidence, ObservationPair
from hits.templatetags.console import ago, duration, utc_time
from hits.templatetags.money import usd, usd_bare


def pair(index: int, clue: str = "", inference: str = "", *boxes: Box) -> ObservationPair:
    words = ["a wet umbrella", "two empty plates", "a lit lamp", "an open gate", "the long queue"][index - 1]
    return ObservationPair(
        index=index,
        clue=clue or words,
        inference=inference or f"Number {index} tells of {words} and of nothing else that day {index}",
        confidence=Confidence.LIKELY,
        boxes=boxes or (Box(10 * index, 10, 40, 40),),
    )


PAIRS = [pair(1), pair(2), pair(3)]


def failed(pairs: list[ObservationPair], active: float = 200.0) -> list[str]:
    found = checks.run_checks(
        pairs, image_width=400, image_height=300, active_seconds=active, expected_seconds=300
    )
    return [check.short for check in found if not check.ok]


def test_careful_answer_passes_all_checks() -> None:
    assert failed(PAIRS) == []


@pytest.mark.parametrize(
    ("pairs", "short"),
    [
        ([*PAIRS[:2], pair(3, "", "", *PAIRS[0].boxes)], "same box"),
        ([pair(1, "", "", Box(0, 0, 10, 10))], "tiny box"),
        ([pair(1, "", "", Box(0, 0, 400, 299))], "huge box"),
        ([pair(1, "The red door", "the RED door.")], "clue repeated"),
        (
            [pair(1, "", "Somebody left here in a hurry"), pair(2, "", "somebody left here, in a hurry")],
            "two alike",
        ),
        ([pair(1, "", "Perhaps he is late for work")], "“he”"),
        ([pair(1, "her open bag")], "“her”"),
    ],
)
def test_checks_find_problems_for_reviewers(pairs: list[ObservationPair], short: str) -> None:
    assert failed(pairs) == [short]


def test_words_that_contain_a_pronoun_are_not_pronouns() -> None:
    assert failed([pair(1, "the shelf", "There is a theory that the hermit hears the sheep")]) == []


def test_check_pace_fails_below_a_third_of_expected_time() -> None:
    assert failed(PAIRS, 99.9) == ["fast"]
    assert failed(PAIRS, 100.0) == []
    assert checks.check_pace(61, 300).text == "Fast: 1 min 01 s of active time"


def test_approval_cost_has_a_fee_on_each_payment() -> None:
    paid = approval_cost(
        reward_cents=110, bonus_each_cents=15, bonus_items=1, max_assignments=1, fees=AMAZON_FEES
    )
    assert (paid.bonus_cents, paid.fee_cents, paid.total_cents) == (15, 25, 150)
    free = approval_cost(
        reward_cents=110, bonus_each_cents=15, bonus_items=0, max_assignments=1, fees=LOCAL_FEES
    )
    assert (free.bonus_cents, free.total_cents) == (0, 110)


def test_pay_per_hour() -> None:
    assert cents_per_hour(125, 284) == 1585
    assert cents_per_hour(110, 0) is None
    assert median_cents([100, 200, 900]) == 200
    assert mean_cents([100, 200, 900]) == 400
    assert median_cents([]) is mean_cents([]) is None
    # 110 cents for 300 s: 15 $/h asks for 125 cents. The second is above the target already.
    assert [gap_cents(cents, 300.0, 1500) for cents in (110, 140)] == [15, 0]


def test_answer_rows_of_any_answer() -> None:
    rows = evidence.answer_rows(
        {"ratings": [{"id": "b", "rating": 3}, {"certainty": "very sure", "rating": 1}]}
    )
    assert rows == [evidence.EvidenceRow("b", "3"), evidence.EvidenceRow("Ratings 2", "very sure · 1")]
    rows = evidence.answer_rows({"boxes": "entirely_off", "tags": ["a b", "c"], "sure": True})
    assert [row.value for row in rows] == ["Entirely off", "a b, c", "Yes"]


class Part(Schema):
    name: str
    mood: Literal["calm", "very_lively"]


class Written(Schema):
    first: str
    odd: Literal["left", "right"] | None
    either: Literal["left"] | str
    parts: list[Part]


def test_answer_rows_humanize_labels_and_keep_free_text() -> None:
    answer = {
        "first": "car",
        "odd": "left",
        "either": "left",
        "parts": [{"name": "snake_case", "mood": "calm"}, {"name": "bus", "mood": "very_lively"}],
    }
    values = [row.value for row in evidence.answer_rows(answer, Written)]
    assert values == ["car", "Left", "left", "snake_case · Calm", "bus · Very lively"]


def test_answer_rows_without_a_schema_keep_values() -> None:
    values = [
        row.value for row in evidence.answer_rows({"pick": "car", "other": "Snake_Case", "fit": "too_big"})
    ]
    assert values == ["car", "Snake_Case", "Too big"]


def render(width: int, height: int, *boxes: dict[str, int]) -> str:
    image = ImageFacts(
        1, "http://127.0.0.1:8000/media/images/x.jpg", width, height, "x.jpg", 'a "quoted" <dog>'
    )
    template = Template("{% load photo %}{% photo image groups %}")
    return template.render(Context({"image": image, "groups": [{"index": 7, "boxes": list(boxes)}]}))


def box(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"left": left, "top": top, "width": width, "height": height}


def test_photo_tag_draws_halo_outline_and_label() -> None:
    svg = render(660, 440, box(100, 100, 200, 150), box(10, 200, 20, 20))
    assert svg.count('class="halo"') == svg.count('class="line hit"') == 2
    assert 'viewBox="0 0 660 440"' in svg
    assert "a &quot;quoted&quot; &lt;dog&gt;" in svg
    assert ">7a</text>" in svg
    assert ">7b</text>" in svg
    assert 'class="box obs obs-2"' in svg, "five colours, then again from the first"
    assert svg.index(">7a<") < svg.index(">7b<"), "the larger box lies below"


@pytest.mark.parametrize(
    ("shape", "edge", "start"),
    [
        (box(100, 100, 200, 150), 100, "M-2 -12h"),  # astride the edge
        (box(100, 0, 200, 150), 0, "M-2 -2h"),  # inside, where the photo ends
        (box(100, 100, 20, 20), 100, "M-2 -24h"),  # above a small box
        (box(100, 3, 20, 20), 23, "M-2 2h"),  # below it, where there is no room above
        (box(655, 100, 5, 200), 100, "M-22 -24h"),  # to the left at the right edge
    ],
)
def test_photo_tag_keeps_the_label_on_the_photo(shape: dict[str, int], edge: int, start: str) -> None:
    svg = render(660, 440, shape)
    assert f"translate({shape['left']} {edge})" in svg
    assert f'd="{start}' in svg


def test_sums_and_times_are_formatted() -> None:
    assert (usd(110), usd(123456), usd(-5), usd(None)) == ("$1.10", "$1,234.56", "−$0.05", "–")
    assert (usd_bare(110), usd_bare(-5)) == ("1.10", "−0.05")
    assert [duration(s) for s in (45, 60, 284.2, 7500, None)] == [
        "45 s",
        "1 min",
        "4 min 44 s",
        "2 h 5 min",
        "–",
    ]
    now = timezone.now()
    assert ago(now - timedelta(seconds=3.5)) == "3 s ago"
    assert ago(now - timedelta(hours=30)) == "1 day ago"
    assert ago(None) == "never"
    assert utc_time(now.replace(year=2019, month=11, day=5, hour=9, minute=4)) == "5 Nov 2019 09:04"
