"""The page of an explanation in headless Chromium: test_page.py FOLDER [FOLDER OF SCREENSHOTS].

Hovers, clicks, types, zooms and touches as a reader does, and compares what the page shows with the numbers that
a decoder of its own reads from the file.
"""
import base64
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser  # noqa: E402

folder = pathlib.Path(sys.argv[1]).resolve()
pictures = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
checks = failures = 0


def check(what, holds, detail=""):
    global checks, failures
    checks += 1
    if not holds:
        failures += 1
        print(f"FAILED: {what} {detail}")


# ---- the numbers of a file ----

def read_data(name):
    text = (folder / (name + ".html")).read_text("utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def decode(data, layer, code, signed=False):
    """Rows of {key: number}; full rows or top entries, as src/explain/page_code.h says."""
    bits = "".join(f"{byte:08b}" for byte in base64.b64decode(code["bits"]))
    place = 0

    def take(count):
        nonlocal place
        value = int(bits[place:place + count] or "0", 2)
        place += count
        return value

    def rice(k):
        nonlocal place
        ones = 0
        while ones < 24 and bits[place] == "1":
            ones += 1
            place += 1
        if ones == 24:
            return take(24)
        place += 1
        return ones << k | take(k)

    top = layer["keys"] > data["long"]
    width = (data["top"] if top else layer["keys"]).bit_length()
    k, mean, rows = code["k"], 16 << code["k"], []
    for _ in range(layer["queries"]):
        row, key = {}, 0
        for e in range(take(width)):
            key = key + rice(code["g"]) if top else e
            steps = rice(k)
            mean += steps - (mean >> 4)
            k = max((mean >> 4).bit_length() - 1, 0)
            if signed:
                steps = -((steps + 1) >> 1) if steps & 1 else steps >> 1
            row[key] = steps * code["step"]
            key += 1
        rows.append(row)
    return rows


# ---- what every page must be ----

def quiet(page, name):
    page.browser.listen(0.1)
    check(f"{name}: no message on the console", not page.messages, page.messages[:3])
    check(f"{name}: nothing is requested but the file", page.requests == [page.address], page.requests)


def number_in(text):
    found = re.findall(r"[-−+]?\d+\.\d+", text)
    return float(found[0].replace("−", "-")) if found else None


READOUT = "document.getElementById('readout').textContent"


def drawn(page):
    page.wait_for("!document.getElementById('grid') || document.getElementById('grid').dataset.drawn === 'yes'")


def test_every_page(browser):
    names = sorted(path.stem for path in folder.glob("*.html"))
    check("there are pages", len(names) >= 12, names)
    for name in names:
        for width, dark in ((390, True), (1440, False), (390, False), (1440, True)):
            if not pictures and (width, dark) not in ((390, True), (1440, False)):
                continue
            page = browser.open((folder / (name + ".html")).as_uri(), width, 844 if width == 390 else 900, dark,
                                touch=width == 390)
            drawn(page)
            page.settle()
            what = f"{name}, {width}, {'dark' if dark else 'light'}"
            check(f"{what}: no horizontal scrolling", page.evaluate("document.documentElement.scrollWidth") <= width)
            check(f"{what}: nothing sticks out", page.evaluate(
                "[...document.querySelectorAll('main *')].every(e => !e.getClientRects().length ||"
                " e.closest('.scroll, svg, .strip, .lines') || e.getBoundingClientRect().right <= innerWidth + 1)"))
            check(f"{what}: dark or light", page.evaluate("dark") == dark)
            if pictures:
                page.screenshot(str(pictures / f"{name}_{width}{'_dark' if dark else ''}.png"))
            quiet(page, what)
            page.close()


# ---- text ----

def test_text(browser):
    data = read_data("text")
    layers = data["parts"][0]["layers"]
    last = len(layers) - 1
    mean = decode(data, layers[last], layers[last]["mean"])
    page = browser.open((folder / "text.html").as_uri())
    drawn(page)
    check("the title", page.evaluate("document.title") == data["title"])

    # Hover a word: its lines, and the numbers beside the keys.
    for query in (0, 4, 11):
        page.move(*page.middle(f"#query-{query} .name"))
        shown = page.evaluate("[...document.querySelectorAll('.keys .word .number')].map(e => e.textContent)")
        wanted = [mean[query].get(key, 0) for key in range(12)]
        check(f"hover query {query}: numbers beside the keys",
              all(abs(float(s or 0) - w) < 1e-9 for s, w in zip(shown, wanted)), (shown, wanted))
        best = max(wanted)
        check(f"hover query {query}: the readout", data["rows"][query] in page.evaluate(READOUT)
              and f"{best:.3f}" in page.evaluate(READOUT), page.evaluate(READOUT))
    page.move(*page.middle("#key-3 .name"))
    check("hover a key: numbers beside the queries",
          abs(float(page.evaluate("document.querySelector('#query-5 .number').textContent")) - mean[5][3]) < 1e-9)

    # A cell of the matrix.
    page.middle("#matrix")
    x, y = page.evaluate("(() => { const b = matrix.canvas.getBoundingClientRect(), c = matrix.cell();"
                         " return [b.left + matrix.x(7.5, c), b.top + matrix.y(2.5, c)]; })()")
    page.move(x, y)
    check("hover a cell: its number", abs(number_in(page.evaluate(READOUT)) - mean[2][7]) < 1e-9, page.evaluate(READOUT))
    page.click(x, y)
    check("a click chooses the row everywhere", page.evaluate(
        "state.row === 2 && document.querySelector('#query-2').classList.contains('active') &&"
        " document.querySelectorAll('.strip-word')[2].classList.contains('active')"))

    # A row by its name: typing chooses it, Enter the next one with the same text.
    word = data["rows"][5]
    same = [i for i, name in enumerate(data["rows"]) if word.lower() in name.lower()]
    page.click(*page.middle("#find"))
    for key in word:
        page.press(key)
    check("typing a name chooses its row", page.evaluate("state.row") == same[0], (word, page.evaluate("state.row")))
    page.press("Enter")
    check("Enter chooses the next one", page.evaluate("state.row") == same[1 % len(same)], page.evaluate("state.row"))
    page.press("#")
    check("a name that is not there is said to be wrong",
          page.evaluate("document.getElementById('find').getAttribute('aria-invalid')") == "true")
    page.evaluate("change({row: 2, key: 7})")

    # Another head: by click, then by keyboard; the number of the same cell follows.
    page.click(*page.middle("#grid [aria-label='layer 1, head 3']"))
    page.move(5, 5)
    page.settle()
    head = decode(data, layers[0], layers[0]["weights"][2])
    check("a click on a head changes the readout",
          abs(number_in(page.evaluate(READOUT)) - head[2].get(7, 0)) < 1e-9, page.evaluate(READOUT))
    check("the heading says which", page.evaluate("document.getElementById('detail-title').textContent") == "Layer 1, head 3")
    page.press("ArrowRight")
    head = decode(data, layers[0], layers[0]["weights"][3])
    check("an arrow key does, too", abs(number_in(page.evaluate(READOUT)) - head[2].get(7, 0)) < 1e-9, page.evaluate(READOUT))
    page.press("ArrowDown")
    check("down is the next layer", page.evaluate("state.layer === 1 && state.head === 3"))
    check("focus follows", page.evaluate("document.activeElement.getAttribute('aria-label')") == "layer 2, head 4")

    # Views.
    page.click(*page.middle("#views [data-value=gradient]"))
    page.settle()
    product = decode(data, layers[1], layers[1]["products"][3], True)[2].get(7, 0)
    shown = number_in(page.evaluate(READOUT)) if "." in page.evaluate(READOUT).split("·")[0] else 0
    check("gradient x attention", abs(shown - product) < 0.0005, (page.evaluate(READOUT), product))
    page.press("ArrowLeft")
    check("the arrow key goes back to the rollout", page.evaluate("state.view") == "rollout")
    rollout = decode(data, layers[1], layers[1]["rollout"])[2].get(7, 0)
    check("rollout", abs(number_in(page.evaluate(READOUT)) - rollout) < 1e-9, page.evaluate(READOUT))
    page.press("ArrowLeft")

    # The matrix by keyboard.
    page.evaluate("matrix.canvas.focus()")
    page.press("ArrowDown")
    page.press("ArrowLeft")
    check("arrow keys move from cell to cell", page.evaluate("state.row === 3 && state.key === 6"))
    page.press("+")
    check("+ zooms", page.evaluate("matrix.zoom") > 1 or page.evaluate("matrix.fit.cellWidth") >= 46)
    page.press("0")
    page.press("Escape")
    check("Escape lets go", page.evaluate("state.row < 0 && state.key < 0"))

    # Contributions, the table, the theme.
    page.move(*page.middle(".strip-word:nth-child(2)"))
    wanted = data["contributions"][1]
    shown = page.evaluate(READOUT).split("contribution")[1]
    check("hover a word of the sentence: its contribution", abs(number_in(shown) - wanted) < 0.0005, shown)
    page.click(*page.middle("#top summary"))
    page.settle()
    check("the table has a line for every row", page.evaluate("document.querySelectorAll('#top tbody tr').length") == 12)
    page.click(*page.middle("#theme"))
    check("the button makes it dark", page.evaluate("dark && document.documentElement.dataset.theme === 'dark'"))

    # Everything can be reached by Tab.
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = set()
    for _ in range(40):
        page.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className ||"
                                  " document.activeElement.getAttribute('role') || document.activeElement.tagName"))
    check("Tab reaches all", {"theme", "strip-word", "thumb", "words queries", "words keys", "matrix", "zoom-in"} <= reached or
          {"theme", "thumb", "words queries", "words keys", "matrix"} <= {r.replace(" active", "") for r in reached}, reached)
    page.evaluate("lines.sides[0].focus()")
    page.press("ArrowDown")
    check("words by keyboard", page.evaluate("state.row") >= 0)
    quiet(page, "text, used")
    page.close()


