from __future__ import annotations

import json

from hatchel.explorer.gallery import Gallery
from hatchel.explorer.page import page


def test_names_from_a_run_cannot_become_markup(gallery: Gallery) -> None:
    about = json.loads(json.dumps(gallery.about()))
    about["title"] = about["runs"][0]["name"] = "</script><script>alert(1)</script>"
    text = page(about)
    assert "<script>alert" not in text
    assert text.count("</script>") == 2
