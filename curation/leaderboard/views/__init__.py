"""Views of the public pages, which identify teams by their keys, and of the organisers' pages in the console."""
