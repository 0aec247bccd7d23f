"""Raw SQL cannot change append-only rows, in any table that has them."""

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, models, transaction

from hits.marketplace.models.append_only import AppendOnly as MarketplaceAppendOnly
from hits.models.base import AppendOnly
from hits.services import audit

pytestmark = pytest.mark.django_db


def _tables() -> list[str]:
    bases: tuple[type[models.Model], ...] = (AppendOnly, MarketplaceAppendOnly)
    return sorted(model._meta.db_table for model in apps.get_models() if issubclass(model, bases))


def _guarded(table: str) -> set[str]:
    """Return the operations that triggers refuse; SQLite drops a table's triggers when a migration remakes it."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        else:
            cursor.execute(
                "SELECT pg_get_triggerdef(oid) FROM pg_trigger "
                "WHERE tgrelid = %s::regclass AND NOT tgisinternal",
                [table],
            )
        written = " ".join(row[0] for row in cursor.fetchall())
    return {action for action in ("UPDATE", "DELETE") if action in written}


def test_append_only_tables_are_found_from_models() -> None:
    assert {"hits_submission", "hits_workerdecision", "hits_declaration", "hits_feedback"} <= set(_tables())


@pytest.mark.parametrize("table", _tables())
def test_every_append_only_table_has_its_triggers_after_all_migrations(table: str) -> None:
    assert _guarded(table) == {"UPDATE", "DELETE"}


def test_raw_sql_is_refused() -> None:
    audit.record(project=None, actor=None, action="test", subject="1")
    for statement in ("UPDATE hits_auditevent SET action = ''", "DELETE FROM hits_auditevent"):
        with (
            pytest.raises(DatabaseError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
