"""The 24 scenes that the demo's scripted writer hands in: four of each category, each with its time and domain."""

from dataclasses import dataclass

from hits.domain.answers.scene_facets import Category, Direction, Duration


@dataclass(frozen=True, slots=True)
class DemoScene:
    """A premise, a more and a less plausible hypothesis, its facets, and the writer's reason."""

    premise: str
    plausible: str
    implausible: str
    category: Category
    direction: Direction
    duration: Duration
    domain: str
    why: str


_HOME, _WORK, _SCHOOL = "daily life and hospitality", "business and work", "education"
_HEALTH, _TRAFFIC, _LAB = "healthcare", "transportation", "science and technology"
_PLAY, _FAITH, _OFFICE = "sports and arts", "religion", "administration"

SCENES = (
    DemoScene(
        "A snowman stands in a garden in bright sunshine.",
        "A puddle with a carrot and two coals lies on the grass of the garden.",
        "The snowman stands in the garden, taller than before.",
        "physical", "forward", "short", _HOME, "Sunshine melts snow.",
    ),
    DemoScene(
        "A wet umbrella dries in the hall of a house.",
        "A woman walks through heavy rain with the umbrella.",
        "A woman lies on a beach under a blue sky beside the umbrella.",
        "physical", "backward", "short", _HOME, "An umbrella is wet because it was used in rain.",
    ),
    DemoScene(
        "An iron nail lies in a bucket of water behind a shed.",
        "The nail in the bucket is brown and rusty.",
        "The nail in the bucket is shiny and golden.",
        "physical", "forward", "long", _LAB, "Iron rusts in water over weeks.",
    ),
    DemoScene(
        "The trees on a hill bend far to the left.",
        "A flag beside the trees flies to the left.",
        "A flag beside the trees hangs straight down.",
        "physical", "parallel", "", _TRAFFIC, "The same wind bends trees and moves flags.",
    ),
    DemoScene(
        "A man looks at a flat tyre of his bicycle.",
        "The man presses a hand pump onto the valve of the bicycle.",
        "The man rings the bell of the bicycle again and again.",
        "functional", "forward", "short", _TRAFFIC, "A pump fills a flat tyre.",
    ),
    DemoScene(
        "A neat row of holes runs along a sheet of paper.",
        "A woman presses a hole punch onto the paper at a desk.",
        "A woman presses a stamp onto the paper at a desk.",
        "functional", "backward", "short", _OFFICE, "A punch makes holes, a stamp does not.",
    ),
    DemoScene(
        "A cook holds a whole onion above a cutting board.",
        "The onion lies in thin slices beside a knife.",
        "The onion lies in thin slices beside a spoon.",
        "functional", "forward", "short", _HOME, "A knife cuts onions, a spoon does not.",
    ),
    DemoScene(
        "A nurse fills a syringe from a small bottle.",
        "A patient sits beside the nurse with one sleeve rolled up.",
        "A patient sits beside the nurse in a thick winter coat and gloves.",
        "functional", "parallel", "", _HEALTH, "An injection needs a bare arm.",
    ),
    DemoScene(
        "A dog sits before an empty plate and a torn paper bag.",
        "The dog stands on its hind legs at a table with a full bag of rolls.",
        "The dog sleeps in a basket in another room.",
        "logical", "backward", "short", _HOME, "The dog took the rolls from the table.",
    ),
    DemoScene(
        "A young tree with a label stands in a fresh hole in a park.",
        "A tall tree with the same label gives shade to a bench in the park.",
        "A young tree with the same label stands in the hole beside a new bench.",
        "logical", "forward", "long", _SCHOOL, "Planted trees grow tall over the years.",
    ),
    DemoScene(
        "All chairs of a café stand upside down on the tables.",
        "The sign on the door of the café says that it is closed.",
        "A queue of guests waits for coffee at the counter of the café.",
        "logical", "parallel", "", _WORK, "Chairs stand on tables after closing time.",
    ),
    DemoScene(
        "A woman packs a swimsuit and sandals into a suitcase.",
        "The woman sits in an aeroplane above a blue sea.",
        "The woman sits in a sleigh in deep snow.",
        "logical", "forward", "short", _TRAFFIC, "She packs for a warm place.",
    ),
    DemoScene(
        "A boy holds a torn kite and has tears on his cheeks.",
        "The kite hangs in the branches of a tree while the boy pulls its string.",
        "The boy runs over a meadow while the kite flies high above him.",
        "emotional", "backward", "short", _PLAY, "The kite tore in the tree, so the boy is sad.",
    ),
    DemoScene(
        "A girl opens a letter with a large stamp at a desk.",
        "The girl jumps with both arms in the air beside the letter.",
        "The girl sleeps with her head on the letter.",
        "emotional", "forward", "short", _SCHOOL, "Good news makes people jump for joy.",
    ),
    DemoScene(
        "An old man looks at the photograph of a woman on a wall.",
        "The man as a young groom dances with the woman.",
        "The man as a young farmer feeds a cow.",
        "emotional", "backward", "long", _HOME, "He remembers the woman whom he married.",
    ),
    DemoScene(
        "A player kneels on the grass and covers his face.",
        "Players in other shirts hold up a cup on the same field.",
        "Players in his own shirts hold up a cup on the same field.",
        "emotional", "parallel", "", _PLAY, "He is sad because the other team won.",
    ),
    DemoScene(
        "Guests in dark clothes stand around a grave with flowers.",
        "The guests hug a woman with a black veil.",
        "The guests throw coloured confetti over a woman with a black veil.",
        "social", "forward", "short", _FAITH, "People comfort the family at a funeral.",
    ),
    DemoScene(
        "A man stands in a bus although one seat beside him is free.",
        "An old woman with a stick gets on the bus and looks at the seat.",
        "A dog gets off the bus and looks at a tree.",
        "social", "parallel", "", _TRAFFIC, "People keep seats free for the old.",
    ),
    DemoScene(
        "A pupil raises a hand in a classroom.",
        "The teacher points at the pupil, who stands up and speaks.",
        "The teacher turns away and paints a wall of the classroom.",
        "social", "forward", "short", _SCHOOL, "Who raises a hand is asked to speak.",
    ),
    DemoScene(
        "Two neighbours shake hands over a garden fence.",
        "One neighbour returns a ladder to the other one.",
        "One neighbour saws through the fence of the other one.",
        "social", "backward", "short", _HOME, "Returning a borrowed thing is thanked with a handshake.",
    ),
    DemoScene(
        "A family hangs paper lanterns over the door of a house.",
        "The family eats dumplings at a round table under red lanterns.",
        "The family eats a chocolate egg beside a painted rabbit.",
        "cultural", "forward", "short", _HOME, "Lanterns and dumplings belong to the new year in China.",
    ),
    DemoScene(
        "A bride has painted brown patterns on both hands.",
        "A woman draws patterns with a small cone on the hands of the bride.",
        "A woman knits grey gloves beside the bride.",
        "cultural", "backward", "short", _FAITH, "Henna is painted on the hands before a wedding.",
    ),
    DemoScene(
        "Visitors take off their shoes at the door of a house.",
        "Inside the house, a host in socks pours tea on a straw mat.",
        "Inside the house, a host in boots pours tea on a straw mat.",
        "cultural", "parallel", "", _HOME, "Nobody wears shoes on the mats of a Japanese house.",
    ),
    DemoScene(
        "Children carry empty bags and wear masks in the evening.",
        "The bags of the children are full of sweets at home.",
        "The bags of the children are full of school books at home.",
        "cultural", "forward", "short", _HOME, "On Halloween, children collect sweets.",
    ),
)  # fmt: skip
