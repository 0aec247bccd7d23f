"""The public pages, which identify teams by their keys, and the organisers' pages in the console."""
