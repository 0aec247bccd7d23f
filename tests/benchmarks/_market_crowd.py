"""Signed-in workers in a closed loop: look at the list, accept, open, think, submit."""

import http.client
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.benchmarks._market_site import Site

THINK_SECONDS = (1.0, 3.0)
_FRAME = re.compile(r'<iframe[^>]* src="([^"]+)"')
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass
class Timings:
    """Seconds of each answered request by what was asked, and what went wrong. Shared by all threads."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_measuring: bool = False

    def note(self, action: str, seconds: float) -> None:
        """Keep one answer's time, once the warm-up is over."""
        with self.lock:
            if self.is_measuring:
                self.seconds[action].append(seconds)

    def fail(self, words: str) -> None:
        """Keep one failure; in the warm-up, too: nothing may fail at all."""
        with self.lock:
            self.errors.append(words)


class Person:
    """One worker's browser, on one connection that is opened anew when the server closes it."""

    def __init__(self, site: Site, session: str, timings: Timings, dice: random.Random) -> None:
        self.site, self.timings, self.dice = site, timings, dice
        parts = urlsplit(site.base)
        self.host, self.port = str(parts.hostname), parts.port
        self.cookies = {"sessionid": session}
        self.connection = http.client.HTTPConnection(self.host, self.port, timeout=30)

    def work(self, stop: threading.Event) -> None:
        """Go on until told to stop. Anything unexpected is kept as an error, and the loop begins anew."""
        stop.wait(self.dice.uniform(0, THINK_SECONDS[1]))  # not all at once
        while not stop.is_set():
            try:
                self._one_task(stop)
            except (OSError, http.client.HTTPException, ValueError) as problem:
                self.timings.fail(f"{type(problem).__name__}: {problem}"[:200])
                self.connection.close()
                self._think(stop)

    def _one_task(self, stop: threading.Event) -> None:
        token = self._found(_TOKEN, self._get("list", "/work/"))
        self._think(stop)
        path = f"/work/groups/{self.site.hit_type_id}/accept"
        status, headers, _ = self._ask("accept", "POST", path, {"csrfmiddlewaretoken": token})
        task = urlsplit(headers.get("location", "")).path
        if status != http.client.FOUND or not task.startswith("/work/tasks/"):
            raise ValueError(f"accept answered {status} and leads to {task or 'nowhere'}")
        query = parse_qs(urlsplit(self._found(_FRAME, self._get("task", task)).replace("&amp;", "&")).query)
        self._think(stop)
        submit_to = urlsplit(query["turkSubmitTo"][0]).path
        answer = {"assignmentId": query["assignmentId"][0], "answer": "An answer of usual length. " * 20}
        status, _, body = self._ask("submit", "POST", f"{submit_to}/mturk/externalSubmit", answer)
        if status != http.client.OK:
            raise ValueError(f"submit answered {status}: {body[:80]!r}")
        self._think(stop)

    def _get(self, action: str, path: str) -> str:
        status, _, body = self._ask(action, "GET", path)
        if status != http.client.OK:
            raise ValueError(f"{action} answered {status}")
        return body

    def _ask(
        self, action: str, method: str, path: str, form: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], str]:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        started = time.perf_counter()
        try:
            reply = self._send(method, path, urlencode(form or {}), headers)
        except (ConnectionError, http.client.BadStatusLine, http.client.CannotSendRequest):
            # The server closed an idle connection. Sending anew is what a browser does, and it is timed.
            self.connection.close()
            reply = self._send(method, path, urlencode(form or {}), headers)
        body = reply.read().decode()
        self.timings.note(action, time.perf_counter() - started)
        for cookie in reply.headers.get_all("set-cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, body

    def _send(
        self, method: str, path: str, body: str, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        self.connection.request(method, path, body or None, dict(headers))
        return self.connection.getresponse()

    def _found(self, pattern: re.Pattern[str], page: str) -> str:
        found = pattern.search(page)
        if found is None:
            raise ValueError(f"the page lacks {pattern.pattern}")
        return found[1]

    def _think(self, stop: threading.Event) -> None:
        stop.wait(self.dice.uniform(*THINK_SECONDS))


def crowd(site: Site, *, warm_up: float, seconds: float, seed: int) -> Timings:
    """Let all workers of the site work for ``warm_up`` and then ``seconds``, and return the measured part."""
    timings, stop = Timings(), threading.Event()
    people = [
        Person(site, session, timings, random.Random(seed + number))
        for number, session in enumerate(site.sessions)
    ]
    threads = [threading.Thread(target=person.work, args=[stop], daemon=True) for person in people]
    for thread in threads:
        thread.start()
    time.sleep(warm_up)
    with timings.lock:
        timings.is_measuring = True
    time.sleep(seconds)
    with timings.lock:
        timings.is_measuring = False
    stop.set()
    for thread in threads:
        thread.join(timeout=30)
    return timings
