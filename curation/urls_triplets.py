"""URLs of the pages about image triplets: scenes, prompts, images, triplets, explanations, evaluations and audits."""

from django.urls import URLPattern

_PROJECT = "projects/<slug:slug>/triplets/"

_SCENE_PAGES: list[URLPattern] = []
_IMAGE_PAGES: list[URLPattern] = []
_EVALUATION_PAGES: list[URLPattern] = []

urlpatterns = [*_SCENE_PAGES, *_IMAGE_PAGES, *_EVALUATION_PAGES]
