// main.js: heading, choices, readout and table; puts everything together.
"use strict";

const scenes = {graph, molecule, frames, grid};
const scene = scenes[data.scene.kind] || strip;
const viewNames = {weights: "Attention weights", rollout: "Rollout", gradient: "Gradient × attention"};
const partNames = {encoder: "Encoder", decoder: "Decoder", source: "Alignment", pool: "Pooling"};
const viewHints = {
    weights: "How much of each key’s value goes into the query’s row.",
    rollout: "How much of each input row arrives after this layer, if every residual connection carries half: the " +
        "product over the layers of (mean over heads + identity) / 2.",
    gradient: "Weight × its gradient: how much the prediction owes to a weight, to first order. Red supports it, blue " +
        "opposes it; the mean over heads keeps only what supports it.",
};

// ---- heading ----

function percent(p) { return p === null || p === undefined ? "" : (100 * p).toFixed(p > 0.9995 || p < 0.0005 ? 2 : 1) + " %"; }

function heading() {
    const kicker = ["attn explain", data.kind, data.task].filter(Boolean);
    if (data.members > 1) kicker.push(data.member < 0 ? `mean of ${data.members} networks` : `network ${data.member + 1} of ${data.members}`);
    if (data.pieces > 1) kicker.push(`rows from ${data.first_row + 1} on, one of ${data.pieces} pieces`);
    byId("kicker").textContent = kicker.join(" · ");
    const single = data.answers.length === 1, title = data.title || "What the prediction looks at";
    byId("title").textContent = title;
    const place = byId("answer");
    if (single) {
        const chip = make("p", "answer"), p = data.probabilities[0];
        chip.append(make("bdi", "answer-name", data.output[0] || "Prediction"), make("bdi", "answer-value", data.answers[0]));
        if (p !== null && p !== undefined) {
            const bar = make("span", "answer-bar"), part_ = make("span");
            part_.style.width = 100 * p + "%";
            bar.append(part_);
            chip.append(bar, make("span", "answer-p", percent(p)));
        }
        place.append(chip);
    } else if (data.answers.length) {
        const counts = new Map();
        data.answers.forEach(answer => counts.set(answer, (counts.get(answer) || 0) + 1));
        const line = make("p", "answer");
        line.append(make("span", "answer-name", `${data.answers.length} predictions, one per ${unit}:`));
        [...counts].sort((a, b) => b[1] - a[1]).slice(0, 8).forEach(([answer, count]) => {
            const one = make("span", "answer-count");
            one.append(make("bdi", "", answer), make("span", "", " × " + count));
            line.append(one);
        });
        if (counts.size > 8) line.append(make("span", "answer-count", `and ${counts.size - 8} more`));
        place.append(line);
    }
}

// ---- choices ----

const choices = {};

function makeChoices() {
    if (parts.length > 1)
        choices.part = chooser(byId("parts"), "tab", parts.map((one, i) => [String(i), partNames[one.name] || one.name]),
                               value => choosePart(Number(value)));
    if (parts.length) {
        const options = Object.keys(viewNames).filter(view => parts.some(one => hasView(view, one)));
        if (options.length > 1) choices.view = chooser(byId("views"), "radio", options.map(view => [view, viewNames[view]]),
                               value => hasView(value) && change({view: value}));
    }
    if (parts.length && data.contributions && scene !== frames)
        choices.colour = chooser(byId("colour"), "radio", [["contributions", "Contributions"], ["weights", "Weights"]],
                                 value => change({colour: value}));
}

function choosePart(index) {
    const to = parts[index];
    change({part: index, layer: Math.min(state.layer, to.layers.length - 1), row: -1, key: -1, overRow: -1, overKey: -1,
            head: Math.min(state.head, to.layers[0].heads - 1), view: hasView(state.view, to) ? state.view : "weights"});
}

// ---- text of what is active ----

function quoted(name) { return [document.createTextNode("“"), make("bdi", "", name), document.createTextNode("”")]; }

