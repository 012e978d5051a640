"""Route the right floor."""

from django.urls import path

from tests.benchmarks.right_floor import views

urlpatterns = [
    path("callback/", views.callback),
    path("webhook/", views.webhook),
]
