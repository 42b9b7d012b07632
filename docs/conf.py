"""How Sphinx builds the site; ``make docs`` does it."""

import re
import sys
from pathlib import Path
from typing import Any

import diaghoi

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402

CITED = (HERE.parent / "CITATION.cff").read_text(encoding="utf-8")
REPOSITORY = re.findall(r"^repository-code: (\S+)$", CITED, re.MULTILINE)

project = "diaghoi"
author = "The diaghoi developers"
project_copyright = author
release = version = diaghoi.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
copybutton_prompt_text = "$ "
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# No inventories of other projects: the site builds without a network.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# Default values are shown as in the source, not evaluated: a value may be a page long.
autodoc_preserve_defaults = True
add_module_names = False
python_maximum_signature_line_length = 80
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "diaghoi"
html_theme_options = {"top_of_page_buttons": []}
if REPOSITORY:
    html_theme_options = {
        "source_repository": REPOSITORY[0],
        "source_branch": "main",
        "source_directory": "docs/",
        "top_of_page_buttons": ["edit"],
    }
html_show_sphinx = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
exclude_patterns = ["README.md"]


def write_reference(app: Any) -> None:
    """Write the reference pages from the code."""
    reference.write_pages(HERE / "generated")


def setup(app: Any) -> None:
    """Register the writer of the reference pages, which runs before the pages are read."""
    app.connect("builder-inited", write_reference)
