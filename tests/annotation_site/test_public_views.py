"""Which addresses open without a sign-in: these, each for a reason, and no other."""

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

PUBLIC = {
    "": "the welcome page, which takes signed-in people on to their work",
    "sign-in/": "the way in",
    "healthz": "says only that the process is up",
    "healthz/live": "the same",
    "healthz/ready": "says only whether requests can be served",
    "hit/<uuid:public_id>/": "inside a marketplace's frame, where no session exists",
    "hit/<uuid:public_id>/document": "an old page within the frame, without rights; a preview shows the same",
    "hit/<uuid:public_id>/region": "the page's photo with its mark; a preview shows the same",
    "hit/api/open": "authenticated by the page's signed token",
    "hit/api/draft": "authenticated by the page's signed token",
    "hit/api/submission": "authenticated by the page's signed token",
    "hit/api/hints": "authenticated by the page's signed token",
    "hit/api/consent": "authenticated by the page's signed token",
    "hit/question/<str:token>": "a requester's HTML in a worker's frame; the signed token names the attempt",
    "api/jobs/<int:job_id>/": "the REST framework signs in by itself, and the view checks the role",
    "api/projects/<slug:slug>/judging/<slug:kind>/report/": (
        "the REST framework signs in by itself, and the view checks the role"
    ),
    "leaderboards/": "lists public leaderboards, and to members their own",
    "leaderboards/<slug:slug>/": "a public leaderboard's table; others are not found",
    "leaderboards/<slug:slug>/submit": "teams of a public leaderboard hand in by their key",
    "leaderboards/<slug:slug>/mine": "shows a team its own submissions, by its key",
    "leaderboards/<slug:slug>/entries/<str:receipt>": "a submission's own page; the signed receipt names it",
    "leaderboards/<slug:slug>/entries/<str:receipt>/withdraw": "a team takes its submission back, by its key",
    "leaderboards/<slug:slug>/files/<path:name>": "instances of a public leaderboard; never its keys",
    "api/leaderboards/<slug:slug>/": "the REST framework signs in by itself; the rule is the page's",
    "api/leaderboards/<slug:slug>/files/": "the REST framework signs in by itself; the rule is the page's",
    "api/leaderboards/<slug:slug>/files/<path:name>": "the same; public files alone, never the keys",
    "api/leaderboards/<slug:slug>/submissions/": "authenticated by a team's key",
    "api/leaderboards/<slug:slug>/submissions/<int:entry_id>/": "authenticated by a team's key",
    "api/leaderboards/<slug:slug>/submissions/<int:entry_id>/withdrawal/": "authenticated by a team's key",
    "notifications/<str:key>": "the key in the address is the secret, and what comes in is a hint only",
    "mturk/": "authenticated by SigV4",
    "mturk": "authenticated by SigV4",
    "mturk/externalSubmit": "finds the signed-in worker itself, and refuses everybody else",
    "a/<str:secret>/mturk/externalSubmit": "authenticated by the attempt's secret",
    r"^[/]*mturk/externalSubmit/?$": "the same, as old scripts spell it: with a slash too many",
    r"^a/(?P<secret>[^/]+)/+mturk/externalSubmit/?$": "the same, as old scripts spell it",
    r"^media/(?P<path>images/[0-9a-f]{2}/[0-9a-f]{64}\.(?:jpg|png))$": "shown in frames; named by content hash",
}


def _patterns(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern, path)
        else:
            yield path, pattern


def test_the_public_addresses_are_exactly_these() -> None:
    found = {
        path
        for path, pattern in _patterns(get_resolver())
        if not getattr(pattern.callback, "login_required", True)
    }
    assert found == set(PUBLIC)
