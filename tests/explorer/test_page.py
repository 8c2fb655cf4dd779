from __future__ import annotations

import json

from hatchel.explorer.page import page
from hatchel.explorer.session import Session


def test_names_from_a_run_cannot_become_markup(session: Session) -> None:
    about = json.loads(json.dumps(session.about()))
    about["title"] = about["runs"][0]["name"] = "</script><script>alert(1)</script>"
    text = page(about)
    assert "<script>alert" not in text
    assert text.count("</script>") == 2
