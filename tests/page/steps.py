"""The page of steps in a real browser: steps.py PAGE, which test_steps --page wrote.

Its numbers are read back where a reader would see them, and compared with what this script computes from the
numbers in the page.
"""
import base64
import json
import math
import re
import struct
import sys

from chromium import Browser

STEPS = 9


def numbers_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    data = json.loads(re.search(r'id=numbers>(.*?)</script>', text, re.S).group(1))
    for name in ("q", "k", "v", "weights", "output", "result"):
        raw = base64.b64decode(data[name])
        data[name] = struct.unpack("<%df" % (len(raw) // 4), raw)
    return data


def weights_of(data, row, head):
    """The softmax of one row, from q and k alone."""
    width, heads, keys = data["width"], data["heads"], len(data["keys"])
    q = data["q"][(row * heads + head) * width:][:width]
    given = data["weights"][(head * len(data["rows"]) + row) * keys:][:keys]
    scores = [data["scale"] * sum(a * b for a, b in zip(q, data["k"][(j * heads + head) * width:][:width]))
              for j in range(keys)]
    seen = [weight > 0 for weight in given]
    total = sum(math.exp(score) for score, one in zip(scores, seen) if one)
    return [math.exp(score) / total if one else 0 for score, one in zip(scores, seen)]


def shown_weights(page):
    texts = page.evaluate("[...document.querySelectorAll('#stage table.keys tbody tr')]"
                          ".map(row => row.lastElementChild.querySelector('.number').textContent)")
    return [float(text.replace("−", "-")) for text in texts]


def compare(page, data, row, head):
    for shown, wanted in zip(shown_weights(page), weights_of(data, row, head), strict=True):
        assert abs(shown - wanted) <= 0.0005, (shown, wanted)


def check_steps(page, data):
    assert page.evaluate("document.querySelectorAll('.step').length") == 1
    for step in range(1, STEPS + 1):
        assert page.evaluate("document.querySelector('.step').id") == f"step-{step}"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), step
        assert page.evaluate("document.querySelector('.formula').textContent.length > 3"), step
        assert "object" not in page.evaluate("document.querySelector('#stage').textContent"), step
        if step == 6:
            compare(page, data, data["row"], data["head"])
        page.press("ArrowRight")
    page.press("ArrowLeft")
    assert page.evaluate("document.querySelector('.step').id") == f"step-{STEPS - 1}"


def check_choices(page, data):
    page.press("Home")
    x, y = page.middle(".sentence button:nth-child(5)")
    page.click(x, y)  # another row, by its name
    for _ in range(5):
        page.press("ArrowRight")
    compare(page, data, 4, data["head"])
    page.evaluate("(() => { const s = document.getElementById('head-select'); s.value = '0';"
                  " s.dispatchEvent(new Event('change')); })()")
    compare(page, data, 4, 0)


def check_hover(page, data):
    """A number of q, by the pointer and by the keyboard."""
    page.press("Home")
    page.press("ArrowRight")
    page.press("ArrowRight")
    x, y = page.middle("canvas")
    page.move(x, y)
    assert page.evaluate("getComputedStyle(document.getElementById('tip')).display") == "block"
    assert re.search(r"\[\d+\] = −?\d", page.evaluate("document.getElementById('tip').textContent"))
    page.evaluate("document.querySelector('canvas').focus()")
    page.press("ArrowDown")
    said = page.evaluate("document.getElementById('live').textContent")
    assert said.startswith("product["), said  # the line below the pointer's, which is k
    assert page.evaluate("document.querySelector('.step').id") == "step-3"
    page.press("Escape")


def check_all(page):
    x, y = page.middle("#bottom button:last-child")
    page.click(x, y)
    assert page.evaluate("document.querySelectorAll('.step').length") == STEPS
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.click(*page.middle("#bottom button:last-child"))
    assert page.evaluate("document.querySelectorAll('.step').length") == 1


def check_names(page, data):
    """Names are text and nothing else."""
    assert page.evaluate("document.querySelectorAll('img, iframe, link, object').length") == 0
    assert page.evaluate("window.harmed === undefined")
    names = page.evaluate("[...document.querySelectorAll('#row-select option')].map(o => o.textContent)")
    assert any("<img" in name for name in names), names
    unnamed = page.evaluate("[...document.querySelectorAll('canvas, select, button')].filter(e =>"
                            " !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).length")
    assert unnamed == 0


def check_print(page):
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('.step').length") == STEPS
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('.step').length") == 1


def main(path):
    data = numbers_of(path)
    with Browser() as browser:
        for width, dark in ((1440, False), (390, True)):
            page = browser.open("file://" + path, width=width, height=844, dark=dark, touch=width < 700)
            check_steps(page, data)
            check_choices(page, data)
            check_hover(page, data)
            check_all(page)
            check_names(page, data)
            check_print(page)
            assert not page.messages, page.messages
            assert page.requests == [page.address], page.requests
            page.close()
        page = browser.open("about:blank")
        page.call("Emulation.setScriptExecutionDisabled", {"value": True})
        page.load("file://" + path)
        tables = page.call("DOM.getDocument", {"depth": -1})
        assert json.dumps(tables).count('"TABLE"') >= 4, "without scripting there are tables"
    print("the page of steps: all is well")


main(sys.argv[1])
