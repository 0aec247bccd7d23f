"""The small cast that every test can call on, and the guards that hold for all tests."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.db import connection, transaction
from django.test import TransactionTestCase

from hits.domain.states import Role
from hits.marketplace.services.accounts import ensure_platform_requester
from hits.models import Image, Project
from hits.services import projects
from hits.services.images.import_image import import_image
from tests.support import isolation
from tests.support.judging.work import Work
from tests.support.migrated import MigratedFile, MigratedTemplate
from tests.support.pictures import picture

os.environ.setdefault(
    "DJANGO_ALLOW_ASYNC_UNSAFE", "1"
)  # Playwright's sync API runs a loop beside live_server

PASSWORD = "a long pass phrase"

isolation.pin(os.environ)
isolation.refuse_outside()

# How quickly an example is drawn and tried says how busy the machine is.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    """Stay on the built-in marketplace; the settings were read before the environment could be pinned."""
    settings.MTURK_ENDPOINT = "local"
    settings.MTURK_LIVE = False


@pytest.hookimpl(tryfirst=True)  # before -m leaves tests out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a slow test in a file without the text ``mark.long``: ``make test-long`` collects only files with it."""
    slow = {item.path for item in items if item.get_closest_marker("long")}
    for path in slow:
        if "mark.long" not in path.read_text():
            raise pytest.UsageError(f"{path}: write pytest.mark.long in the file itself, for make test-long")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind; a folder that somebody named is theirs."""
    if settings.configured and not os.environ.get("DEERSTALKER_TEST_DIR"):
        shutil.rmtree(settings.VAR_DIR, ignore_errors=True)


@pytest.fixture(autouse=True, scope="session")
def views_are_loaded() -> None:
    """Load every view under the settings as they are.

    The policies of some are built when their module loads, and a test that changes an address must not be the first
    to load them.
    """
    import_module(settings.ROOT_URLCONF)


# Rows that a migration leaves behind and no test changes.
KEPT_TABLES = {"django_migrations", "django_content_type", "auth_permission"}


def empty_tables() -> None:
    """Empty the database after a test that committed, append-only tables too.

    Django's own flush empties every table, on PostgreSQL by new files for each and a wait for the disk, and makes
    permissions and content types anew, a tenth of a second each time; most tests leave rows in a few tables only.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        filled = _filled(cursor)
        if connection.vendor == "sqlite":
            _delete_without_triggers(cursor, filled)
        else:
            cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger, no foreign key
            for name in filled:
                cursor.execute(f'DELETE FROM "{name}"')
    ensure_platform_requester()  # as after a migration


def _filled(cursor: Any) -> list[str]:
    names = [name for name in connection.introspection.table_names(cursor) if name not in KEPT_TABLES]
    cursor.execute(
        " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{name}\")" for name in names)
    )
    return [name for (name,) in cursor.fetchall()]


def _delete_without_triggers(cursor: Any, tables: list[str]) -> None:
    marks = ", ".join(["%s"] * len(tables))
    cursor.execute(
        f"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ({marks})", tables
    )
    triggers = cursor.fetchall()
    for name, _ in triggers:
        cursor.execute(f'DROP TRIGGER "{name}"')
    for name in tables:
        cursor.execute(f'DELETE FROM "{name}"')
    for _, sql in triggers:
        cursor.execute(sql)


@pytest.fixture(scope="session")
def migrated_database(
    pytestconfig: pytest.Config, django_db_modify_db_settings: None, django_db_use_migrations: bool
) -> Iterator[MigratedFile | MigratedTemplate | None]:
    """Return what this process's database starts from; drop what was copied at the end."""
    if not django_db_use_migrations:
        yield None
        return
    reused = pytestconfig.getvalue("reuse_db")
    found: MigratedFile | MigratedTemplate
    if connection.vendor == "sqlite":
        found = MigratedFile(Path(connection.settings_dict["TEST"]["NAME"]), reused=reused)
    else:
        found = MigratedTemplate(reused=reused)
    yield found
    found.drop()


