"""Organisers' pages: create, open and publish a project's leaderboards, and manage their teams and entries."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors import boards as board_selectors
from curation.leaderboard.selectors import tables
from curation.leaderboard.services import boards as services
from curation.leaderboard.views.boards import STATE_BADGES, error_message, make_receipt
from curation.leaderboard.views.forms import BoardForm, NewBoardForm, TeamForm, all_rows_label
from curation.selectors.proposals import proposal_runs
from curation.versions import photos
from curation.versions.families import family_of
from hits.domain.states import STOPPED_JOB_STATES, JobState, Role
from hits.models import Project
from hits.selectors.roles import visitor_has_role
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import action_messages, get_or_404, get_page, job_if_open
from hits.views.users import signed_in_user

ENTRIES_PER_PAGE = 25


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def board_list(request: HttpRequest, project: Project) -> HttpResponse:
    """List the project's leaderboards; create one."""
    family = family_of(project)
    versions = board_selectors.sealed_versions_with_splits(project)
    complete = list(proposal_runs(project).filter(is_complete=True))
    form = NewBoardForm(family, versions, complete, request.POST or None)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                board = _create_board(request, form)
            except Refused as error:
                form.add_error(None, f"Not created: {error}.")
            else:
                state = "The leaderboard is closed, and visible to members only."
                messages.success(request, f"{board.title} is being built. {state}")
                return redirect("leaderboard-manage", project.slug, board.pk)
    context = _base_context(project) | {
        "form": form,
        "boards": list(board_selectors.project_boards_with_counts(project)),
        "versions": versions,
        "family": family,
    }
    return render(request, "leaderboard/manage_boards.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def manage_board(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Show a leaderboard with its teams and entries; change its title, note and limits."""
    board = _get_board(project, board_id)
    form = BoardForm(request.POST if request.method == "POST" else BoardForm.initial_values(board))
    status = 200
    if request.method == "POST":
        if form.is_valid():
            services.change_leaderboard(
                board=board,
                wording=form.cleaned_data["wording"],
                limits=form.cleaned_data["limits"],
                by=signed_in_user(request),
            )
            messages.success(request, "Saved.")
            return redirect("leaderboard-manage", project.slug, board.pk)
        status = 400
    return render(
        request,
        "leaderboard/manage_board.html",
        _board_context(request, board, form, TeamForm()),
        status=status,
    )


@require_POST
@project_page()
def set_board_open(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Open or close a leaderboard for submissions."""
    board = _get_board(project, board_id)
    is_open = request.POST.get("open") == "1"
    message = "Teams can submit." if is_open else "The leaderboard is closed; its submissions are kept."
    with action_messages(request, "Not opened", message):
        services.set_board_is_open(board=board, is_open=is_open, by=signed_in_user(request))
    return redirect("leaderboard-manage", project.slug, board.pk)


@require_POST
@project_page(Role.ADMIN)
def set_board_public(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Make a leaderboard public, or visible to members only."""
    board = _get_board(project, board_id)
    is_public = request.POST.get("public") == "1"
    audience = "Everybody" if is_public else "Only members of the project"
    with action_messages(request, "Not published", f"{audience} can see the leaderboard now."):
        services.set_board_is_public(board=board, is_public=is_public, by=signed_in_user(request))
    return redirect("leaderboard-manage", project.slug, board.pk)


@require_POST
@never_cache
@project_page()
def add_team(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Add a team and show its key, which is shown only once."""
    board = _get_board(project, board_id)
    form = TeamForm(request.POST)
    if form.is_valid():
        try:
            name = form.cleaned_data["name"]
            team, key = services.add_team(board=board, name=name, by=signed_in_user(request))
        except Refused as error:
            form.add_error("name", error_message(error))
        else:
            return _render_new_key(request, team, key)
    context = _board_context(request, board, BoardForm(BoardForm.initial_values(board)), form)
    return render(request, "leaderboard/manage_board.html", context, status=400)


@require_POST
@never_cache
@project_page()
def renew_team_key(request: HttpRequest, project: Project, board_id: int, team_id: int) -> HttpResponse:
    """Give a team a new key and show it, only once; the old key stops working."""
    team = _get_team(project, board_id, team_id)
    key = services.renew_team_key(team=team, by=signed_in_user(request))
    return _render_new_key(request, team, key)


@require_POST
@project_page()
def set_team_active(request: HttpRequest, project: Project, board_id: int, team_id: int) -> HttpResponse:
    """Activate or deactivate a team."""
    team = _get_team(project, board_id, team_id)
    services.set_team_is_active(
        team=team, is_active=request.POST.get("active") == "1", by=signed_in_user(request)
    )
    change = "can submit again" if team.is_active else "can no longer submit; its entries are kept"
    messages.success(request, f"{team.name} {change}.")
    return redirect("leaderboard-manage", project.slug, board_id)


@require_POST
@project_page()
def set_entry_hidden(request: HttpRequest, project: Project, board_id: int, entry_id: int) -> HttpResponse:
    """Hide an entry from the table, or show it again."""
    board = _get_board(project, board_id)
    entry = get_or_404(board_selectors.board_entries(board).filter(pk=entry_id).first())
    services.set_entry_is_hidden(
        entry=entry, is_hidden=request.POST.get("hidden") == "1", by=signed_in_user(request)
    )
    change = "is hidden from the table" if entry.is_hidden else "is in the table again"
    messages.success(request, f"{entry.model} {change}.")
    return redirect("leaderboard-manage", project.slug, board.pk)


def _create_board(request: HttpRequest, form: NewBoardForm) -> Leaderboard:
    given = form.cleaned_data
    return services.create_leaderboard(
        version=given["version"],
        split=given["split"],
        wording=given["wording"],
        limits=given["limits"],
        proposals=given["run"],
        data=services.LeaderboardDataOptions(
            given["photos"] or photos.LICENSED_PHOTOS, given["private_share"] or 0
        ),
        by=signed_in_user(request),
    )


def _render_new_key(request: HttpRequest, team: LeaderboardTeam, key: str) -> HttpResponse:
    board = team.leaderboard
    context = _base_context(board.project) | {"board": board, "team": team, "key": key}
    return render(request, "leaderboard/team_key.html", context)


def _get_board(project: Project, board_id: int) -> Leaderboard:
    boards = board_selectors.project_boards(project).select_related("project")
    return get_or_404(boards.filter(pk=board_id).first())


def _get_team(project: Project, board_id: int, team_id: int) -> LeaderboardTeam:
    return get_or_404(board_selectors.board_teams(_get_board(project, board_id)).filter(pk=team_id).first())


def _base_context(project: Project) -> dict[str, Any]:
    return {"project": project, "section": "scorers", "tab": "leaderboards"}


def _board_context(
    request: HttpRequest, board: Leaderboard, form: BoardForm, team_form: TeamForm
) -> dict[str, Any]:
    measures = tables.board_measures(board)
    job = board.job
    page = get_page(request, board_selectors.board_entries(board), ENTRIES_PER_PAGE)
    return _base_context(board.project) | {
        "board": board,
        "form": form,
        "team_form": team_form,
        "is_built": bool(board.sha256),
        "rehearsal": board_selectors.is_rehearsal(board),
        "may_publish": visitor_has_role(request, board.project, Role.ADMIN),
        "job": job_if_open(job),
        "failed": job if job is not None and job.state in STOPPED_JOB_STATES else None,
        "teams": [(team, board_selectors.team_usage(team)) for team in board_selectors.board_teams(board)],
        "measures": measures,
        "page": page,
        "entries": [_entry_row(entry, measures) for entry in page],
        "files": board_selectors.public_files(board) if board.sha256 else [],
        "taken_down": board_selectors.count_taken_down_photos(board) if board.sha256 else 0,
        "scores": sum(board.tasks.values()),
        "all_label": all_rows_label(family_of(board.project)),
    }


def _entry_row(entry: LeaderboardEntry, measures: list[tables.Measure]) -> dict[str, Any]:
    style, label = STATE_BADGES[EntryState(entry.state)]
    is_stuck = board_selectors.is_stuck(entry)
    if is_stuck:
        is_cancelled = entry.job is not None and entry.job.state == JobState.CANCELLED
        style, label = "badge--warn", "Scoring cancelled" if is_cancelled else "Scoring failed"
    return {
        "entry": entry,
        "style": style,
        "label": label,
        "job": entry.job if is_stuck else None,
        "receipt": make_receipt(entry),
        "figures": [(measure, tables.get_measure_figure(entry.figures, measure)) for measure in measures],
    }
