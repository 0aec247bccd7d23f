"""Public pages of leaderboards: the table with its plots, submitting, and results."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core import signing
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from rest_framework.throttling import BaseThrottle

from curation.evaluation.answer_keys import sort_file_names
from curation.evaluation.measures import Measure
from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors import boards as board_selectors
from curation.leaderboard.selectors import tables
from curation.leaderboard.services import entries as services
from curation.leaderboard.views import charts
from curation.leaderboard.views.forms import SubmitForm, TeamKeyForm, all_rows_label
from curation.versions.families import family_of_version
from curation.views.evaluation.choice_sections import round_rows
from hits.services.errors import Refused
from hits.views.pages import get_or_404, get_page

View = Callable[..., HttpResponseBase]
_receipts = signing.Signer(salt="curation.leaderboard.entry")
HTTP_TOO_MANY_REQUESTS = 429
ROWS_PER_PAGE = 100
STATE_BADGES = {
    EntryState.QUEUED: ("badge--info", "Being scored"),
    EntryState.SCORED: ("badge--ok", "Scored"),
    EntryState.REFUSED: ("badge--bad", "Refused"),
}


def pass_visible_board(view: View) -> View:
    """Decorate a view that takes a leaderboard instead of its slug; answer 404 if the visitor may not see it."""

    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
        board = get_or_404(board_selectors.visible_board(request.user, slug))
        return view(request, board, *args, **kwargs)

    return wrapped


@require_safe
@login_not_required
def board_list(request: HttpRequest) -> HttpResponse:
    """List the leaderboards that the visitor may see."""
    boards = board_selectors.visible_boards(request.user)
    found = [(board, len(board_selectors.shown_entries(board))) for board in boards]
    return render(request, "leaderboard/boards.html", {"boards": found})


@require_safe
@login_not_required
@pass_visible_board
def board_detail(request: HttpRequest, board: Leaderboard) -> HttpResponse:
    """Show the table, the plots, and how to submit."""
    entries = board_selectors.shown_entries(board)
    show_all = request.GET.get("all") == "1"
    table = tables.make_table(board, entries, sort=request.GET.get("sort", ""), every_entry=show_all)
    columns = {measure.name: column for column, measure in enumerate(table.measures)}
    page = get_page(request, table.rows, ROWS_PER_PAGE)
    context = (
        _board_context(request, board)
        | _table_context(table, page)
        | {
            "table": table,
            "page": page,
            "shown_percent": 100 - board.options.get("private_share", 0),
            "time_plot": charts.measure_over_time_plot(
                entries, table.sort_by, table.references, columns.get(table.sort_by.name, 0)
            ),
            "human_plot": charts.human_agreement_plot(
                [row.entry for row in table.rows], table.references, columns
            ),
            "files": board_selectors.public_files(board),
            "seal": board_selectors.public_seal(board),
            "expected": _files_with_score_counts(board),
        }
    )
    if board_selectors.shows_private_figures(board):
        final = tables.make_table(board, entries, sort=table.sort_by.name, every_entry=show_all, private=True)
        context["final"] = _table_context(final, final.rows[:ROWS_PER_PAGE])
    return render(request, "leaderboard/board.html", context)


def _table_context(table: tables.Table, rows: Iterable[tables.TableRow]) -> dict[str, Any]:
    """Return the template context of a table: its headings and rows, each figure with its measure."""
    return {
        "groups": _column_groups(table),
        "columns": list(zip(table.measures, table.sample_sizes, strict=True)),
        "rows": [(row, list(zip(table.measures, row.figures, row.is_best, strict=True))) for row in rows],
        "references": [
            (reference, list(zip(table.measures, reference.figures, strict=True)))
            for reference in table.references
        ],
    }


@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
@never_cache
@sensitive_post_parameters("key")
@pass_visible_board
def submit(request: HttpRequest, board: Leaderboard) -> HttpResponse:
    """Show the form for a submission; accept a zip and redirect to the page of its entry."""
    form = SubmitForm(request.POST or None, request.FILES or None)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                entry = _submit_entry(request, board, form.cleaned_data)
                return redirect("leaderboard-entry", board.slug, make_receipt(entry))
            except services.LimitReached as error:
                status = HTTP_TOO_MANY_REQUESTS
                form.add_error(None, error_message(error))
            except Refused as error:
                form.add_error(_error_field(error, form), error_message(error))
    context = _board_context(request, board) | {"form": form, "expected": _files_with_score_counts(board)}
    return render(request, "leaderboard/submit.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
@never_cache
@sensitive_post_parameters("key")
@pass_visible_board
def team_submissions(request: HttpRequest, board: Leaderboard) -> HttpResponse:
    """Ask for a team's key, and show that team's submissions and its use of the limits. The key is not stored."""
    form = TeamKeyForm(request.POST or None)
    context = _board_context(request, board) | {"form": form}
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                team = _authenticate(request, board, form.cleaned_data["key"])
                context |= _team_context(team)
                status = 200
            except services.LimitReached as error:
                status = HTTP_TOO_MANY_REQUESTS
                form.add_error(None, error_message(error))
            except Refused as error:
                form.add_error("key", error_message(error))
    return render(request, "leaderboard/team_submissions.html", context, status=status)


@require_safe
@login_not_required
@never_cache
@pass_visible_board
def entry_detail(request: HttpRequest, board: Leaderboard, receipt: str) -> HttpResponse:
    """Show the state of a submission to anybody who has its receipt. The address after submitting contains it."""
    return _render_entry(request, board, _entry_by_receipt(board, receipt), TeamKeyForm())


@require_POST
@login_not_required
@never_cache
@sensitive_post_parameters("key")
@pass_visible_board
def withdraw_entry(request: HttpRequest, board: Leaderboard, receipt: str) -> HttpResponse:
    """Withdraw an entry permanently, by its team's key."""
    found = _entry_by_receipt(board, receipt)
    form = TeamKeyForm(request.POST)
    status = 400
    if form.is_valid():
        try:
            services.withdraw_entry(team=_authenticate(request, board, form.cleaned_data["key"]), entry=found)
            return redirect("leaderboard-entry", board.slug, receipt)
        except services.LimitReached as error:
            status = HTTP_TOO_MANY_REQUESTS
            form.add_error(None, error_message(error))
        except Refused as error:
            form.add_error("key", error_message(error))
    return _render_entry(request, board, found, form, status=status)


