"""The recipes of the papers' tables: their figures and changed settings."""

from pathlib import Path

import pytest

from curation.features.crops import Crop
from curation.records import InvalidInput
from curation.scorer import recipes
from curation.scorer.config import TextMode
from curation.scorer.recipes import RecipeKind
from curation.scorer.texts import TextKind
from hits.domain.images.region_drawing import RegionMode


def test_recipe_names_are_unique_and_fit_their_column() -> None:
    names = [recipe.name for recipe in recipes.all_recipes()]
    assert len(names) == len(set(names)) == 28
    assert max(map(len, names)) <= 40


@pytest.mark.parametrize(
    ("table", "rows"), [("Table 3", 10), ("Figure 4a", 9), ("Figure 5", 8), ("Table 4", 3)]
)
def test_each_paper_table_has_its_rows(table: str, rows: int) -> None:
    assert sum(table in one.tables for one in recipes.all_recipes()) == rows


def test_every_paper_row_has_known_columns() -> None:
    known = {*recipes.COLUMNS, "comparison_val", "comparison_test"}
    for recipe in recipes.all_recipes():
        assert recipe.paper.keys() <= known, recipe.name
        assert recipe.paper, recipe.name
        assert set(recipe.tables) <= set(recipes.TABLES), recipe.name


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("vit-b-16", {}),
        ("position-only", {"region_mode": RegionMode.POSITION_ONLY}),
        ("no-region", {"region_mode": RegionMode.NONE}),
        ("no-context", {"region_mode": RegionMode.ONLY_REGION}),
        ("only-context", {"region_mode": RegionMode.HIDE}),
        ("only-clues", {"text_mode": TextMode.CLUE}),
        ("centre-crop", {"crop": Crop.CENTRE}),
        ("pad", {"crop": Crop.PAD}),
        ("batch-4", {"batch_size": 4, "chunk_size": 64}),
        ("batch-512", {"chunk_size": 64}),
    ],
)
def test_recipe_changes_one_setting_of_the_paper_model(name: str, changed: dict[str, object]) -> None:
    plain = recipes.get_recipe("vit-b-16").to_config()
    made = recipes.get_recipe(name).to_config()
    differing = {
        setting: getattr(made, setting)
        for setting in plain.as_json()
        if getattr(made, setting) != getattr(plain, setting)
    }
    assert differing == changed
    assert plain.model == "clip:openai/clip-vit-base-patch16"
    assert (plain.batch_size, plain.warmup_steps, plain.learning_rate) == (512, 500, 1e-5)


def test_trained_recipes_build_a_configuration_for_a_model() -> None:
    for name in recipes.trainable_names():
        made = recipes.get_recipe(name).to_config(model="tiny", max_steps=3)
        assert (made.model, made.max_steps) == ("tiny", 3)


def test_large_models_need_explicit_weights() -> None:
    with pytest.raises(
        InvalidInput, match=r"^model: rn50x64 starts from CLIP RN50x64, .*--model scorer:NAME"
    ):
        recipes.get_recipe("rn50x64").to_config()
    made = recipes.get_recipe("rn50x64-multitask").to_config(model="scorer:/weights")
    assert (made.batch_size, made.warmup_steps, made.text_mode) == (64, 1000, TextMode.MULTITASK)


def test_explicit_setting_overrides_the_recipe() -> None:
    assert recipes.get_recipe("batch-4").to_config(model="tiny", batch_size=2).batch_size == 2


@pytest.mark.parametrize("name", ["random", "zero-shot", "human", "lxmert", "clues-inference"])
def test_config_of_untrained_recipe_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^recipe: {name} trains nothing; use position-only"):
        recipes.get_recipe(name).to_config(model="tiny")


def test_unknown_recipe_is_refused_in_one_line() -> None:
    with pytest.raises(InvalidInput, match=r"^recipe: 'vit' is not known; use random, position-only"):
        recipes.get_recipe("vit")


def test_clue_recipes_use_the_right_scorers() -> None:
    on_clues = {r.name: r.trains_as for r in recipes.all_recipes() if r.texts is TextKind.CLUE}
    assert on_clues == {
        "clues-inference": "rn50x64",
        "rn50x64-clue": "rn50x64-clue",
        "clues-multitask": "rn50x64-multitask",
    }
    for name in on_clues.values():
        assert recipes.get_recipe(name).kind is RecipeKind.TRAINED


def test_batch_size_curve_agrees_with_the_text() -> None:
    curve = {int(r.changes["batch_size"]): r.paper for r in recipes.all_recipes() if "Figure 5" in r.tables}
    assert list(curve) == [4, 8, 16, 32, 64, 128, 256, 512]
    uniter = recipes.get_recipe("uniter").paper
    assert curve[4]["gt_accuracy"] > uniter["gt_accuracy"]  # "with 4 … still localizes better than UNITER"
    assert (
        curve[4]["p_at_1"] < uniter["p_at_1"] < curve[8]["p_at_1"]
    )  # "at 8, it surpasses UNITER's retrieval"
    assert curve[512]["p_at_1"] == recipes.get_recipe("vit-b-16").paper["p_at_1"]


def test_recipe_figures_occur_in_the_paper_text(shared_papers: Path) -> None:
    text = shared_papers.read_text("utf-8")
    for line in (
        "Random 495.4 495.4 0.1 14.5 30.0/7.9 1.1/-0.6",
        "CLIP ViT-B/16 19.9 21.6 30.5 24.0 85.3/38.6 20.1/21.2",
        "RN50x64-clue 6.2 54.3 94.7/53.3",
    ):
        assert line in text
    for recipe in recipes.all_recipes():
        for value in recipe.paper.values():
            assert f"{value:.1f}" in text, recipe.name


@pytest.fixture
def shared_papers() -> Path:
    """The text of Hessel et al. (2022), which the repository does not contain."""
    import os

    data = Path(os.environ.get("DEERSTALKER_DATA", ""))
    found = next(iter(sorted(data.parent.glob("papers/000_*.txt"))), None) if data.name else None
    if found is None:
        pytest.skip("the papers are not here")
    return found


def test_paper_figure_is_of_the_requested_split() -> None:
    vit = recipes.get_recipe("vit-b-16")
    assert vit.paper_value("comparison", "test") == 21.2
    assert vit.paper_value("comparison", "val") == vit.paper_value("comparison", "") == 20.1
    assert vit.paper_value("p_at_1", "test") == 30.5
    assert recipes.get_recipe("batch-4").paper_value("comparison", "test") == 12.8
    assert recipes.get_recipe("no-region").paper_value("gt_accuracy", "val") is None


def test_unpublished_batch_size_has_no_paper_figures() -> None:
    made = recipes.batch_size_recipe(24)
    assert (made.name, made.trains_as, dict(made.paper)) == ("batch-24", "batch-24", {})
    assert made.to_config(model="tiny").batch_size == 24
    assert recipes.batch_size_recipe(8) is recipes.get_recipe("batch-8")
    with pytest.raises(InvalidInput, match="batch size: 1 leaves no negative"):
        recipes.batch_size_recipe(1)
