"""Leaderboards: limits, keys, what is scored and what is refused, the table and its plots."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors import boards as board_selectors
from curation.leaderboard.selectors import tables
from curation.leaderboard.services import boards as services
from curation.leaderboard.services import entries
from curation.leaderboard.views import charts
from curation.models import DatasetVersion
from hits.charts.chart import TOP, WIDTH, Dot
from hits.domain.states import JobState
from hits.models import AuditEvent, Project
from hits.services.errors import Conflict, ContentTooLarge, Refused
from hits.services.jobs import jobs
from tests.support.curation.leaderboards import (
    HALF,
    PERFECT,
    made_board,
    predictions,
    scored,
    sealed_version,
    submitted_entry,
    variant,
    zipped,
)
from tests.support.threads import together

pytestmark = pytest.mark.django_db
Team = tuple[LeaderboardTeam, str]


@pytest.fixture
def board(project: Project) -> Leaderboard:
    """Return an open leaderboard of two tasks."""
    return made_board(project)


@pytest.fixture
def team(board: Leaderboard) -> LeaderboardTeam:
    """Return a team of it."""
    return services.add_team(board=board, name="Baker Street", by=None)[0]


def test_a_submission_is_scored_by_the_held_keys(team: LeaderboardTeam) -> None:
    entry = scored(team, predictions(PERFECT))
    assert entry.state == EntryState.SCORED
    assert entry.scored_at is not None
    assert entry.figures["retrieval"]["p_at_1"]["value"] == 100.0
    assert entry.figures["retrieval"]["im2txt"]["value"] == 1.0
    # one judge's order is kept and the other's is not: pairs 12 and 13 are right for both, 23 for one
    assert entry.figures["comparison"]["model"]["value"] == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert entries.entry_zip_path(entry).is_file(), "what was scored is kept"
    half = scored(team, predictions(HALF))
    assert half.figures["retrieval"]["p_at_1"]["value"] == 50.0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (predictions({**PERFECT, "retrieval_0": [1, 2, float("nan"), 4]}), "retrieval_0.npy.*NaN"),
        (predictions({**PERFECT, "comparison": [1, 2]}), "comparison.npy.*2.*3"),
        (predictions({"retrieval_0": [1, 2, 3, 4]}), "comparison.npy: is missing"),
        (b"no zip at all", "not a complete zip file"),
        (zipped({"test_set_predictions/comparison.npy": b"\x80\x04pickle"}), "not a plain .npy"),
        (
            zipped(
                {"test_set_predictions/comparison.json": json.dumps({"c1": 1, "c2": 2, "c9": 3}).encode()}
            ),
            "c3|c9",
        ),
    ],
)
def test_unscorable_submission_is_refused_in_one_line(
    team: LeaderboardTeam, data: bytes, message: str
) -> None:
    import re

    entry = scored(team, data)
    assert entry.state == EntryState.REFUSED
    assert re.search(message, entry.defect), entry.defect
    assert "\n" not in entry.defect
    assert str(board_selectors.board_folder(team.leaderboard)) not in entry.defect, (
        "where things lie is our business"
    )
    assert not entries.entry_zip_path(entry).exists(), "a refused zip is removed"
    assert entry.job is not None
    assert entry.job.state == JobState.DONE, "a defect is no fault of the job"
    assert board_selectors.team_usage(team).total == 0


def test_the_same_zip_of_a_team_is_one_entry(board: Leaderboard, team: LeaderboardTeam) -> None:
    first = scored(team, predictions())
    again = submitted_entry(team, predictions(), model="Another name")
    assert (again.pk, again.model) == (first.pk, first.model)
    other = services.add_team(board=board, name="Scotland Yard", by=None)[0]
    assert submitted_entry(other, predictions()).pk != first.pk
    refused = scored(team, b"broken")
    assert submitted_entry(team, b"broken").pk == refused.pk
    folder = board_selectors.board_folder(board) / "entries"
    assert len(list(folder.iterdir())) == 2, "two kept zips, and nothing left half-way"
    assert folder.stat().st_mode & 0o077 == 0


def test_limits_are_of_a_team_and_of_24_hours_and_in_all(project: Project) -> None:
    board = made_board(project, limits=services.SubmissionLimits(daily=2, total=3))
    team = services.add_team(board=board, name="Baker Street", by=None)[0]
    first = scored(team, variant(1))
    submitted_entry(team, variant(2))  # one that waits counts as well
    with pytest.raises(entries.LimitReached, match="2 of 2 submissions within 24 hours"):
        submitted_entry(team, variant(3))
    other = services.add_team(board=board, name="Scotland Yard", by=None)[0]
    submitted_entry(other, variant(3))
    LeaderboardEntry.objects.filter(pk=first.pk).update(
        created_at=timezone.now() - timedelta(hours=24, seconds=1)
    )
    submitted_entry(team, variant(3))
    LeaderboardEntry.objects.filter(team=team).update(created_at=timezone.now() - timedelta(days=3))
    with pytest.raises(entries.LimitReached, match="all of its 3 submissions"):
        submitted_entry(team, variant(4))


def test_time_of_next_submission_is_shown(project: Project) -> None:
    board = made_board(project, limits=services.SubmissionLimits(daily=1, total=3))
    team = services.add_team(board=board, name="Baker Street", by=None)[0]
    entry = submitted_entry(team, variant(1))
    due = entry.created_at + timedelta(hours=24)
    with pytest.raises(entries.LimitReached, match=f"{due:%d %b %H:%M} UTC"):
        submitted_entry(team, variant(2))


def test_refused_ones_count_against_no_limit_but_have_their_own(project: Project) -> None:
    board = made_board(project, limits=services.SubmissionLimits(daily=1, total=1))
    team = services.add_team(board=board, name="Baker Street", by=None)[0]
    for number in range(entries.MAX_REFUSED_PER_DAY):
        assert scored(team, f"broken {number}".encode()).state == EntryState.REFUSED
    with pytest.raises(entries.LimitReached, match="20 submissions of your team were refused"):
        submitted_entry(team, predictions())
    LeaderboardEntry.objects.filter(team=team).update(created_at=timezone.now() - timedelta(hours=25))
    assert scored(team, predictions()).state == EntryState.SCORED


@pytest.mark.django_db(transaction=True)
def test_two_at_once_cannot_both_be_the_last(project: Project) -> None:
    board = made_board(project, limits=services.SubmissionLimits(daily=3, total=3))
    team = services.add_team(board=board, name="Baker Street", by=None)[0]
    submitted_entry(team, variant(0))

    def one(number: int) -> Callable[[], LeaderboardEntry]:
        return lambda: submitted_entry(LeaderboardTeam.objects.get(pk=team.pk), variant(number))

    found = together([one(number) for number in range(1, 7)])
    taken = [each for each in found if isinstance(each, LeaderboardEntry)]
    assert len(taken) == 2, found
    assert all(isinstance(each, LeaderboardEntry | entries.LimitReached) for each in found), found
    assert board_selectors.team_usage(team).total == 3
    kept = [path.name for path in (board_selectors.board_folder(board) / "entries").iterdir()]
    assert len(kept) == 3, kept


@pytest.mark.django_db(transaction=True)
def test_the_same_zip_sent_twice_at_once_is_one_entry(project: Project) -> None:
    board = made_board(project, limits=services.SubmissionLimits(daily=1, total=1))
    team = services.add_team(board=board, name="Baker Street", by=None)[0]
    found = together(
        [lambda: submitted_entry(LeaderboardTeam.objects.get(pk=team.pk), predictions()) for _ in range(4)]
    )
    assert len({entry.pk for entry in found}) == 1


def test_a_fault_of_ours_fails_the_job_and_the_entry_waits(board: Leaderboard, team: LeaderboardTeam) -> None:
    key = next((board_selectors.board_folder(board) / "held").rglob("*comparison_answer_key.json"))
    whole = key.read_text()
    key.write_text("{")
    entry = scored(team, predictions())
    assert entry.job is not None
    assert (entry.state, entry.job.state) == (EntryState.QUEUED, JobState.FAILED)
    assert entry.defect == ""
    key.write_text(whole)
    jobs.run_in_process(job=jobs.resume_job(job=entry.job, queue=False))
    entry.refresh_from_db()
    assert entry.state == EntryState.SCORED


def test_a_zip_that_we_spoiled_is_no_defect_of_the_team_s(team: LeaderboardTeam) -> None:
    entry = submitted_entry(team, predictions())
    kept = entries.entry_zip_path(entry)
    whole = kept.read_bytes()
    assert entry.job is not None
    for data, message in ((None, "is missing"), (whole[:-9], "has changed since submission")):
        kept.unlink() if data is None else kept.write_bytes(data)
        job = jobs.run_in_process(job=entry.job)
        assert (job.state, LeaderboardEntry.objects.get().state) == (JobState.FAILED, EntryState.QUEUED)
        assert message in job.error
        entry.job = jobs.resume_job(job=job, queue=False)
    kept.write_bytes(whole)
    assert jobs.run_in_process(job=entry.job).state == JobState.DONE
    assert LeaderboardEntry.objects.get().state == EntryState.SCORED


def test_scoring_again_changes_nothing(team: LeaderboardTeam) -> None:
    from curation.leaderboard import pipelines as work

    entry = scored(team, predictions())
    before = (entry.figures, entry.scored_at)
    assert entry.job is not None
    entry.job.refresh_from_db()
    assert work.score_submission(entry, jobs.Progress(entry.job)) == {"state": "scored"}
    entries.record_entry_refusal(entry=entry, defect="too late")
    entries.record_entry_figures(entry=entry, figures={})
    assert (entry.state, entry.defect, (entry.figures, entry.scored_at)) == (EntryState.SCORED, "", before)
    assert entries.entry_zip_path(entry).exists()


def test_equal_scores_have_equal_intervals(board: Leaderboard, team: LeaderboardTeam) -> None:
    other = services.add_team(board=board, name="Scotland Yard", by=None)[0]
    one, two = scored(team, predictions(HALF)), scored(other, predictions(HALF))
    assert one.figures == two.figures


def test_too_large_a_zip_is_not_kept(board: Leaderboard, team: LeaderboardTeam, settings: Any) -> None:
    settings.LEADERBOARD_MAX_BYTES = 100
    with pytest.raises(ContentTooLarge, match="larger than 100 bytes"):
        submitted_entry(team, b"x" * 101)
    assert list((board_selectors.board_folder(board) / "entries").iterdir()) == []
    settings.LEADERBOARD_MAX_BYTES = 1000
    Leaderboard.objects.filter(pk=board.pk).update(options=board.options | {"largest": 50})
    team.leaderboard.refresh_from_db()
    with pytest.raises(ContentTooLarge, match="larger than 50 bytes"):
        submitted_entry(team, b"x" * 51)


def test_closed_board_and_inactive_team_refuse_submissions(board: Leaderboard, team: LeaderboardTeam) -> None:
    services.set_team_is_active(team=team, is_active=False, by=None)
    with pytest.raises(Refused, match="cannot submit"):
        submitted_entry(team, predictions())
    services.set_team_is_active(team=team, is_active=True, by=None)
    services.set_board_is_open(board=board, is_open=False, by=None)
    with pytest.raises(Refused, match="is closed"):
        submitted_entry(team, predictions())
    assert not LeaderboardEntry.objects.exists()


def test_a_key_is_kept_as_a_hash_and_a_new_one_ends_the_old(board: Leaderboard) -> None:
    team, key = services.add_team(board=board, name="Baker Street", by=None)
    assert key not in json.dumps(list(LeaderboardTeam.objects.values("token_sha256", "name")))
    assert key not in json.dumps(list(AuditEvent.objects.values("action", "subject", "data")))
    assert services.find_team_by_key(board=board, key=key) == team
    new = services.renew_team_key(team=team, by=None)
    assert services.find_team_by_key(board=board, key=key) is None
    assert services.find_team_by_key(board=board, key=new) == team
    other = made_board(board.project, title="Another")
    assert services.find_team_by_key(board=other, key=new) is None
    assert services.find_team_by_key(board=None, key=new) is None


def test_wrong_keys_are_counted_by_address(board: Leaderboard) -> None:
    team, key = services.add_team(board=board, name="Baker Street", by=None)
    for _ in range(entries.MAX_WRONG_KEYS):
        with pytest.raises(entries.UnknownTeamKey):
            entries.authenticate_team(board=board, key="guess", address="192.0.2.1")
    with pytest.raises(entries.LimitReached):
        entries.authenticate_team(board=board, key=key, address="192.0.2.1")
    assert entries.authenticate_team(board=board, key=key, address="192.0.2.2") == team


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": " "}, "model: is empty"),
        ({"model": "m" * 81}, "model: has 81"),
        ({"model": "a\nb"}, "line break"),
        ({"model": "M", "url": "javascript:alert(1)"}, "not a web address"),
        ({"model": "M", "url": "ftp://example.org/x"}, "not a web address"),
        ({"model": "M", "description": "d" * 401}, "description: has 401"),
        ({"model": "safe\u202etxt"}, "invisible"),
    ],
)
def test_model_description_is_validated(given: dict[str, str], message: str) -> None:
    with pytest.raises(Refused, match=message):
        entries.ModelDescription(**given)


def test_names_of_teams_are_plain_and_taken_once(board: Leaderboard) -> None:
    services.add_team(board=board, name="Baker Street", by=None)
    for name in ("Baker Street", "", "x" * 61, "a\x00b"):
        with pytest.raises(Refused, match="team: "):
            services.add_team(board=board, name=name, by=None)


def test_a_leaderboard_needs_sealed_rows(project: Project, rehearsal: Project) -> None:
    draft = DatasetVersion.objects.create(project=project, name="draft")
    wording = services.Wording("Title")
    with pytest.raises(Refused, match="is a draft"):
        services.create_leaderboard(version=draft, split="", wording=wording, by=None)
    version = sealed_version(project)
    with pytest.raises(Refused, match="has no pair in test"):
        services.create_leaderboard(version=version, split="test", wording=wording, by=None)


def test_addresses_are_of_the_title_and_never_taken_twice(project: Project) -> None:
    boards = [made_board(project, title=title) for title in ("Street scenes", "Street scenes", "通り")]
    slugs = [board.slug for board in boards]
    assert slugs[0] == "street-scenes"
    assert slugs[1].startswith("street-scenes-")
    assert slugs[2].startswith("leaderboard-")
    assert len(set(slugs)) == 3


def test_a_rehearsal_can_never_be_public(rehearsal: Project, project: Project) -> None:
    with pytest.raises(Conflict, match="rehearsal"):
        services.set_board_is_public(board=made_board(rehearsal), is_public=True, by=None)
    real = made_board(project)
    services.set_board_is_public(board=real, is_public=True, by=None)
    assert Leaderboard.objects.filter(is_public=True).get() == real


def test_unbuilt_board_cannot_be_opened_or_published(project: Project) -> None:
    board = services.create_leaderboard(
        version=sealed_version(project), split="", wording=services.Wording("Title"), by=None, queue=False
    )
    for act in (
        lambda: services.set_board_is_open(board=board, is_open=True, by=None),
        lambda: services.set_board_is_public(board=board, is_public=True, by=None),
    ):
        with pytest.raises(Conflict, match="not built yet"):
            act()


def test_the_table_has_the_best_of_each_team_by_the_measure_it_is_sorted_by(
    board: Leaderboard, team: LeaderboardTeam
) -> None:
    other = services.add_team(board=board, name="Scotland Yard", by=None)[0]
    weak = scored(team, predictions(HALF), model="weak")
    good = scored(team, predictions(PERFECT), model="good")
    late = scored(other, predictions(PERFECT), model="late")
    rows = board_selectors.shown_entries(board)
    best = tables.make_table(board, rows)
    assert [row.entry for row in best.rows] == [good, late], "of two that are equal the older stands above"
    assert best.sort_by.name == "p_at_1"
    every = tables.make_table(board, rows, every_entry=True)
    assert [row.entry for row in every.rows] == [good, late, weak]
    assert [row.rank for row in every.rows] == [1, 2, 3]
    ranks = tables.make_table(board, rows, sort="im2txt", every_entry=True)
    assert [row.entry for row in ranks.rows] == [good, late, weak], "of ranks the low ones are good"
    services.set_entry_is_hidden(entry=good, is_hidden=True, by=None)
    hidden = tables.make_table(board, board_selectors.shown_entries(board))
    assert [row.entry for row in hidden.rows] == [late, weak]
    assert tables.make_table(board, rows, sort="no such").sort_by.name == "p_at_1"


def test_references_and_counts_are_the_boards_own(board: Leaderboard, team: LeaderboardTeam) -> None:
    table = tables.make_table(board, [])
    assert [one.name for one in table.measures] == ["p_at_1", "im2txt", "txt2im", "comparison"]
    assert table.sample_sizes == [2, 2, 2, 1]
    human, chance = table.references
    assert (human.name, human.figures[3].value) == ("human", 33.3)
    assert (chance.name, chance.figures[0].value) == ("random", 50.0)


def entry_at(team: LeaderboardTeam, hour: int, p_at_1: float, agreement: float | None) -> LeaderboardEntry:
    """Return an entry as the plots need it, kept nowhere."""
    figures: dict[str, Any] = {
        "retrieval": {"p_at_1": {"value": p_at_1, "low": p_at_1 - 1, "high": p_at_1 + 1}}
    }
    if agreement is not None:
        figures["comparison"] = {"model": {"value": agreement, "low": None, "high": None}}
    moment = timezone.now().replace(hour=0, minute=0) + timedelta(hours=hour)
    return LeaderboardEntry(team=team, model=f"m{hour}", figures=figures, created_at=moment)


def test_figures_are_written_with_a_minus_and_without_a_negative_zero() -> None:
    assert [tables.format_figure(value) for value in (-5e-15, -1.36, 33.333, 0.04)] == [
        "0.0",
        "−1.4",
        "33.3",
        "0.0",
    ]
    assert tables.Figure(2.0, -1.0, 5.0).interval == "−1.0 to 5.0"
    empty = tables.Figure(None)
    assert (empty.text, empty.interval) == ("–", "")


def test_the_plot_over_time_steps_up_with_the_best_so_far(team: LeaderboardTeam) -> None:
    found = [entry_at(team, hour, value, None) for hour, value in enumerate([10, 30, 20, 31])]
    plot = charts.measure_over_time_plot(found, tables.P_AT_1, [], 0)
    assert plot is not None
    assert [dot.kind for dot in plot.dots] == ["", "", "other", ""]
    heights = [float(dot.y) for dot in plot.dots]
    assert heights[3] < heights[1] < heights[2] < heights[0], "higher is better"
    assert all(TOP <= y <= float(plot.plot_bottom) for y in heights)
    assert all(0 < float(dot.x[:-1]) < 100 for dot in plot.dots)
    assert [label.text for label in plot.labels] == ["Best 31.0"]
    corners = [tuple(map(float, place.split())) for place in plot.curves[0].shape[1:].split("L")]
    assert [y for _, y in corners[1::2]] == [pytest.approx(heights[n] - TOP, abs=0.11) for n in (0, 1, 3)]
    assert corners[-1] == (WIDTH, corners[-2][1]), "the last best one stands to the end"
    ranks = tables.MEASURES["im2txt"]
    low = [
        LeaderboardEntry(
            team=team,
            model="m",
            figures={"retrieval": {"im2txt": {"value": value}}},
            created_at=timezone.now(),
        )
        for value in (400.0, 20.0)
    ]
    turned = charts.measure_over_time_plot(low, ranks, [], 0)
    assert turned is not None
    assert float(turned.dots[1].y) < float(turned.dots[0].y), "a low rank is good, and up"


def test_one_entry_and_equal_entries_are_drawn_too(team: LeaderboardTeam) -> None:
    for count in (1, 3):
        plot = charts.measure_over_time_plot([entry_at(team, 1, 25.0, None)] * count, tables.P_AT_1, [], 0)
        assert plot is not None
        assert len(plot.dots) == count
        assert plot.y_ticks
    assert charts.measure_over_time_plot([], tables.P_AT_1, [], 0) is None


def test_agreement_over_p_at_1_is_drawn_with_peoples_line(team: LeaderboardTeam) -> None:
    found = [entry_at(team, n, 10.0 * n, 5.0 * n) for n in range(1, 6)]
    human = tables.ReferenceFigures("human", "People", [tables.Figure(None), tables.Figure(42.3)])
    plot = charts.human_agreement_plot(found, [human], {"p_at_1": 0, "comparison": 1})
    assert plot is not None
    assert plot.note == "Pearson’s r = 1.00"
    assert [label.text for label in plot.labels] == ["People 42.3"]
    assert float(plot.reference_lines[0].y) < min(float(dot.y) for dot in plot.dots)
    named = [dot.name.text for dot in plot.dots if dot.name]
    assert named == ["Baker Street"], "a team is named at its best entry alone"
    assert all(dot.x_low and not dot.y_low for dot in plot.dots), "whiskers stand where there are intervals"
    only = [entry_at(team, 1, 10.0, None)]
    assert charts.human_agreement_plot(only, [human], {"p_at_1": 0, "comparison": 1}) is None


def test_names_in_the_plot_never_lie_on_one_another(team: LeaderboardTeam) -> None:
    rng = np.random.default_rng(3)
    teams = [LeaderboardTeam(pk=1000 + n, name=f"Team number {n}") for n in range(60)]
    found = [entry_at(teams[n], n % 24, *rng.uniform(10, 12, 2)) for n in range(60)]
    plot = charts.human_agreement_plot(found, [], {"p_at_1": 0, "comparison": 1})
    assert plot is not None
    boxes = [words_box(dot) for dot in plot.dots if dot.name]
    assert {dot.name.dy for dot in plot.dots if dot.name} == {-9, 17}, "above and below the intervals"
    across, down = charts.MIN_WIDTH, float(plot.plot_bottom)
    assert all(box[0] >= 0 and box[1] >= 0 and box[2] <= across and box[3] <= down for box in boxes)
    assert not any(meet(one, other) for n, one in enumerate(boxes) for other in boxes[n + 1 :])
    assert not any(meet(one, dot_box(dot)) for one in boxes for dot in plot.dots)
    assert not any(meet(one, interval_box(dot)) for one in boxes for dot in plot.dots)


Box = tuple[float, float, float, float]


def dot_box(dot: Dot) -> Box:
    """Return the pixels that a dot takes where the plot is narrowest."""
    x, y = charts.MIN_WIDTH * float(dot.x[:-1]) / 100, float(dot.y)
    return x - 4, y - 4, x + 4, y + 4


def interval_box(dot: Dot) -> Box:
    """Return the pixels of a dot's horizontal interval there."""
    left, right = (charts.MIN_WIDTH * float(end[:-1]) / 100 for end in (dot.x_low, dot.x_high))
    return left, float(dot.y) - 0.5, right, float(dot.y) + 0.5