@pytest.fixture(scope="session")
def django_db_keepdb(
    django_db_keepdb: bool, migrated_database: MigratedFile | MigratedTemplate | None
) -> bool:
    """Migrate what was copied, instead of an empty database; it goes with the session."""
    return (migrated_database is not None and migrated_database.copy()) or django_db_keepdb


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, migrated_database: MigratedFile | MigratedTemplate | None) -> None:
    """Keep the first database that was migrated for the next process."""
    if migrated_database is not None:
        migrated_database.keep()


@pytest.fixture(autouse=True, scope="session")
def flush_quickly() -> Iterator[None]:
    """Empty the tables ourselves between transactional tests."""
    real = TransactionTestCase._fixture_teardown
    TransactionTestCase._fixture_teardown = lambda self: empty_tables()  # type: ignore[method-assign]
    yield
    TransactionTestCase._fixture_teardown = real  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    """Forget what earlier tests counted for rate limits."""
    cache.clear()


@pytest.fixture(autouse=True)
def files_in_a_folder_of_their_own(settings: Any, tmp_path: Path) -> None:
    """Give each test its own media folder."""
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def make_user(db: None) -> Callable[..., User]:
    """Return a function that makes a person; ``groups`` are names."""

    def make(username: str, *, groups: tuple[str, ...] = (), **more: Any) -> User:
        user = User.objects.create_user(username, password=PASSWORD, **more)
        for name in groups:
            user.groups.add(Group.objects.get_or_create(name=name)[0])
        return user

    return make


@pytest.fixture
def admin(make_user: Callable[..., User]) -> User:
    """Return the project's admin."""
    return make_user("ada")


@pytest.fixture
def project(admin: User) -> Project:
    """Return a project whose admin is ``admin``."""
    return projects.create_project(name="Street scenes", by=admin)


@pytest.fixture
def rehearsal(admin: User) -> Project:
    """Return a rehearsal project, which takes simulated answers."""
    return projects.create_project(name="Rehearsal", by=admin, is_rehearsal=True)


@pytest.fixture
def researcher(project: Project, make_user: Callable[..., User]) -> User:
    """Return a researcher of the project."""
    user = make_user("rosa")
    projects.set_role(project=project, user=user, role=Role.RESEARCHER, by=None)
    return user


@pytest.fixture
def outsider(make_user: Callable[..., User], admin: User) -> User:
    """Return a researcher of some other project."""
    user = make_user("otto")
    other = projects.create_project(name="Somebody else's", by=admin)
    projects.set_role(project=other, user=user, role=Role.RESEARCHER, by=None)
    return user


@pytest.fixture
def annotator(make_user: Callable[..., User]) -> User:
    """Return a person who only annotates."""
    return make_user("anna", groups=("annotator",))


@pytest.fixture
def make_image(project: Project) -> Callable[..., Image]:
    """Return a function that imports a small picture into the project."""

    def make(seed: int = 0, *, into: Project | None = None, name: str = "", **size: int) -> Image:
        data = picture(seed=seed, **size)
        return import_image(project=into or project, name=name or f"photo-{seed}.png", data=data)[0]

    return make


@pytest.fixture
def work(project: Project) -> Work:
    """Return a maker of confirmed work in the project, without a marketplace: rows as ``collect`` writes them."""
    return Work(project)


@pytest.fixture
def attempts_are_proven(settings: Any) -> None:
    """Let ``tests.support.proof.SECRET`` stand for every attempt's, where no marketplace handed a task out."""
    settings.ATTEMPT_PROOF = "tests.support.proof.always"


@pytest.fixture
def new_uuid() -> Callable[[], uuid.UUID]:
    """Return a maker of client uuids."""
    return uuid.uuid4


@pytest.fixture(scope="session")
def photos() -> Path:
    """Return the folder of real photographs, or skip loudly."""
    folder = os.environ.get("DEERSTALKER_DATA", "")
    path = Path(folder) / "photos" / "images"
    if not folder or not path.is_dir():
        pytest.skip("DEERSTALKER_DATA is not set: tests with real photographs are SKIPPED")
    return path
