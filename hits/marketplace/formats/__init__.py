"""The XML that requesters send: pure formats, parsed into plain data. No framework is known here."""