def test_hostile(browser):
    page = browser.open((folder / "hostile.html").as_uri())
    drawn(page)
    check("no element came from a name", page.evaluate("document.querySelectorAll('img, i, main b').length") == 0)
    check("scripts are two", page.evaluate("document.scripts.length") == 2)
    check("the title is as given", page.evaluate("document.title").startswith("</title><script>"))
    for query in range(12):
        page.evaluate(f"change({{row: {query}, key: {query}}})")
        page.settle()
    page.evaluate("document.getElementById('top').open = true")
    page.click(*page.middle("#parts button:last-child"))
    check("the tab of pooling", page.evaluate("part().name") == "pool")
    quiet(page, "hostile, used")
    page.close()


def test_written(browser):
    data = read_data("written")
    page = browser.open((folder / "written.html").as_uri())
    drawn(page)
    source = next(part for part in data["parts"] if part["name"] == "source")["layers"]
    mean = decode(data, source[-1], source[-1]["mean"])
    check("the alignment is first", page.evaluate("part().name") == "source")
    page.click(*page.middle(".strip:last-of-type .strip-word:nth-child(3)"))
    page.move(5, 5)
    shown = page.evaluate("[...document.querySelectorAll('.keys .word .number')].map(e => e.textContent)")
    check("a written word shows its alignment",
          all(abs(float(s or 0) - mean[2].get(key, 0)) < 1e-9 for key, s in enumerate(shown)) and len(shown) == 7, shown)
    for _ in range(2):
        page.press("Tab")
    page.click(*page.middle("#parts button"))
    check("tabs: the encoder", page.evaluate("part().name") == "encoder")
    page.press("ArrowRight")
    check("tabs by arrow key", page.evaluate("part().name") == "decoder")
    quiet(page, "written, used")
    page.close()


