"""Addresses of curation pages."""

urlpatterns: list = []
