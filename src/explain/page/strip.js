// strip.js: rows as running words, coloured by contribution or weight, with the answer of each below it.
"use strict";

const strip = {words: [], written: []};

strip.make = function (place) {
    const wordsOf = (names, answers, pick, over) => {
        const list = make("div", "strip");
        const start = names.join("").match(/[\p{L}]/u);
        if (start && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(start[0])) list.dir = "rtl";
        const words = [], add = i => {
            const name = names[i], word = make("button", "strip-word");
            word.type = "button";
            word.tabIndex = i ? -1 : 0;
            word.append(make("bdi", "", name));
            if (answers) word.append(make("bdi", "tag", data.answers[i]));
            word.dataset.index = i;
            list.append(word);
            words.push(word);
        };
        // Many words follow in pieces, so that the page is there at once.
        const some = () => {
            for (let end = Math.min(words.length + 150, names.length); words.length < end;) add(words.length);
            if (words.length < names.length)
                setTimeout(() => {
                    some();
                    this.update(new Set(["size"]));
                }, 0);
        };
        some();
        const at = event => {
            const word = event.target.closest(".strip-word");
            return word ? Number(word.dataset.index) : -1;
        };
        list.addEventListener("click", event => at(event) >= 0 && pick(at(event)));
        list.addEventListener("pointermove", event => event.pointerType === "mouse" && (at(event) >= 0 ? over(at(event)) : leave()));
        list.addEventListener("pointerleave", leave);
        list.addEventListener("keydown", event => {
            const at_ = words.indexOf(document.activeElement), back = list.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
            const step = {ArrowLeft: -1, ArrowRight: 1, Home: -at_, End: words.length - 1 - at_}[event.key];
            if (event.key === "Escape") change({row: -1, key: -1});
            if (at_ < 0 || step === undefined) return;
            event.preventDefault();
            const to = words[Math.min(Math.max(at_ + (list.dir === "rtl" && Math.abs(step) === 1 && event.key.startsWith("Arrow")
                ? (event.key === back ? -1 : 1) : step), 0), words.length - 1)];
            words.forEach(word => (word.tabIndex = word === to ? 0 : -1));
            to.focus();
            to.click();
        });
        place.append(list);
        return words;
    };
    this.words = wordsOf(data.rows, data.answers.length === data.rows.length && data.answers.length > 1, chooseInput, overInput);
    if (!data.written.length) return;
    place.append(make("p", "strip-label", "Written"));
    const mine = () => parts.length && part().query_names === "written";
    this.written = wordsOf(data.written, false, i => mine() && change({row: i === state.row ? -1 : i, key: -1}),
                           i => mine() && change({overRow: i, overKey: -1}));
};

strip.update = function (changed) {
    const at = inputRow(), {q} = active();
    // Contributions stay as they are, whatever the pointer is over.
    if (state.colour === "weights" || changedAny(changed, "colour", "theme", "soft", "size")) {
        const numbers = colourNumbers();
        this.words.forEach((word, i) => {
            const rgb = numbers ? colourOf(numbers.of[i] / numbers.most, numbers.signed) : null;
            word.style.backgroundColor = rgb ? css(rgb) : "";
            word.style.color = rgb ? inkOn(rgb) : "";
        });
    }
    if (at !== this.at) {
        if (this.words[this.at]) this.words[this.at].classList.remove("active");
        if (this.words[at]) this.words[at].classList.add("active");
        this.at = at;
    }
    const mine = parts.length && part().query_names === "written";
    this.written.forEach((word, i) => word.classList.toggle("active", mine && i === q));
};

// What colours the rows of the input now: numbers, their largest size, whether they have a sign; null: nothing.
function colourNumbers() {
    if (state.colour === "contributions" && data.contributions) {
        let most = 0;
        for (const number of data.contributions) most = Math.max(most, Math.abs(number || 0));
        return {of: data.contributions.map(number => number || 0), most: most || 1, signed: true};
    }
    const of = parts.length ? inputWeights() : null;
    if (!of) return null;
    let most = 0;
    for (const number of of) most = Math.max(most, Math.abs(number));
    return {of, most: most || 1, signed: plane().signed};
}
