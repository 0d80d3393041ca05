// data.js: what the page was given, and its numbers out of their coding (src/explain/page_code.h).
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
data.contributions = data.contributions || null;
data.probabilities = data.probabilities || [];

// Names of spaces, line ends and marks without a shape alone could not be seen.
function visible(name) {
    if (/[^\s\p{Cc}\p{Cf}]/u.test(name)) return name;
    return name === "" ? "∅" : name.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/\s/gu, "␣")
        .replace(/[\p{Cc}\p{Cf}]/gu, mark => "U+" + mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
}
for (const list of ["rows", "written", "answers"]) data[list] = data[list].map(visible);
for (const part of data.parts)
    for (const side of ["query_names", "key_names"])
        if (Array.isArray(part[side])) part[side] = part[side].map(visible);
data.target = data.target && visible(data.target);

function bytesOf(base64) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

// Bits from the highest of each byte downwards; behind the end they are 0.
class Bits {
    constructor(bytes) {
        this.bytes = bytes;
        this.place = 0;
    }
    plain(count) {
        let value = 0, place = this.place;
        const bytes = this.bytes;
        this.place += count;
        while (count > 0) {
            const left = 8 - (place & 7), take = left < count ? left : count;
            const bits = (bytes[place >> 3] >> (left - take)) & ((1 << take) - 1);
            value = (value << take) | bits;
            place += take;
            count -= take;
        }
        return value;
    }
    rice(k) {
        let ones = 0, place = this.place;
        const bytes = this.bytes;
        while (ones < 24 && (bytes[place >> 3] >> (7 - (place & 7))) & 1) {
            ones++;
            place++;
        }
        if (ones === 24) {
            this.place = place;
            return this.plain(24);
        }
        this.place = place + 1;
        return (ones << k) | this.plain(k);
    }
}

function countBits(most) {
    let bits = 0;
    while (most >> bits) bits++;
    return bits;
}

// Entries before coding: how many a row has, and the keys of those that follow.
function rowShape(layer, dense) {
    if (dense) return {entries: () => layer.keys, key: (q, e) => e};
    const list = layer.list >= 0 ? data.lists[layer.list] : null;
    if (list) return {entries: q => list.first[q + 1] - list.first[q], key: (q, e) => list.key_of[list.first[q] + e]};
    return {entries: () => layer.width, key: (q, e) => layer.first_key + q * layer.key_step + e};
}

// The numbers of a head: those of query q are value[first[q]] .. value[first[q + 1] - 1], of the keys key[...].
function decode(layer, code, signed, dense) {
    const {queries, keys} = layer, shape = rowShape(layer, dense), bits = new Bits(bytesOf(code.bits));
    let most = 0, total = 0;
    for (let q = 0; q < queries; q++) {
        most = Math.max(most, shape.entries(q));
        total += shape.entries(q);
    }
    const top = most > data.long;
    const first = new Int32Array(queries + 1), room = top ? queries * data.top : total;
    const key = new Int32Array(room), value = new Float32Array(room);
    const lengthBits = countBits(top ? data.top : most);
    let used = 0, low = 0, high = 0, parameter = code.k, mean = 16 << code.k;
    for (let q = 0; q < queries; q++) {
        const count = bits.plain(lengthBits);
        let next = 0;
        for (let e = 0; e < count; e++) {
            if (top) next += bits.rice(code.g);
            const k = top ? next++ : shape.key(q, e);
            let steps = bits.rice(parameter);
            mean += steps - (mean >> 4);
            parameter = mean >= 32 ? 27 - Math.clz32(mean) : 0;
            if (signed) steps = steps & 1 ? -((steps + 1) >> 1) : steps >> 1;
            if (k < 0 || k >= keys || steps === 0) continue;
            const number = steps * code.step;
            key[used] = k;
            value[used++] = number;
            if (number > high) high = number;
            if (number < low) low = number;
        }
        first[q + 1] = used;
    }
    return {queries, keys, first, key: key.subarray(0, used), value: value.subarray(0, used), high, low, signed, top,
            step: code.step, most: Math.max(high, -low) || 1};
}

function numberAt(plane, q, k) {
    let sum = 0; // an edge may be there twice
    for (let i = plane.first[q]; i < plane.first[q + 1]; i++) if (plane.key[i] === k) sum += plane.value[i];
    return sum;
}

// The numbers of a query over all keys, or, with q below 0, their mean over the queries.
function rowOf(plane, q) {
    const row = new Float32Array(plane.keys);
    if (q >= 0) {
        for (let i = plane.first[q]; i < plane.first[q + 1]; i++) row[plane.key[i]] += plane.value[i];
    } else {
        for (let i = 0; i < plane.key.length; i++) row[plane.key[i]] += plane.value[i] / plane.queries;
    }
    return row;
}

function columnOf(plane, k) {
    const column = new Float32Array(plane.queries);
    for (let q = 0; q < plane.queries; q++) column[q] = numberAt(plane, q, k);
    return column;
}

// The places of the largest numbers (by size, if they are signed), the largest first.
function largest(numbers, count) {
    const places = [];
    for (let i = 0; i < numbers.length; i++) {
        const size = Math.abs(numbers[i]);
        if (size === 0 || (places.length === count && size <= Math.abs(numbers[places[count - 1]]))) continue;
        let at = places.length;
        while (at > 0 && Math.abs(numbers[places[at - 1]]) < size) at--;
        places.splice(at, 0, i);
        if (places.length > count) places.pop();
    }
    return places;
}