# ---- drawings of the input ----

def test_scenes(browser):
    for name, place in (("graph", "svg .node:nth-child(6) circle"), ("molecule", "svg .node:nth-child(6) .hit"),
                        ("large_graph", "svg .node:nth-child(2) circle")):
        page = browser.open((folder / (name + ".html")).as_uri())
        drawn(page)
        page.click(*page.middle(place))
        row = page.evaluate("state.row")
        check(f"{name}: a click chooses a row", row >= 0, row)
        page.settle()
        check(f"{name}: it is chosen in the lines, too",
              page.evaluate(f"document.querySelector('#query-{row}').classList.contains('active')"))
        shown = page.evaluate("[...document.querySelectorAll('svg .ray-number')].map(e => e.textContent).filter(Boolean)")
        wanted = page.evaluate(f"Array.from(rowOf(plane(), {row})).filter(Boolean).map(shown)")
        check(f"{name}: numbers beside the nodes", set(shown) <= set(wanted) and shown, (shown, wanted))
        page.evaluate("document.querySelector('svg').focus()")
        page.press("ArrowRight")
        check(f"{name}: the next by arrow key", page.evaluate("state.row") == row + 1)
        quiet(page, name + ", used")
        page.close()
    for name in ("frames", "grid"):
        page = browser.open((folder / (name + ".html")).as_uri())
        drawn(page)
        x, y = page.middle("#scene canvas[tabindex]")
        page.click(x, y)
        row = page.evaluate("state.row")
        middle = page.evaluate("data.scene.kind === 'grid' ? 24 :"
                               " (frames.canvas.clientWidth / 2 - frames.left) / (frames.canvas.clientWidth - frames.left - 2) * data.scene.rows")
        check(f"{name}: a click chooses the row under it", abs(row - middle) <= 1, (row, middle))
        if name == "grid":  # patches overlap: the corner pixels belong to the first and the last patch
            box = page.evaluate("(() => { const b = grid.canvas.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })()")
            page.click(box[0] + 2, box[1] + 2)
            check("grid: the first corner is the first patch", page.evaluate("state.row") == 0, page.evaluate("state.row"))
            page.click(box[2] - 2, box[3] - 2)
            check("grid: the last corner is the last patch", page.evaluate("state.row === data.rows.length - 1"))
            check("grid: the middles of the patches cover the picture", page.evaluate(
                "(() => { const [x, y] = grid.corner(data.rows.length - 1), i = grid.inset(), s = data.scene;"
                " return x + i + s.stride === s.pixel_width && y + i + s.stride === s.pixel_height; })()"))
            page.click(x, y)
        page.press("ArrowRight")
        check(f"{name}: the next by arrow key", page.evaluate("state.row") == row + 1)
        check(f"{name}: the readout names it", page.evaluate(READOUT + ".includes(data.rows[state.row])"))
        quiet(page, name + ", used")
        page.close()
    page = browser.open((folder / "contributions.html").as_uri())
    check("without attention: contributions alone", page.evaluate(
        "!document.getElementById('detail') && document.querySelectorAll('.strip-word').length === data.rows.length"))
    page.move(*page.middle(".strip-word:nth-child(3)"))
    check("without attention: a number", number_in(page.evaluate(READOUT)) is not None, page.evaluate(READOUT))
    quiet(page, "contributions, used")
    page.close()


