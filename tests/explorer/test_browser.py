"""The page in a real browser: what is seen changes as it should, nothing is asked of other hosts, no console errors."""

from __future__ import annotations

import io
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hatchel.explorer.page import write_runtime
from hatchel.explorer.runtime import Runtime
from hatchel.explorer.server import Listening
from hatchel.explorer.session import Session
from hatchel.report.pictures import to_bytes
from hatchel.training.run import TrainedRun

PIXELS = """canvas => { const { width, height } = canvas;
  return Array.from(canvas.getContext("2d").getImageData(0, 0, width, height).data).filter((_, i) => i % 4 === 0); }"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    # Of this file alone: while Playwright's loop runs, no other test of the process could start one of its own.
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(program).exists():
        pytest.skip("there is no Chromium, on the PATH or at /usr/bin/chromium")
    with playwright.sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        chromium = started.chromium.launch(executable_path=program, args=flags)
        yield chromium
        chromium.close()


class Watched:
    """A page, what it asked for, and what it complained of."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.asked: list[str] = []
        self.codes: list[list[float]] = []
        self.complaints: list[str] = []
        self.open = self.most = 0
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._request)
        page.on("requestfinished", lambda r: self._count(r, -1))
        page.on("requestfailed", lambda r: self._count(r, -1))

    def _console(self, message: Any) -> None:
        read_by_us = message.text.startswith("Canvas2D: Multiple readback")
        if message.type in ("error", "warning") and not read_by_us:
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        self.asked.append(request.url)
        self._count(request, 1)

    def _count(self, request: Any, by: int) -> None:
        if not request.url.endswith("/api/decode"):
            return
        sent = json.loads(request.post_data)["codes"]
        if len(sent) == 1:
            self.open += by
            self.most = max(self.most, self.open)
            if by > 0:
                self.codes.append(sent[0])

    def pixels(self, canvas: str, size: int = 16) -> np.ndarray:
        return np.array(self.page.locator(canvas).evaluate(PIXELS), np.uint8).reshape(size, -1)

    def settle(self) -> None:
        """Until everything asked for is drawn."""
        self.page.locator('body[data-pending="0"] .bench[data-drawn]').first.wait_for()

    def until(self, condition: str) -> None:
        """Asked from outside: the page's policy lets nobody evaluate text inside it."""
        for _ in range(500):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never came true: {condition}")

    def slider(self, name: str, run: int = 0) -> Any:
        return self.page.locator(".bench").nth(run).get_by_role("slider", name=name)


@pytest.fixture
def watch(browser: Any) -> Iterator[Callable[..., Watched]]:
    contexts: list[Any] = []
    pages: list[Watched] = []

    def open_page(address: str, width: int = 1280, scheme: str = "light") -> Watched:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        watched = Watched(context.new_page())
        pages.append(watched)
        watched.page.goto(address)
        watched.settle()
        return watched

    yield open_page
    for watched in pages:
        assert watched.complaints == []
        for address in watched.asked:
            assert address.startswith(("http://127.0.0.1:", "file:///", "data:", "blob:"))
    for context in contexts:
        context.close()


def test_a_moved_slider_changes_the_picture(
    watch: Callable[..., Watched], serve: Callable[[Session], str], session: Session, plain: TrainedRun
) -> None:
    seen = watch(serve(session))
    before = seen.pixels("#decoded-0")
    start = plain.encode(plain.data.images([session.start]))
    assert np.array_equal(before, to_bytes(plain.decode(start))[0, ..., 0])
    site = session.runs[0].spaces[0].sliders[0]
    slider = seen.slider(site.name)
    slider.focus()
    seen.page.keyboard.press("End")
    seen.settle()
    after = seen.pixels("#decoded-0")
    wanted = start.copy()
    wanted[0, site.columns[0]] = max(site.high, wanted[0, site.columns[0]])
    assert np.abs(after.astype(int) - to_bytes(plain.decode(wanted))[0, ..., 0]).max() <= 1
    assert np.abs(after.astype(int) - before).max() > 20
    seen.page.get_by_role("button", name="Reset sliders").click()
    seen.settle()
    assert np.array_equal(seen.pixels("#decoded-0"), before)


