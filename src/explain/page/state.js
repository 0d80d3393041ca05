// state.js: what is chosen; everybody who draws is told when it changes.
"use strict";

// view: "weights", "rollout" or "gradient". head -1: the mean. row, key: what was chosen in the part, -1 none;
// overRow, overKey: what the pointer is over. colour: what colours the rows of the input.
const state = {part: 0, view: "weights", layer: 0, head: -1, row: -1, key: -1, overRow: -1, overKey: -1,
               colour: "contributions", soft: false};
const watchers = [];
let pending = null;

// Calls every watcher with the names of what changed, once a frame.
function change(values) {
    if (!pending) {
        pending = new Set();
        requestAnimationFrame(tell);
    }
    for (const name in values) {
        if (state[name] === values[name]) continue;
        state[name] = values[name];
        pending.add(name);
    }
}
function tell() {
    const changed = pending;
    pending = null;
    if (changed && changed.size) for (const watcher of watchers) watcher(changed);
}
const changedAny = (changed, ...names) => names.some(name => changed.has(name));

const parts = data.parts;
const part = () => parts[state.part];
const layerData = () => part().layers[state.layer];
// What a layer is called: those of other kinds that stand between count, too.
const layerNumber = index => part().layers[index].layer + 1;

// ---- numbers of what is chosen ----

const planes = new Map(); // the last ones used
function planeOf(partIndex, layer, view, head) {
    const name = [partIndex, layer, view, head].join(" ");
    let plane = planes.get(name);
    if (!plane) {
        const from = parts[partIndex].layers[layer];
        if (view === "rollout") plane = decode(from, from.rollout, false, true);
        else if (view === "gradient")
            plane = decode(from, head < 0 ? from.product_mean : from.products[head], true, false);
        else plane = decode(from, head < 0 ? from.mean : from.weights[head], !!from.signed, false);
    }
    planes.delete(name);
    planes.set(name, plane);
    if (planes.size > 12) planes.delete(planes.keys().next().value);
    return plane;
}
const plane = () => planeOf(state.part, state.layer, state.view, state.view === "rollout" ? -1 : state.head);

const hasView = (view, of = part()) =>
    view === "weights" || (view === "rollout" ? !!of.layers[0].rollout : !!of.layers[0].products);

// ---- names ----

const unit = data.unit || "row";
function listOf(names) { return names === "rows" ? data.rows : names === "written" ? data.written : names || []; }
function nameIn(names, i) {
    const name = listOf(names)[i];
    return name === undefined || name === "" ? (part().name === "pool" && listOf(names).length === 0
        ? "the example" : "#" + (i + 1)) : name;
}
const queryName = i => nameIn(part().query_names, i);
const keyName = i => nameIn(part().key_names, i);
// Whether the keys (queries) of the part are rows of the input.
const keysAreRows = () => parts.length > 0 && part().key_names === "rows" && layerData().keys === data.rows.length;
const queriesAreRows = () =>
    parts.length > 0 && part().query_names === "rows" && layerData().queries === data.rows.length;

// ---- what the pointer is over counts before what was chosen ----

function active() {
    if (state.overRow >= 0 || state.overKey >= 0) return {q: state.overRow, k: state.overKey};
    return {q: state.row, k: state.key};
}

// A row of the input is meant, in a drawing of the input: as query where it asks, else as key.
function overInput(i) { change(!parts.length || queriesAreRows() ? {overRow: i, overKey: -1} : {overRow: -1, overKey: i}); }
function leave() { change({overRow: -1, overKey: -1}); }
function chooseInput(i) {
    if (!parts.length) change({row: i, overRow: -1, overKey: -1});
    else if (queriesAreRows()) change({row: i === state.row && state.key < 0 ? -1 : i, key: -1, overRow: -1, overKey: -1});
    else if (keysAreRows()) change({key: i === state.key && state.row < 0 ? -1 : i, row: -1, overRow: -1, overKey: -1});
}
function inputRow() { // the row of the input that is active, -1: none
    const {q, k} = active();
    if (!parts.length) return state.overRow >= 0 ? state.overRow : state.row;
    if (queriesAreRows() && q >= 0) return q;
    return keysAreRows() && q < 0 ? k : -1;
}

// Weights over the rows of the input: of the active query, or their mean; null: the part looks elsewhere.
function inputWeights() {
    if (!keysAreRows()) return null;
    const {q, k} = active();
    if (q < 0 && k >= 0 && queriesAreRows()) return columnOf(plane(), k);
    return rowOf(plane(), q);
}

// ---- numbers as text ----

function format(number, signed) {
    if (!signed) return number.toFixed(3);
    if (number === 0) return "0";
    const text = Math.abs(number) >= 0.1 ? Math.abs(number).toFixed(3)
        : Math.abs(number) >= 0.0001 ? Math.abs(number).toPrecision(2) : Math.abs(number).toExponential(1);
    return (number < 0 ? "−" : "+") + text;
}
const shown = number => format(number, plane().signed);
