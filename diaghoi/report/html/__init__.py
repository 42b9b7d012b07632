"""Write the report as one interactive page that needs neither a network nor other files.

Observable Plot and D3, which are in ``vendor/`` with their licences, draw the charts.
"""

from diaghoi.report.html.data import page_data
from diaghoi.report.html.models import PageModel, page_model
from diaghoi.report.html.page import Page, write_comparison_html, write_html

__all__ = [
    "Page",
    "PageModel",
    "page_data",
    "page_model",
    "write_comparison_html",
    "write_html",
]