function readout() {
    const place = byId("readout"), {q, k} = active(), pieces = [];
    const add = (...more) => pieces.push(...more);
    const number = value => make("b", "", value);
    if (parts.length && (q >= 0 || k >= 0)) {
        const from = plane(), verb = state.view === "gradient" ? " → " : " looks at ";
        if (q >= 0 && k >= 0) {
            const value = numberAt(from, q, k);
            add(...quoted(queryName(q)), verb, ...quoted(keyName(k)), ": ",
                number(value === 0 && from.top ? "not among the largest " + data.top : shown(value)));
        } else {
            const numbers = q >= 0 ? rowOf(from, q) : columnOf(from, k), name = q >= 0 ? keyName : queryName;
            add(...quoted(q >= 0 ? queryName(q) : keyName(k)), q >= 0 ? " looks at " : " is looked at by ");
            const most = largest(numbers, 4);
            most.forEach((i, n) => add(n ? ", " : "", ...quoted(name(i)), " ", number(shown(numbers[i]))));
            if (!most.length) add("nothing");
        }
    }
    const row = inputRow() >= 0 ? inputRow() : keysAreRows() ? k : -1;
    if (data.contributions && row >= 0) {
        add(pieces.length ? " · contribution " : "");
        if (!parts.length || pieces.length === 0) add(...quoted(data.rows[row]), " contributes ");
        if (parts.length && row !== q) add("of ", ...quoted(data.rows[row]), " ");
        add(number(format(data.contributions[row] || 0, true)));
        if (data.target) add(" to ", make("bdi", "", data.target));
    }
    if (data.answers.length > 1 && row >= 0 && row < data.answers.length && data.answers.length === data.rows.length) {
        add(" · prediction ", ...quoted(data.answers[row]));
        if (percent(data.probabilities[row])) add(" " + percent(data.probabilities[row]));
    }
    place.replaceChildren(...pieces);
    place.classList.toggle("empty", pieces.length === 0);
    if (!pieces.length) place.append(parts.length ? "Point at a word, a cell or a drawing to read its numbers." : "Point at a word to read its number.");
}

function fillTable() {
    const place = byId("top");
    if (!place.open) return;
    const from = plane(), table_ = make("table"), head = make("tr"), most = Math.min(from.queries, 1000);
    const caption = make("caption", "", title() + (most < from.queries ? `, the first ${most} of ${from.queries} rows` : ""));
    for (const name of ["Query", "looks most at", "then", "then"]) {
        const cell = make("th", "", name);
        cell.scope = "col";
        head.append(cell);
    }
    const body = make("tbody"), top = make("thead");
    top.append(head);
    for (let q = 0; q < most; q++) {
        const line = make("tr"), name = make("th"), first = from.first[q], row = from.value.subarray(first, from.first[q + 1]);
        name.scope = "row";
        name.append(make("bdi", "", queryName(q)));
        line.append(name);
        const three = largest(row, 3);
        for (let i = 0; i < 3; i++) {
            const cell = make("td");
            if (i < three.length)
                cell.append(make("bdi", "", keyName(from.key[first + three[i]])), " ", make("span", "number", shown(row[three[i]])));
            line.append(cell);
        }
        body.append(line);
    }
    table_.append(caption, top, body);
    place.querySelector("table").replaceWith(table_);
}

function title() {
    const {layer, head, view} = state, where = parts.length > 1 ? (partNames[part().name] || part().name) + ", " : "";
    const what = view === "rollout" ? `rollout up to layer ${layerNumber(layer)}`
        : `layer ${layerNumber(layer)}, ` + (head < 0 ? "mean over heads" : `head ${head + 1}`);
    const text = where + what;
    return text.charAt(0).toUpperCase() + text.slice(1);
}

function inputText() {
    const hint = byId("input-hint"), numbers = colourNumbers(), legend = byId("scene-legend");
    const to = data.target ? ` of ${data.target}` : "";
    const rows = data.asked_row >= 0 && data.rows[data.asked_row] !== undefined ? ` for “${data.rows[data.asked_row]}”` : "";
    hint.textContent = state.colour === "contributions" && data.contributions
        ? `Red ${unit}s support the prediction${to}${rows}, blue ones oppose it: gradient × input.`
        : keysAreRows() ? `Coloured by ${state.view === "gradient" ? "gradient × attention" : "the weights"} of the ${unit} that is chosen; without one, by their mean.`
            : parts.length ? "This part of the network does not look at the input itself." : "";
    if (scene === frames) hint.textContent = data.contributions ? `Choose a frame to see where it looks. Contributions: red supports the prediction${to}, blue opposes it.`
        : "Choose a frame to see where it looks.";
    legend.className = "legend";
    if (numbers && scene !== frames) drawLegend(legend, numbers.most, numbers.signed, "");
    else legend.replaceChildren();
}

// ---- light and dark ----

function setTheme(is, chosen) {
    dark = is;
    if (chosen) document.documentElement.dataset.theme = is ? "dark" : "light";
    const button = byId("theme");
    button.textContent = is ? "Light" : "Dark";
    button.setAttribute("aria-label", is ? "Switch to light colours" : "Switch to dark colours");
    button.setAttribute("aria-pressed", is);
    change({theme: (state.theme || 0) + 1});
}

