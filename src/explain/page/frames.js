// frames.js: a recording: its spectrogram, segments of equal answers, weights and contributions over time.
"use strict";

const frames = {left: 62};

frames.make = function (place) {
    this.place = place;
    this.canvas = make("canvas", "drawing");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Spectrogram; the left and right arrow keys choose a frame");
    place.append(this.canvas);
    const scene = data.scene;
    this.shades = bytesOf(scene.spectrum);
    const at = event => {
        const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left - this.left;
        const row = Math.floor(x / (box.width - this.left - 2) * scene.rows);
        return row >= 0 && row < scene.rows ? row : -1;
    };
    this.canvas.addEventListener("pointermove", event => event.pointerType === "mouse" && overInput(at(event)));
    this.canvas.addEventListener("pointerleave", leave);
    this.canvas.addEventListener("click", event => at(event) >= 0 && chooseInput(at(event)));
    this.canvas.addEventListener("keydown", event => rowKeys(event, scene.rows, 10));
    this.segments = [];
    if (data.answers.length === scene.rows)
        data.answers.forEach((answer, i) => {
            if (i && answer === data.answers[i - 1]) this.segments[this.segments.length - 1].end = i + 1;
            else this.segments.push({answer, begin: i, end: i + 1});
        });
};

// Dark is loud on a light page, light is loud on a dark one.
frames.picture = function () {
    const scene = data.scene, canvas = make("canvas");
    const spectra = this.shades.length / Math.max(1, scene.bins);
    canvas.width = Math.max(1, spectra);
    canvas.height = Math.max(1, scene.bins);
    const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
    const paper = dark ? [23, 27, 33] : [255, 255, 255], ink = dark ? [240, 243, 246] : [20, 24, 30];
    for (let r = 0; r < spectra; r++) {
        for (let b = 0; b < scene.bins; b++) {
            const [red, green, blue] = mix(paper, ink, this.shades[r * scene.bins + b] / 255);
            image.data.set([red, green, blue, 255], ((scene.bins - 1 - b) * spectra + r) * 4);
        }
    }
    context.putImageData(image, 0, 0);
    this.bitmap = canvas;
};

frames.update = function (changed) {
    if (!this.bitmap || changed.has("theme")) this.picture();
    const scene = data.scene, width = this.place.clientWidth, plot = width - this.left - 2;
    const weights = parts.length ? inputWeights() : null, bands = [["", 180]];
    if (this.segments.length) bands.push([data.task || "answer", 24]);
    if (weights) bands.push(["weight", 72]);
    if (data.contributions) bands.push(["contrib.", 56]);
    const height = bands.reduce((sum, band) => sum + band[1] + 8, 0) + 22;
    const context = sized(this.canvas, width, height), x = row => this.left + row / scene.rows * plot;
    context.font = "11px " + variable("--font");
    context.textBaseline = "middle";
    let y = 0;
    for (const [name, size] of bands) {
        context.fillStyle = variable("--ink-2");
        context.textAlign = "right";
        if (name) context.fillText(fitted(context, name, this.left - 6), this.left - 6, y + size / 2);
        if (!name) {
            context.imageSmoothingEnabled = false;
            context.drawImage(this.bitmap, this.left, y, plot, size);
            context.fillText("high", this.left - 6, y + 8);
            context.fillText("low", this.left - 6, y + size - 8);
        } else if (name === "weight") this.curve(context, weights, x, y, size);
        else if (name === "contrib.") this.bars(context, x, y, size);
        else this.drawSegments(context, x, y, size);
        y += size + 8;
    }
    this.axis(context, x, y, plot);
    const at = inputRow();
    if (at < 0) return;
    context.fillStyle = variable("--accent");
    context.fillRect(x(at), 0, Math.max(1.5, plot / scene.rows), y - 4);
};

frames.drawSegments = function (context, x, y, size) {
    const colours = ["#0072b2", "#d55e00", "#00896b", "#7a5195", "#b8860b", "#c2185b", "#5d8aa8", "#444444"];
    const known = [...new Set(this.segments.map(segment => segment.answer))];
    context.textAlign = "center";
    for (const {answer, begin, end} of this.segments) {
        context.fillStyle = colours[known.indexOf(answer) % 8];
        context.fillRect(x(begin), y, Math.max(1, x(end) - x(begin) - 1), size);
        context.fillStyle = "#ffffff";
        if (x(end) - x(begin) > 14) context.fillText(fitted(context, answer, x(end) - x(begin) - 4), (x(begin) + x(end)) / 2, y + size / 2);
    }
};

frames.curve = function (context, weights, x, y, size) {
    let most = 0;
    for (const number of weights) most = Math.max(most, Math.abs(number));
    const scale = dark ? scales.dark : scales.light, zero = plane().signed ? y + size / 2 : y + size;
    const reach = plane().signed ? size / 2 : size;
    context.fillStyle = css(dark ? [107, 174, 214] : [33, 102, 172]);
    weights.forEach((number, i) => {
        const h = number / (most || 1) * reach;
        if (plane().signed) context.fillStyle = css(number < 0 ? scale.below : scale.above);
        context.fillRect(x(i), h < 0 ? zero : zero - h, Math.max(0.7, x(i + 1) - x(i)), Math.abs(h));
    });
    context.fillStyle = variable("--line");
    context.fillRect(this.left, zero, x(weights.length) - this.left, 1);
    context.fillStyle = variable("--ink-2");
    context.textAlign = "right";
    context.fillText(shown(most), this.left - 6, y + 6);
};

frames.bars = function (context, x, y, size) {
    const scale = dark ? scales.dark : scales.light;
    let most = 0;
    for (const number of data.contributions) most = Math.max(most, Math.abs(number || 0));
    data.contributions.forEach((number, i) => {
        const h = (number || 0) / (most || 1) * size / 2;
        context.fillStyle = css(h < 0 ? scale.below : scale.above);
        context.fillRect(x(i), h < 0 ? y + size / 2 : y + size / 2 - h, Math.max(0.7, x(i + 1) - x(i)), Math.abs(h));
    });
    context.fillStyle = variable("--line");
    context.fillRect(this.left, y + size / 2, x(data.contributions.length) - this.left, 1);
};

frames.axis = function (context, x, y, plot) {
    const scene = data.scene, length = scene.rows * scene.step || 1;
    const nice = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    const every = nice.find(step => step / length * plot > 56) || length;
    context.fillStyle = variable("--ink-2");
    context.textAlign = "center";
    for (let t = Math.ceil(scene.begin / every) * every; t < scene.begin + length; t += every) {
        const at = x((t - scene.begin) / scene.step + 0.5);
        if (at < this.left || at > this.left + plot - 12) continue;
        context.fillRect(at, y - 4, 1, 4);
        if (at > this.left + 8 && at < this.left + plot - 12)
            context.fillText(t.toFixed(every < 0.1 ? 2 : every < 1 ? 1 : 0) + " s", at, y + 8);
    }
};
