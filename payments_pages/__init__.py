"""Sell through the hosted payment pages of a service; verify on the server; deliver exactly once.

Settings:

    INSTALLED_APPS += ["payments_pages"]
    PAYMENTS_PAGES = {
        "SECRET_KEY": "sk_test_…",
        "BASE_URL": "https://…",  # the service's API
        "PAY_URL": "https://…",  # where the service shows pages
        "SITE_URL": "https://…",  # your own site: payers come back to it
        "HANDLER": "shop.handlers.deliver",
    }

URLconf:

    urlpatterns += [path("payments/", include("payments_pages.urls"))]

Handler, which is called once for each payment:

    def deliver(fulfilment):
        payment = fulfilment.transaction
        Licence.objects.create(email=payment.customer_email, product=payment.page.slug)

Then `manage.py migrate`, `manage.py check`, and `manage.py payments_pages_sweep` every minute. The
pages in docs/ have the rest.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
