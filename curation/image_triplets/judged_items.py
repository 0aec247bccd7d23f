"""The ids under which image triplets are judged: one for each shape, so that shapes never mix."""

from dataclasses import dataclass

from validation.domain.judging.triplet_shapes import Shape


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """A triplet by its public id, in a shape; ``hypothesis`` is h1 or h2 in the shape ``pair``, else empty."""

    triplet: str
    shape: Shape
    hypothesis: str = ""

    @property
    def id(self) -> str:
        """The id of the item, at most 64 characters."""
        ending = {Shape.TRIPLET: "", Shape.HYPOTHESES_ONLY: "-only", Shape.TEXTS: "-texts"}
        return self.triplet + ending.get(self.shape, f"-{self.hypothesis}")


def parse_item(item: str) -> JudgedItem:
    """Return the item of an id."""
    triplet, _, ending = item.partition("-")
    if ending in {"h1", "h2"}:
        return JudgedItem(triplet, Shape.PAIR, ending)
    shapes = {"": Shape.TRIPLET, "only": Shape.HYPOTHESES_ONLY, "texts": Shape.TEXTS}
    return JudgedItem(triplet, shapes[ending])
