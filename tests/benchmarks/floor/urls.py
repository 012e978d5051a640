"""Route the floor."""

from django.urls import path

from tests.benchmarks.floor import views

urlpatterns = [
    path("callback/", views.callback),
    path("query/", views.query),
    path("result/<int:number>/", views.result),
    path("webhook/", views.webhook),
]