# ---- a phone ----

def test_phone(browser):
    page = browser.open((folder / "size.html").as_uri(), 390, 844, touch=True, ratio=2)
    drawn(page)
    page.tap(*page.middle("#query-3 .name"))
    page.settle()
    check("a touch chooses a word", page.evaluate("state.row") == 3)
    x, y = page.middle("#matrix")
    page.pinch(x, y, 60, 240)
    check("two fingers zoom", page.evaluate("matrix.zoom") > 2, page.evaluate("matrix.zoom"))
    quiet(page, "phone")
    page.close()


# ---- 1,000 tokens ----

def test_long(browser):
    firsts = []
    for _ in range(3):
        page = browser.open((folder / "long.html").as_uri())
        page.wait_for("performance.getEntriesByName('first-drawing').length > 0")
        firsts.append(page.evaluate("performance.getEntriesByName('first-drawing')[0].startTime"))
        if len(firsts) < 3:
            page.close()
    drawn(page)
    x, y = page.middle("#matrix")
    page.click(x, y)
    page.evaluate("matrix.frames.length = 0; lines.frames = []; const draw = lines.draw;"
                  " lines.draw = function () { const t = performance.now(); draw.call(this); lines.frames.push(performance.now() - t); };"
                  " window.gaps = []; let before = 0;"
                  " const tick = t => { if (before) gaps.push(t - before); before = t; if (gaps.length < 2000) requestAnimationFrame(tick); };"
                  " requestAnimationFrame(tick); 1")
    for step in range(40):
        page.wheel(x, y, -60 if step < 25 else 60)
    page.settle()
    check("1,000 tokens: the wheel zooms", page.evaluate("matrix.zoom") > 1.5, page.evaluate("matrix.zoom"))
    page.drag(x, y, x - 120, y - 90)
    top = page.evaluate("matrix.top")
    check("1,000 tokens: dragging moves, and the lines follow",
          abs(page.evaluate("lines.place.scrollTop / lines.pitch") - top) < 2, top)
    frames, line_frames = page.evaluate("matrix.frames"), page.evaluate("lines.frames")
    gaps = sorted(page.evaluate("gaps"))
    print(f"1,000 tokens: first drawing {min(firsts):.0f} ms (of {', '.join(f'{t:.0f}' for t in firsts)}); zooming: "
          f"matrix {max(frames):.1f} ms at most, {sum(frames) / len(frames):.1f} on average; "
          f"lines {max(line_frames):.1f} at most; between frames {gaps[len(gaps) // 2]:.1f} median, {gaps[-1]:.1f} at most")
    check("1,000 tokens: first drawing within 2 s", min(firsts) <= 2000, firsts)
    check("1,000 tokens: a frame within 50 ms", sorted(frames)[len(frames) * 9 // 10] <= 50, frames)
    data = read_data("long")
    layer = data["parts"][0]["layers"][-1]
    mean = decode(data, layer, layer["mean"])
    page.move(5, 5)
    page.evaluate("matrix.all(); change({row: 700, key: -1})")
    page.settle()
    page.settle()
    key = max(mean[700], key=mean[700].get)
    check("1,000 tokens: the number of the largest", f"{mean[700][key]:.3f}" in page.evaluate(READOUT), page.evaluate(READOUT))
    check("1,000 tokens: the page says what it holds", "32 largest" in page.evaluate("document.getElementById('view-hint').textContent"))
    check("1,000 tokens: few words exist", page.evaluate("document.querySelectorAll('.word').length") < 120)
    quiet(page, "long, used")
    page.close()


with Browser() as browser_:
    for test in (test_text, test_hostile, test_written, test_scenes, test_phone, test_long, test_every_page):
        test(browser_)
print(f"{checks - failures} of {checks} checks passed")
sys.exit(failures > 0)