def words_box(dot: Dot) -> Box:
    """Return the pixels that a dot's name takes there: twelve high, six a letter."""
    assert dot.name is not None
    x, base = charts.MIN_WIDTH * float(dot.x[:-1]) / 100 + dot.name.dx, float(dot.y) + dot.name.dy
    wide = 6 * len(dot.name.text)
    left = {"start": x, "middle": x - wide / 2, "end": x - wide}[dot.name.anchor]
    return left, base - 10, left + wide, base + 2


def meet(one: Box, other: Box) -> bool:
    """Return whether two boxes share a pixel."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def test_hiding_is_recorded_with_user(team: LeaderboardTeam, researcher: Any) -> None:
    entry = scored(team, predictions())
    services.set_entry_is_hidden(entry=entry, is_hidden=True, by=researcher)
    event = AuditEvent.objects.filter(action="leaderboard.hide_entry").get()
    assert (event.actor, event.data["entry"]) == (researcher, entry.pk)


def test_the_command_makes_a_team_and_prints_its_key_once(board: Leaderboard, capsys: Any) -> None:
    call_command("leaderboard_team", board.slug, "Baker Street")
    key = capsys.readouterr().out.strip()
    assert services.find_team_by_key(board=board, key=key) is not None
    call_command("leaderboard_team", board.slug, "Baker Street", "--new-key", "--json")
    new = json.loads(capsys.readouterr().out)["key"]
    assert new != key
    assert services.find_team_by_key(board=board, key=key) is None
    call_command("leaderboard_team", board.slug, "Baker Street", "--deactivate")
    assert "not active" in capsys.readouterr().out
    for arguments in (("no-such", "x"), (board.slug, "No team", "--new-key"), (board.slug, "Baker Street")):
        with pytest.raises(CommandError) as error:
            call_command("leaderboard_team", *arguments)
        assert error.value.returncode == 2


def test_only_plain_files_of_the_public_folder_are_offered(board: Leaderboard, tmp_path: Path) -> None:
    home = board_selectors.board_folder(board)
    (home / "public" / "link.json").symlink_to(next((home / "held").rglob("*answer_key.json")))
    (home / "public" / "folder").symlink_to(home / "held")
    names = [file.name for file in board_selectors.public_files(board)]
    assert names == [
        "instances.zip",
        "all_comparison/all_comparison_instance_ids.json",
        "all_retrieval/all_retrieval_0_instance_ids.json",
    ]
