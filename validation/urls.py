"""Addresses of judging pages."""

urlpatterns: list = []
