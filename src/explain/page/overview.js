// overview.js: every layer and head as a small picture, to choose from.
"use strict";

const overview = {place: byId("grid"), cells: [], waiting: [], run: 0};

// Columns: the mean over heads first. Of a rollout there is one picture for each layer.
overview.make = function () {
    const layers = part().layers, rollout = state.view === "rollout";
    const heads = rollout ? 0 : Math.max(...layers.map(layer => layer.heads));
    this.place.replaceChildren();
    this.cells = [];
    this.place.style.setProperty("--heads", heads + 1);
    this.place.setAttribute("aria-rowcount", layers.length);
    const names = make("div", "grid-row");
    names.setAttribute("role", "row");
    names.append(make("span", "grid-name"));
    for (let h = -1; h < heads; h++) {
        const name = make("span", "grid-name", rollout ? "rollout" : h < 0 ? "mean" : String(h + 1));
        name.setAttribute("role", "columnheader");
        names.append(name);
    }
    this.place.append(names);
    layers.forEach((layer, l) => {
        const row = make("div", "grid-row");
        row.setAttribute("role", "row");
        const name = make("span", "grid-name", String(layer.layer + 1));
        name.setAttribute("role", "rowheader");
        name.setAttribute("aria-label", "layer " + (layer.layer + 1));
        row.append(name);
        for (let h = -1; h < (rollout ? 0 : layer.heads); h++) row.append(this.cell(l, h));
        this.place.append(row);
    });
};

overview.cell = function (l, h) {
    const button = make("button", "thumb"), canvas = make("canvas");
    button.type = "button";
    button.setAttribute("role", "gridcell");
    button.setAttribute("aria-label", `layer ${layerNumber(l)}, ` + (state.view === "rollout" ? "rollout"
        : h < 0 ? "mean over heads" : `head ${h + 1}`));
    canvas.width = canvas.height = 96;
    button.append(canvas);
    button.addEventListener("click", () => change({layer: l, head: state.view === "rollout" ? state.head : h}));
    this.cells.push({l, h, button, canvas});
    return button;
};

overview.chosen = ({l, h}) => l === state.layer && (h === state.head || state.view === "rollout");

// The chosen one first; a few milliseconds at a time, so that the page stays quick.
overview.draw = function () {
    const run = ++this.run, order = [...this.cells].sort((a, b) => this.chosen(b) - this.chosen(a));
    let next = 0;
    const some = () => {
        const begin = performance.now();
        while (run === this.run && next < order.length && performance.now() - begin < 10) this.picture(order[next++]);
        if (run === this.run && next < order.length) setTimeout(some, 0);
        else if (run === this.run) this.place.dataset.drawn = "yes";
    };
    delete this.place.dataset.drawn;
    setTimeout(some, 0);
};

overview.picture = function ({l, h, canvas}) {
    const from = planeOf(state.part, l, state.view, state.view === "rollout" ? -1 : h), colours = pixelTable(from.signed);
    const width = Math.min(from.keys, 96), height = Math.min(from.queries, 96);
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d"), image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer), steps = new Int16Array(width * height);
    for (let q = 0; q < from.queries; q++) {
        const line = Math.floor(q * height / from.queries) * width;
        for (let i = from.first[q]; i < from.first[q + 1]; i++) {
            const at = line + Math.floor(from.key[i] * width / from.keys), step = Math.round(from.value[i] / from.most * 255);
            if (Math.abs(step) > Math.abs(steps[at])) steps[at] = step;
        }
    }
    for (let i = 0; i < pixels.length; i++) pixels[i] = colours[steps[i] + 255];
    context.putImageData(image, 0, 0);
};

overview.mark = function () {
    for (const cell of this.cells) {
        const is = this.chosen(cell), button = cell.button;
        button.setAttribute("aria-selected", is);
        button.tabIndex = is ? 0 : -1;
    }
};

overview.listen = function () {
    this.place.addEventListener("keydown", event => {
        const at = this.cells.find(cell => cell.button === document.activeElement);
        if (!at) return;
        const layers = part().layers, last = layers[at.l].heads - 1;
        const to = {ArrowUp: [at.l - 1, at.h], ArrowDown: [at.l + 1, at.h], ArrowLeft: [at.l, at.h - 1],
                    ArrowRight: [at.l, at.h + 1], Home: [at.l, -1], End: [at.l, last]}[event.key];
        if (!to) return;
        event.preventDefault();
        const cell = this.cells.find(one => one.l === to[0] && one.h === to[1]);
        if (!cell) return;
        change({layer: cell.l, head: state.view === "rollout" ? state.head : cell.h});
        cell.button.focus();
    });
};

overview.update = function (changed) {
    if (changedAny(changed, "part", "view")) this.make();
    if (changedAny(changed, "part", "view", "theme", "soft")) this.draw();
    if (changedAny(changed, "part", "view", "layer", "head")) this.mark();
};
