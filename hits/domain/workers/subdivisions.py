"""Parts of countries in requirements: the states of the United States, by ISO 3166-2.

Requesters use no others: the examples of the requester API are US states. A place is a country's code, or both codes
with a hyphen, such as ``US-CA``.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from hits.domain.workers.countries import country_name_or_code, is_country

SUBDIVISIONS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("subdivisions.toml").read_text("utf-8")
)


def country_subdivisions(country: str) -> Mapping[str, str]:
    """Return the names by code of a country's known parts; empty for most countries."""
    return SUBDIVISIONS.get(country, {})


def join_place(country: str, subdivision: str = "") -> str:
    """Return a place as one word: ``US``, ``US-CA``."""
    return f"{country}-{subdivision}" if subdivision else country


def split_place(place: str) -> tuple[str, str]:
    """Return the country and the subdivision of a place; the subdivision of a whole country is empty."""
    country, _, subdivision = place.partition("-")
    return country, subdivision


def is_place(place: str) -> bool:
    """Return whether this is a country or a known part of one."""
    country, subdivision = split_place(place)
    return is_country(country) and (not subdivision or subdivision in country_subdivisions(country))


def place_name_or_code(place: str) -> str:
    """Return the English name, such as ``California, United States``, or the code itself if it is unknown."""
    country, subdivision = split_place(place)
    name = country_subdivisions(country).get(subdivision)
    return f"{name}, {country_name_or_code(country)}" if name else country_name_or_code(place)
