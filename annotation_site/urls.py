"""All addresses. Apps are included by name, so that this module does not import them."""

from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.i18n import set_language

from annotation_site import views
from annotation_site.sign_in import SignInView

urlpatterns = [
    path("", views.home, name="home"),
    path("sign-in/", login_not_required(SignInView.as_view()), name="login"),
    path("sign-out/", auth.LogoutView.as_view(), name="logout"),
    path("healthz", login_not_required(views.health_live), name="health"),
    path("healthz/live", login_not_required(views.health_live), name="health-live"),
    path("healthz/ready", login_not_required(views.health_ready), name="health-ready"),
    path("language", set_language, name="set-language"),
    path("", include("hits.urls")),
    path("", include("hits.marketplace.urls")),
    path("", include("validation.urls")),
    path("", include("curation.urls")),
    path("", include("curation.leaderboard.urls")),
]

handler400 = "annotation_site.views.bad_request"
handler500 = "annotation_site.views.server_error"
