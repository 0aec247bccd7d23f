"""Drop the table of observations, after every row of it was found among the records with the same content."""

from django.db import migrations

from hits.domain.database.irreversible_migration import RowLossGuard

FIELD = {
    "sqlite": ("json_extract(r.fields, '$.{name}')", "json(json_extract(r.fields, '$.boxes'))", "json(o.boxes)"),
    "postgresql": ("r.fields ->> '{name}'", "r.fields -> 'boxes'", "o.boxes"),
}
MISSING = """
SELECT count(*), min(o.instance_id) FROM hits_observation o LEFT JOIN hits_record r ON r.id = o.id
WHERE r.id IS NULL OR r.type <> 'observation' OR r.instance_id <> o.instance_id
    OR r.submission_id <> o.submission_id OR r.image_id <> o.image_id OR r."index" <> o."index"
    OR r.bonus <> o.bonus OR {clue} <> o.clue OR {inference} <> o.inference
    OR CAST({confidence} AS INTEGER) <> o.confidence OR {boxes} <> {old_boxes}
"""


def compare(apps, schema_editor):
    field, boxes, old_boxes = FIELD[schema_editor.connection.vendor]
    columns = {name: field.format(name=name) for name in ("clue", "inference", "confidence")}
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(MISSING.format(**columns, boxes=boxes, old_boxes=old_boxes))
        count, first = cursor.fetchone()
    if count:
        raise RuntimeError(
            f"{count} observations are not among the records as they were, for instance {first}: nothing is dropped; "
            "restore the database from before this upgrade and migrate again"
        )


class Migration(migrations.Migration):
    dependencies = [("hits", "0016_copy_observations"), ("curation", "0009_records")]
    operations = [
        migrations.RunPython(compare, migrations.RunPython.noop),
        migrations.DeleteModel(name="Observation"),
        migrations.RunPython(migrations.RunPython.noop, RowLossGuard("hits_record").refuse),
    ]
