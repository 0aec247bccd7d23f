"""Every Content-Security-Policy of the site: of the console, of task frames, and of pages that requesters write.

The settings give ``console_policy`` to django-csp; views change single directives or set a whole policy of their own.
"""

from collections.abc import Mapping, Sequence

Directives = dict[str, list[str]]

SAME_SITE_FRAMES: Directives = {"frame-ancestors": ["'self'"]}
QUESTION_FORM_MEDIA: Directives = {"img-src": ["https:"], "media-src": ["https:"]}
REFUSED_QUESTION = "default-src 'self'; base-uri 'none'; form-action 'none'"
SANDBOX = "sandbox allow-scripts"
SANDBOX_WITH_FORMS = "sandbox allow-scripts allow-forms"


def console_policy(*, hit_origin: str) -> Mapping[str, Sequence[str]]:
    """Return the policy of every page that sets none of its own; photographs come from the HIT origin."""
    return {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", hit_origin],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }


def task_frame_policy(*, hit_origin: str) -> Directives:
    """Return what a worker's page may frame: task pages, which the API takes from https and the HIT origin alone."""
    return {"frame-src": ["'self'", "https:", hit_origin]}


def html_question_policy(*, policy: str, framed_by: str) -> str:
    """Return the policy of an HTMLQuestion's page."""
    return f"{policy}; frame-ancestors {framed_by}"


def template_page_policy(
    *, origin: str, static_url: str, hosts: Sequence[str], framed_by: Sequence[str]
) -> str:
    """Return the policy of an uploaded page: it may load our static files and ``hosts``, and send nothing."""
    outside = " ".join(f"https://{host}" for host in hosts)
    rules = [
        SANDBOX_WITH_FORMS,
        "default-src 'none'",
        f"script-src 'unsafe-inline' 'unsafe-eval' {origin}{static_url} {outside}",
        f"style-src 'unsafe-inline' {outside}",
        f"img-src data: blob: {origin} {outside}",
        f"font-src data: {outside}",
        f"media-src data: blob: {outside}",
        "frame-src " + (outside or "'none'"),
        "form-action 'none'",
        "base-uri 'none'",
        f"frame-ancestors {' '.join(framed_by)}",
    ]
    return "; ".join(rule.strip() for rule in rules)
