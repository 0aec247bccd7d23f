"""Parsers of the XML that requesters send. They return plain data and use no framework."""
