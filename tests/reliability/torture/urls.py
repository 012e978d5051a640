"""The site of a run with `--door http`: the package's doors and nothing else."""

from django.urls import include, path

urlpatterns = [path("", include("payments_pages.urls"))]
