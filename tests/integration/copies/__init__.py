"""Databases are dumped, restored, copied and moved by the lines of the docs; nothing is given twice."""
