"""Every page of a long list costs the same: the database uses an index and sorts nothing."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hits.marketplace.models import HIT, Assignment, HITType
from tests.hits.marketplace.support import hit_params

MANY = 1_000


@pytest.fixture
def long_list(local_client: Any) -> HIT:
    """A requester with many HITs; the oldest is returned."""
    first = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    oldest = HIT.objects.get(hit_id=first["HITId"])
    copies = [
        HIT(
            requester=oldest.requester,
            hit_type=oldest.hit_type,
            question=oldest.question,
            question_url=oldest.question_url,
            max_assignments=1,
            reward_cents=0,
            fee_cents=0,
            created_at=oldest.created_at,
            expires_at=oldest.expires_at,
        )
        for _ in range(MANY)
    ]
    made = HIT.objects.bulk_create(copies, batch_size=500)
    Assignment.objects.bulk_create([Assignment(hit=hit) for hit in made], batch_size=500)
    return oldest


@pytest.mark.skipif(connection.vendor != "sqlite", reason="reads SQLite's plan")
@pytest.mark.rule("lists-flat", source="ours", text="Every page of ListHITs costs the same.")
def test_deep_page_reads_no_more_rows_than_first_page(local_client: Any, long_list: HIT) -> None:
    with CaptureQueriesContext(
        connection,
    ) as first:
        page = local_client.list_hits(MaxResults=100)
    for _ in range(8):
        page = local_client.list_hits(MaxResults=100, NextToken=page["NextToken"])
    with CaptureQueriesContext(connection) as deep:
        page = local_client.list_hits(MaxResults=100, NextToken=page["NextToken"])
    assert page["NumResults"] == 100
    assert len(deep) == len(first)
    listing = next(q["sql"] for q in deep.captured_queries if "ORDER BY" in q["sql"] and '_hit"' in q["sql"])
    plan = _plan(listing)
    assert "USING INDEX mkt_hit_of_requester" in plan
    assert "TEMP B-TREE" not in plan
    assert HITType.objects.count() == 1


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())
