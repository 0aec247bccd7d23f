"""Addresses of curation and version pages."""

from django.urls import path

from curation.views import curation, versions

urlpatterns = [
    path("projects/<slug:slug>/curation/", curation.curation, name="curation"),
    path("projects/<slug:slug>/curation/deduplicate", curation.deduplicate, name="curation-deduplicate"),
    path("projects/<slug:slug>/curation/build", curation.build_round, name="curation-build"),
    path(
        "projects/<slug:slug>/curation/rounds/<int:round_id>/",
        curation.comparison_round,
        name="comparison-round",
    ),
    path("projects/<slug:slug>/versions/", versions.version_list, name="versions"),
    path("versions/<int:version_id>/", versions.version_detail, name="version"),
    path("versions/<int:version_id>/seal", versions.version_seal, name="version-seal"),
    path("versions/<int:version_id>/download", versions.version_download, name="version-download"),
    path("versions/<int:version_id>/files/<path:name>", versions.version_file, name="version-file"),
]
