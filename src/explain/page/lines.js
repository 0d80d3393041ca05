// lines.js: lines between words: queries on the left, keys on the right; only the words in view exist.
"use strict";

const lines = {
    place: byId("lines"),
    space: byId("lines").querySelector(".lines-space"),
    canvas: byId("lines").querySelector("canvas"),
    sides: [...byId("lines").querySelectorAll(".words")],
    pitch: 24,
    shown: [new Map(), new Map()], // elements of words, by number
    waiting: false, following: false,
};

lines.measure = function () {
    const {queries, keys} = layerData(), most = Math.max(queries, keys), small = window.innerWidth < 760;
    this.pitch = small ? 28 : Math.min(38, Math.max(26, Math.round(560 / most)));
    this.height = most * this.pitch;
    this.space.style.height = this.height + "px";
    this.place.style.height = Math.min(this.height + 4, small ? 448 : 624) + "px";
    this.sides.forEach((side, s) => {
        side.replaceChildren();
        this.shown[s].clear();
        const width = this.columnWidth(s ? keys : queries, s ? keyName : queryName);
        side.style.width = width + "px";
        byId(s ? "lines-right" : "lines-left").style.width = width + "px";
        side.setAttribute("aria-label", s ? "Keys: what is looked at" : "Queries: what looks");
    });
};

// As wide as the longest name and a number beside it, if that leaves room for lines.
lines.columnWidth = function (count, name) {
    const context = this.canvas.getContext("2d");
    context.font = "14px " + variable("--font");
    const width = widest(context, count, name);
    const room = this.place.clientWidth;
    return Math.round(Math.min(width + (room < 420 ? 62 : 84), room * 0.37));
};

lines.window = function () {
    const {queries} = layerData(), top = this.place.scrollTop;
    return {q0: Math.max(0, Math.floor(top / this.pitch)),
            q1: Math.min(queries, Math.ceil((top + this.place.clientHeight) / this.pitch))};
};

// Makes the words that came into view, and removes those that left it.
lines.placeWords = function (top, height) {
    const begin = Math.max(0, Math.floor(top / this.pitch) - 4), end = Math.ceil((top + height) / this.pitch) + 4;
    this.sides.forEach((side, s) => {
        const count = s ? layerData().keys : layerData().queries, map = this.shown[s];
        for (const [i, element] of map) {
            if (i >= begin && i < end) continue;
            element.word.remove();
            map.delete(i);
        }
        for (let i = begin; i < Math.min(end, count); i++) {
            if (map.has(i)) continue;
            const word = make("div", "word");
            word.id = (s ? "key-" : "query-") + i;
            word.setAttribute("role", "option");
            word.setAttribute("aria-posinset", i + 1);
            word.setAttribute("aria-setsize", count);
            word.style.top = (i + 0.5) * this.pitch - 12 + "px";
            const name = make("bdi", "name", s ? keyName(i) : queryName(i));
            name.title = name.textContent;
            const number = make("span", "number");
            word.append(...(s ? [name, number] : [number, name]));
            word.dataset.index = i;
            side.append(word);
            map.set(i, {word, number});
        }
    });
};

lines.schedule = function () {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
        this.waiting = false;
        this.draw();
    });
};

lines.draw = function () {
    const {q, k} = active(), from = plane(), window_ = this.window();
    const width = this.place.clientWidth, height = this.place.clientHeight, top = this.place.scrollTop;
    const x0 = this.sides[0].offsetWidth + 4, x1 = width - this.sides[1].offsetWidth - 4, middle = (x0 + x1) / 2;
    this.placeWords(top, height);
    const context = sized(this.canvas, width, height);
    this.canvas.style.width = width + "px";
    this.canvas.style.transform = `translateY(${top}px)`;
    // Of all words together, the more lines there are, the fainter is each.
    const faint = q >= 0 || k >= 0 ? 1 : Math.min(1, Math.max(0.12, 12 * from.queries / Math.max(1, from.key.length)));
    const line = (a, b, t) => {
        const size = Math.abs(t);
        const scale = dark ? scales.dark : scales.light;
        const rgb = from.signed ? (t < 0 ? scale.below : scale.above) : dark ? [107, 174, 214] : [33, 102, 172];
        const y0 = (a + 0.5) * this.pitch - top, y1 = (b + 0.5) * this.pitch - top;
        if ((y0 < -20 && y1 < -20) || (y0 > height + 20 && y1 > height + 20)) return;
        context.strokeStyle = css(rgb, Math.min(1, 0.04 + 0.96 * size ** 1.4) * (size > 0.8 ? 1 : faint));
        context.lineWidth = 0.6 + 6.4 * size;
        context.beginPath();
        context.moveTo(x0, y0);
        context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
        context.stroke();
    };
    const all = q < 0 && k < 0, least = !all ? 0.002 : from.keys > 60 ? 0.05 : 0.02, margin = 1;
    const seen = key => (key + 1) * this.pitch > top && key * this.pitch < top + height;
    const begin = q >= 0 ? q : k >= 0 ? 0 : Math.max(0, window_.q0 - margin);
    const end = q >= 0 ? q + 1 : k >= 0 ? from.queries : Math.min(from.queries, window_.q1 + margin);
    context.lineCap = "round";
    // Of one word only: its largest is the full line.
    let most = all ? from.most : 0;
    if (q >= 0) for (let e = from.first[q]; e < from.first[q + 1]; e++) most = Math.max(most, Math.abs(from.value[e]));
    else if (k >= 0) for (const number of columnOf(from, k)) most = Math.max(most, Math.abs(number));
    for (let i = begin; i < end; i++) {
        for (let e = from.first[i]; e < from.first[i + 1]; e++) {
            const t = from.value[e] / (most || 1);
            if (Math.abs(t) < least || (q < 0 && k >= 0 && from.key[e] !== k)) continue;
            if (all && Math.abs(t) < 0.3 && !seen(from.key[e])) continue;
            line(i, from.key[e], q >= 0 && k >= 0 && from.key[e] !== k ? t * 0.25 : t);
        }
    }
    this.mark(q, k, from);
};

