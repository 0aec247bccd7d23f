"""Gold is 1 in half of each category, decided by a secret that neither ids nor texts give away."""

import random
from collections import Counter
from collections.abc import Sequence

from curation.image_triplets.order_balance import DrawnOrder, GoldCounts, SceneToOrder, draw_orders
from hits.domain.answers.scene_facets import CATEGORIES

SECRET = b"a secret of the project"


def scenes(pick: random.Random, number: int) -> list[SceneToOrder]:
    return [
        SceneToOrder(pick.randbytes(16).hex(), pick.choice(CATEGORIES), pick.choice(["a", "b"]))
        for _ in range(number)
    ]


def counts_of(rows: Sequence[SceneToOrder], orders: dict[str, DrawnOrder]) -> dict[str, GoldCounts]:
    found = Counter((scene.category, orders[scene.id].gold) for scene in rows)
    return {category: GoldCounts(found[category, 1], found[category, 2]) for category in CATEGORIES}


def test_random_builds_are_balanced_in_each_category() -> None:
    pick = random.Random(4)
    for _ in range(60):
        rows = scenes(pick, pick.randint(1, 80))
        orders = draw_orders(rows, {}, secret=pick.randbytes(16))
        assert set(orders) == {scene.id for scene in rows}
        for scene in rows:
            drawn = orders[scene.id]
            assert (drawn.first_hypothesis == scene.plausible) == (drawn.gold == 1)
        for counts in counts_of(rows, orders).values():
            assert abs(counts.first - counts.second) <= 1


def test_triplets_built_one_after_another_stay_balanced() -> None:
    pick = random.Random(5)
    built: list[SceneToOrder] = []
    orders: dict[str, DrawnOrder] = {}
    for _ in range(40):
        new = scenes(pick, pick.randint(1, 5))
        orders |= draw_orders(new, counts_of(built, orders), secret=SECRET)
        built += new
        assert all(abs(row.first - row.second) <= 1 for row in counts_of(built, orders).values())


def test_exclusions_are_made_up_for() -> None:
    rows = [SceneToOrder(str(number), "social", "a") for number in range(10)]
    orders = draw_orders(rows, {"social": GoldCounts(20, 14)}, secret=SECRET)
    assert Counter(row.gold for row in orders.values()) == {1: 2, 2: 8}
    few = draw_orders(rows[:4], {"social": GoldCounts(20, 2)}, secret=SECRET)
    assert {row.gold for row in few.values()} == {2}
    few = draw_orders(rows[:4], {"social": GoldCounts(2, 20)}, secret=SECRET)
    assert {row.gold for row in few.values()} == {1}


def test_orders_depend_on_the_secret_and_not_on_the_list() -> None:
    rows = scenes(random.Random(6), 60)
    orders = draw_orders(rows, {}, secret=SECRET)
    assert draw_orders(rows[::-1], {}, secret=SECRET) == orders
    assert draw_orders(rows, {}, secret=b"another") != orders


def test_gold_is_independent_of_the_plausible_hypothesis_and_of_the_scene() -> None:
    """Over 400 secrets, each scene has gold 1 in about half, and so has the one scene of a category of its own."""
    pick = random.Random(7)
    rows = [SceneToOrder(str(n), "logical", "a" if n < 5 else "b") for n in range(10)]
    alone = SceneToOrder("alone", "cultural", "a")
    golds: Counter[str] = Counter()
    runs = 400
    for _ in range(runs):
        orders = draw_orders([*rows, alone], {}, secret=pick.randbytes(16))
        golds.update(name for name, drawn in orders.items() if drawn.gold == 1)
    # Five standard deviations of a share of one half over 400 draws: 0.125.
    assert all(abs(golds[scene.id] / runs - 0.5) < 0.125 for scene in [*rows, alone])
    first_half = sum(golds[scene.id] for scene in rows[:5]) / (5 * runs)
    assert abs(first_half - 0.5) < 0.05
