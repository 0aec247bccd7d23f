"""Copy observations into records, under the same keys: what refers to them is pointed there next."""

from django.db import migrations

FIELDS = {
    "sqlite": "json_object('clue', o.clue, 'inference', o.inference, 'confidence', o.confidence, "
    "'boxes', json(o.boxes))",
    "postgresql": "jsonb_build_object('clue', o.clue, 'inference', o.inference, 'confidence', o.confidence, "
    "'boxes', o.boxes)",
}
COPY = """
INSERT INTO hits_record
    (id, project_id, type, instance_id, origin, submission_id, "index", image_id, fields, bonus)
SELECT o.id, i.project_id, 'observation', o.instance_id, 'submission', o.submission_id, o."index", o.image_id,
    {fields}, o.bonus
FROM hits_observation o JOIN hits_image i ON i.id = o.image_id ORDER BY o.id
"""
# A copy that keeps its keys leaves PostgreSQL's sequence behind; SQLite goes on after the highest key by itself.
SEQUENCE = """
SELECT setval(pg_get_serial_sequence('hits_record', 'id'), max(id)) FROM hits_record HAVING max(id) IS NOT NULL
"""


def copy(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(COPY.format(fields=FIELDS[vendor]))
        if vendor == "postgresql":
            cursor.execute(SEQUENCE)


class Migration(migrations.Migration):
    dependencies = [("hits", "0015_records")]
    operations = [migrations.RunPython(copy, migrations.RunPython.noop)]
