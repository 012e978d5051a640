"""The URLs of the doors. Include them under any path; their names do not change."""

from django.urls import path

from payments_pages import views

__all__ = ["app_name", "urlpatterns"]

app_name = "payments_pages"

urlpatterns = [
    path("callback/", views.callback, name="callback"),
    path("callback/<uuid:page_token>/", views.callback, name="page-callback"),
    path("confirm/", views.confirm, name="confirm"),
    path("webhook/", views.webhook, name="webhook"),
    path("result/<uuid:token>/", views.result, name="result"),
    path("result/<uuid:token>/status/", views.result_status, name="result-status"),
]
