"""Word lists of the hints about scenes, for English only. Curated: a missed word costs less than a wrong hint."""

import re
from collections.abc import Mapping


def _alternatives(text: str) -> str:
    return "|".join(sorted(text.split(), key=len, reverse=True))


# What a sentence takes up from the text before it: the thing that was named, or a time or kind to compare with.
BACK_REFERENCES = frozenset(
    """
    the this that these those he she it they him her them his hers its their theirs himself herself itself themselves
    he's she's it's they're same other others another else again still now already later afterwards next then finally
    also too instead back more less fewer better worse rest both none neither
    """.split()  # noqa: SIM905 - a list of words is read more easily than a list of strings
)

# A verb before an article is an act that a picture shows: "a woman smells a rose", "a cook tastes the soup".
_NO_OBJECT = r"(?!\s+(?:an?|the|this|that|her|his|their|its|some|one|two|at)\b)"
# Words for what no picture shows, by the sense or the act that they name.
NOT_VISIBLE_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "words": re.compile(
        r"\b(?:"
        + _alternatives(
            """
            says said tells told telling asks asked asking explains explained explaining promises promised
            promising mentions mentioned announces announced apologizes apologized apologises apologised thanks
            thanked complains complained claims claimed insists insisted
            """
        )
        + r")\b",
        re.IGNORECASE,
    ),
    "thoughts": re.compile(
        r"\b(?:"
        + _alternatives(
            """
            thinks thought knows knew believes believed remembers remembered forgets forgot hopes hoped
            hoping wishes wished wants wanted decides decided realizes realized realises realised imagines imagined
            wonders wondered expects expected regrets regretted intends intended prefers preferred understands
            understood guesses guessed suspects suspected doubts doubted likes liked loves loved hates hated
            """
        )
        + r")\b(?!\s+bubbles?\b)|\bfeels\s+(?!(?:an?|the|his|her|their|its|for|around)\b)[a-z]+"
        r"|\bis\s+(?:aware|thinking|hoping|planning)\b|\bplans\s+to\b",
        re.IGNORECASE,
    ),
    "smells": re.compile(
        r"\b(?:smells?|smelled|smelt|tastes?|tasted)\b"
        + _NO_OBJECT
        + r"|\b(?:stinks?|stench|odou?rs?|aroma|fragrance|smelly|fragrant)\b",
        re.IGNORECASE,
    ),
    "sounds": re.compile(
        r"\b(?:hears?|heard|overhears?|noises?|loud|loudly|noisy|noisily|sounds?|echo(?:es)?)\b"
        r"|\b(?:phone|telephone|bell|doorbell|alarm|alarm clock)\s+(?:rings|is ringing|goes off)\b",
        re.IGNORECASE,
    ),
}

# What says something in writing, which a picture shows: "a sign says", "a note that says".
WRITTEN_PATTERN = re.compile(
    r"\b(?:signs?|notes?|posters?|labels?|cards?|banners?|shirts?|screens?|letters?|notices?|boards?|papers?|messages?)"
    r"\s+(?:(?:that|which)\s+)?$",
    re.IGNORECASE,
)

# Brands whose name is no everyday word.
_BRANDS = _alternatives(
    """
    Adidas Airbnb Audi Barbie BMW Budweiser Chanel Chevrolet Coca-Cola Coke Colgate Costco Disney Facebook
    Ferrari Gillette Google Gucci Guinness Haribo Heineken Honda Hyundai IKEA Ikea Instagram iPad iPhone Jacuzzi
    Kleenex Lamborghini Lego LEGO Levi's Lidl MacBook Mastercard McDonald's McDonalds Mercedes Michelin
    Microsoft Netflix Nescafé Nike Nikon Nintendo Nissan Nutella Oreo Pepsi PlayStation Porsche Prada Primark
    Reebok Rolex Samsung Sony Starbucks Tesco Tesla TikTok Toyota Tupperware Twitter Uber Volkswagen Volvo
    Walmart WhatsApp Wikipedia Xbox Yamaha YouTube Zara
    """
)
# Common first names that are neither words, places nor feasts.
_NAMES = _alternatives(
    """
    Aaron Abdul Adam Ahmed Aisha Alan Albert Alejandro Alex Alexander Ali Alice Alicia Amanda Amy Ana Andrea
    Andreas Angela Anita Ann Anna Anne Anthony Antonio Arthur Barbara Beatrice Ben Benjamin Bernard Beth Betty
    Bob Brian Bruce Bruno Camila Carla Carlos Caroline Catherine Cecilia Charles Charlie Charlotte Chloe Chris
    Christina Christopher Claire Clara Claudia Colin Cynthia Daniel Daniela Deborah Dennis Diana Diego Donald
    Doris Dorothy Edward Elena Eleanor Elizabeth Ella Ellen Emily Emma Eric Ernest Esther Eva Evelyn Fatima
    Felix Fernando Fiona Fred Gabriel Gary Gerald Greg Gustav Hannah Hans Harold Harry Hassan Helen Helena Henry
    Howard Hugo Ian Ibrahim Igor Ines Irene Isabel Isabella Ivan Jacob James Jane Janet Jason Javier Jean
    Jennifer Jeremy Jessica Jim Joan Joanna Joe Johanna John Johnny Jonas Jonathan Jose José Joseph Josh Joshua
    Juan Judith Julia Julian Juliet Karen Karl Kate Katherine Kathy Keith Kenneth Kevin Kimberly Klaus Kumar
    Laura Lauren Lea Leo Leon Leonard Liam Linda Lisa Louis Louise Lucas Lucia Lucy Luis Luke Maggie Manuel
    Marco Margaret Maria María Marie Mario Marta Martha Matthew Maximilian Megan Michael Michelle Miguel Mike
    Mohamed Mohammed Monica Nadia Nancy Natalie Nathan Nicole Nina Noah Oliver Olivia Omar Patricia Paul Paula
    Philip Philippe Pierre Priya Rachel Ralph Ravi Rebecca Ricardo Richard Robert Roberto Roger Ronald Rosa Roy
    Ruth Ryan Sabrina Samuel Sandra Sara Sarah Sebastian Sergei Sharon Simon Sofia Sophia Sophie Stefan
    Stephanie Steve Steven Susan Tanya Teresa Theodore Thomas Tim Timothy Tina Tom Tommy Tony Ursula Valentina
    Valerie Vanessa Veronica Vladimir Walter Wendy William Yusuf Yuki Zoe
    """
)
NAME_PATTERN = re.compile(
    rf"(?<![\w-])(?:{_BRANDS}|{_NAMES})(?![\w-])"
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof|President|Queen|King|Pope)\.?\s+[A-ZÀ-Þ][\w'’-]+"
    r"|\b(?:named|called)\s+[A-ZÀ-Þ][\w'’-]+"
)
