// matrix.js: the numbers as a matrix: a bitmap made once for a head, drawn at any zoom; names along the axes.
"use strict";

const matrix = {
    canvas: byId("matrix"),
    bitmap: null,
    zoom: 1,         // 1: all of it
    left: 0, top: 0, // the first cell that is shown, in cells
    fit: null,       // margins and sizes at this width
    waiting: false,
    frames: [],      // how long the last drawings took, in milliseconds
};
const bitmapMost = 2048;

matrix.makeBitmap = function () {
    const from = plane(), colours = pixelTable(from.signed);
    const across = Math.max(1, Math.ceil(from.keys / bitmapMost)), down = Math.max(1, Math.ceil(from.queries / bitmapMost));
    const width = Math.ceil(from.keys / across), height = Math.ceil(from.queries / down);
    const canvas = this.bitmap || document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d"), image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer), steps = new Int16Array(width * height);
    for (let q = 0; q < from.queries; q++) {
        const line = Math.floor(q / down) * width;
        for (let i = from.first[q]; i < from.first[q + 1]; i++) {
            const at = line + (across === 1 ? from.key[i] : Math.floor(from.key[i] / across));
            const step = Math.round(from.value[i] / from.most * 255);
            if (Math.abs(step) > Math.abs(steps[at])) steps[at] = step;
        }
    }
    for (let i = 0; i < pixels.length; i++) pixels[i] = colours[steps[i] + 255];
    context.putImageData(image, 0, 0);
    this.bitmap = canvas;
};

// Margins for names, and the size of a cell when all are shown.
matrix.measure = function () {
    const {queries, keys} = layerData(), width = this.canvas.clientWidth, small = width < 420;
    const context = this.canvas.getContext("2d");
    context.font = "600 12px " + variable("--font");
    const across = widest(context, queries, queryName), down = widest(context, keys, keyName);
    const marginLeft = Math.min(across + 12, small ? 76 : 120);
    const plotWidth = width - marginLeft - 2;
    const cellWidth = Math.min(plotWidth / keys, 46);
    const marginTop = down < cellWidth - 6 ? 26 : Math.min(down + 12, small ? 76 : 110);
    const cellHeight = Math.min(Math.max(cellWidth, queries < 12 ? 26 : 0), plotWidth / queries, 46);
    this.fit = {width, marginLeft, marginTop, down, cellWidth, cellHeight: Math.max(cellHeight, 0.05),
                plotWidth: cellWidth * keys, plotHeight: cellHeight * queries};
};

matrix.cell = function () {
    return {width: this.fit.cellWidth * this.zoom, height: this.fit.cellHeight * this.zoom};
};

matrix.keepInside = function () {
    const {queries, keys} = layerData(), most = Math.max(1, 48 / Math.min(this.fit.cellWidth, this.fit.cellHeight));
    this.zoom = Math.min(Math.max(this.zoom, 1), most);
    this.left = Math.min(Math.max(this.left, 0), keys - keys / this.zoom);
    this.top = Math.min(Math.max(this.top, 0), queries - queries / this.zoom);
    this.canvas.style.touchAction = this.zoom > 1 ? "none" : "pan-y";
    this.canvas.style.cursor = this.zoom > 1 ? "grab" : "crosshair";
};

matrix.schedule = function () {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
        this.waiting = false;
        this.draw();
    });
};

