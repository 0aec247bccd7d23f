"""URLs of leaderboards: the public pages, the organisers' pages, and the API."""

from django.urls import path

from curation.leaderboard import api
from curation.leaderboard.views import boards, organiser

_CONSOLE = "projects/<slug:slug>/leaderboards/<int:board_id>/"
_BOARD = "leaderboards/<slug:slug>/"
_SUBMISSIONS = f"api/{_BOARD}submissions/"

urlpatterns = [
    path("projects/<slug:slug>/leaderboards/", organiser.board_list, name="leaderboards"),
    path(_CONSOLE, organiser.manage_board, name="leaderboard-manage"),
    path(f"{_CONSOLE}open", organiser.set_board_open, name="leaderboard-open"),
    path(f"{_CONSOLE}publish", organiser.set_board_public, name="leaderboard-publish"),
    path(f"{_CONSOLE}teams", organiser.add_team, name="leaderboard-teams"),
    path(f"{_CONSOLE}teams/<int:team_id>/key", organiser.renew_team_key, name="leaderboard-team-key"),
    path(f"{_CONSOLE}teams/<int:team_id>/active", organiser.set_team_active, name="leaderboard-team-active"),
    path(
        f"{_CONSOLE}entries/<int:entry_id>/hidden",
        organiser.set_entry_hidden,
        name="leaderboard-entry-hidden",
    ),
    path("leaderboards/", boards.board_list, name="leaderboard-list"),
    path(_BOARD, boards.board_detail, name="leaderboard"),
    path(f"{_BOARD}submit", boards.submit, name="leaderboard-submit"),
    path(f"{_BOARD}mine", boards.team_submissions, name="leaderboard-team-submissions"),
    path(f"{_BOARD}entries/<str:receipt>", boards.entry_detail, name="leaderboard-entry"),
    path(f"{_BOARD}entries/<str:receipt>/withdraw", boards.withdraw_entry, name="leaderboard-withdraw"),
    path(f"{_BOARD}files/<path:name>", boards.download_file, name="leaderboard-file"),
    path(f"api/{_BOARD}", api.TableView.as_view(), name="api-leaderboard"),
    path(f"api/{_BOARD}files/", api.FilesView.as_view(), name="api-leaderboard-files"),
    path(f"api/{_BOARD}files/<path:name>", api.FileView.as_view(), name="api-leaderboard-file"),
    path(_SUBMISSIONS, api.SubmissionsView.as_view(), name="api-leaderboard-submissions"),
    path(f"{_SUBMISSIONS}<int:entry_id>/", api.SubmissionView.as_view(), name="api-leaderboard-submission"),
    path(
        f"{_SUBMISSIONS}<int:entry_id>/withdrawal/",
        api.WithdrawalView.as_view(),
        name="api-leaderboard-withdrawal",
    ),
]
