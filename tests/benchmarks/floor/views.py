"""Do the least: one pooled GET, one INSERT, commit, redirect. Do not use this."""

import hashlib
import hmac
import json

import requests
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from tests.benchmarks.callbacks.site.models import Good

session = requests.Session()


def callback(request: HttpRequest) -> HttpResponse:
    """Ask, deliver, redirect."""
    _deliver(request.GET["reference"])
    return HttpResponseRedirect("/result/1/")


def query(request: HttpRequest) -> HttpResponse:
    """Answer after one query: the floor of a settled callback."""
    Good.objects.filter(reference=request.GET["reference"]).first()
    return HttpResponseRedirect("/result/1/")


def result(request: HttpRequest, number: int) -> HttpResponse:
    """Show a page after one query."""
    return render(request, "floor/result.html", {"good": Good.objects.filter(pk=number).first()})


@csrf_exempt
def webhook(request: HttpRequest) -> HttpResponse:
    """Check the signature, ask, deliver."""
    signature = hmac.new(settings.FLOOR_KEY.encode(), request.body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signature, request.headers.get("x-signature", "")):
        return HttpResponse(status=401)
    _deliver(json.loads(request.body)["data"]["reference"])
    return HttpResponse()


def _deliver(reference: str) -> None:
    address = f"{settings.FLOOR_SERVICE}/transaction/verify/{reference}"
    headers = {"Authorization": f"Bearer {settings.FLOOR_KEY}"}
    answer = session.get(address, headers=headers, timeout=8).json()
    if answer["data"]["status"] == "success":
        Good.objects.create(reference=reference)
