"""What a page would load: every address in its attributes and styles that is not its own."""

from __future__ import annotations

import re
from html.parser import HTMLParser

ATTRIBUTES = {"src", "srcset", "href", "xlink:href", "action", "poster", "data", "background", "formaction", "manifest"}
STYLED = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._style = tag == "style"
        for name, value in attrs:
            if name in ATTRIBUTES and value:
                self.found.append(value)
            if value and name in ("style", "clip-path", "fill", "mask", "filter"):
                self._styles(value)

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if self._style:
            self._styles(data)

    def _styles(self, text: str) -> None:
        self.found += [first or second for first, second in STYLED.findall(text)]


def outside(html: str) -> list[str]:
    """Addresses other than data: and #fragments."""
    parser = _Links()
    parser.feed(html)
    return [link for link in parser.found if not link.startswith(("data:", "#"))]
