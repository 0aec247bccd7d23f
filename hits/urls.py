"""Addresses of the HIT pages and of the console's parts that this app owns."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from hits.api import hit_page as api
from hits.views.hit_page import hit_page

urlpatterns = [
    path("hit/<uuid:public_id>/", hit_page, name="hit-page"),
    # The bearer token is these endpoints' own sign-in, so the session's is not asked for.
    path("hit/api/open", login_not_required(api.OpenView.as_view()), name="hit-api-open"),
    path("hit/api/draft", login_not_required(api.DraftView.as_view()), name="hit-api-draft"),
    path("hit/api/submission", login_not_required(api.SubmissionView.as_view()), name="hit-api-submission"),
    path("hit/api/consent", login_not_required(api.ConsentView.as_view()), name="hit-api-consent"),
]
