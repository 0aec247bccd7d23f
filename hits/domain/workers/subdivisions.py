"""Parts of countries that work can be open to: the states of the United States, by ISO 3166-2.

Only these are kept, because requesters ask for no others: the requester API's own examples are US states. A place
is written as a country's code, or as both codes with a hyphen, such as ``US-CA``.
"""

from collections.abc import Mapping

from hits.domain.workers.countries import country_name, is_country

SUBDIVISIONS: Mapping[str, Mapping[str, str]] = {
    "US": {
        "AL": "Alabama",
        "AK": "Alaska",
        "AZ": "Arizona",
        "AR": "Arkansas",
        "CA": "California",
        "CO": "Colorado",
        "CT": "Connecticut",
        "DE": "Delaware",
        "DC": "District of Columbia",
        "FL": "Florida",
        "GA": "Georgia",
        "HI": "Hawaii",
        "ID": "Idaho",
        "IL": "Illinois",
        "IN": "Indiana",
        "IA": "Iowa",
        "KS": "Kansas",
        "KY": "Kentucky",
        "LA": "Louisiana",
        "ME": "Maine",
        "MD": "Maryland",
        "MA": "Massachusetts",
        "MI": "Michigan",
        "MN": "Minnesota",
        "MS": "Mississippi",
        "MO": "Missouri",
        "MT": "Montana",
        "NE": "Nebraska",
        "NV": "Nevada",
        "NH": "New Hampshire",
        "NJ": "New Jersey",
        "NM": "New Mexico",
        "NY": "New York",
        "NC": "North Carolina",
        "ND": "North Dakota",
        "OH": "Ohio",
        "OK": "Oklahoma",
        "OR": "Oregon",
        "PA": "Pennsylvania",
        "RI": "Rhode Island",
        "SC": "South Carolina",
        "SD": "South Dakota",
        "TN": "Tennessee",
        "TX": "Texas",
        "UT": "Utah",
        "VT": "Vermont",
        "VA": "Virginia",
        "WA": "Washington",
        "WV": "West Virginia",
        "WI": "Wisconsin",
        "WY": "Wyoming",
    }
}


def subdivisions_of(country: str) -> Mapping[str, str]:
    """Return names by code of a country's parts that can be told apart; empty for most countries."""
    return SUBDIVISIONS.get(country, {})


def join_place(country: str, subdivision: str = "") -> str:
    """Return a place as one word: ``US``, ``US-CA``."""
    return f"{country}-{subdivision}" if subdivision else country


def split_place(place: str) -> tuple[str, str]:
    """Return country and subdivision of a place; the latter is empty for a whole country."""
    country, _, subdivision = place.partition("-")
    return country, subdivision


def is_place(place: str) -> bool:
    """Return whether this is a country, or a part of one that can be told apart."""
    country, subdivision = split_place(place)
    return is_country(country) and (not subdivision or subdivision in subdivisions_of(country))


def place_name(place: str) -> str:
    """Return the English name: ``California, United States``; the code itself when it is none."""
    country, subdivision = split_place(place)
    name = subdivisions_of(country).get(subdivision)
    return f"{name}, {country_name(country)}" if name else country_name(place)