def test_inside_a_notebook_it_works_without_a_cookie(browser: Any, session: Session) -> None:
    """The frame's address has the token; the page around it is of another site, so browsers send no cookie."""
    opened = Listening.on(session, port=0, framed=True)
    threading.Thread(target=opened.run, daemon=True).start()
    frame = f'<!doctype html><iframe src="{opened.address}" width="900" height="700"></iframe>'

    class Notebook(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(frame.encode())

        def log_message(self, *_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            pass

    around = HTTPServer(("127.0.0.1", 0), Notebook)
    threading.Thread(target=around.serve_forever, daemon=True).start()
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"http://localhost:{around.server_port}/")
        inner = page.frame_locator("iframe")
        inner.locator('body[data-pending="0"] .bench[data-drawn]').first.wait_for()
        assert inner.locator("#message").is_hidden()
        assert context.cookies() == []
    finally:
        context.close()
        around.shutdown()
        around.server_close()
        opened.server.should_exit = True


def test_while_dragging_one_request_is_open_and_the_last_position_wins(
    watch: Callable[..., Watched], serve: Callable[[Session], str], session: Session, plain: TrainedRun
) -> None:
    seen = watch(serve(session))
    already = len(seen.codes)
    site = session.runs[0].spaces[0].sliders[0]
    seen.slider(site.name).evaluate(
        """(slider) => { for (let i = 0; i <= 100; i++) {
          slider.value = +slider.min + (slider.max - slider.min) * i / 100;
          slider.dispatchEvent(new Event("input", { bubbles: true })); } }"""
    )
    seen.settle()
    assert seen.most == 1
    assert len(seen.codes) - already <= 5  # of 101 positions
    assert seen.codes[-1][site.columns[0]] == pytest.approx(site.high, rel=0.01)
    assert np.array_equal(seen.pixels("#decoded-0"), to_bytes(plain.decode([seen.codes[-1]]))[0, ..., 0])


def test_an_uploaded_image_is_encoded_and_a_broken_one_is_refused(
    watch: Callable[..., Watched], serve: Callable[[Session], str], session: Session, plain: TrainedRun
) -> None:
    seen = watch(serve(session))
    original = plain.data.images([30])
    out = io.BytesIO()
    Image.fromarray(original[0, ..., 0]).save(out, "PNG")
    seen.page.locator("#upload").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": out.getvalue()})
    seen.page.get_by_text("Your image, as the encoder reads it.").wait_for()
    seen.settle()
    assert np.array_equal(seen.pixels("#input-0"), original[0, ..., 0])
    assert np.array_equal(seen.pixels("#decoded-0"), to_bytes(plain.reconstruct(original))[0, ..., 0])
    seen.page.locator("#upload").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"no image"})
    seen.page.get_by_role("alert").filter(has_text="not an image").wait_for()
    assert [c for c in seen.complaints if "415" in c] == seen.complaints  # the browser's own note of the refusal
    seen.complaints.clear()


def test_picking_swapping_and_the_scatter(
    watch: Callable[..., Watched], serve: Callable[[Session], str], session: Session, plain: TrainedRun
) -> None:
    seen = watch(serve(session))
    page = seen.page
    page.get_by_label("Item", exact=True).fill("5")
    page.get_by_label("Item", exact=True).press("Enter")
    page.get_by_text("x 0 · y 5").wait_for()
    page.get_by_role("button", name="Next").click()
    page.get_by_text("x 0 · y 6").wait_for()
    page.get_by_label("Item B").fill("50")
    page.get_by_label("Item B").press("Enter")
    page.get_by_text("B, item 50").wait_for()
    page.get_by_role("button", name="Copy B's value into A").click()
    seen.settle()
    a, b = plain.encode(plain.data.images([6, 50]))
    column = session.runs[0].spaces[0].sliders[0].columns[0]
    a[column] = b[column]
    assert np.array_equal(seen.pixels("#decoded-0"), to_bytes(plain.decode(a[None]))[0, ..., 0])
    assert page.locator("#grid canvas[data-drawn]").count() >= 3

    page.locator("#scatter").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    page.locator("#tip").wait_for()
    item = int(page.locator("#tip span").inner_text().split(",")[0].removeprefix("item "))
    assert np.array_equal(seen.pixels("#tip canvas"), plain.data.images([item])[0, ..., 0])
    page.keyboard.press("Enter")
    seen.until(f"document.querySelector('#item').value === '{item}'")


