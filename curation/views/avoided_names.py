"""The page of the names that workers are advised not to use, for all photos or for one film."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from curation.selectors.avoided_names import avoided_names
from curation.selectors.clips import movie_names
from curation.services.avoided_names import MAX_LISTED_NAMES, set_avoided_names
from curation.views.pages import tab_context
from hits.models import Project
from hits.views.access import project_page
from hits.views.pages import action_messages
from hits.views.users import signed_in_user


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def name_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the names of the chosen film, or those for all photos; a POST replaces them."""
    movies = movie_names(project)
    movie = request.GET.get("film", "")
    if movie and movie not in movies:
        raise Http404("There is no such film.")
    if request.method == "POST":
        with action_messages(
            request, "Nothing changed", "Saved. Tasks that are launched later have these names."
        ):
            set_avoided_names(
                project=project,
                names=request.POST.get("names", "").splitlines(),
                movie=movie,
                by=signed_in_user(request),
            )
        query = f"?{urlencode({'film': movie})}" if movie else ""
        return redirect(f"{reverse('names', args=[project.slug])}{query}")
    names = avoided_names(project)
    context = tab_context(project, "sources") | {
        "movies": movies,
        "movie": movie,
        "text": "\n".join(names.get(movie, [])),
        "counts": [(film or "All photos", len(rows)) for film, rows in sorted(names.items()) if rows],
        "maximum": MAX_LISTED_NAMES,
        "command": f"manage.py set_names FILE --project {project.slug} --movie FILM",
    }
    return render(request, "curation/sources/names.html", context)
