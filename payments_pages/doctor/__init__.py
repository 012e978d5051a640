"""The doctor: looks at the account, the machines and the doors of this site, and changes nothing."""

from payments_pages.doctor.examination import LINES, examine
from payments_pages.doctor.findings import Finding, Health

__all__ = ["LINES", "Finding", "Health", "examine"]
