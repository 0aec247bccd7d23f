"""REST API of leaderboards: table, files, a team's submissions. A team's key is a bearer token, never a cookie."""

from dataclasses import asdict
from typing import Any, cast

from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, Http404
from rest_framework import serializers, status
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, Throttled
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle
from rest_framework.views import APIView

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors import boards as board_selectors
from curation.leaderboard.selectors import tables
from curation.leaderboard.services import entries

MISSING_KEY_MESSAGE = "key: is missing; send the header Authorization: Bearer and your team's key"


class TeamKeyAuthentication(BaseAuthentication):
    """``Authorization: Bearer <key>``, for the leaderboard in the URL."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, LeaderboardTeam] | None:
        """Return the team as ``request.auth``, or ``None`` if the request has no key.

        Raises:
            AuthenticationFailed: the key is not valid for this leaderboard, or there is no such leaderboard.
            Throttled: too many wrong keys came from this address.
        """
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return None
        board = board_selectors.built_board(request.parser_context["kwargs"]["slug"])
        try:
            address = BaseThrottle().get_ident(request)
            team = entries.authenticate_team(board=board, key=key.strip(), address=address)
        except entries.UnknownTeamKey as error:
            raise AuthenticationFailed(str(error)) from error
        except entries.LimitReached as error:
            raise Throttled(detail=str(error)) from error
        return AnonymousUser(), team

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme, so that a missing or wrong key answers 401."""
        return "Bearer"


class ReadThrottle(SimpleRateThrottle):
    """Limits the requests of a client's address."""

    scope = "leaderboard-read"

    def get_cache_key(self, request: Request, view: APIView) -> str:
        """Return the key that requests are counted under."""
        return f"throttle:{self.scope}:{self.get_ident(request)}"


class PhotoThrottle(ReadThrottle):
    """Limits the downloads of photos by a client's address."""

    scope = "leaderboard-photo"


class SubmitThrottle(SimpleRateThrottle):
    """Limits the uploads of a team."""

    scope = "leaderboard-submit"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """Return the key that requests are counted under."""
        team = request.auth
        return f"throttle:{self.scope}:{team.pk}" if isinstance(team, LeaderboardTeam) else None


class BoardView(APIView):
    """Base of views for everybody who may see a leaderboard: its active teams, and users who may see its page."""

    authentication_classes = [TeamKeyAuthentication, SessionAuthentication]
    permission_classes = [AllowAny]  # access depends on the leaderboard
    throttle_classes = [ReadThrottle]

    def get_board(self, request: Request, slug: str) -> Leaderboard:
        """Return the leaderboard. Raises Http404 without access."""
        team = request.auth
        if isinstance(team, LeaderboardTeam) and team.is_active:
            return team.leaderboard
        board = board_selectors.visible_board(request.user, slug)
        if board is None:
            raise Http404
        return board


class TableView(BoardView):
    """GET /api/leaderboards/<slug>/: the table, as on the page. 404 without access.

    ``?sort=`` names a measure; ``?all=1`` shows every entry instead of each team's best.
    """

    def get(self, request: Request, slug: str) -> Response:
        """Return measures, entries and references."""
        board = self.get_board(request, slug)
        found = self._make_table_json(request, board, private=False)
        if board_selectors.shows_private_figures(board):
            final = self._make_table_json(request, board, private=True)
            found["kept"] = {name: final[name] for name in ("measures", "entries", "references")}
        return Response(found | {"files": _files_json(request, board)})

    def _make_table_json(self, request: Request, board: Leaderboard, *, private: bool) -> dict[str, Any]:
        table = tables.make_table(
            board,
            board_selectors.shown_entries(board),
            sort=request.query_params.get("sort", ""),
            every_entry=request.query_params.get("all") == "1",
            private=private,
        )
        return _table_json(board, table)


class FilesView(BoardView):
    """GET /api/leaderboards/<slug>/files/: the public files, first the archive of all files."""

    def get(self, request: Request, slug: str) -> Response:
        """Return the names, sizes and addresses of the files."""
        return Response({"files": _files_json(request, self.get_board(request, slug))})


