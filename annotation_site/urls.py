"""All addresses. Apps are included by name, so that this module wires and imports nothing else."""

from django.conf import settings
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path, re_path
from django.views.i18n import set_language
from django.views.static import serve

from annotation_site import views

urlpatterns = [
    path("", views.home, name="home"),
    path("sign-in/", login_not_required(auth.LoginView.as_view()), name="login"),
    path("sign-out/", auth.LogoutView.as_view(), name="logout"),
    path("healthz", login_not_required(views.health), name="health"),
    path("language", set_language, name="set-language"),
    path("", include("hits.urls")),
    path("", include("hits.marketplace.urls")),
    path("", include("validation.urls")),
    path("", include("curation.urls")),
    # Images only; whatever else lies in the media folder is never served.
    re_path(
        r"^media/(?P<path>images/[0-9a-f]{2}/[0-9a-f]{64}\.(?:jpg|png))$",
        login_not_required(serve),
        {"document_root": settings.MEDIA_ROOT},
        name="image-file",
    ),
]