def test_two_runs_their_levels_and_classes(
    watch: Callable[..., Watched],
    serve: Callable[[Session], str],
    pair: Session,
    mixed: TrainedRun,
    hierarchy: TrainedRun,
) -> None:
    seen = watch(serve(pair))
    quiet = seen.page.locator("details > summary")
    for n in range(quiet.count()):
        if not quiet.nth(n).evaluate("s => s.parentElement.open"):
            quiet.nth(n).click()
    seen.page.get_by_role("radio", name="class 1").click()
    seen.settle()
    assert seen.page.get_by_role("radio", name="class 1").get_attribute("aria-checked") == "true"
    picture = mixed.data.images([pair.start])
    code = mixed.encode(picture)
    columns = next(s.columns for s in pair.runs[0].spaces[0].sliders if not s.real)
    code[0, list(columns)] = [0, 1, 0]
    assert np.array_equal(seen.pixels("#decoded-0"), to_bytes(mixed.decode(code))[0, ..., 0])
    seen.page.get_by_label("Latent space").select_option("1")
    seen.settle()
    larger = pair.for_run(picture, hierarchy)
    assert np.array_equal(seen.pixels("#input-1", 32), larger[0, ..., 0])
    assert np.array_equal(seen.pixels("#decoded-1", 32), to_bytes(hierarchy.reconstruct(larger, 1))[0, ..., 0])


def test_a_narrow_screen_and_named_controls(
    watch: Callable[..., Watched], serve: Callable[[Session], str], session: Session, pair: Session
) -> None:
    for shown, scheme in ((session, "dark"), (pair, "light")):
        seen = watch(serve(shown), 400, scheme)
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        nameless = seen.page.evaluate(
            """() => [...document.querySelectorAll("input, select, button")].filter((e) => !e.closest("[hidden]"))
              .filter((e) => !e.textContent.trim() && !e.getAttribute("aria-label") && !(e.labels && e.labels.length))
              .map((e) => e.outerHTML)"""
        )
        assert nameless == []


def test_rows_of_a_table_are_shown_as_one(
    watch: Callable[..., Watched], serve: Callable[[Session], str], table: TrainedRun
) -> None:
    shown = Session([table])
    seen = watch(serve(shown))
    row = table.decode(table.encode([shown.picture(shown.start)]))[0]
    cells = seen.page.locator(".view td").all_inner_texts()
    best = int(row[2:].argmax())
    assert float(cells[1]) == pytest.approx(row[0], rel=1e-3)
    assert cells[5] == f"{('red', 'green', 'blue')[best]} ({round(100 * float(row[2 + best]))} %)"
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not seen.page.get_by_text("Upload an image").is_visible()


def test_a_server_that_has_gone_is_named(
    watch: Callable[..., Watched], serve: Callable[[Session], str], session: Session
) -> None:
    seen = watch(serve(session))
    seen.page.route("**/api/**", lambda route: route.abort())
    seen.page.get_by_role("button", name="Next").click()
    seen.page.get_by_role("alert").filter(has_text="is it still running?").wait_for()
    seen.complaints.clear()


def test_the_page_without_a_server_opened_from_disk(
    watch: Callable[..., Watched], folder: Path, browser_runtime: Runtime, hierarchy: TrainedRun, tmp_path: Path
) -> None:
    place = tmp_path / "page"
    shutil.copytree(folder, place)
    write_runtime(place / "runtime.js", browser_runtime)
    seen = watch((place / "index.html").as_uri())
    shown = Session([hierarchy])
    start = hierarchy.encode(hierarchy.data.images([shown.start]))
    before = seen.pixels("#decoded-0", 32).astype(int)
    assert np.abs(before - to_bytes(hierarchy.decode(start))[0, ..., 0]).max() <= 1
    site = shown.runs[0].spaces[0].sliders[0]
    slider = seen.slider(site.name)
    slider.focus()
    seen.page.keyboard.press("End")
    seen.settle()
    start[0, site.columns[0]] = max(site.high, start[0, site.columns[0]])
    assert float(slider.input_value()) == pytest.approx(float(start[0, site.columns[0]]), rel=1e-6)
    after = seen.pixels("#decoded-0", 32).astype(int)
    assert np.abs(after - to_bytes(hierarchy.decode(start))[0, ..., 0]).max() <= 1
    assert np.abs(after - before).max() > 20
    seen.page.get_by_role("button", name="Random", exact=True).click()
    seen.page.locator("#grid canvas[data-drawn]").nth(2).wait_for()
    assert not seen.page.get_by_text("Upload an image").is_visible()
    assert all(address.startswith(("file:///", "data:", "blob:")) for address in seen.asked)
