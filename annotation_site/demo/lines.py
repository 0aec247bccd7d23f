"""What the scripted workers write about the sample photos, and where they draw.

Boxes are shares of the picture: left, top, width, height. Ten lines a photo, five for each worker.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One scripted observation; ``box`` in shares of the picture, 0 to 1."""

    clue: str
    inference: str
    box: tuple[float, float, float, float]


SUIT = (0.05, 0.42, 0.62, 0.57)
HELMET = (0.54, 0.67, 0.45, 0.33)
MODEL = (0.70, 0.02, 0.20, 0.55)
LINES: dict[str, list[Line]] = {
    "astronaut": [
        Line(
            "the model shuttle on the stand behind",
            "The portrait was taken to announce a space flight.",
            MODEL,
        ),
        Line("the helmet held in front of the suit", "The person is trained to leave the Earth.", HELMET),
        Line(
            "the round patch on the orange chest",
            "A crew was already named when this was made.",
            (0.26, 0.66, 0.15, 0.17),
        ),
        Line(
            "the flag hanging at the left edge",
            "A government agency pays for the mission.",
            (0.0, 0.0, 0.18, 0.9),
        ),
        Line(
            "the neat short hair under studio light",
            "A photographer arranged everything with care.",
            (0.29, 0.02, 0.3, 0.22),
        ),
        Line("the orange pressure suit", "The work of this person can become dangerous quickly.", SUIT),
        Line(
            "the broad smile above the collar",
            "Years of waiting for this day are over.",
            (0.34, 0.15, 0.2, 0.15),
        ),
        Line(
            "the grey mottled backdrop", "The picture will hang in an office corridor.", (0.55, 0.0, 0.2, 0.4)
        ),
        Line(
            "the open metal ring around the neck",
            "The helmet will be locked on shortly before the start.",
            (0.22, 0.28, 0.38, 0.3),
        ),
        Line(
            "the reflections on the dark visor", "Two large lamps stand on either side of the camera.", HELMET
        ),
    ],
    "camera": [
        Line(
            "the film camera on the tripod",
            "A student is making a short film for a class.",
            (0.5, 0.26, 0.15, 0.13),
        ),
        Line("the long dark coat", "It is too cold to stay outside for long.", (0.0, 0.2, 0.55, 0.75)),
        Line(
            "the low skyline behind the lawn",
            "The campus lies just across the river from the city.",
            (0.05, 0.22, 0.9, 0.24),
        ),
        Line(
            "the knees bent behind the tripod",
            "The tripod was set up for somebody shorter.",
            (0.1, 0.7, 0.25, 0.3),
        ),
        Line(
            "the empty grass all around",
            "Whatever is being filmed has not arrived yet.",
            (0.5, 0.48, 0.48, 0.4),
        ),
        Line(
            "the gloved hand at the lens",
            "The light changes and the focus must follow.",
            (0.55, 0.3, 0.12, 0.16),
        ),
        Line(
            "the tall building on the horizon",
            "The camera is aimed at a skyline that will soon change.",
            (0.8, 0.22, 0.06, 0.16),
        ),
        Line(
            "the spread legs of the tripod",
            "The ground is soft enough to hold the feet still.",
            (0.45, 0.58, 0.35, 0.42),
        ),
        Line(
            "the face pressed to the viewfinder",
            "Nothing beyond the frame is noticed right now.",
            (0.33, 0.17, 0.2, 0.2),
        ),
        Line("the grey sky over the field", "Rain will end the filming before noon.", (0.5, 0.0, 0.5, 0.2)),
    ],
    "chelsea": [
        Line(
            "the wide eyes looking past the lens",
            "Something is moving just outside the picture.",
            (0.28, 0.25, 0.5, 0.3),
        ),
        Line("the long white whiskers", "The cat is calm and has not been startled.", (0.1, 0.65, 0.5, 0.3)),
        Line(
            "the blurred blanket behind",
            "The animal sleeps on somebody's bed every day.",
            (0.6, 0.4, 0.38, 0.5),
        ),
        Line(
            "the clean fur on the forehead", "Somebody takes good care of this pet.", (0.3, 0.0, 0.35, 0.25)
        ),
        Line(
            "the nose close to the camera",
            "The cat trusts the person who is taking the photo.",
            (0.5, 0.7, 0.16, 0.2),
        ),
        Line("the narrow pupils", "A bright window is in front of the cat.", (0.3, 0.28, 0.16, 0.2)),
        Line(
            "the ear turned to the side", "A voice in the next room has been heard.", (0.75, 0.0, 0.15, 0.25)
        ),
        Line("the resting chin", "A meal was finished not long ago.", (0.4, 0.85, 0.3, 0.15)),
        Line(
            "the tabby stripes", "The cat's parents roamed the neighbourhood freely.", (0.1, 0.1, 0.25, 0.4)
        ),
        Line("the closed mouth", "Nobody has forgotten the feeding time today.", (0.5, 0.85, 0.2, 0.12)),
    ],
    "coffee": [
        Line(
            "the half empty espresso cup",
            "Somebody has already taken the first sip.",
            (0.28, 0.05, 0.42, 0.45),
        ),
        Line("the wet spoon on the saucer", "Sugar was stirred in a moment ago.", (0.54, 0.55, 0.15, 0.28)),
        Line(
            "the worn wooden table", "Many guests have sat in this café over the years.", (0.0, 0.6, 0.3, 0.4)
        ),
        Line(
            "the red saucer that matches the cup",
            "The owner chose the dishes with an eye for style.",
            (0.13, 0.3, 0.66, 0.65),
        ),
        Line(
            "the thin foam at the rim", "The coffee was made by a trained barista.", (0.34, 0.25, 0.28, 0.25)
        ),
        Line(
            "the cup set alone on the table",
            "The guest is reading and does not want to talk.",
            (0.13, 0.05, 0.66, 0.9),
        ),
        Line(
            "the scratches in the varnish",
            "Plates and cups are pushed across here every day.",
            (0.75, 0.1, 0.25, 0.6),
        ),
        Line("the warm light from above", "It is early evening and the lamps are on.", (0.5, 0.0, 0.4, 0.3)),
        Line("the handle turned to the left", "The drinker is left-handed.", (0.32, 0.55, 0.12, 0.25)),
        Line(
            "the small size of the cup",
            "The visitor needs to be awake again quickly.",
            (0.28, 0.05, 0.42, 0.6),
        ),
    ],
    "rocket": [
        Line(
            "the rocket upright on its pad",
            "The start is planned for the coming hours.",
            (0.46, 0.27, 0.09, 0.7),
        ),
        Line(
            "the bright lamps at the foot",
            "Technicians still work around the rocket.",
            (0.1, 0.85, 0.6, 0.14),
        ),
        Line("the four lattice towers", "Lightning is common at this coast.", (0.24, 0.28, 0.1, 0.65)),
        Line(
            "the dark blue sky",
            "The start was set for a time with little air traffic.",
            (0.1, 0.0, 0.8, 0.25),
        ),
        Line(
            "the empty ground around the pad",
            "Everybody who is not needed has been sent away.",
            (0.0, 0.9, 1.0, 0.1),
        ),
        Line(
            "the white tip of the rocket",
            "A costly satellite waits inside the nose.",
            (0.47, 0.27, 0.07, 0.14),
        ),
        Line(
            "the clear horizon", "The weather report allowed the countdown to go on.", (0.0, 0.75, 1.0, 0.15)
        ),
        Line(
            "the clamps at the lower part",
            "The fuel will be filled in at the last minute.",
            (0.44, 0.75, 0.12, 0.22),
        ),
        Line(
            "the star shapes of the lamps",
            "The photographer left a camera on a stand for long.",
            (0.55, 0.85, 0.12, 0.14),
        ),
        Line(
            "the steel frames at both edges",
            "The place has been used for launches for decades.",
            (0.0, 0.0, 0.12, 1.0),
        ),
    ],
    "motorcycle_left": [
        Line(
            "the motorcycle on its side stand",
            "The owner wants to ride as soon as spring comes.",
            (0.13, 0.2, 0.78, 0.7),
        ),
        Line(
            "the full shelves behind", "Somebody repairs many things in this garage.", (0.46, 0.02, 0.5, 0.5)
        ),
        Line("the shining red tank", "The bike was washed and polished recently.", (0.4, 0.33, 0.24, 0.2)),
        Line("the clean tyre treads", "The tyres have been replaced not long ago.", (0.71, 0.55, 0.2, 0.35)),
        Line(
            "the wooden bench in the corner",
            "Garden furniture is kept here over the winter.",
            (0.05, 0.22, 0.32, 0.35),
        ),
        Line(
            "the missing number plate",
            "The machine is not yet registered for the road.",
            (0.12, 0.4, 0.1, 0.12),
        ),
        Line(
            "the boxes stacked on the rack",
            "The family moved in and never unpacked everything.",
            (0.64, 0.0, 0.3, 0.2),
        ),
        Line(
            "the round headlamp",
            "The motorcycle was built more than thirty years ago.",
            (0.69, 0.24, 0.08, 0.14),
        ),
        Line("the concrete floor without oil stains", "The engine is in good order.", (0.1, 0.85, 0.6, 0.14)),
        Line("the low black seat", "The rider likes short tours on country roads.", (0.19, 0.3, 0.24, 0.15)),
    ],
    "china": [
        Line(
            "the tower above the trees", "The building once belonged to an emperor.", (0.1, 0.08, 0.48, 0.85)
        ),
        Line("the hazy lake behind", "The city upwind has many cars and factories.", (0.55, 0.45, 0.3, 0.3)),
        Line(
            "the bright paint under the roofs",
            "The palace was restored for visitors.",
            (0.15, 0.38, 0.4, 0.2),
        ),
        Line(
            "the small boats on the water",
            "Tourists spend the afternoon out on the lake.",
            (0.6, 0.52, 0.25, 0.15),
        ),
        Line(
            "the curved corners of the roofs",
            "The builders wanted to keep evil spirits away.",
            (0.14, 0.18, 0.38, 0.14),
        ),
        Line(
            "the high viewpoint over the trees",
            "The photographer climbed a long flight of stairs.",
            (0.0, 0.75, 1.0, 0.25),
        ),
        Line(
            "the golden knob on the top",
            "The tower was meant to be seen from far away.",
            (0.29, 0.06, 0.06, 0.1),
        ),
        Line(
            "the green trees around the walls",
            "The park is tended by many gardeners.",
            (0.5, 0.65, 0.4, 0.35),
        ),
        Line(
            "the open galleries on each floor",
            "Guests once drank tea here and enjoyed the view.",
            (0.14, 0.42, 0.4, 0.12),
        ),
        Line("the pale sky without clouds", "A hot summer day is coming to its end.", (0.55, 0.0, 0.4, 0.4)),
    ],
    "flower": [
        Line("the perfect round bloom", "The plant was grown for a flower show.", (0.26, 0.2, 0.45, 0.65)),
        Line("the dark leaves behind", "The flower grows in the shade of a garden.", (0.0, 0.0, 0.3, 0.8)),
        Line(
            "the second bloom at the lower edge",
            "There will be flowers here for weeks to come.",
            (0.45, 0.86, 0.28, 0.14),
        ),
        Line(
            "the petals without a single hole", "The gardener keeps the snails away.", (0.28, 0.25, 0.4, 0.5)
        ),
        Line(
            "the soft blur around the bloom",
            "The photographer came very close with a good lens.",
            (0.7, 0.1, 0.3, 0.7),
        ),
        Line(
            "the tight petals in the middle", "The bloom opened only this morning.", (0.4, 0.42, 0.16, 0.22)
        ),
        Line("the orange colour", "Bees will visit the plant before noon.", (0.26, 0.2, 0.45, 0.65)),
        Line(
            "the thin stem under the heavy head",
            "A stick supports the plant from behind.",
            (0.4, 0.8, 0.1, 0.2),
        ),
        Line(
            "the dry surface of the petals",
            "It has not rained here for several days.",
            (0.3, 0.3, 0.35, 0.35),
        ),
        Line(
            "the yellow spot at the right edge",
            "Other kinds of flowers share the same bed.",
            (0.9, 0.9, 0.1, 0.1),
        ),
    ],
}