// Numbers beside the words, and which of them are active.
lines.mark = function (q, k, from) {
    const row = q >= 0 ? rowOf(from, q) : null, column = q < 0 && k >= 0 ? columnOf(from, k) : null;
    this.shown.forEach((map, s) => {
        const numbers = s ? row : column;
        for (const [i, {word, number: place}] of map) {
            const is = i === (s ? k : q), number = numbers ? numbers[i] : 0;
            place.textContent = numbers && number !== 0 ? shown(number) : "";
            word.classList.toggle("active", is);
            word.classList.toggle("faint", !!numbers && number === 0 && !is);
            word.style.backgroundColor = numbers && number !== 0
                ? css(colourOf(number / from.most, from.signed), 1) : "";
            word.style.color = numbers && number !== 0 ? inkOn(colourOf(number / from.most, from.signed)) : "";
            word.setAttribute("aria-selected", i === (s ? state.key : state.row));
        }
        const chosen = s ? state.key : state.row;
        if (map.has(chosen)) this.sides[s].setAttribute("aria-activedescendant", map.get(chosen).word.id);
        else this.sides[s].removeAttribute("aria-activedescendant");
    });
};

lines.scrollToRow = function (row) {
    const to = Math.round(row * this.pitch);
    if (Math.abs(this.place.scrollTop - to) < 2) return;
    this.following = true;
    this.place.scrollTop = to;
};
lines.reveal = function (i) {
    const top = i * this.pitch, place = this.place;
    if (top < place.scrollTop || top + this.pitch > place.scrollTop + place.clientHeight)
        place.scrollTop = top - place.clientHeight / 2;
};

lines.listen = function () {
    this.place.addEventListener("scroll", () => {
        this.schedule();
        if (!this.following) matrix.scrollToRow(this.place.scrollTop / this.pitch);
        this.following = false;
    }, {passive: true});
    this.sides.forEach((side, s) => {
        const at = event => {
            const word = event.target.closest(".word");
            return word ? Number(word.dataset.index) : -1;
        };
        side.addEventListener("pointermove", event => {
            if (event.pointerType !== "mouse") return;
            change(s ? {overRow: -1, overKey: at(event)} : {overRow: at(event), overKey: -1});
        });
        side.addEventListener("pointerleave", leave);
        side.addEventListener("click", event => {
            const i = at(event);
            if (i >= 0) this.choose(s, i, true);
        });
        side.addEventListener("focus", () => {
            if (state.row < 0 && state.key < 0 && side.matches(":focus-visible")) this.choose(s, 0, false);
        });
        side.addEventListener("keydown", event => this.key(event, s));
    });
};
lines.choose = function (s, i, toggle) {
    const off = toggle && i === (s ? state.key : state.row) && (s ? state.row : state.key) < 0;
    change({row: s || off ? -1 : i, key: s && !off ? i : -1, overRow: -1, overKey: -1});
};
lines.key = function (event, s) {
    const count = s ? layerData().keys : layerData().queries, at = s ? state.key : state.row;
    const page = Math.max(1, Math.floor(this.place.clientHeight / this.pitch) - 1);
    const to = {ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: count - 1, PageUp: at - page, PageDown: at + page};
    if (event.key === "Escape") change({row: -1, key: -1, overRow: -1, overKey: -1});
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.sides[event.key === "ArrowLeft" ? 0 : 1].focus();
    else if (event.key in to) {
        const i = Math.min(Math.max(to[event.key], 0), count - 1);
        this.choose(s, i, false);
        this.reveal(i);
    } else return;
    event.preventDefault();
};

lines.update = function (changed) {
    if (changedAny(changed, "part", "size")) this.measure();
    if (changed.has("colour") && changed.size === 1) return;
    this.schedule();
};
