"""Addresses of judging pages."""

from django.urls import path

from validation import views

urlpatterns = [
    path("projects/<slug:slug>/judging/", views.judging, name="judging"),
]