_THINGS = [
    "the brightest part of the photo",
    "the thing in the middle",
    "the part at the left edge",
    "the part at the right edge",
    "the ground at the bottom",
]
_ENDINGS = [
    "people were here shortly before and mean to come back",
    "the place is used on every day of the week",
    "the weather changed while this was taken",
    "somebody arranged this for others to see",
    "a long journey ends at this place",
    "the owner is careful with money",
    "a celebration is about to begin",
    "the work of the day is nearly done",
    "nobody expected to be photographed",
    "this has looked the same for many years",
]
_BOXES = [
    (0.3, 0.1, 0.3, 0.3),
    (0.35, 0.35, 0.3, 0.3),
    (0.0, 0.2, 0.3, 0.5),
    (0.7, 0.2, 0.3, 0.5),
    (0.1, 0.7, 0.8, 0.3),
]


def lines_for(photo: str, number: int, part: int) -> list[Line]:
    """Return five lines about a photo; ``part`` is 0 or 1, one for each of two workers.

    A photo that is not among the samples (``DEMO_IMAGES``) gets plain sentences that carry its number,
    so that no two are the same.
    """
    stem = photo.rsplit(".", 1)[0].replace("motorcycle_right", "motorcycle_left")
    if stem in LINES:
        return LINES[stem][5 * part : 5 * part + 5]
    return [
        Line(
            f"{_THINGS[n]}, photo {number}",
            f"In photo {number}, {_ENDINGS[(5 * part + n + number) % len(_ENDINGS)]}.",
            _BOXES[n],
        )
        for n in range(5)
    ]
