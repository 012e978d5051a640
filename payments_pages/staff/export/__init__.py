"""Exports of payments: as CSV, which leaves row by row, and as a workbook of a spreadsheet."""

from payments_pages.staff.export.csv_file import write_csv
from payments_pages.staff.export.workbook import can_write_workbook, write_workbook

__all__ = ["can_write_workbook", "write_csv", "write_workbook"]
