"""An admin of the site's own."""

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig

__all__ = ["OfficeAdminConfig", "OfficeAdminSite"]


class OfficeAdminSite(AdminSite):
    site_header = "The office"


class OfficeAdminConfig(AdminConfig):
    default_site = "tests.integration.setups.project.office.OfficeAdminSite"
