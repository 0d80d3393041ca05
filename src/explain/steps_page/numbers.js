'use strict';
/* numbers.js: the numbers of the layer, and what is computed of them for one row and head. */

const data = JSON.parse(document.getElementById('numbers').textContent);

/* Single precision, little-endian, in base64. */
function decode(text) {
    const bytes = atob(text), numbers = new Float32Array(bytes.length / 4);
    const view = new DataView(new ArrayBuffer(4));
    for (let i = 0; i < numbers.length; i++) {
        for (let b = 0; b < 4; b++)
            view.setUint8(b, bytes.charCodeAt(4 * i + b));
        numbers[i] = view.getFloat32(0, true);
    }
    return numbers;
}
for (const name of ['x', 'source', 'q', 'k', 'v', 'output', 'logSumExp', 'wq', 'bq', 'wk', 'bk', 'wv', 'bv',
                    'wo', 'bo', 'result', 'weights']) {
    data[name] = name in data ? decode(data[name]) : null;
}
/* Vectors of keys, before W_k. */
data.source = data.source || (data.whole ? data.x : null);

const rounding = 4e-6; /* as in steps.c */

function slice(numbers, first, count) {
    return numbers ? Array.from(numbers.subarray(first, first + count)) : null;
}

/* Rows first .. first + count - 1 of W, times x, plus b; sizes: the sums of the absolute terms. */
function mapped(x, weight, bias, first, count) {
    const columns = x.length, out = [], sizes = [];
    for (let o = first; o < first + count; o++) {
        let sum = bias ? bias[o] : 0, size = Math.abs(sum);
        for (let c = 0; c < columns; c++) {
            const term = weight[o * columns + c] * x[c];
            sum += term;
            size += Math.abs(term);
        }
        out.push(sum);
        sizes.push(size);
    }
    return {out, sizes};
}

/* The differences between what is computed here and what the network gave, those beyond rounding by name. */
function makeChecks() {
    const failed = new Map();
    return {
        largest: 0,
        failed,
        compare(what, computed, given, size) {
            const difference = Math.abs(computed - given), tolerance = rounding * size + 1e-12;
            if (!(difference <= this.largest))
                this.largest = difference;
            if (!(difference <= tolerance) && !(difference <= (failed.get(what) || 0)))
                failed.set(what, difference);
        },
    };
}

function length(v) { return Math.sqrt(v.reduce((sum, n) => sum + n * n, 0)); }

function compareMap(checks, what, now, given, rotated) {
    if (rotated) {
        checks.compare(what, length(now.out), length(given), length(now.sizes));
    } else {
        now.out.forEach((n, i) => checks.compare(what, n, given[i], now.sizes[i]));
    }
}

/* max(s, 0), 1 / (1 + e^-s) or s. */
function weighted(score) {
    if (data.weighting === 'ReLU')
        return Math.max(score, 0);
    if (data.weighting === 'sigmoid')
        return 1 / (1 + Math.exp(-score));
    return score;
}

function readKeys(view) {
    const w = data.width, group = data.heads / data.kvHeads, kv = Math.floor(view.head / group);
    const all = data.keys.length, offset = (view.head * data.rows.length + view.row) * all;
    view.kv = kv;
    view.keys = data.keys.map((number, j) => {
        const k = slice(data.k, (j * data.kvHeads + kv) * w, w);
        const v = slice(data.v, (j * data.kvHeads + kv) * data.valueWidth, data.valueWidth);
        const weight = data.weights[offset + j];
        const key = {
            j,
            number,
            name: data.keyNames[j],
            k,
            v,
            weight: weight || 0,
            masked: Number.isNaN(weight),
            products: view.q.map((n, c) => n * k[c]),
            bias: 0
        };
        key.dot = key.products.reduce((a, b) => a + b, 0);
        key.scaled = data.scale * key.dot;
        if (data.softcap > 0)
            key.scaled = data.softcap * Math.tanh(key.scaled / data.softcap);
        key.size = Math.abs(data.scale) * key.products.reduce((a, b) => a + Math.abs(b), 0);
        return key;
    });
}

function findMasked(view) {
    for (const key of view.keys) {
        if (key.masked || key.weight !== 0)
            continue;
        if (!data.dotted)
            key.masked = data.softmax || data.weighting === 'sigmoid';
        else if (data.softmax)
            key.masked = key.scaled - view.logSumExp > -80;
        else
            key.masked = Math.abs(weighted(key.scaled)) > rounding * (key.size + 1);
    }
    view.seen = view.keys.filter((key) => !key.masked);
}