def _entry_by_receipt(board: Leaderboard, receipt: str) -> LeaderboardEntry:
    try:
        key = int(_receipts.unsign(receipt))
    except (signing.BadSignature, ValueError) as error:
        raise Http404("There is no such page.") from error
    return get_or_404(board_selectors.board_entries(board).filter(pk=key).first())


def _render_entry(
    request: HttpRequest, board: Leaderboard, entry: LeaderboardEntry, form: TeamKeyForm, *, status: int = 200
) -> HttpResponse:
    measures = tables.board_measures(board)
    context = _board_context(request, board) | {
        "entry": entry,
        "receipt": make_receipt(entry),
        "form": form,
        "state": STATE_BADGES[EntryState(entry.state)],
        "figures": [(measure, tables.get_measure_figure(entry.figures, measure)) for measure in measures],
        "rounds": round_rows(tables.round_public_figures(entry.figures)),
        "is_stuck": board_selectors.is_stuck(entry),
        "notes": board_selectors.entry_notes(entry),
        "auto_refresh": entry.state == EntryState.QUEUED
        and not board_selectors.is_stuck(entry)
        and not form.is_bound,
    }
    return render(request, "leaderboard/entry.html", context, status=status)


@require_safe
@login_not_required
@pass_visible_board
def download_file(request: HttpRequest, board: Leaderboard, name: str) -> FileResponse:
    """Download a public file. Any other name (such as that of a key) is not found."""
    found = get_or_404(board_selectors.find_public_file_or_photo(board, name), "There is no such file.")
    return FileResponse(
        found.path.open("rb"),
        as_attachment=True,
        filename=board_selectors.download_name(board, found),
        content_type="application/octet-stream",
    )


def make_receipt(entry: LeaderboardEntry) -> str:
    """Return the receipt of an entry: its number with a signature."""
    return _receipts.sign(str(entry.pk))


def _authenticate(request: HttpRequest, board: Leaderboard, key: str) -> LeaderboardTeam:
    address = BaseThrottle().get_ident(request)  # type: ignore[arg-type]
    return services.authenticate_team(board=board, key=key.strip(), address=address)


def _submit_entry(request: HttpRequest, board: Leaderboard, given: dict[str, Any]) -> LeaderboardEntry:
    team = _authenticate(request, board, given["key"])
    description = services.ModelDescription(given["model"], given["description"], given["url"])
    upload = services.UploadedZip(given["file"].chunks(), given["file"].name or "")
    return services.submit_entry(team=team, description=description, upload=upload)[0]


def _describe_figures(entry: LeaderboardEntry, measures: Sequence[Measure]) -> str:
    """Return an entry's figures in one line; an empty string if it has none."""
    figures = [(measure, tables.get_measure_figure(entry.figures, measure)) for measure in measures]
    known = [(measure, figure) for measure, figure in figures if figure.value is not None]
    return ", ".join(f"{measure.label} {figure.text}" for measure, figure in known)


def _team_context(team: LeaderboardTeam) -> dict[str, Any]:
    measures = tables.board_measures(team.leaderboard)
    rows = [
        (
            entry,
            *STATE_BADGES[EntryState(entry.state)],
            make_receipt(entry),
            board_selectors.is_stuck(entry),
            _describe_figures(entry, measures),
        )
        for entry in board_selectors.team_entries(team)
    ]
    return {"team": team, "entries": rows, "usage": board_selectors.team_usage(team)}


def _board_context(request: HttpRequest, board: Leaderboard) -> dict[str, Any]:
    return {
        "board": board,
        "texts": board_selectors.board_texts(board),
        "all_label": all_rows_label(family_of_version(board.version)),
        "is_member": board_selectors.is_project_researcher(request.user, board),
        "rehearsal": board_selectors.is_rehearsal(board),
        "max_bytes": services.max_upload_bytes(board),
        "max_refused": services.MAX_REFUSED_PER_DAY,
        "api": settings.PUBLIC_URL + reverse("api-leaderboard-submissions", args=[board.slug]),
    }


def _column_groups(table: tables.Table) -> list[tuple[str, int]]:
    """Return the headings above the columns, each with the number of columns below it."""
    groups: dict[str, int] = {}
    for measure in table.measures:
        groups[measure.group] = groups.get(measure.group, 0) + 1
    return list(groups.items())


def _files_with_score_counts(board: Leaderboard) -> list[tuple[str, int]]:
    """Return the files of a submission, each with its number of scores."""
    return [(name, board.tasks[name]) for name in sort_file_names(board.tasks)]


def _error_field(error: Refused, form: SubmitForm) -> str | None:
    name = str(error).partition(": ")[0]
    return name if name in form.fields else None


def error_message(error: Refused) -> str:
    """Return the message of a refusal as a sentence, without the field's name, since it is shown at the field."""
    name, colon, rest = str(error).partition(": ")
    message = rest if colon else name
    return f"{message[:1].upper()}{message[1:]}."