matrix.draw = function () {
    const begin = performance.now();
    if (!this.fit || this.fit.width !== this.canvas.clientWidth) this.measure();
    this.keepInside();
    const fit = this.fit, cell = this.cell(), {queries, keys} = layerData();
    const context = sized(this.canvas, fit.width, fit.marginTop + fit.plotHeight + 2);
    const scaleX = this.bitmap.width / keys, scaleY = this.bitmap.height / queries;
    context.imageSmoothingEnabled = cell.width < 1 || cell.height < 1;
    context.save();
    context.beginPath();
    context.rect(fit.marginLeft, fit.marginTop, fit.plotWidth, fit.plotHeight);
    context.clip();
    context.drawImage(this.bitmap, this.left * scaleX, this.top * scaleY, keys / this.zoom * scaleX,
                      queries / this.zoom * scaleY, fit.marginLeft, fit.marginTop, fit.plotWidth, fit.plotHeight);
    this.drawCells(context, cell);
    this.drawActive(context, cell);
    context.restore();
    context.strokeStyle = variable("--line");
    context.strokeRect(fit.marginLeft - 0.5, fit.marginTop - 0.5, fit.plotWidth + 1, fit.plotHeight + 1);
    this.drawNames(context, cell);
    this.drawWindow(context, cell);
    this.frames.push(performance.now() - begin);
    if (this.frames.length > 200) this.frames.shift();
};

matrix.visible = function (cell) {
    const {queries, keys} = layerData();
    return {q0: Math.floor(this.top), q1: Math.min(queries, Math.ceil(this.top + this.fit.plotHeight / cell.height)),
            k0: Math.floor(this.left), k1: Math.min(keys, Math.ceil(this.left + this.fit.plotWidth / cell.width))};
};
matrix.x = function (k, cell) { return this.fit.marginLeft + (k - this.left) * cell.width; };
matrix.y = function (q, cell) { return this.fit.marginTop + (q - this.top) * cell.height; };

// Gaps between large cells, and in the largest their numbers.
matrix.drawCells = function (context, cell) {
    if (cell.width < 14 || cell.height < 14) return;
    const {q0, q1, k0, k1} = this.visible(cell), from = plane();
    context.strokeStyle = variable("--panel");
    context.lineWidth = 1;
    context.beginPath();
    for (let q = q0; q <= q1; q++) {
        context.moveTo(this.x(k0, cell), this.y(q, cell));
        context.lineTo(this.x(k1, cell), this.y(q, cell));
    }
    for (let k = k0; k <= k1; k++) {
        context.moveTo(this.x(k, cell), this.y(q0, cell));
        context.lineTo(this.x(k, cell), this.y(q1, cell));
    }
    context.stroke();
    if (cell.width < 40 || cell.height < 18 || from.signed) return;
    context.font = "11px " + variable("--font");
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let q = q0; q < q1; q++) {
        for (let i = from.first[q]; i < from.first[q + 1]; i++) {
            const k = from.key[i], number = from.value[i];
            if (k < k0 || k >= k1) continue;
            context.fillStyle = inkOn(colourOf(number / from.most, from.signed));
            context.fillText(number.toFixed(3).replace(/^0/, ""), this.x(k + 0.5, cell), this.y(q + 0.5, cell));
        }
    }
};

matrix.drawActive = function (context, cell) {
    const {q, k} = active(), fit = this.fit;
    context.strokeStyle = variable("--accent");
    context.lineWidth = Math.min(cell.width, cell.height) < 6 ? 1 : 2;
    if (q >= 0) context.strokeRect(fit.marginLeft, this.y(q, cell) - 1, fit.plotWidth, Math.max(cell.height, 1) + 2);
    if (k >= 0) context.strokeRect(this.x(k, cell) - 1, fit.marginTop, Math.max(cell.width, 1) + 2, fit.plotHeight);
    if (q >= 0 && k >= 0) {
        context.fillStyle = variable("--accent");
        context.lineWidth = 3;
        context.strokeRect(this.x(k, cell) - 1, this.y(q, cell) - 1, Math.max(cell.width, 3) + 2, Math.max(cell.height, 3) + 2);
    }
};

