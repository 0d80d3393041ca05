// colour.js: colours of numbers: one scale for weights, one for signed numbers; light and dark.
"use strict";

const scales = {
    light: {weight: [[255, 255, 255], [107, 174, 214], [8, 48, 107]], below: [33, 102, 172], zero: [255, 255, 255],
            above: [178, 24, 43]},
    dark: {weight: [[23, 27, 33], [66, 146, 198], [222, 235, 247]], below: [67, 147, 221], zero: [23, 27, 33],
           above: [230, 82, 92]},
};
let dark = false;

const mix = (a, b, t) => [0, 1, 2].map(i => Math.round(a[i] + (b[i] - a[i]) * t));
const css = (rgb, alpha) => alpha === undefined ? `rgb(${rgb[0]},${rgb[1]},${rgb[2]})`
    : `rgba(${rgb[0]},${rgb[1]},${rgb[2]},${alpha})`;

// t in 0 .. 1, or -1 .. 1 if signed. Small numbers come out more with state.soft: the root of t.
function colourOf(t, signed) {
    const scale = dark ? scales.dark : scales.light;
    let size = Math.min(1, Math.abs(t));
    if (state.soft) size = Math.sqrt(size);
    if (signed) return mix(scale.zero, t < 0 ? scale.below : scale.above, size);
    return size < 0.5 ? mix(scale.weight[0], scale.weight[1], size * 2)
        : mix(scale.weight[1], scale.weight[2], size * 2 - 1);
}

// 511 colours for t from -1 to 1, as pixels.
let table = null, tableFor = "";
function pixelTable(signed) {
    const name = [dark, state.soft, signed].join();
    if (tableFor === name) return table;
    table = new Uint32Array(511);
    for (let i = 0; i < 511; i++) {
        const [r, g, b] = colourOf((i - 255) / 255, signed);
        table[i] = (0xff000000 | b << 16 | g << 8 | r) >>> 0;
    }
    tableFor = name;
    return table;
}

// Black or white, whichever can be read on it.
const inkOn = rgb => rgb[0] * 0.299 + rgb[1] * 0.587 + rgb[2] * 0.114 > 140 ? "#10151b" : "#ffffff";
const variable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A bar with the colours of 0 .. most, or of -most .. most.
function drawLegend(place, most, signed, words) {
    place.replaceChildren();
    const steps = [];
    for (let i = 0; i <= 20; i++) steps.push(css(colourOf(signed ? i / 10 - 1 : i / 20, signed)));
    const bar = make("span", "legend-bar");
    bar.style.background = `linear-gradient(to right,${steps.join(",")})`;
    place.append(make("span", "", signed ? format(-most, true) : "0"), bar,
                 make("span", "", signed ? format(most, true) : format(most, false)));
    if (words) place.append(make("span", "legend-words", words));
}

// ---- elements ----

function make(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
}
function makeDrawn(tag, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    if (text !== undefined) element.textContent = text;
    return element;
}
const byId = id => document.getElementById(id);

// A canvas of so many units, sharp on this screen; its context.
function sized(canvas, width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
    }
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
}

// The width of the widest of `count` names: of those with most letters.
function widest(context, count, name) {
    const lengths = [];
    for (let i = 0; i < count; i++) lengths.push([name(i).length, i]);
    lengths.sort((a, b) => b[0] - a[0]);
    let width = 0;
    for (const [, i] of lengths.slice(0, 16)) width = Math.max(width, context.measureText(name(i)).width);
    return width;
}

// A text no wider than `most`, with an ellipsis.
function fitted(context, text, most) {
    if (context.measureText(text).width <= most) return text;
    const letters = Array.from(text);
    let low = 0, high = letters.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (context.measureText(letters.slice(0, middle).join("") + "…").width <= most) low = middle;
        else high = middle - 1;
    }
    return letters.slice(0, low).join("") + "…";
}

// One of several, by click, arrow keys, Home and End.
function chooser(place, role, options, pick) {
    place.replaceChildren();
    const buttons = options.map(([value, text]) => {
        const button = make("button", "", text);
        button.type = "button";
        button.setAttribute("role", role);
        button.dataset.value = value;
        button.addEventListener("click", () => pick(value));
        place.append(button);
        return button;
    });
    place.onkeydown = event => {
        const at = buttons.indexOf(document.activeElement), last = buttons.length - 1;
        const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last};
        if (at < 0 || !(event.key in to)) return;
        event.preventDefault();
        const button = buttons[(to[event.key] + buttons.length) % buttons.length];
        button.focus();
        pick(options[buttons.indexOf(button)][0]);
    };
    return value => buttons.forEach(button => {
        const is = button.dataset.value === String(value);
        button.setAttribute(role === "tab" ? "aria-selected" : "aria-checked", is);
        button.tabIndex = is ? 0 : -1;
    });
}
