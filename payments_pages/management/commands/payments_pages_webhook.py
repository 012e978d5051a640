"""Send a signed webhook to this site, as the service would."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from payments_pages.client import visit
from payments_pages.conf import conf
from payments_pages.exceptions import InvalidReference, ServiceError, UnusableKey
from payments_pages.limits import Limits
from payments_pages.marks import clean_pasted
from payments_pages.references import check_reference
from payments_pages.signatures import ALGORITHMS, sign

__all__ = ["Command"]

PATIENT = Limits(connect_timeout=10, read_timeout=30, deadline=40)
"""The webhook asks the service and may deliver: this takes longer than a call of our own."""


class Command(BaseCommand):
    """The command: signs and posts one event, to try the webhook and its settings."""

    help = (
        "Sign an event with this site's own settings and post it to its webhook. The service is "
        "then asked as ever: nothing is delivered that it does not call paid. Exit code 1: the "
        "webhook did not answer 200."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the reference, the event and the address."""
        parser.add_argument("reference")
        parser.add_argument("--event", default="charge.success", help="default: %(default)s")
        parser.add_argument("--url", help="default: SITE_URL and the webhook's own path")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Post it; print the status and the answer."""
        if not conf.webhook_header or conf.webhook_algorithm not in ALGORITHMS:
            raise CommandError("Set WEBHOOK_HEADER and WEBHOOK_ALGORITHM first.")
        try:
            secrets = conf.webhook_secrets
        except UnusableKey as error:
            raise CommandError(str(error)) from error
        if not secrets:
            raise CommandError("WEBHOOK_SECRETS is empty: name a secret to sign with.")
        if not conf.site_url and not options["url"]:
            raise CommandError("Set SITE_URL, or give --url.")
        try:
            reference = check_reference(clean_pasted(options["reference"]))
        except InvalidReference as error:
            raise CommandError(str(error)) from error
        url = options["url"] or conf.site_url + reverse("payments_pages:webhook")
        name = "transaction_reference" if options["event"].startswith("refund.") else "reference"
        body = json.dumps({"event": options["event"], "data": {name: reference}}).encode()
        headers = {
            "Content-Type": "application/json",
            conf.webhook_header: sign(body, secrets[0], conf.webhook_algorithm),
        }
        try:
            answer = visit(url, method="POST", body=body, headers=headers, limits=PATIENT)
        except ServiceError as error:
            raise CommandError(f"{url} cannot be reached, or did not answer in time.") from error
        told = answer.body.decode(errors="replace")[:200]
        self.stdout.write(f"{url} answered {answer.status}: {told}")
        if answer.status != 200:
            raise CommandError("The site did not accept the webhook.")
