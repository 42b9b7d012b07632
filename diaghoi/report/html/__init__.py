"""The report as one page that opens from disk: tables to sort and search, figures, worst cases.

The page is one file without anything to load. Its tables per class and per image are columns of
numbers that a script shows page by page; without scripts the summary, the figures, the cases and a
plain table of the classes remain.
"""

from diaghoi.report.html.page import write_html

__all__ = ["write_html"]
