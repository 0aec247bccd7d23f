"""What stood in the outbox and the batches so far, in their new columns."""

from django.db import migrations
from django.db.models import F


def forwards(apps, schema_editor):
    Batch = apps.get_model("hits", "Batch")
    Batch.objects.update(opinions=F("assignments_per_hit"))
    Call = apps.get_model("hits", "OutgoingCall")
    for call in Call.objects.select_related("decision__assignment__hit__unit").iterator():
        assignment = call.decision.assignment
        call.assignment = assignment
        call.batch_id = assignment.hit.unit.batch_id
        call.save(update_fields=["assignment", "batch"])


class Migration(migrations.Migration):
    dependencies = [("hits", "0006_money_and_outbox")]
    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
