"""The URLs of the doors. Include them under any path; their names do not change."""

from django.urls import path

from payments_pages import views

__all__ = ["app_name", "urlpatterns"]

app_name = "payments_pages"

urlpatterns = [
    path("callback/", views.callback, name="callback"),
    path("callback/<uuid:page_token>/", views.callback, name="page-callback"),
    path("brand.css", views.brand, name="brand"),
    path("confirm/", views.confirm, name="confirm"),
    path("webhook/", views.webhook, name="webhook"),
    # Without the slash, too: Django would redirect, and a redirect loses the body of a POST.
    path("confirm", views.confirm),
    path("webhook", views.webhook),
    path("result/<uuid:token>/", views.result, name="result"),
    path("result/<uuid:token>/status/", views.result_status, name="result-status"),
]