class FileView(BoardView):
    """GET /api/leaderboards/<slug>/files/<name>: a public file. Any other name (such as that of a key) is 404."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:
        """Accept any Accept header: a file is sent unchanged, and only errors are JSON."""
        return super().perform_content_negotiation(request, force=True)

    def get_throttles(self) -> list[BaseThrottle]:
        """Limit photos separately, since a team downloads every photo once."""
        return [PhotoThrottle() if board_selectors.is_photo_name(self.kwargs["name"]) else ReadThrottle()]

    def get(self, request: Request, slug: str, name: str) -> FileResponse:
        """Send the file."""
        board = self.get_board(request, slug)
        found = board_selectors.find_public_file_or_photo(board, name)
        if found is None:
            raise Http404
        return FileResponse(
            found.path.open("rb"),
            as_attachment=True,
            filename=board_selectors.download_name(board, found),
            content_type="application/octet-stream",
        )


class TeamView(APIView):
    """Base of views for teams only: the team's key is the permission, and sessions are ignored."""

    authentication_classes = [TeamKeyAuthentication]
    permission_classes = [AllowAny]  # initial() checks the key
    throttle_classes: list[type[BaseThrottle]] = [ReadThrottle]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a request without a key."""
        super().initial(request, *args, **kwargs)
        if not isinstance(request.auth, LeaderboardTeam):
            raise NotAuthenticated(MISSING_KEY_MESSAGE)


class EntryInput(serializers.Serializer[Any]):
    """The fields of a submission. The content of the zip is checked when it is scored."""

    file = serializers.FileField(allow_empty_file=True)
    model = serializers.CharField(max_length=entries.MAX_MODEL_LENGTH)
    description = serializers.CharField(
        max_length=entries.MAX_DESCRIPTION_LENGTH, required=False, allow_blank=True, default=""
    )
    url = serializers.CharField(
        max_length=entries.MAX_URL_LENGTH, required=False, allow_blank=True, default=""
    )


class SubmissionsView(TeamView):
    """GET and POST /api/leaderboards/<slug>/submissions/: list the team's submissions; add a submission."""

    parser_classes = [MultiPartParser]

    def get_throttles(self) -> list[BaseThrottle]:
        """Limit uploads separately."""
        return [SubmitThrottle() if self.request.method == "POST" else ReadThrottle()]

    def get(self, request: Request, slug: str) -> Response:
        """Return the team's entries, newest first, and its remaining limits."""
        team = cast(LeaderboardTeam, request.auth)
        usage, board = board_selectors.team_usage(team), team.leaderboard
        return Response(
            {
                "team": team.name,
                "limits": {
                    "daily": board.daily_limit,
                    "used_within_24_hours": usage.within_24_hours,
                    "total": board.total_limit,
                    "used": usage.total,
                },
                "submissions": [
                    _submission_json(request, entry) for entry in board_selectors.team_entries(team)
                ],
            }
        )

    def post(self, request: Request, slug: str) -> Response:
        """Accept a zip for scoring: 201 for a new zip, 200 for a zip that the team sent before."""
        body = EntryInput(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        file = cast(UploadedFile, given["file"])
        try:
            entry, is_new = entries.submit_entry(
                team=cast(LeaderboardTeam, request.auth),
                description=entries.ModelDescription(given["model"], given["description"], given["url"]),
                upload=entries.UploadedZip(file.chunks(), file.name or ""),
            )
        except entries.LimitReached as error:
            raise Throttled(detail=str(error)) from error
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(_submission_json(request, entry), status=code)


class SubmissionView(TeamView):
    """GET /api/leaderboards/<slug>/submissions/<id>/: a submission's state. 404 for another team's submission."""

    def get(self, request: Request, slug: str, entry_id: int) -> Response:
        """Return the submission with its state, figures and defect."""
        team = cast(LeaderboardTeam, request.auth)
        entry = board_selectors.team_entries(team).filter(pk=entry_id).first()
        if entry is None:
            raise Http404
        return Response(_submission_json(request, entry))


class WithdrawalView(TeamView):
    """POST /api/leaderboards/<slug>/submissions/<id>/withdrawal/: withdraw the team's submission permanently."""

    def post(self, request: Request, slug: str, entry_id: int) -> Response:
        """Withdraw the submission and return it."""
        team = cast(LeaderboardTeam, request.auth)
        entry = board_selectors.team_entries(team).filter(pk=entry_id).first()
        if entry is None:
            raise Http404
        entries.withdraw_entry(team=team, entry=entry)
        return Response(_submission_json(request, entry))


def _files_json(request: Request, board: Leaderboard) -> list[dict[str, Any]]:
    return [
        {
            "name": file.name,
            "bytes": file.bytes,
            "address": reverse("api-leaderboard-file", args=[board.slug, file.name], request=request),
        }
        for file in board_selectors.public_files(board)
    ]


def _submission_json(request: Request, entry: LeaderboardEntry) -> dict[str, Any]:
    return {
        "id": entry.pk,
        "address": reverse(
            "api-leaderboard-submission", args=[entry.team.leaderboard.slug, entry.pk], request=request
        ),
        "model": entry.model,
        "description": entry.description,
        "url": entry.url,
        "file_name": entry.file_name,
        "sha256": entry.sha256,
        "state": entry.state,
        "is_over": entry.state != EntryState.QUEUED,
        "is_hidden": entry.is_hidden,
        "is_withdrawn": entry.is_withdrawn,
        "defect": entry.defect,
        "notes": board_selectors.entry_notes(entry),
        "figures": tables.round_public_figures(entry.figures),
        "created_at": entry.created_at,
        "scored_at": entry.scored_at,
    }


def _table_json(board: Leaderboard, table: tables.Table) -> dict[str, Any]:
    names = [measure.name for measure in table.measures]
    return {
        "leaderboard": board.slug,
        "title": board.title,
        "note": board.note,
        "version": board.version.name,
        "version_sha256": board_selectors.public_seal(board),
        "split": board.split or "all",
        "rehearsal": board_selectors.is_rehearsal(board),
        "open": board.is_open,
        "limits": {"daily": board.daily_limit, "total": board.total_limit},
        "private_share": board.options.get("private_share", 0),
        "expected": board.tasks,
        "sort": table.sort_by.name,
        "measures": [
            {
                "name": measure.name,
                "task": measure.task,
                "unit": measure.unit,
                "better": measure.better.value,
                "count": count,
                "counted": measure.count_label,
            }
            for measure, count in zip(table.measures, table.sample_sizes, strict=True)
        ],
        "entries": [
            {
                "place": row.rank,
                "team": row.entry.team.name,
                "model": row.entry.model,
                "description": row.entry.description,
                "url": row.entry.url,
                "created_at": row.entry.created_at,
                "figures": _figures_json(names, row.figures),
            }
            for row in table.rows
        ],
        "references": [
            {"name": reference.name, "figures": _figures_json(names, reference.figures)}
            for reference in table.references
        ],
    }


def _figures_json(names: list[str], figures: Any) -> dict[str, dict[str, float | None]]:
    return {name: asdict(figure) for name, figure in zip(names, figures, strict=True)}
