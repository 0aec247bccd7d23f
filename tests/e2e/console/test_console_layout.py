"""What only a browser can say of console pages: nothing in a table is torn, badges stand by their names."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.models import Image, Project
from tests.support.axe import check_sizes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CELL_BOTTOMS = "rows => rows.map(row => [...row.cells].map(cell => cell.getBoundingClientRect().bottom))"
BADGE_GAP = """link => {
  const text = document.createRange(); text.selectNodeContents(link);
  return link.nextElementSibling.getBoundingClientRect().left - text.getBoundingClientRect().right;
}"""


@pytest.fixture
def signed_in(
    open_page: Callable[..., Any], sign_in: Callable[..., None], admin: User, project: Project
) -> Any:
    Project.objects.filter(pk=project.pk).update(is_rehearsal=True)
    page = open_page()
    sign_in(page, admin.username)
    return page


def test_rows_of_a_table_end_at_one_line_and_badges_stand_beside_their_names(
    signed_in: Any, project: Project
) -> None:
    signed_in.goto(f"/projects/{project.slug}/instructions")
    for bottoms in signed_in.locator(".table tbody tr").evaluate_all(CELL_BOTTOMS):
        assert max(bottoms) - min(bottoms) < 1
    signed_in.goto("/projects/")
    assert signed_in.locator("td a.long").first.evaluate(BADGE_GAP) < 12


def test_launch_form_shows_the_hourly_rate_of_the_typed_reward(
    signed_in: Any, project: Project, make_image: Callable[..., Image]
) -> None:
    make_image(1)
    signed_in.goto(f"/projects/{project.slug}/launch")
    rate = signed_in.locator("[data-rate]")
    assert rate.inner_text() == "$15.00/h"
    signed_in.fill("#id_reward", "1.00")
    assert rate.inner_text() == "$12.00/h, $3.00 under the target"
    check_sizes(signed_in, "launch", [(1280, "light"), (390, "dark")])


def test_select_of_the_matching_round_looks_like_the_other_fields(signed_in: Any, project: Project) -> None:
    signed_in.goto(f"/projects/{project.slug}/judging/localization")
    if signed_in.locator("#id_pool").count():
        assert "input" in signed_in.locator("#id_pool").get_attribute("class")
