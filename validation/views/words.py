"""What every page about judging calls the same thing: the questions, by their short titles."""

from validation.domain.scales import Dimension
from validation.domain.tables import MATCH, RATING

# (title, question) of each dimension; the kinds' titles are ``validation.selectors.report.TITLES``
DIMENSIONS = {
    Dimension.REASONABLE.value: ("Acceptable", "Is the pair reasonable, given the photo?"),
    Dimension.BOXES.value: ("Box placement", "Do the boxes cover what the clue names?"),
    Dimension.INTERESTING.value: ("Interesting", "How interesting is the inference?"),
    RATING: ("Rating", "How well does the inference fit the photo and the region?"),
    MATCH: ("Region", "Which region does the inference belong to?"),
}
# (title, what is in favour) of the share that the papers report of each dimension
SHARES = {
    Dimension.REASONABLE.value: ("Acceptable pairs", "Highly or relatively reasonable to most judges"),
    Dimension.BOXES.value: ("Accurate boxes", "Appropriate or mostly appropriate to most judges"),
    Dimension.INTERESTING.value: ("Interesting inferences", "Interesting or very interesting to most judges"),
}
