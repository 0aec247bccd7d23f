"""Hold seals in the database itself: rows are append-only, and nothing joins or changes a sealed version."""

from django.db import migrations

from hits.domain.database.append_only_triggers import statements

ROWS = ["curation_versionrow", "curation_versionimage"]
VERSION = "curation_datasetversion"

SQLITE_VERSION = [
    f"""CREATE TRIGGER IF NOT EXISTS "{VERSION}_no_{action}" BEFORE {action.upper()} ON "{VERSION}"
    WHEN OLD.state = 'sealed' BEGIN SELECT RAISE(ABORT, 'a sealed version never changes'); END;"""
    for action in ("update", "delete")
]
SQLITE_INSERT = """CREATE TRIGGER IF NOT EXISTS "{table}_no_late_insert" BEFORE INSERT ON "{table}"
    WHEN (SELECT state FROM "curation_datasetversion" WHERE id = NEW.version_id) = 'sealed'
    BEGIN SELECT RAISE(ABORT, 'a sealed version takes no more rows'); END;"""

POSTGRES = [
    """CREATE OR REPLACE FUNCTION deerstalker_sealed_version() RETURNS trigger AS $$
BEGIN
    IF OLD.state = 'sealed' THEN RAISE EXCEPTION 'a sealed version never changes'; END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;""",
    """CREATE OR REPLACE FUNCTION deerstalker_no_late_rows() RETURNS trigger AS $$
BEGIN
    IF (SELECT state FROM "curation_datasetversion" WHERE id = NEW.version_id) = 'sealed' THEN
        RAISE EXCEPTION 'a sealed version takes no more rows';
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;""",
    f'DROP TRIGGER IF EXISTS "{VERSION}_sealed" ON "{VERSION}";',
    f'CREATE TRIGGER "{VERSION}_sealed" BEFORE UPDATE OR DELETE ON "{VERSION}" '
    "FOR EACH ROW EXECUTE FUNCTION deerstalker_sealed_version();",
]
POSTGRES_INSERT = [
    'DROP TRIGGER IF EXISTS "{table}_late" ON "{table}";',
    'CREATE TRIGGER "{table}_late" BEFORE INSERT ON "{table}" '
    "FOR EACH ROW EXECUTE FUNCTION deerstalker_no_late_rows();",
]


def sql(vendor):
    if vendor == "sqlite":
        own = SQLITE_VERSION + [SQLITE_INSERT.format(table=table) for table in ROWS]
    elif vendor == "postgresql":
        own = POSTGRES + [line.format(table=table) for table in ROWS for line in POSTGRES_INSERT]
    else:
        own = []
    return [line for table in ROWS for line in statements(vendor, table)] + own


def forwards(apps, schema_editor):
    for statement in sql(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("curation", "0001_initial")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
