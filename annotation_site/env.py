"""Read environment variables, and refuse invalid values.

Every setting that a deployment may change passes through one of these functions. A typing error then stops the
start-up with a message that names the variable.
"""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


class EnvError(RuntimeError):
    """A variable has an invalid value; the message names the variable and a valid value."""


def env_str(name: str, default: str = "") -> str:
    """Return the variable, stripped, or ``default`` when it is unset."""
    return os.environ.get(name, default).strip()


def env_bool(name: str, default: bool = False) -> bool:
    """Return a boolean variable: 1/0, true/false, yes/no or on/off; anything else is refused."""
    raw = os.environ.get(name)
    if raw is None:
        return default
    value = raw.strip().lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise EnvError(f"{name}={raw!r}: use 1 or 0")


def env_int(name: str, default: int, *, minimum: int | None = None) -> int:
    """Return a whole number, at least ``minimum`` if one is given."""
    raw = os.environ.get(name)
    if raw is None or not raw.strip():
        return default
    try:
        value = int(raw)
    except ValueError:
        raise EnvError(f"{name}={raw!r}: use a whole number") from None
    if minimum is not None and value < minimum:
        raise EnvError(f"{name}={value}: use {minimum} or more")
    return value


def env_list(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Return a comma-separated variable as a list without empty items."""
    raw = os.environ.get(name)
    if raw is None:
        return list(default)
    return [item.strip() for item in raw.split(",") if item.strip()]


def env_choices(name: str, choices: Sequence[str], *, default: tuple[str, ...] = ()) -> frozenset[str]:
    """Return a comma-separated variable as a set; a name outside ``choices`` is refused."""
    chosen = frozenset(env_list(name, default))
    unknown = sorted(chosen - set(choices))
    if unknown:
        raise EnvError(f"{name}: {unknown[0]!r} is not known; use {', '.join(choices)}")
    return chosen


def env_folder(name: str) -> Path | None:
    """Return a folder's absolute path, or ``None`` when the variable is unset. The folder may be missing.

    An unmounted disk must not stop the start. A relative path must, since it depends on the working directory.
    """
    value = env_str(name)
    if not value:
        return None
    path = Path(value)
    if not path.is_absolute():
        raise EnvError(f"{name}={value!r}: use an absolute path, such as /srv/imports")
    return path


def env_origin(name: str, default: str) -> str:
    """Return ``scheme://host[:port]`` without a path; anything more is refused."""
    value = env_str(name, default).rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query:
        raise EnvError(f"{name}={value!r}: use scheme://host or scheme://host:port, without a path")
    return value


def env_database(name: str) -> dict[str, Any]:
    """Return Django's settings of the PostgreSQL database that a URL names; empty when the variable is unset.

    User, password and name are percent-decoded. Options in the query, such as ``sslmode=require``, go to libpq.

    Raises:
        EnvError: another scheme, no database name, an invalid port, or an option that libpq does not know.
    """
    value = env_str(name)
    if not value:
        return {}
    scheme = value.partition(":")[0]
    if scheme not in {"postgres", "postgresql"}:
        raise EnvError(
            f"{name}: {scheme}:// is not supported; use postgres://user:password@host:5432/name, or leave it unset "
            "for SQLite (SQLITE_PATH names its file)"
        )
    import dj_database_url  # noqa: PLC0415 - the embedded default needs none of it
    from psycopg import Error, conninfo  # noqa: PLC0415

    try:
        found: dict[str, Any] = dict(dj_database_url.parse(value, conn_health_checks=True))
    except (ValueError, dj_database_url.ParseError) as error:
        raise EnvError(
            f"{name}: cannot be read ({str(error)[:80]}); percent-encode special characters"
        ) from error
    if not found["NAME"]:
        raise EnvError(f"{name}: names no database; end it with /name")
    options: dict[str, Any] = found.get("OPTIONS", {})
    try:
        conninfo.make_conninfo("", **options)
    except Error as error:
        raise EnvError(f"{name}: {str(error).strip()}; see libpq's connection parameters") from error
    return found


def env_secret(name: str, *, fallback_file: Path) -> str:
    """Return the secret in a variable, else that in the file that ``<name>_FILE`` names, else a local one.

    The local secret is created once at ``fallback_file`` with mode 0600, so that the default setup needs no
    configuration and still has its own secret.
    """
    value = env_str(name)
    if value:
        return value
    path = env_str(f"{name}_FILE")
    if path:
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise EnvError(f"{name}_FILE={path!r} cannot be read: {error.strerror}") from error
        if not text:
            raise EnvError(f"{name}_FILE={path!r} is empty")
        return text
    return _read_or_create_secret(fallback_file)


def _read_or_create_secret(path: Path) -> str:
    import secrets  # noqa: PLC0415 - only a first start needs it

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.stat().st_mode & 0o077:
        # mkdir leaves the permissions of an existing folder. Only its owner can change them.
        with contextlib.suppress(PermissionError):
            path.parent.chmod(0o700)
    if not path.exists():
        # Written beside its path, then linked: of two processes that start together one wins, and neither
        # a slow nor a killed process leaves half a secret for the other to read.
        handle, draft = tempfile.mkstemp(dir=path.parent)  # mkstemp makes it 0600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        Path(draft).unlink()
    value = path.read_text(encoding="utf-8").strip()
    if not value:
        raise EnvError(f"{path} is empty: delete it, and the next start creates a new secret")
    return value
