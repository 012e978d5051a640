"""Lay out the shop's addresses: its own, the payment pages' doors, the admin, the language."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from example_project.shop import views

urlpatterns = [
    path("", views.Storefront.as_view(), name="storefront"),
    path("hide-note/", views.hide_note, name="hide-note"),
    path("buy/<int:offer>/", views.buy, name="buy"),
    path("orders/<uuid:token>/", views.OrderPage.as_view(), name="order"),
    path("orders/<uuid:token>/charge/", views.charge, name="charge"),
    path("cards/forget/", views.forget_card, name="forget-card"),
    path("purchases/", views.Purchases.as_view(), name="purchases"),
    path("purchases/<uuid:token>/", views.Purchase.as_view(), name="purchase"),
    path("sign-in/", LoginView.as_view(template_name="shop/sign_in.html"), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("payments/", include("payments_pages.urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    # Where browsers look on pages that name no icon, such as the admin's.
    path("favicon.ico", views.icon, name="icon"),
]
