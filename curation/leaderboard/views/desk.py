"""A project's leaderboards for those who run them: make one, open it, publish it, its teams and their entries."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors import boards as stored
from curation.leaderboard.selectors import tables
from curation.leaderboard.services import boards as services
from curation.leaderboard.views.boards import STATES, receipt, sentence
from curation.leaderboard.views.forms import BoardForm, NewBoardForm, TeamForm
from curation.selectors.proposals import runs
from curation.versions import photos
from curation.versions.families import family_of
from hits.domain.states import OPEN_JOB_STATES, STOPPED_JOB_STATES, JobState, Role
from hits.models import Project
from hits.selectors.roles import visitor_may
from hits.services.errors import Conflict, Refused
from hits.views.access import project_page
from hits.views.who import person

ENTRIES_PER_PAGE = 25


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def boards(request: HttpRequest, project: Project) -> HttpResponse:
    """List the project's leaderboards; make one."""
    family = family_of(project)
    versions = stored.sealed_splits(project) if family.evaluates else []
    complete = list(runs(project).filter(is_complete=True))
    form = NewBoardForm(versions, complete, request.POST or None)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                board = _made(request, form)
            except Refused as error:
                form.add_error(None, f"Not made: {error}.")
            else:
                messages.success(
                    request, f"{board.title} is being built. It is closed, and members alone see it."
                )
                return redirect("leaderboard-desk", project.slug, board.pk)
    context = _frame(project) | {
        "form": form,
        "boards": list(stored.listed_boards(project)),
        "versions": versions,
        "family": family,
    }
    return render(request, "leaderboard/desk_boards.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def desk(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Show one leaderboard with its teams and entries; change its words and limits."""
    board = _board(project, board_id)
    form = BoardForm(request.POST if request.method == "POST" else BoardForm.values_of(board))
    status = 200
    if request.method == "POST":
        if form.is_valid():
            services.change_leaderboard(
                board=board,
                wording=form.cleaned_data["wording"],
                limits=form.cleaned_data["limits"],
                by=person(request),
            )
            messages.success(request, "Saved.")
            return redirect("leaderboard-desk", project.slug, board.pk)
        status = 400
    return render(request, "leaderboard/desk.html", _desk(request, board, form, TeamForm()), status=status)


@require_POST
@project_page()
def open_or_close(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Begin or end the taking of submissions."""
    board = _board(project, board_id)
    try:
        services.set_open(
            board=board,
            is_open=request.POST.get("open") == "1",
            by=person(request),
        )
    except Conflict as error:
        messages.error(request, f"Not opened: {error}.")
    else:
        messages.success(
            request, "Teams may hand in." if board.is_open else "It is closed; what was handed in stays."
        )
    return redirect("leaderboard-desk", project.slug, board.pk)


@require_POST
@project_page(Role.ADMIN)
def publish(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Show a leaderboard to everybody, or to members alone."""
    board = _board(project, board_id)
    try:
        services.set_public(
            board=board,
            is_public=request.POST.get("public") == "1",
            by=person(request),
        )
    except Conflict as error:
        messages.error(request, f"Not published: {error}.")
    else:
        words = "Everybody sees it now." if board.is_public else "Members of the project alone see it now."
        messages.success(request, words)
    return redirect("leaderboard-desk", project.slug, board.pk)


@require_POST
@never_cache
@project_page()
def team_add(request: HttpRequest, project: Project, board_id: int) -> HttpResponse:
    """Add a team and show its key, this once."""
    board = _board(project, board_id)
    form = TeamForm(request.POST)
    if form.is_valid():
        try:
            team, key = services.add_team(
                board=board,
                name=form.cleaned_data["name"],
                by=person(request),
            )
        except Refused as error:
            form.add_error("name", sentence(error))
        else:
            return _shown_once(request, team, key)
    context = _desk(request, board, BoardForm(BoardForm.values_of(board)), form)
    return render(request, "leaderboard/desk.html", context, status=400)


@require_POST
@never_cache
@project_page()
def team_key(request: HttpRequest, project: Project, board_id: int, team_id: int) -> HttpResponse:
    """Give a team a new key and show it, this once; the old one opens nothing any more."""
    team = _team(project, board_id, team_id)
    key = services.renew_key(team=team, by=person(request))
    return _shown_once(request, team, key)


@require_POST
@project_page()
def team_active(request: HttpRequest, project: Project, board_id: int, team_id: int) -> HttpResponse:
    """Let a team hand in, or not."""
    team = _team(project, board_id, team_id)
    services.set_active(team=team, is_active=request.POST.get("active") == "1", by=person(request))
    words = "may hand in again" if team.is_active else "may not hand in any more; its entries stay"
    messages.success(request, f"{team.name} {words}.")
    return redirect("leaderboard-desk", project.slug, board_id)


@require_POST
@project_page()
def entry_hidden(request: HttpRequest, project: Project, board_id: int, entry_id: int) -> HttpResponse:
    """Take an entry out of the table, or put it back."""
    board = _board(project, board_id)
    entry = stored.entries_of(board).filter(pk=entry_id).first()
    if entry is None:
        raise Http404("There is no such page.")
    services.set_hidden(entry=entry, is_hidden=request.POST.get("hidden") == "1", by=person(request))
    words = "is out of the table" if entry.is_hidden else "is in the table again"
    messages.success(request, f"{entry.model} {words}.")
    return redirect("leaderboard-desk", project.slug, board.pk)


def _made(request: HttpRequest, form: NewBoardForm) -> Leaderboard:
    given = form.cleaned_data
    return services.create_leaderboard(
        version=given["version"],
        split=given["split"],
        wording=given["wording"],
        limits=given["limits"],
        proposals=given["run"],
        data=services.Data(given["photos"] or photos.LICENSED, given["private_share"] or 0),
        by=person(request),
    )


def _shown_once(request: HttpRequest, team: LeaderboardTeam, key: str) -> HttpResponse:
    board = team.leaderboard
    context = _frame(board.project) | {"board": board, "team": team, "key": key}
    return render(request, "leaderboard/desk_key.html", context)


def _board(project: Project, board_id: int) -> Leaderboard:
    found = stored.boards_of(project).select_related("project").filter(pk=board_id).first()
    if found is None:
        raise Http404("There is no such page.")
    return found


def _team(project: Project, board_id: int, team_id: int) -> LeaderboardTeam:
    found = stored.teams_of(_board(project, board_id)).filter(pk=team_id).first()
    if found is None:
        raise Http404("There is no such page.")
    return found


def _frame(project: Project) -> dict[str, Any]:
    return {"project": project, "section": "scorers", "tab": "leaderboards"}


def _desk(request: HttpRequest, board: Leaderboard, form: BoardForm, team_form: TeamForm) -> dict[str, Any]:
    measures = tables.measures_of(board)
    job = board.job
    page = Paginator(stored.entries_of(board), ENTRIES_PER_PAGE).get_page(request.GET.get("page"))
    return _frame(board.project) | {
        "board": board,
        "form": form,
        "team_form": team_form,
        "is_built": bool(board.sha256),
        "rehearsal": stored.is_rehearsal(board),
        "may_publish": visitor_may(request, board.project, Role.ADMIN),
        "job": job if job is not None and job.state in OPEN_JOB_STATES else None,
        "failed": job if job is not None and job.state in STOPPED_JOB_STATES else None,
        "teams": [(team, stored.used(team)) for team in stored.teams_of(board)],
        "measures": measures,
        "page": page,
        "entries": [_entry(entry, measures) for entry in page],
        "files": stored.public_files(board) if board.sha256 else [],
        "taken_down": stored.photos_taken_down(board) if board.sha256 else 0,
        "scores": sum(board.tasks.values()),
    }


def _entry(entry: LeaderboardEntry, measures: list[tables.Measure]) -> dict[str, Any]:
    style, words = STATES[EntryState(entry.state)]
    stuck = stored.is_stuck(entry)
    if stuck:
        is_cancelled = entry.job is not None and entry.job.state == JobState.CANCELLED
        style, words = "badge--warn", "Scoring cancelled" if is_cancelled else "Scoring failed"
    return {
        "entry": entry,
        "style": style,
        "words": words,
        "job": entry.job if stuck else None,
        "receipt": receipt(entry),
        "figures": [(one, tables.figure(entry.figures, one)) for one in measures],
    }
