"""A scripted worker who uses the real pages over HTTP.

One opener keeps the worker site's cookies. The HIT frame is fetched with another that has none, as a browser does
with a cross-site frame.
"""

import html
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_CSRF_TOKEN_PATTERN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_FRAME_URL_PATTERN = re.compile(r'<iframe\b[^>]*\bsrc="([^"]+)"')
_CONFIG_PATTERN = re.compile(r'<script id="hit-config" type="application/json">(.*?)</script>', re.DOTALL)
_ACCEPT_URL_PATTERN = re.compile(r'action="([^"]*/work/groups/[^"]+/accept)"')
_RETURN_URL_PATTERN = re.compile(r'action="([^"]*/work/tasks/[^"]+/return)"')
TIMEOUT_SECONDS = 60

AnswerFunction = Callable[[dict[str, Any]], dict[str, Any]]


class PlayError(RuntimeError):
    """A page did not behave as the script expects; the message names it."""


@dataclass(slots=True)
class Page:
    """A fetched page."""

    url: str
    status: int
    body: str


class ScriptedWorker:
    """Sign in, accept HITs, answer and submit them."""

    def __init__(self, base: str, username: str, password: str) -> None:
        self.base = base
        self.username = username
        jar = http.cookiejar.CookieJar()
        self._site_opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        self._frame_opener = urllib.request.build_opener()  # no cookies: the frame is cross-site
        self._sign_in(password)

    def answer_all_hits(self, batch_name: str, answer: AnswerFunction) -> int:
        """Accept and answer every HIT of the batch; return how many. A group's description names its batch.

        ``answer`` maps the page's config to an answer.
        """
        done = 0
        skipped: set[str] = set()
        while True:
            action = self._next_accept_path(batch_name, skipped)
            if action is None:
                return done
            task = self._post(action, {})
            if task.status != 200 or not _FRAME_URL_PATTERN.search(task.body):  # noqa: PLR2004
                skipped.add(action)  # nothing left for this worker in this group
                continue
            if self._answer(task, answer):
                done += 1
            else:
                skipped.add(action)

    def _sign_in(self, password: str) -> None:
        page = self._open_page("/sign-in/")
        self._csrf = _first_match(_CSRF_TOKEN_PATTERN, page)
        next_page = self._post("/sign-in/", {"username": self.username, "password": password})
        if "/sign-in/" in next_page.url:
            raise PlayError(f"{self.username} could not sign in")

    def _next_accept_path(self, batch_name: str, skipped: set[str]) -> str | None:
        page = self._open_page("/work/")
        for match in _ACCEPT_URL_PATTERN.finditer(page.body):
            action = html.unescape(match.group(1))
            entry = page.body[page.body.rfind("<li", 0, match.start()) : match.start()]
            if f"({batch_name})" in html.unescape(entry) and action not in skipped:
                return action
        return None

    def _answer(self, task: Page, answer: AnswerFunction) -> bool:
        frame = _fetch(self._frame_opener, html.unescape(_first_match(_FRAME_URL_PATTERN, task)))
        if frame.status == 403:  # noqa: PLR2004 - the page says that this worker may not do this unit
            self._post(html.unescape(_first_match(_RETURN_URL_PATTERN, task)), {})
            return False
        config = json.loads(_first_match(_CONFIG_PATTERN, frame))
        origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(frame.url))
        if config["consent"]:
            self._call(origin, config, "consent", {"version": config["consent"]["version"], "country": "US"})
        opened = self._call(origin, config, "open", {})
        if config["unit"] is None:
            config["unit"] = opened["unit"]  # opening the attempt decides which order is shown
        stored = self._call(
            origin,
            config,
            "submission",
            {
                "client_uuid": str(uuid.uuid4()),
                "answer": answer(config),
                "active_seconds": self._active_seconds(config),
                "simulated": True,
            },
        )
        fields = {key: stored[key] for key in ("submission_id", "sha256", "schema_version")}
        submitted = _fetch(
            self._frame_opener,
            config["submitTo"],
            _encode_form({"assignmentId": config["assignmentId"], **fields}),
        )
        if submitted.status != 200:  # noqa: PLR2004
            raise PlayError(f"{self.username}: the marketplace refused the submission ({submitted.status})")
        return True

    def _active_seconds(self, config: dict[str, Any]) -> float:
        """Return 0.7 to 1.3 of the expected time: people and tasks differ."""
        draw = zlib.crc32(f"{self.username}/{config['assignmentId']}".encode()) / 2**32
        return float(round(config["usual_seconds"] * (0.7 + 0.6 * draw), 1))

    def _call(self, origin: str, config: dict[str, Any], name: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - our own server
            origin + config["api"][name],
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {config['token']}"},
            method="POST",
        )
        page = _open(self._frame_opener, request)
        if page.status >= 400:  # noqa: PLR2004
            raise PlayError(f"{self.username}: {name} answered {page.status}: {page.body[:300]}")
        reply: dict[str, Any] = json.loads(page.body)
        return reply

    def _post(self, path: str, fields: dict[str, str]) -> Page:
        return self._open_page(path, _encode_form({"csrfmiddlewaretoken": self._csrf, **fields}))

    def _open_page(self, path: str, form: bytes | None = None) -> Page:
        page = _fetch(self._site_opener, urllib.parse.urljoin(self.base, path), form)
        token = _CSRF_TOKEN_PATTERN.search(page.body)
        if token:
            self._csrf = token.group(1)
        return page


def _first_match(pattern: re.Pattern[str], page: Page) -> str:
    match = pattern.search(page.body)
    if match is None:
        raise PlayError(f"{page.url} answered {page.status} without {pattern.pattern[:40]!r}")
    return match.group(1)


def _encode_form(fields: dict[str, str]) -> bytes:
    return urllib.parse.urlencode(fields).encode()


def _fetch(opener: urllib.request.OpenerDirector, url: str, data: bytes | None = None) -> Page:
    return _open(opener, urllib.request.Request(url, data=data))  # noqa: S310 - our own server


def _open(opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> Page:
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as reply:
            return Page(reply.url, reply.status, reply.read().decode())
    except urllib.error.HTTPError as error:
        return Page(error.url or request.full_url, error.code, error.read().decode(errors="replace"))
