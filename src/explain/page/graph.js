// graph.js: nodes and edges. Of a large graph the neighbourhood of the chosen node.
"use strict";

const graph = {nodes: [], place: null};

graph.make = function (place) {
    this.place = place;
    this.svg = makeDrawn("svg", {role: "application", tabindex: "0", class: "drawing",
                                 "aria-label": `Drawing of the ${unit}s; the left and right arrow keys choose one`});
    place.append(this.svg);
    this.neighbours = Array.from({length: data.scene.rows}, () => []);
    data.scene.from.forEach((a, e) => {
        const b = data.scene.to[e];
        if (a === b) return;
        this.neighbours[a].push(b);
        this.neighbours[b].push(a);
    });
    this.svg.addEventListener("keydown", event => rowKeys(event, data.scene.rows));
    this.svg.addEventListener("click", event => {
        if (!event.target.closest(".node") && state.row >= 0) chooseInput(state.row);
    });
    this.arrange();
};

// Which nodes are drawn, and where, in 0 .. 1.
graph.arrange = function () {
    const scene = data.scene;
    if (scene.x) this.places = new Map(scene.x.map((x, i) => [i, [x, scene.y[i]]]));
    else {
        this.centre = state.row >= 0 && queriesAreRows() ? state.row : this.centre || 0;
        this.places = this.around(this.centre, scene.most || 60);
    }
};

// The node in the middle, its neighbours on a ring, theirs on the next: every branch has its sector.
graph.around = function (centre, most) {
    const depth = new Map([[centre, 0]]), children = new Map(), order = [centre];
    for (let i = 0; i < order.length && order.length < most; i++) {
        for (const next of this.neighbours[order[i]]) {
            if (depth.has(next) || order.length >= most) continue;
            depth.set(next, depth.get(order[i]) + 1);
            children.set(order[i], [...(children.get(order[i]) || []), next]);
            order.push(next);
        }
    }
    const leaves = new Map(), deepest = Math.max(1, ...depth.values());
    for (const node of [...order].reverse())
        leaves.set(node, (children.get(node) || []).reduce((sum, child) => sum + leaves.get(child), 0) ||
            deepest / (depth.get(node) || 1)); // rings near the middle are short
    const places = new Map();
    const put = (node, begin, end) => {
        const angle = (begin + end) / 2, radius = depth.get(node) / deepest / 2;
        places.set(node, [0.5 + radius * Math.cos(angle), 0.5 + radius * Math.sin(angle)]);
        let at = begin;
        for (const child of children.get(node) || []) {
            const size = (end - begin) * leaves.get(child) / leaves.get(node);
            put(child, at, at + size);
            at += size;
        }
    };
    put(centre, -Math.PI / 2, Math.PI * 1.5);
    return places;
};

graph.build = function () {
    const count = this.places.size, all = [...this.places.values()];
    const xs = all.map(p => p[0]), ys = all.map(p => p[1]);
    const x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
    const width = Math.max(this.place.clientWidth, 160);
    const height = Math.min(Math.max(width * (y1 - y0) / (x1 - x0 || 1), 200) + 30, width * 0.95, 560);
    this.radius = Math.min(Math.max(Math.sqrt(width * height / count) * 0.16, 3.5), 15);
    const pad = this.radius + 16;
    const sx = (width - 2 * pad) / (x1 - x0 || 1), sy = (height - 2 * pad) / (y1 - y0 || 1), s = Math.min(sx, sy);
    this.at = new Map([...this.places].map(([i, [x, y]]) =>
        [i, [width / 2 + (x - (x0 + x1) / 2) * s, height / 2 + (y - (y0 + y1) / 2) * s]]));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = height + "px";
    this.svg.replaceChildren();
    this.edgeGroup = makeDrawn("g", {});
    this.rayGroup = makeDrawn("g", {});
    this.nodeGroup = makeDrawn("g", {});
    this.svg.append(this.edgeGroup, this.rayGroup, this.nodeGroup);
    this.edges = [];
    data.scene.from.forEach((a, e) => {
        const b = data.scene.to[e], pa = this.at.get(a), pb = this.at.get(b);
        if (!pa || !pb || a === b) return;
        const line = makeDrawn("line", {x1: pa[0], y1: pa[1], x2: pb[0], y2: pb[1]});
        this.edgeGroup.append(line);
        this.edges.push({a, b, line});
    });
    this.nodes = [...this.at].map(([i, [x, y]]) => this.node(i, x, y));
};

