from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.explorer.server import PORT, application, listen
from hatchel.explorer.session import Session
from hatchel.explorer.uploads import BYTES
from hatchel.report.pictures import to_bytes
from hatchel.training.run import TrainedRun

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(connect: Callable[..., Any], session: Session) -> Any:
    return connect(application(session))


def png(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


def test_decoding_is_the_runs_own(client: Any, plain: TrainedRun) -> None:
    codes = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    answer = client.post("/api/decode", json={"codes": codes.tolist()})
    assert answer.status_code == 200
    got = np.frombuffer(answer.content, np.uint8).reshape(3, 16, 16, 1)
    assert np.array_equal(got, to_bytes(plain.decode(codes)))
    assert got.std(axis=0).max() > 20  # or nothing could be seen to change


def test_a_picked_item_comes_with_its_code_and_its_factors(client: Any, plain: TrainedRun) -> None:
    found = client.post("/api/pick", json={"item": 13}).json()
    original = plain.data.images([13])
    assert base64.b64decode(found["inputs"][0]) == original.tobytes()
    assert np.allclose(found["codes"][0][0], plain.encode(original)[0])
    assert found["shown"] == {"x": "1", "y": "5"}  # item 13 of 8 x 8 places
    assert client.post("/api/picture", json={"item": 13}).content == original.tobytes()


def test_an_upload_is_encoded_like_the_same_item(client: Any, plain: TrainedRun) -> None:
    original = plain.data.images([30])
    picked = client.post("/api/pick", json={"item": 30}).json()
    uploaded = client.post("/api/upload", content=png(original[0, ..., 0])).json()
    assert uploaded["item"] is None
    assert uploaded["codes"] == picked["codes"]
    assert uploaded["inputs"] == picked["inputs"]


def test_the_scatter_is_of_the_points_codes(client: Any, session: Session, plain: TrainedRun) -> None:
    x, y = client.post("/api/scatter", json={"columns": [2, 0]}).json()
    codes = plain.encode(plain.data.images(session.about()["points"]))
    assert np.allclose(x, codes[:, 2], atol=1e-6)
    assert np.allclose(y, codes[:, 0], atol=1e-6)


def test_rows_of_a_table_are_numbers(connect: Callable[..., Any], table: TrainedRun) -> None:
    client = connect(application(Session([table])))
    answer = client.post("/api/decode", json={"codes": [[0.3, -1.0]]}).json()
    assert np.allclose(answer, table.decode([[0.3, -1.0]]))
    picked = client.post("/api/pick", json={"item": 3}).json()
    row = table.data.items(np.array([3]))[0]
    assert np.allclose(picked["inputs"][0], [row[0] * 10 + 170, *row[1:]])
    assert np.allclose(client.post("/api/picture", json={"item": 3}).json(), picked["inputs"][0])
    refused = client.post("/api/upload", content=png(np.zeros((4, 4), np.uint8)))
    assert refused.status_code == 422
    assert "table" in refused.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("decode", {"codes": [[0, 0, 0]]}, 422, "has 4 numbers, not 3"),
        ("decode", {"codes": [[0, 0, 0, 1e6]]}, 422, "out of range"),
        ("decode", {"codes": [[0, 0, 0, "x"]]}, 422, "codes.0.3"),
        ("decode", {"codes": []}, 422, "codes"),
        ("decode", {"codes": [[0, 0, 0, 0]] * 129}, 422, "codes"),
        ("decode", {"codes": [[0, 0, 0, 0]], "level": 1}, 422, "levels 0 to 0"),
        ("decode", {"codes": [[0, 0, 0, 0]], "run": 1}, 404, "runs 0 to 0"),
        ("decode", {"codes": [[0, 0, 0, 0]], "run": "../etc"}, 422, "run"),
        ("decode", {"codes": [[0, 0, 0, 0]], "path": "/etc/passwd"}, 422, "path"),
        ("decode", [1], 422, ""),
        ("pick", {"item": 64}, 404, "items 0 to 63"),
        ("pick", {"item": -1}, 422, "item"),
        ("pick", {"item": 1.5}, 422, "item"),
        ("picture", {"item": 10**9}, 404, "no item"),
        ("scatter", {"columns": [4]}, 422, "columns 0 to 3"),
        ("nothing", {}, 404, "Not Found"),
    ],
)
def test_bad_requests_are_answered_by_name(client: Any, path: str, body: Any, status: int, message: str) -> None:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"codes": [[0, 0, 0, NaN]]}', 422),
        ('{"codes": [[0, 0, 0, -Infinity]]}', 422),
        ('{"codes": [[0, 0, 0, 1e999]]}', 422),
        ("not json", 400),
        ("{", 400),
    ],
)
def test_what_is_not_a_number_is_refused(client: Any, text: str, status: int) -> None:
    answer = client.post("/api/decode", content=text, headers=JSON)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_bad_uploads(client: Any) -> None:
    whole = png(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))
    huge = io.BytesIO()
    Image.new("1", (6000, 6000)).save(huge, "PNG")
    assert len(huge.getvalue()) < 100_000  # a small file, a large picture
    answers = {
        name: client.post("/api/upload", content=content, headers={"content-type": "image/png"})
        for name, content in {
            "empty": b"",
            "text": b"<svg onload=alert(1)>",
            "cut": whole[: len(whole) // 2],
            "damaged": whole[:60] + bytes(40) + whole[100:],
            "huge": huge.getvalue(),
            "long": whole + bytes(BYTES),
            "longer": bytes(2 * BYTES),
        }.items()
    }
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "empty": 400,
        "text": 415,
        "cut": 422,
        "damaged": 422,
        "huge": 413,
        "long": 413,
        "longer": 413,
    }
    assert all(answer.json()["error"] for answer in answers.values())


def test_the_page_holds_no_address_of_another_host(client: Any) -> None:
    for path in ("/", "/explorer.js", "/explorer.css"):
        text = client.get(path).text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
        assert "http:" not in text
        assert "https:" not in text
        assert "//" not in text.replace("// ", "")


def test_a_busy_port() -> None:
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        ports = first.getsockname()[1], second.getsockname()[1]
        assert ports[0] != ports[1]
        assert PORT not in ports[1:]
        with pytest.raises(HatchelError, match="is busy; choose another"):
            listen("127.0.0.1", ports[1])
    with pytest.raises(HatchelError, match="--host"):
        listen("no.such.host.invalid", None)
