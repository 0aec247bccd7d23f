"""Cuts, shots and middle frames from times and scores."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.records import InvalidInput
from curation.video.shots import SampleClock, ShotRule, find_cuts, find_shots, parse_every

RISING = st.lists(st.floats(0.001, 3), min_size=1, max_size=60).map(lambda gaps: list(np.cumsum(gaps)))


def test_cut_is_at_a_score_of_exactly_the_threshold() -> None:
    assert find_cuts([0, 1, 2, 3], [29.999, 30.0, 31], 30).tolist() == [2, 3]


def test_no_cut_gives_one_shot_with_the_frame_nearest_to_its_middle() -> None:
    times = [k / 24 for k in range(48)]
    (shot,) = find_shots(times, 2.0, [])
    assert (shot.start, shot.end, shot.middle) == (0.0, 2.0, 24)


def test_of_two_frames_equally_near_the_earlier_is_the_middle() -> None:
    (shot,) = find_shots([0.0, 0.1, 0.2, 0.3], 0.3, [])
    assert shot.middle == 1


def test_middle_frame_of_a_long_still_lies_within_its_shot() -> None:
    """At a variable frame rate, the frame nearest to the middle may belong to the next shot."""
    first, second = find_shots([0.0, 10.0, 10.1], 10.2, [10.0])
    assert (first.middle, second.middle) == (0, 2)


def test_times_need_not_start_at_zero() -> None:
    first, second = find_shots([5.0, 6.0, 7.0, 8.0], 9.0, [7.0])
    assert [(shot.start, shot.end, shot.middle) for shot in (first, second)] == [(5, 7, 1), (7, 9, 3)]


@given(RISING, st.data())
def test_shots_divide_the_clip_and_hold_their_middle_frames(times: list[float], data: st.DataObject) -> None:
    cut_frames = sorted(data.draw(st.sets(st.integers(1, len(times) - 1)))) if len(times) > 1 else []
    end = times[-1] + 0.5
    shots = find_shots(times, end, [times[frame] for frame in cut_frames])
    assert [shot.start for shot in shots] == [times[0], *(times[frame] for frame in cut_frames)]
    assert all(one.end == two.start for one, two in itertools.pairwise(shots))
    assert shots[-1].end == end
    for shot in shots:
        inside = [k for k, time in enumerate(times) if shot.start <= time < shot.end]
        assert shot.middle in inside
        middle_time = (shot.start + shot.end) / 2
        nearest = min(abs(times[k] - middle_time) for k in inside)
        assert abs(times[shot.middle] - middle_time) <= nearest + 2e-6


class TestSampling:
    def test_frame_reading_compares_every_frame(self) -> None:
        clock = SampleClock(None)
        assert all(clock.is_due(time) for time in (0.0, 0.01, 0.02))

    def test_one_second_reading_takes_the_first_frame_of_each_second(self) -> None:
        clock = SampleClock(1.0)
        due = [k for k in range(24 * 14) if clock.is_due(k / 24)]
        assert due == [24 * second for second in range(14)]

    def test_times_rounded_to_milliseconds_do_not_shift_samples(self) -> None:
        clock = SampleClock(1.0)
        due = [k for k in range(30 * 5) if clock.is_due(round(k * 1000 / 30) / 1000)]
        assert due == [0, 30, 60, 90, 120]

    def test_a_gap_longer_than_the_distance_gives_one_sample(self) -> None:
        clock = SampleClock(1.0)
        assert [time for time in (0.0, 0.5, 7.2, 7.9, 8.0, 8.1, 9.4) if clock.is_due(time)] == [
            0,
            7.2,
            8.0,
            9.4,
        ]

    def test_sampled_cuts_are_rounded_up_to_the_next_sample(self) -> None:
        """A shot without a sample is lost, and its two cuts are seen as one or as neighbours."""
        clock = SampleClock(1.0)
        shots = np.searchsorted(
            [3.0, 5.5, 9.5, 10.25, 12.2, 12.8], [k / 24 for k in range(14 * 24)], side="right"
        )
        sampled = [k for k in range(14 * 24) if clock.is_due(k / 24)]
        scores = [100.0 * (shots[a] != shots[b]) for a, b in itertools.pairwise(sampled)]
        assert find_cuts([k / 24 for k in sampled], scores, 30).tolist() == [3, 6, 10, 11, 13]


class TestRule:
    @pytest.mark.parametrize(("text", "every"), [("frame", None), ("Frame", None), ("1", 1.0), ("0.5", 0.5)])
    def test_every_is_read(self, text: str, every: float | None) -> None:
        assert parse_every(text) == every

    @pytest.mark.parametrize("text", ["", "second", "1s"])
    def test_every_that_is_no_number_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidInput, match=r"every: .*neither frame nor a number"):
            parse_every(text)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"every": 0.0}, "every: 0 "),
            ({"every": float("nan")}, "every: nan"),
            ({"every": float("inf")}, "every: inf"),
            ({"threshold": 0.0}, "threshold: 0 "),
            ({"threshold": float("nan")}, "threshold: nan"),
            ({"threshold": 256.0}, "threshold: 256 "),
            ({"pixel_step": 0}, "pixel step: 0 "),
        ],
    )
    def test_impossible_rule_is_refused(self, options: dict[str, float], message: str) -> None:
        with pytest.raises(InvalidInput, match=message):
            ShotRule(**options)  # type: ignore[arg-type]
