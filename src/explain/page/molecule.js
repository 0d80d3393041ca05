// molecule.js: atoms and bonds as chemists draw them; weights on bonds, contributions or weights on atoms.
"use strict";

const molecule = {};

molecule.make = function (place) {
    this.place = place;
    this.svg = makeDrawn("svg", {role: "application", tabindex: "0", class: "drawing",
                                 "aria-label": "Drawing of the molecule; the left and right arrow keys choose an atom"});
    place.append(this.svg);
    this.svg.addEventListener("keydown", event => rowKeys(event, data.scene.rows));
    this.svg.addEventListener("click", event => {
        if (!event.target.closest(".node") && state.row >= 0) chooseInput(state.row);
    });
    this.neighbours = Array.from({length: data.scene.rows}, () => []);
    data.scene.from.forEach((a, e) => {
        this.neighbours[a].push(data.scene.to[e]);
        this.neighbours[data.scene.to[e]].push(a);
    });
};

molecule.build = function () {
    const scene = data.scene, width = Math.max(this.place.clientWidth, 160);
    const x0 = Math.min(...scene.x), x1 = Math.max(...scene.x), y0 = Math.min(...scene.y), y1 = Math.max(...scene.y);
    const unitSize = this.unit = Math.min(60, (width - 24) / (x1 - x0 + 2), 520 / (y1 - y0 + 2));
    const height = (y1 - y0 + 2) * unitSize + 16;
    this.at = scene.x.map((x, i) => [width / 2 + (x - (x0 + x1) / 2) * unitSize, height / 2 - (scene.y[i] - (y0 + y1) / 2) * unitSize]);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = height + "px";
    this.svg.replaceChildren();
    this.halos = makeDrawn("g", {});
    this.glows = makeDrawn("g", {});
    const bonds = makeDrawn("g", {class: "bonds"}), atoms = makeDrawn("g", {});
    this.svg.append(this.glows, this.halos, bonds, atoms);
    bonds.style.strokeWidth = Math.max(1.1, unitSize / 24);
    this.bonds = scene.from.map((a, e) => this.bond(bonds, a, scene.to[e], scene.order ? scene.order[e] : 1));
    this.atoms = this.at.map((p, i) => this.atom(atoms, i, p));
};

molecule.labelled = function (i) {
    const scene = data.scene;
    return scene.symbols[i] !== "C" || scene.charge[i] !== 0 || this.neighbours[i].length === 0;
};

molecule.bond = function (group, a, b, order) {
    const pa = this.at[a], pb = this.at[b], dx = pb[0] - pa[0], dy = pb[1] - pa[1], length = Math.hypot(dx, dy) || 1;
    const ux = dx / length, uy = dy / length, gap = this.unit * 0.15;
    const glow = makeDrawn("line", {x1: pa[0], y1: pa[1], x2: pb[0], y2: pb[1], "stroke-linecap": "round"});
    this.glows.append(glow);
    const cutA = this.labelled(a) ? this.unit * 0.26 : 0, cutB = this.labelled(b) ? this.unit * 0.26 : 0;
    const line = (shift, shorter) => group.append(makeDrawn("line", {
        x1: pa[0] + ux * (cutA + (cutA ? 0 : shorter)) - uy * shift, y1: pa[1] + uy * (cutA + (cutA ? 0 : shorter)) + ux * shift,
        x2: pb[0] - ux * (cutB + (cutB ? 0 : shorter)) - uy * shift, y2: pb[1] - uy * (cutB + (cutB ? 0 : shorter)) + ux * shift,
        "stroke-linecap": "round"}));
    // The second line of a double bond lies on the side where most neighbours are: inside a ring.
    let side = 0;
    for (const [end, other] of [[a, b], [b, a]])
        for (const n of this.neighbours[end])
            if (n !== other) side += Math.sign(ux * (this.at[n][1] - pa[1]) - uy * (this.at[n][0] - pa[0]));
    const ends = Math.min(this.neighbours[a].length, this.neighbours[b].length);
    if (order === 2 && (ends === 1 || (side === 0 && ends < 2))) {
        line(gap / 2, 0);
        line(-gap / 2, 0);
    } else {
        line(0, 0);
        if (order === 2) line(side >= 0 ? gap : -gap, this.unit * 0.12);
        if (order === 3) {
            line(gap, 0);
            line(-gap, 0);
        }
    }
    return {a, b, glow};
};

