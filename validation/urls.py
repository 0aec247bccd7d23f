"""Addresses of judging pages."""

from django.urls import path

from validation.views import judging

urlpatterns = [
    path("projects/<slug:slug>/judging/", judging.judging, name="judging"),
]
