"""One result, many forms: text for a terminal, JSON for machines.

Every form is made from the plain mapping of :meth:`diaghoi.Diagnosis.to_dict`, so that saved JSON
files can be shown again.
"""

from diaghoi.report.json import write_json
from diaghoi.report.text import print_report

__all__ = ["print_report", "write_json"]