/* Whether the scaled products alone have the log-sum-exp that the network found. */
function hasBias(view) {
    if (!data.whole)
        return Boolean(data.biased);
    if (!data.dotted || !data.softmax || !data.logSumExp || !Number.isFinite(view.logSumExp))
        return false;
    const top = Math.max(...view.seen.map((key) => key.scaled));
    const size = Math.max(1, ...view.seen.map((key) => key.size));
    const found = top + Math.log(view.seen.reduce((sum, key) => sum + Math.exp(key.scaled - top), 0));
    return !(Math.abs(found - view.logSumExp) <= 2 * rounding * (size + Math.abs(found)));
}

function computeSoftmax(view) {
    let top = -Infinity, size = 1;
    for (const key of view.keys) {
        key.score = key.masked                    ? -Infinity
                    : view.biased || !data.dotted ? Math.log(key.weight) + view.logSumExp
                                                  : key.scaled;
        if (view.biased && !key.masked)
            key.bias = key.score - key.scaled;
        if (Math.abs(key.bias) <= rounding * (key.size + 1))
            key.bias = 0;
        top = Math.max(top, key.score);
        if (!key.masked)
            size = Math.max(size, key.size);
    }
    view.shift = Number.isFinite(top) && Math.abs(top) > 30 ? top : 0;
    view.total = data.restTotal;
    for (const key of view.keys) {
        key.exponential = key.masked ? 0 : Math.exp(key.score - view.shift);
        view.total += key.exponential;
    }
    for (const key of view.keys) {
        key.softmax = view.total > 0 ? key.exponential / view.total : 0;
        view.checks.compare('the weights', key.softmax, key.weight, key.softmax * (2 * size + 2) + 0.02);
    }
}

function computeOther(view) {
    const heaviest =
        view.seen.reduce((a, b) => Math.abs(b.weight) > Math.abs(a.weight) ? b : a, view.seen[0]);
    view.divisor = !data.average || !data.dotted || !heaviest ? 1
                   : data.whole ? Math.max(1, Math.round(weighted(heaviest.scaled) / heaviest.weight) || 1)
                                : data.divisor;
    for (const key of view.keys) {
        key.score = key.scaled;
        key.softmax = key.masked ? 0 : data.dotted ? weighted(key.score) / view.divisor : key.weight;
        if (data.dotted)
            view.checks.compare('the weights', key.softmax, key.weight, key.size + 1);
    }
}

function computeOutput(view) {
    const values = data.valueWidth, all = data.allHeads * values, r = view.row;
    view.beside = slice(data.output, r * all, all);
    view.given =
        view.beside.slice((data.firstHead + view.head) * values, (data.firstHead + view.head + 1) * values);
    view.o = [];
    for (let c = 0; c < values; c++) {
        let sum = data.restValues[c], size = Math.abs(sum);
        for (const key of view.seen) {
            sum += key.weight * key.v[c];
            size += Math.abs(key.weight * key.v[c]);
        }
        view.o.push(sum);
        if (!data.edgeValues)
            view.checks.compare('the weighted sum', sum, view.given[c], size);
    }
    view.result = slice(data.result, r * data.resultColumns, data.resultColumns);
    if (!data.wo)
        return;
    const now = mapped(view.beside, data.wo, data.bo, 0, data.resultColumns);
    if (view.result)
        compareMap(view.checks, 'the result', now, view.result, false);
    view.result = now.out;
}

/* Everything of one row and head (numbers among those on the page). */
function compute(row, head) {
    const w = data.width,
          view = {row, head, checks: makeChecks(), name: data.rowNames[row], shift: 0, total: 0};
    view.x = slice(data.x, row * data.columns, data.columns);
    view.q = slice(data.q, (row * data.heads + head) * w, w);
    view.logSumExp = data.logSumExp ? data.logSumExp[row * data.heads + head] : 0;
    readKeys(view);
    findMasked(view);
    if (view.x && data.wq) {
        const now = mapped(view.x, data.wq, data.bq, head * w, w);
        view.plainQuery = now.out;
        compareMap(view.checks, 'q', now, view.q, data.rotated);
    }
    for (const key of view.seen) {
        key.x = slice(data.source, key.j * data.sourceColumns, data.sourceColumns);
        if (key.x && data.wk)
            compareMap(view.checks, 'k', mapped(key.x, data.wk, data.bk, view.kv * w, w), key.k,
                       data.rotated);
        if (key.x && data.wv) {
            compareMap(view.checks, 'v',
                       mapped(key.x, data.wv, data.bv, view.kv * data.valueWidth, data.valueWidth), key.v,
                       false);
        }
    }
    view.biased = hasBias(view);
    if (data.softmax)
        computeSoftmax(view);
    else
        computeOther(view);
    computeOutput(view);
    return view;
}