// As many names as there is room for; those of what is active always.
matrix.drawNames = function (context, cell) {
    const fit = this.fit, {q0, q1, k0, k1} = this.visible(cell), {q, k} = active(), pitch = 13;
    const ink = variable("--ink-2"), strong = variable("--accent");
    context.textBaseline = "middle";
    const side = (first, end, size, chosen, write) => {
        const every = Math.max(1, Math.ceil(pitch / size));
        for (let i = Math.ceil(first / every) * every; i < end; i += every)
            if (i !== chosen && (chosen < 0 || Math.abs(i - chosen) * size >= pitch)) write(i, false);
        if (chosen >= first && chosen < end) write(chosen, true);
    };
    context.textAlign = "right";
    side(q0, q1, cell.height, q, (i, is) => {
        const y = this.y(i + 0.5, cell);
        if (y < fit.marginTop || y > fit.marginTop + fit.plotHeight) return;
        context.font = (is ? "600 12px " : "12px ") + variable("--font");
        context.fillStyle = is ? strong : ink;
        context.fillText(fitted(context, queryName(i), fit.marginLeft - 8), fit.marginLeft - 6, y);
    });
    const upright = fit.down < cell.width - 6; // short names of wide cells
    context.textAlign = upright ? "center" : "left";
    side(k0, k1, cell.width, k, (i, is) => {
        const x = this.x(i + 0.5, cell);
        if (x < fit.marginLeft || x > fit.marginLeft + fit.plotWidth) return;
        context.save();
        context.translate(x, fit.marginTop - (upright ? 12 : 6));
        if (!upright) context.rotate(-Math.PI / 2);
        context.font = (is ? "600 12px " : "12px ") + variable("--font");
        context.fillStyle = is ? strong : ink;
        context.fillText(fitted(context, keyName(i), upright ? cell.width : fit.marginTop - 8), 0, 0);
        context.restore();
    });
};

// A bar on the left: the rows that the lines show.
matrix.drawWindow = function (context, cell) {
    const {q0, q1} = lines.window(), {queries} = layerData();
    if (q1 - q0 >= queries) return;
    const y0 = Math.max(this.fit.marginTop, this.y(q0, cell));
    const y1 = Math.min(this.fit.marginTop + this.fit.plotHeight, this.y(q1, cell));
    context.fillStyle = variable("--accent");
    if (y1 > y0) context.fillRect(this.fit.marginLeft - 3, y0, 2, y1 - y0);
};

// ---- zoom and pan ----

matrix.zoomAt = function (factor, x, y) {
    const before = this.cell();
    const k = this.left + (x - this.fit.marginLeft) / before.width, q = this.top + (y - this.fit.marginTop) / before.height;
    this.zoom *= factor;
    this.keepInside();
    const after = this.cell();
    this.left = k - (x - this.fit.marginLeft) / after.width;
    this.top = q - (y - this.fit.marginTop) / after.height;
    this.moved();
};
matrix.zoomMiddle = function (factor) {
    const {q, k} = active(), cell = this.cell();
    const x = k >= 0 ? this.x(k + 0.5, cell) : this.fit.marginLeft + this.fit.plotWidth / 2;
    const y = q >= 0 ? this.y(q + 0.5, cell) : this.fit.marginTop + this.fit.plotHeight / 2;
    this.zoomAt(factor, x, y);
};
matrix.moved = function () {
    this.keepInside();
    this.schedule();
    if (this.zoom > 1) lines.scrollToRow(this.top);
};
matrix.all = function () {
    this.zoom = 1;
    this.left = this.top = 0;
    this.moved();
};
matrix.scrollToRow = function (row) {
    if (this.zoom > 1) this.top = row;
    this.schedule();
};
// Brings the active cell into view.
matrix.reveal = function () {
    const {q, k} = active(), {queries, keys} = layerData();
    const down = queries / this.zoom, across = keys / this.zoom;
    if (q >= 0 && (q < this.top || q + 1 > this.top + down)) this.top = q - down / 2;
    if (k >= 0 && (k < this.left || k + 1 > this.left + across)) this.left = k - across / 2;
    this.moved();
};

