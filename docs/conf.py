"""How Sphinx builds the site; ``make docs`` does it."""

import sys
from pathlib import Path
from typing import Any

import diaghoi

HERE = Path(__file__).parent

project = "diaghoi"
author = "The diaghoi developers"
project_copyright = author
release = version = diaghoi.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# No inventories of other projects: the site builds without a network.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# A constant is shown by its words, not by its value, which may be a page long.
autodoc_preserve_defaults = True
add_module_names = False
python_maximum_signature_line_length = 80
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "diaghoi"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
exclude_patterns = ["README.md"]


def draw(app: Any) -> None:
    """Draw the pictures anew, so that they show what the code does."""
    sys.path.insert(0, str(HERE))
    from error_pictures import draw_errors
    from example_figures import draw_examples

    draw_errors(HERE / "drawn")
    draw_examples(HERE / "drawn")


def setup(app: Any) -> None:
    """Register what runs before the pages are read."""
    app.connect("builder-inited", draw)
