"""How Sphinx builds the site; ``make docs`` does it."""

import re
from pathlib import Path
from typing import Any

import typer.main
from typer.cli import get_docs_for_click

import diaghoi
from diaghoi.cli import commands
from diaghoi.cli.analyses import ALSO, EXPLAIN
from diaghoi.cli.options import list_of_keys
from diaghoi.cli.reading import READ

HERE = Path(__file__).parent
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
# A constant is shown by its words, not by its value, which may be a page long.
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


def list_commands(app: Any) -> None:
    """Write the page of all commands and options, from the code, also the rare ones."""
    page = HERE / "generated" / "commands.md"
    page.parent.mkdir(exist_ok=True)
    command = typer.main.get_command(commands.app)
    show_rare_options(command)
    context = command.make_context("diaghoi", ["report"], resilient_parsing=True)
    text = get_docs_for_click(obj=command, ctx=context, name="diaghoi", title="Commands")
    # The lists of commands repeat, cut short, what stands below each heading.
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n", "", text)
    for option, keys in {"--read": READ, "--also": ALSO | EXPLAIN}.items():
        text += f"\n## Keys of `{option}`\n\n```text\n{list_of_keys(keys)}\n```\n"
    page.write_text(f"{text.strip()}\n", encoding="utf-8")


def show_rare_options(command: Any) -> None:
    """Show the options of a command, and of those below it, that only --help-all lists."""
    for parameter in command.params:
        parameter.hidden = False
    for part in getattr(command, "commands", {}).values():
        show_rare_options(part)


def setup(app: Any) -> None:
    """Register what runs before the pages are read."""
    app.connect("builder-inited", list_commands)