// ---- all ----

function update(changed) {
    for (const name in choices) choices[name](name === "part" ? String(state.part) : state[name]);
    if (parts.length) {
        byId("detail-title").textContent = title();
        byId("view-hint").textContent = viewHints[state.view] + (plane().top ? ` Rows have more than ${data.long} entries: the page holds the ${data.top} largest of each.` : "");
        byId("lines-left").textContent = "query";
        byId("lines-right").textContent = "key";
        byId("matrix").setAttribute("aria-label", `${title()}: ${plane().queries} queries, ${plane().keys} keys`);
        const grey = view => !hasView(view);
        for (const button of byId("views").children) button.disabled = grey(button.dataset.value);
        matrix.update(changed);
        lines.update(changed);
        overview.update(changed);
        if (changedAny(changed, "part", "layer", "head", "view")) fillTable();
        const {row, key} = state;
        if (changed.has("row") && row >= 0) lines.reveal(row);
        if (changed.has("key") && key >= 0 && row < 0) lines.reveal(key);
        if (changedAny(changed, "row", "key") && matrix.fit) matrix.reveal();
    }
    scene.update(changed);
    inputText();
    readout();
}

function start() {
    const chosen = data.chosen || {};
    heading();
    document.body.classList.toggle("two", parts.length > 0 && scene !== frames && (scene !== strip || data.rows.length <= 80));
    byId("input-title").textContent = {graph: "Graph", molecule: "Molecule", frames: "Recording", grid: "Picture"}[data.scene.kind] || "Input";
    if (parts.length) {
        state.part = Math.max(0, parts.findIndex(one => one.part === chosen.part));
        state.layer = part().layers.findIndex(one => one.layer === chosen.layer);
        if (state.layer < 0) state.layer = part().layers.length - 1;
        state.head = Math.min(chosen.head ?? -1, layerData().heads - 1);
        state.view = ["weights", "rollout", "gradient"][chosen.view || 0];
        if (!hasView(state.view)) state.view = "weights";
        const row = chosen.row ?? -1;
        if (row >= 0 && row < layerData().queries) state.row = row;
        state.soft = layerData().keys > 60;
        byId("stored").textContent = "Weights are stored in steps of 0.001" +
            (parts.some(one => one.layers.some(layer => layer.top)) ? `, of rows with more than ${data.long} entries the ${data.top} largest` : "") +
            "; every number shown is within 0.0005 of what was computed. This page was made by attn explain and needs no network.";
        matrix.listen();
        lines.listen();
        overview.listen();
    } else {
        byId("overview").remove();
        byId("detail").remove();
        byId("stored").textContent = "This model has no attention to draw: contributions say what each row did for the score. This page was made by attn explain and needs no network.";
    }
    if (!data.contributions || scene === grid && keysAreRows()) state.colour = "weights";
    makeChoices();
    if (parts.length) {
        const soft = make("label", "check"), box = make("input");
        box.type = "checkbox";
        box.checked = state.soft;
        box.addEventListener("change", () => change({soft: box.checked}));
        soft.append(box, "Bring out small numbers");
        byId("legend").after(soft);
        byId("top").addEventListener("toggle", fillTable);
    }
    scene.make(byId("scene"));
    find.listen();
    watchers.push(update);
    const system = matchMedia("(prefers-color-scheme: dark)");
    dark = system.matches;
    setTheme(dark, false);
    system.addEventListener("change", () => document.documentElement.dataset.theme || setTheme(system.matches, false));
    byId("theme").addEventListener("click", () => setTheme(!dark, true));
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
        if (window.innerWidth === width) return;
        width = window.innerWidth;
        change({size: (state.size || 0) + 1});
    });
    // Paper is white.
    let before = null;
    window.addEventListener("beforeprint", () => {
        before = {dark, chosen: document.documentElement.dataset.theme};
        setTheme(false, true);
        tell();
        if (parts.length) matrix.draw(), lines.draw();
    });
    window.addEventListener("afterprint", () => {
        if (!before) return;
        if (!before.chosen) delete document.documentElement.dataset.theme;
        setTheme(before.dark, !!before.chosen);
    });
    update(new Set(["part", "layer", "head", "view", "theme", "size", "soft", "colour"]));
    pending = null;
    if (parts.length) {
        lines.draw();
        matrix.draw();
        if (state.row >= 0) lines.reveal(state.row);
    }
    requestAnimationFrame(() => performance.mark("first-drawing"));
}
start();
