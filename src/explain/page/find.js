// find.js: a row by its name: typing chooses the first that has the text in it, Enter the one after it.
"use strict";

const find = {at: -1};

find.from = function (first) {
    const text = byId("find").value.trim().toLowerCase(), count = data.rows.length;
    for (let i = 0; text && i < count; i++) {
        const row = (first + i) % count;
        if (data.rows[row].toLowerCase().includes(text)) return row;
    }
    return -1;
};

find.choose = function (row) {
    const field = byId("find");
    field.setAttribute("aria-invalid", String(row < 0 && field.value.trim() !== ""));
    this.at = row;
    if (row < 0) return;
    const asKey = parts.length && !queriesAreRows() && keysAreRows();
    change({row: asKey ? -1 : row, key: asKey ? row : -1, overRow: -1, overKey: -1});
    if (scene === strip && strip.words[row]) strip.words[row].scrollIntoView({block: "nearest"});
};

// Rows that are called by times or numbers are found by pointing at them.
find.listen = function () {
    const field = byId("find");
    field.hidden = data.rows.length < 12 || scene === frames || scene === grid;
    field.addEventListener("input", () => this.choose(this.from(0)));
    field.addEventListener("keydown", event => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.choose(this.from(this.at + 1));
    });
};
