"""Reads of the marketplace; no transaction is opened here."""
