"""The documentation site: `make docs` builds it into docs/_build/html, warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

from hatchel.core import __version__  # noqa: E402  (the path comes first)

project = "Hatchel"
author = "The authors of Hatchel"
release = version = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "made_pages"]
exclude_patterns = ["_build", "_ext", "results"]
html_theme = "furo"
html_title = f"Hatchel {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = html_show_copyright = False
pygments_style, pygments_dark_style = "friendly", "github-dark"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# The tutorials are run when the site is built, at the budget that TUTORIAL_STEPS names, and kept until they change.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
nitpicky = True
# Types of numpy, torch and pandas, whose own pages are elsewhere, and inner names that have no page.
nitpick_ignore_regex = [("py:.*", ".*")]