matrix.at = function (event) {
    const box = this.canvas.getBoundingClientRect(), cell = this.cell(), {queries, keys} = layerData();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const k = Math.floor(this.left + (x - this.fit.marginLeft) / cell.width);
    const q = Math.floor(this.top + (y - this.fit.marginTop) / cell.height);
    const inX = x >= this.fit.marginLeft && k < keys, inY = y >= this.fit.marginTop && q < queries;
    return {x, y, k: inX ? k : -1, q: inY ? q : -1};
};

matrix.listen = function () {
    const canvas = this.canvas, fingers = new Map();
    let dragged = false, spread = 0;
    canvas.addEventListener("pointerdown", event => {
        fingers.set(event.pointerId, event);
        dragged = false;
        if (this.zoom > 1 || fingers.size > 1) canvas.setPointerCapture(event.pointerId);
        canvas.focus({preventScroll: true});
    });
    canvas.addEventListener("pointermove", event => {
        const before = fingers.get(event.pointerId);
        if (!before) {
            const {q, k} = this.at(event);
            change({overRow: q, overKey: k});
            return;
        }
        const cell = this.cell();
        fingers.set(event.pointerId, event);
        if (fingers.size === 2) {
            const [a, b] = [...fingers.values()], box = canvas.getBoundingClientRect();
            const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
            if (spread) this.zoomAt(now / spread, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
            spread = now;
            dragged = true;
        } else if (this.zoom > 1) {
            this.left -= (event.clientX - before.clientX) / cell.width;
            this.top -= (event.clientY - before.clientY) / cell.height;
            if (Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY) > 2) dragged = true;
            this.moved();
        }
    });
    const lift = event => {
        const known = fingers.delete(event.pointerId);
        spread = 0;
        if (event.type !== "pointerup" || !known || dragged) return;
        const {q, k} = this.at(event);
        change({row: q, key: k, overRow: -1, overKey: -1});
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("wheel", event => {
        if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
        if (this.zoom === 1 && event.deltaY > 0 && !event.ctrlKey) return;
        event.preventDefault();
        const {x, y} = this.at(event);
        this.zoomAt(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), x, y);
    }, {passive: false});
    canvas.addEventListener("keydown", event => this.key(event));
    byId("zoom-in").addEventListener("click", () => this.zoomMiddle(1.5));
    byId("zoom-out").addEventListener("click", () => this.zoomMiddle(1 / 1.5));
    byId("zoom-all").addEventListener("click", () => this.all());
};

matrix.key = function (event) {
    const {queries, keys} = layerData(), {row, key} = state;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (event.key in steps) {
        const [down, across] = steps[event.key];
        if (event.shiftKey) {
            this.top += down * queries / this.zoom / 3;
            this.left += across * keys / this.zoom / 3;
            this.moved();
        } else {
            change({row: Math.min(Math.max(row + (row < 0 ? 1 : down), 0), queries - 1),
                    key: Math.min(Math.max(key + (key < 0 ? 1 : across), 0), keys - 1), overRow: -1, overKey: -1});
            this.reveal();
        }
    } else if (event.key === "+" || event.key === "=") this.zoomMiddle(1.5);
    else if (event.key === "-" || event.key === "−" || event.key === "_") this.zoomMiddle(1 / 1.5);
    else if (event.key === "0") this.all();
    else if (event.key === "Escape") change({row: -1, key: -1, overRow: -1, overKey: -1});
    else return;
    event.preventDefault();
};

matrix.update = function (changed) {
    if (changedAny(changed, "part")) this.fit = null;
    if (changedAny(changed, "part", "layer")) {
        this.zoom = changed.has("part") ? 1 : this.zoom;
    }
    if (changedAny(changed, "part", "layer", "head", "view", "soft", "theme")) {
        this.makeBitmap();
        drawLegend(byId("legend"), plane().most, plane().signed,
                   state.soft ? "colours follow the square root" : "");
    }
    if (changed.has("colour") && changed.size === 1) return;
    this.schedule();
};
