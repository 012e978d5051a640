"""The URLs of a site with Django REST framework."""

from django.urls import path
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from tests.integration.setups.project.urls import urlpatterns as usual


@api_view(["POST"])
@authentication_classes([])
@permission_classes([AllowAny])
def confirm(request: Request) -> Response:
    found = confirm_payment(request.data["reference"], door=Door.CONFIRM, vouched=True)
    return Response({"outcome": found.outcome})


urlpatterns = [*usual, path("api/confirm/", confirm)]