graph.node = function (i, x, y) {
    const group = makeDrawn("g", {class: "node", transform: `translate(${x},${y})`});
    const name = data.rows[i] === undefined ? String(i + 1) : data.rows[i];
    const letters = Array.from(name).length, inside = letters <= 2 ? this.radius > 8 : letters === 3 && this.radius > 10;
    const circle = makeDrawn("circle", {r: this.radius});
    const text = makeDrawn("text", {y: inside ? 0 : this.radius + 11, "text-anchor": "middle",
                                    "dominant-baseline": "central", direction: "auto"},
                           Array.from(name).slice(0, 24).join(""));
    if (inside && letters === 3) text.style.fontSize = "10px";
    const number = makeDrawn("text", {y: -this.radius - 9, "text-anchor": "middle", class: "ray-number"});
    const answer = data.answers.length === data.rows.length && data.answers.length > 1 ? ": " + data.answers[i] : "";
    group.append(makeDrawn("title", {}, name + answer), circle, text, number);
    group.addEventListener("pointerenter", event => event.pointerType === "mouse" && overInput(i));
    group.addEventListener("pointerleave", leave);
    group.addEventListener("click", () => chooseInput(i));
    this.nodeGroup.append(group);
    return {i, group, circle, text, number, inside};
};

graph.update = function (changed) {
    const moved = !data.scene.x && changed.has("row") && state.row >= 0;
    if (moved) this.arrange();
    if (moved || changed.has("size")) this.build();
    const from = parts.length && queriesAreRows() && keysAreRows() ? plane() : null, at = inputRow();
    const strongest = from ? from.most : 1, numbers = colourNumbers();
    for (const {a, b, line} of this.edges) {
        const ab = from ? numberAt(from, a, b) : 0, ba = from ? numberAt(from, b, a) : 0;
        const t = (Math.abs(ab) > Math.abs(ba) ? ab : ba) / strongest;
        line.style.stroke = from && at < 0 && t !== 0 ? css(mix(colourOf(t, from.signed), dark ? [90, 100, 112] : [190, 198, 206],
            Math.max(0, 0.5 - Math.abs(t)))) : "var(--line)";
        line.style.strokeWidth = at < 0 ? 1 + 4 * Math.abs(t) : 1;
    }
    const row = from && at >= 0 ? rowOf(from, at) : parts.length && at < 0 && active().q >= 0 ? inputWeights() : null;
    this.rayGroup.replaceChildren();
    const few = row ? largest(row, 12) : [];
    for (const {i, group, circle, text, number, inside} of this.nodes) {
        const rgb = numbers ? colourOf(numbers.of[i] / numbers.most, numbers.signed) : null;
        circle.style.fill = rgb ? css(rgb) : "var(--panel)";
        group.classList.toggle("active", i === at);
        const near = row && row[i] !== 0;
        text.style.fill = inside && rgb ? inkOn(rgb) : "var(--ink)";
        text.style.display = inside || this.nodes.length <= 40 || i === at || (near && few.includes(i)) ? "" : "none";
        group.classList.toggle("faint", !!row && !near && i !== at);
        number.textContent = near && few.includes(i) ? shown(row[i]) : "";
        if (near && i !== at && this.at.has(at)) this.ray(at, i, row[i] / strongest, from.signed);
        circle.style.strokeWidth = near && i === at ? 1.5 + 5 * Math.abs(row[i] / strongest) : "";
    }
};

graph.ray = function (a, b, t, signed) {
    const pa = this.at.get(a), pb = this.at.get(b), scale = dark ? scales.dark : scales.light;
    const rgb = signed ? (t < 0 ? scale.below : scale.above) : dark ? [107, 174, 214] : [33, 102, 172];
    const line = makeDrawn("line", {x1: pa[0], y1: pa[1], x2: pb[0], y2: pb[1], "stroke-linecap": "round"});
    line.style.stroke = css(rgb, 0.15 + 0.85 * Math.min(1, Math.abs(t)));
    line.style.strokeWidth = 1 + 7 * Math.abs(t);
    this.rayGroup.append(line);
};

// Arrow keys in a drawing of the input: the next row and the one before; `across` rows up and down.
function rowKeys(event, count, across = 1) {
    const chosen = parts.length && !queriesAreRows() ? state.key : state.row;
    const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across}[event.key];
    if (event.key === "Escape") change({row: -1, key: -1, overRow: -1, overKey: -1});
    else if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    else {
        const to = chosen < 0 ? 0 : chosen + step;
        if (to >= 0 && to < count && to !== chosen) chooseInput(to);
    }
    event.preventDefault();
}
