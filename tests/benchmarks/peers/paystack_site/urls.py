"""Route our view and the package's webhook."""

from django.urls import include, path

from tests.benchmarks.peers.paystack_site import views

urlpatterns = [
    path("callback/", views.callback),
    path("paystack/", include("djpaystack.webhooks.urls")),
]