molecule.atom = function (group, i, [x, y]) {
    const scene = data.scene, size = Math.max(9, this.unit * 0.36);
    const node = makeDrawn("g", {class: "node atom", transform: `translate(${x},${y})`});
    const halo = makeDrawn("circle", {cx: x, cy: y, r: this.unit * 0.36, class: "halo"});
    this.halos.append(halo);
    node.append(makeDrawn("title", {}, data.rows[i] === undefined ? scene.symbols[i] : data.rows[i]),
                makeDrawn("circle", {r: this.unit * 0.4, class: "hit"}));
    const ring = makeDrawn("circle", {r: this.unit * 0.4, class: "ring"});
    const number = makeDrawn("text", {y: -this.unit * 0.46, "text-anchor": "middle", class: "ray-number"});
    const text = this.labelled(i) ? this.label(i, size) : null;
    node.append(ring, ...(text ? [text] : []), number);
    node.addEventListener("pointerenter", event => event.pointerType === "mouse" && overInput(i));
    node.addEventListener("pointerleave", leave);
    node.addEventListener("click", () => chooseInput(i));
    group.append(node);
    return {i, node, halo, text, number};
};

// NH₂ and H₂N, as the neighbours leave room; isotopes and charges raised.
molecule.label = function (i, size) {
    const scene = data.scene, [, isotope, symbol] = /^(\d*)(.*)$/.exec(scene.symbols[i]);
    const hydrogens = scene.hydrogens[i], charge = scene.charge[i];
    const right = this.neighbours[i].reduce((sum, n) => sum + this.at[n][0] - this.at[i][0], 0);
    const flip = right > this.unit * 0.3 && hydrogens > 0, half = size * 0.33 * symbol.length;
    const text = makeDrawn("text", {"text-anchor": flip ? "end" : "start", x: flip ? half : -half,
                                    y: size * 0.36});
    text.style.fontSize = size + "px";
    const piece = (content, shift) => {
        const span = makeDrawn("tspan", shift ? {"font-size": size * 0.68, dy: shift} : {}, content);
        text.append(span);
        if (shift) text.append(makeDrawn("tspan", {dy: -shift, "font-size": size}, "\u200b"));
    };
    const own = () => {
        if (isotope) piece(isotope, -size * 0.35);
        piece(symbol, 0);
    };
    const hydrogen = () => {
        if (!hydrogens) return;
        piece("H", 0);
        if (hydrogens > 1) piece(String(hydrogens), size * 0.22);
    };
    if (flip) {
        hydrogen();
        own();
    } else {
        own();
        hydrogen();
    }
    if (charge) piece((Math.abs(charge) > 1 ? Math.abs(charge) : "") + (charge > 0 ? "+" : "−"), -size * 0.35);
    return text;
};

molecule.update = function (changed) {
    if (changed.has("size")) this.build();
    const from = parts.length && queriesAreRows() && keysAreRows() ? plane() : null, at = inputRow(), numbers = colourNumbers();
    const row = from && at >= 0 ? rowOf(from, at) : null, few = row ? largest(row, 12) : [];
    for (const {a, b, glow} of this.bonds) {
        const ab = from ? numberAt(from, a, b) : 0, ba = from ? numberAt(from, b, a) : 0;
        const value = at < 0 ? (Math.abs(ab) > Math.abs(ba) ? ab : ba) : at === a ? ab : at === b ? ba : 0;
        glow.style.stroke = from && value !== 0 ? css(colourOf(value / from.most, from.signed)) : "none";
        glow.style.strokeWidth = this.unit * 0.34;
    }
    for (const {i, node, halo, text, number} of this.atoms) {
        const t = numbers ? numbers.of[i] / numbers.most : 0, rgb = colourOf(t, numbers && numbers.signed);
        const full = colourOf(Math.sign(t), numbers && numbers.signed);
        halo.style.fill = t !== 0 && !numbers.signed ? css(rgb, Math.min(1, 4 * t)) : t !== 0 ? css(full, (state.soft ? Math.sqrt(Math.abs(t)) : Math.abs(t)) * 0.95) : "none";
        if (text) text.style.fill = Math.abs(t) > 0.1 ? inkOn(rgb) : "var(--ink)";
        node.classList.toggle("active", i === at);
        number.textContent = row && few.includes(i) ? shown(row[i]) : "";
    }
};
