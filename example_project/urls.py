"""Lay out the shop's addresses: its own, the payment pages' doors, the admin, the language."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from example_project.shop import views

urlpatterns = [
    path("", views.Storefront.as_view(), name="storefront"),
    path("buy/<int:offer>/", views.buy, name="buy"),
    path("orders/<uuid:token>/", views.OrderPage.as_view(), name="order"),
    path("purchases/", views.Purchases.as_view(), name="purchases"),
    path("sign-in/", LoginView.as_view(template_name="shop/sign_in.html"), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("payments/", include("payments_pages.urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
]
