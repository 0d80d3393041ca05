/* steps.js: the nine steps: for each its heading, its formula, what it says, and its picture. */

const mostRows = 20; /* of a picture; the rest is one line */

/* The key whose numbers are worked out in full: the chosen one if the row sees it, else the heaviest. */
function focusOf(view, state) {
    const chosen = view.keys.find((key) => key.j === state.key && !key.masked);
    return chosen ||
           view.seen.reduce((a, b) => Math.abs(b.weight) > Math.abs(a.weight) ? b : a, view.seen[0]);
}

/* A table with a line for each key; columns = [{head, cell(key), bar(key), most, weights}]. */
function keyTable(view, state, columns, caption) {
    const focus = focusOf(view, state),
          share = `${Math.floor(84 / columns.filter((column) => column.bar).length)}%`;
    const rows = view.keys.map((key) => {
        const cells = columns.map((column) => {
            const number = column.cell(key);
            const bar = column.bar && !key.masked ? barOf(number, column.most, column.weights) : null;
            return make('td', {class: column.bar ? 'with-bar' : null},
                        make('span', {class: 'number'}, typeof number === 'string' ? number : show(number)),
                        bar);
        });
        const button = make('button', {
            type: 'button',
            class: 'pick',
            disabled: key.masked,
            'aria-pressed': key === focus ? 'true' : 'false',
            title: 'work this one out in full',
            onclick: () => state.pick(key.j)
        },
                            nameOf(key.name));
        return make('tr', {class: `${key.masked ? 'masked' : ''} ${key === focus ? 'focus' : ''}`},
                    make('th', {scope: 'row'}, button), cells);
    });
    if (data.rest > 0 && columns.some((column) => column.rest !== undefined)) {
        rows.push(make(
            'tr', {class: 'rest'}, make('th', {scope: 'row'}, `${data.rest} others`),
            columns.map((column) => make('td', null, column.rest === undefined ? '' : show(column.rest)))));
    }
    return make('div', {class: 'scroll'},
                make('table', {class: 'keys'}, make('caption', null, caption),
                     make('thead', null,
                          make('tr', null, make('th', {scope: 'col'}, 'key'),
                               columns.map((column) => make('th', {
                                               scope: 'col',
                                               class: column.bar ? 'with-bar' : null,
                                               width: column.bar ? share : null
                                           },
                                                            column.head)))),
                     make('tbody', null, rows)));
}

/* From the middle for signed numbers, from the left for weights. */
function barOf(number, most, weights) {
    const share = most > 0 && Number.isFinite(number) ? Math.min(1, Math.abs(number) / most) : 0;
    const bar = make('span', {class: 'bar'});
    bar.style.background =
        weights ? css(weightColour(0.25 + 0.65 * share)) : css(signedColour(number < 0 ? -1 : 1, 1));
    bar.style.width = `${share * (weights ? 100 : 50)}%`;
    bar.style.left = weights ? '0' : `${number < 0 ? 50 - share * 50 : 50}%`;
    return make('span', {class: weights ? 'bars' : 'bars signed', 'aria-hidden': 'true'}, bar);
}

const figure = (caption, ...children) =>
    make('figure', null, caption ? make('figcaption', null, caption) : null,
         make('div', {class: 'scroll'}, children));
const quote = (name) => make('b', null, nameOf(name));
const transposed = (name, index) => [math(name), sub(index), sup('T')];

function stepSentence(view, state, room) {
    const chip = (name, number, attributes) => make('button', {type: 'button', ...attributes}, nameOf(name),
                                                    make('small', null, String(number + 1)));
    const many = data.rows.length > 1;
    const queries = data.rowNames.map((name, i) => chip(name, data.rows[i], {
                                          class: i === view.row ? 'chip chosen' : 'chip',
                                          'aria-pressed': i === view.row ? 'true' : 'false',
                                          disabled: !many,
                                          onclick: () => state.choose(i, state.head)
                                      }));
    const keys =
        view.keys.map((key) => make('span', {class: key.masked ? 'chip masked' : 'chip'}, nameOf(key.name),
                                    make('small', null, key.masked ? 'not seen' : String(key.number + 1))));
    const unseen = view.keys.length - view.seen.length;
    const about = [];
    if (data.self && many) {
        queries.forEach((element, i) => {
            if (view.keys[i] && view.keys[i].masked) {
                element.classList.add('masked');
                element.lastChild.textContent = 'not seen';
            }
        });
        about.push(
            make('div', {class: 'sentence', role: 'group', 'aria-label': 'rows; choose one'}, queries));
    } else {
        about.push(make('h3', null, data.part === 'pool' ? 'The rows that are pooled' : 'What is looked at'),
                   make('div', {class: 'sentence'}, keys));
        if (data.part !== 'pool')
            about.push(make('h3', null, 'The row that looks'), make('div', {class: 'sentence'}, queries));
    }
    if (view.x) {
        const rows = data.self || !data.whole
                         ? data.rowNames.map((name, i) => ({
                                                 name,
                                                 numbers: slice(data.x, i * data.columns, data.columns),
                                                 what: `x of ${name}`,
                                                 strong: i === view.row
                                             }))
                         : [{name: view.name, numbers: view.x, what: `x of ${view.name}`, strong: true}];
        about.push(figure(
            [
                math('x'), rows.length > 1 ? ': every row as ' : [': ', quote(view.name), ' as '],
                `${data.columns} numbers, as this layer gets ${rows.length > 1 ? 'them' : 'it'}`
            ],
            stack(rows, room, {mostTotal: 440, mostHeight: 30, leastHeight: 12, label: 'x of every row'})));
    }
    if (!data.whole)
        about.push(make(
            'p', {class: 'hint'},
            `The input has ${data.allKeys} rows. With more than 64, this page has one row and head, and the ${
                view.keys.length} rows that it looks at most; the others are one sum.`));
    return {
        title: 'One row asks', formula: view.x ? [math('x'), sub(String(data.rows[view.row] + 1)), ` = (${view.x.slice(0, 4).map(show).join(', ')}${view.x.length > 4 ? ', …' : ''})`] : [math('q'), ' is learned'],
        say: [quote(view.name), ` (row ${data.rows[view.row] + 1}) looks at ${view.seen.length + data.rest === 1 ? 'one row' : `${view.seen.length + data.rest} rows`} and takes a little from each. The steps show how much, and every number on the way.`,
            unseen ? ` ${unseen} ${unseen === 1 ? 'row is' : 'rows are'} not seen: ${data.edges ? 'no edge leads there' : 'masked'}.` : '',
            many ? ' Choose another row by its name.' : ''],
        picture: about,
    };
}

function stepProjections(view, state, room) {
    const focus = focusOf(view, state), w = data.width, wide = room > 900, each = wide ? room / 3 - 24 : room;
    const pictures = [], bias = (b) => b ? [' + ', math('b')] : '';
    if (view.x && data.wq) {
        pictures.push(product({
            title: `query of ${view.name}`,
            x: view.x,
            weight: data.wq,
            first: view.head * w,
            rows: w,
            bias: data.bq,
            result: view.plainQuery,
            names: {x: 'x', weight: 'W_q', index: 'q', result: 'q'}
        },
                              each));
    }
    if (focus && focus.x && data.wk) {
        pictures.push(product({
            title: `key of ${focus.name}`,
            x: focus.x,
            weight: data.wk,
            first: view.kv * w,
            rows: w,
            bias: data.bk,
            result: mapped(focus.x, data.wk, data.bk, view.kv * w, w).out,
            names: {x: 'x', weight: 'W_k', index: 'k', result: 'k'}
        },
                              each));
    }
    if (focus && focus.x && data.wv) {
        pictures.push(product({
            title: `value of ${focus.name}`,
            x: focus.x,
            weight: data.wv,
            first: view.kv * data.valueWidth,
            rows: data.valueWidth,
            bias: data.bv,
            result: focus.v,
            names: {x: 'x', weight: 'W_v', index: 'v', result: 'v'}
        },
                              each));
    }
    const shown = view.seen.slice(0, 64), half = wide ? room / 2 - 24 : room;
    const height = {mostTotal: 460, mostHeight: 28, leastHeight: 13};
    const rows = (part) => shown.map(
        (key) =>
            ({name: key.name, numbers: key[part], what: `${part} of ${key.name}`, strong: key === focus}));
    const own = [{name: 'q', numbers: view.q, what: 'q', strong: true}];
    if (data.rotated && view.plainQuery)
        own.unshift({name: 'before turning', numbers: view.plainQuery, what: 'x W_q + b'});
    return {
        title: 'From x to query, key and value',
        formula: data.wq ? [math('q'), ' = ', math('x'), ' ', transposed('W', 'q'), bias(data.bq), make('span', {class: 'gap'}), math('k'), ' = ', math('x'), ' ', transposed('W', 'k'), bias(data.bk),
            make('span', {class: 'gap'}), math('v'), ' = ', math('x'), ' ', transposed('W', 'v'), bias(data.bv)] : [math('q'), ', ', math('k'), ', ', math('v')],
        say: ['The query says what ', quote(view.name), ' looks for, a key what a row can be found by, a value what it hands on. ',
            data.wq ? 'Each number is one row of a learned matrix times x.' : data.part === 'pool' ? 'The query was learned and is the same for every input.' : 'This layer has no matrices of its own here, or one for each piece of x.',
            data.rotated ? ' Rotary positions then turn q and k; their lengths stay.' : ''],
        picture: [pictures.length ? make('div', {class: 'side-by-side'}, pictures.map((picture) => make('div', {class: 'scroll'}, picture))) : null,
            figure(['The query of ', quote(view.name)], stack(own, room, {label: 'the query', mostCell: 58})),
            make('div', {class: 'side-by-side'}, figure('Keys of the rows that it sees', stack(rows('k'), half, {...height, label: 'keys'})),
                figure('Values of the rows that it sees', stack(rows('v'), half, {...height, label: 'values'})))],
    };
}

/* q, k and their products, in lines of 16 where there is room to write the numbers. */
function dotRows(view, focus, room) {
    const most = Math.max(largest(view.q), largest(focus.k)), mostProduct = largest(focus.products);
    const each = room > 700 && data.width > 16 && data.width <= 64 ? 16 : data.width;
    const rows = [];
    for (let first = 0; first < data.width; first += each) {
        const part = (numbers) => numbers.slice(first, first + each), last = first + each >= data.width;
        rows.push({name: 'q', numbers: part(view.q), most, what: 'q', offset: first});
        rows.push({
            name: `k of ${focus.name}`,
            numbers: part(focus.k),
            most,
            what: `k of ${focus.name}`,
            offset: first,
        });
        rows.push({
            name: 'product',
            numbers: part(focus.products),
            most: mostProduct,
            rule: true,
            strong: true,
            what: 'product',
            offset: first,
            after: last ? 0 : 18,
            note: last && room >= 600 ? `Σ = ${show(focus.dot)}` : '',
            more: (c) => ` = ${show(view.q[first + c])} · ${show(focus.k[first + c])}`,
        });
    }
    return rows;
}

function stepDots(view, state, room) {
    const focus = focusOf(view, state);
    const columns = [{
        head: [math('q'), ' · ', math('k')],
        cell: (key) => key.dot,
        bar: true,
        most: largest(view.keys.map((key) => key.dot)),
    }];
    const caption = [
        math('q'), ' times ', math('k'), ' of ', quote(focus.name), ', number by number',
        room < 600 ? `: the products add up to ${show(focus.dot)}` : ''
    ];
    const label = `query, key of ${focus.name}, and their products; the sum is ${show(focus.dot)}`;
    return {
        title: 'The query meets every key',
        formula: [
            math('q'), ' · ', math('k'), sub('j'), ' = ', math('q'), sub('1'), math('k'), sub('j1'), ' + ',
            math('q'), sub('2'), math('k'), sub('j2'), ' + …'
        ],
        say: [
            'Number by number, query times key, added up: large where both point the same way. Here for ',
            quote(focus.name), '; choose another key in the table.'
        ],
        picture: [
            figure(caption, stack(dotRows(view, focus, room), room, {
                       noteWidth: room < 600 ? 0 : 110,
                       mostHeight: 28,
                       mostCell: 62,
                       label,
                   })),
            keyTable(view, state, columns, 'q · k for every key'),
        ],
    };
}

function stepScale(view, state) {
    const usual = Math.abs(data.scale * Math.sqrt(data.width) - 1) < 1e-6, focus = focusOf(view, state);
    const most = largest(view.keys.map((key) => key.dot));
    return {
        title: usual ? 'Divided by √d' : 'Scaled',
        formula: usual ? [math('s'), sub('j'), ' = ', math('q'), ' · ', math('k'), sub('j'), ' / √', math('d'), make('span', {class: 'gap'}), `√${data.width} = ${show(Math.sqrt(data.width))}`]
            : [math('s'), sub('j'), ` = ${show(data.scale)} · `, math('q'), ' · ', math('k'), sub('j')],
        say: ['A sum of ', math('d'), ` = ${data.width} products grows with `, math('d'), usual ? '. Divided by √d, scores stay of the same size however long the vectors are, and the softmax does not pick one key alone. ' : '; this layer scales it by a number of its own. ',
            data.softcap > 0 ? `Scores are then kept within ${show(data.softcap)} by tanh. ` : '',
            'For ', quote(focus.name), `: ${show(focus.dot)} × ${show(data.scale)} = ${show(focus.scaled)}.`],
        picture: [keyTable(view, state, [{head: [math('q'), ' · ', math('k')], cell: (key) => key.dot, bar: true, most},
            {head: 'scaled', cell: (key) => key.scaled, bar: true, most}], 'before and after, drawn to the same length')],
    };
}

/* What the score is made of; −∞ where a key is masked. */
function scoreFormula(view, unseen) {
    const s = [math('s'), sub('j'), ' = '], k = [math('k'), sub('j')], q = math('q');
    const scores = {
        'additive': ['w · tanh(', q, ' + ', k, ')'],
        'additive (GAT)': ['leaky(', math('a'), ' · ', q, ' + ', math('b'), ' · ', k, ')'],
        'additive (GATv2)': [math('a'), ' · leaky(', q, ' + ', k, ')'],
        'fixed': ['what was learned for these places']
    };
    const dot = Math.abs(data.scale * Math.sqrt(data.width) - 1) < 1e-6
                    ? [q, ' · ', k, ' / √', math('d')]
                    : [`${show(data.scale)} · `, q, ' · ', k];
    return [
        s, data.dotted ? dot : scores[data.score] || data.score,
        view.biased ? [' + ', math('b'), sub('j')] : '',
        unseen ? [make('span', {class: 'gap'}), math('s'), sub('j'), ' = −∞ where masked'] : ''
    ];
}

function stepBias(view, state) {
    const most =
        Math.max(largest(view.seen.map((key) => key.scaled)), largest(view.seen.map((key) => key.score)));
    const unseen = view.keys.length - view.seen.length, columns = [];
    if (data.dotted)
        columns.push({head: 'scaled', cell: (key) => key.scaled, bar: true, most});
    if (view.biased)
        columns.push({head: '+ bias', cell: (key) => key.masked ? '' : key.bias, bar: true, most});
    columns.push({head: 'score', cell: (key) => key.masked ? '−∞ (masked)' : key.score, bar: true, most});
    const say = [];
    if (!data.dotted)
        say.push(`The score of this layer is ${data.score}, not a dot product${
            data.softmax ? '; it is had back from the weights. ' : '. '}`);
    else if (view.biased)
        say.push(
            'This layer adds a bias to the scaled product: by position, by distance or by edge. It is what is left of the network’s score. ');
    else
        say.push('This layer adds no bias. ');
    say.push(
        unseen
            ? `${unseen} ${unseen === 1 ? 'key is' : 'keys are'} masked: a score of −∞ becomes a weight of 0.`
            : 'No key is masked.');
    return {
        title: !data.dotted  ? 'The score'
               : view.biased ? 'Bias and mask'
                             : 'Mask',
        formula: scoreFormula(view, unseen),
        say,
        picture: [keyTable(view, state, columns, 'scores')],
    };
}

function stepWeights(view, state) {
    const focus = focusOf(view, state), columns = [], e = [math('e'), sup(view.shift ? 's−max' : 's')];
    columns.push({head: 'score', cell: (key) => key.masked ? '−∞' : key.score});
    if (data.softmax)
        columns.push({head: e, cell: (key) => key.exponential, rest: data.restTotal});
    columns.push({
        head: 'weight',
        cell: (key) => key.softmax,
        bar: true,
        weights: true,
        most: Math.max(...view.keys.map((key) => Math.abs(key.softmax))),
        rest: data.restWeight
    });
    const sum = view.keys.reduce((a, key) => a + key.softmax, 0) + data.restWeight;
    return {
        title: data.softmax ? 'Softmax: scores become weights' : 'Scores become weights',
        formula: data.softmax ? [math('w'), sub('j'), ' = ', math('e'), sup(['s', sub('j')]), ' / Σ', sub('i'), ' ', math('e'), sup(['s', sub('i')])]
            : [math('w'), sub('j'), ' = ', data.weighting, view.divisor > 1 ? ` / ${view.divisor}` : ''],
        say: data.softmax ? ['Every weight is above 0, and together they are 1: shares of attention. For ', quote(focus.name), `: ${show(focus.exponential)} / ${show(view.total)} = ${show(focus.softmax)}.`,
            view.shift ? ` (The largest score, ${show(view.shift)}, is taken off first; that changes no weight.)` : '']
            : [`This layer has no softmax: a weight is ${data.weighting} of its score`, view.divisor > 1 ? ', divided by how many rows are seen' : '', '. Weights need not add up to 1.'],
        picture: [keyTable(view, state, columns, `weights: their sum is ${show(sum)}, the longest bar ${show(Math.max(...view.keys.map((key) => Math.abs(key.softmax))))}`)],
    };
}

function stepSum(view, state, room) {
    let keys = view.seen;
    const focus = focusOf(view, state), all = keys.length;
    if (keys.length > mostRows) {
        const least = keys.map((key) => Math.abs(key.weight)).sort((a, b) => b - a)[mostRows - 1];
        keys = keys.filter((key) => Math.abs(key.weight) >= least).slice(0, mostRows);
    }
    const heaviest = largest(view.seen.map((key) => key.weight)),
          gain = heaviest < 0.2 && heaviest > 0 ? Math.floor(0.5 / heaviest) : 1;
    const most = largest(view.seen.flatMap((key) => key.v)), wide = room > 900,
          half = wide ? room / 2 - 20 : room;
    const others = view.o.map((n, c) => n - keys.reduce((sum, key) => sum + key.weight * key.v[c], 0));
    const rest = all - keys.length + data.rest;
    const values = keys.map(
        (key) => ({name: key.name, numbers: key.v, most, what: `v of ${key.name}`, strong: key === focus}));
    const parts = keys.map((key) => ({
                               name: `${show(key.weight)} · ${key.name}`,
                               numbers: key.v.map((n) => n * key.weight),
                               most: most / gain,
                               strong: key === focus,
                               what: `${show(key.weight)} · v of ${key.name}`,
                               more: (c) => ` = ${show(key.weight)} · ${show(key.v[c])}`
                           }));
    if (rest)
        parts.push({name: `${rest} others`, numbers: others, most: most / gain, what: 'the others'});
    parts.push({name: 'Σ = o', numbers: view.o, most: most / gain, rule: true, strong: true, what: 'o'});
    const height = Math.max(14, Math.min(32, 520 / parts.length)),
          size = {mostHeight: height, leastHeight: height, labelWidth: 170};
    return {
        title: 'The values, mixed',
        formula: [math('o'), ' = Σ', sub('j'), ' ', math('w'), sub('j'), ' ', math('v'), sub('j')],
        say: [
            'Every value, faded by its weight; the last line is their sum. This is what ', quote(view.name),
            ` took from the rows it sees, in head ${data.firstHead + view.head + 1}.`,
            data.edgeValues
                ? ' Values here also have a part of the edge, which is not kept, so the sum is not the whole output.'
                : ''
        ],
        picture: [make('div', {class: 'side-by-side'},
                       figure([math('v'), ': the values'], stack(values, half, {...size, label: 'values'})),
                       figure(
                           [
                               math('w'), ' · ', math('v'),
                               gain > 1 ? `, colours ${gain} times as strong, and the sum`
                                        : ' in the same colours, and the sum'
                           ],
                           stack(parts, half, {...size, label: 'weighted values and their sum'})))],
    };
}

function stepHeads(view, state, room) {
    const values = data.valueWidth, most = largest(view.beside);
    const rows = [];
    for (let h = 0; h < data.allHeads; h++) {
        const own = h === data.firstHead + view.head;
        rows.push({
            name: `head ${h + 1}${own ? ' ◂' : ''}`,
            numbers: view.beside.slice(h * values, (h + 1) * values),
            most,
            strong: own,
            ink: headColour(h),
            what: `o of head ${h + 1}`
        });
    }
    return {
        title: data.allHeads > 1 ? 'All heads, side by side' : 'One head',
        formula: [
            math('c'), ' = (', math('o'), sup('1'),
            data.allHeads > 1 ? [', ', math('o'), sup('2'), data.allHeads > 2 ? ', …' : ''] : '', ')'
        ],
        say: data.allHeads > 1
                 ? [`Each of ${data.allHeads} heads did the same with matrices of its own. Their ${
                       values} numbers stand one after another: ${data.allHeads} × ${values} = ${
                       view.beside.length}.`]
                 : ['This layer has one head, so its output is all there is.'],
        picture: [
            figure('the outputs of the heads',
                   stack(rows, room, {label: 'outputs of the heads', mostTotal: 420, leastHeight: 14})),
            data.allHeads > 1 ? figure([math('c'), ', coloured below by head'], besideStrip(view, room, most))
                              : null
        ],
    };
}

/* All heads in one line, with the colour of its head below each piece. */
function besideStrip(view, room, most) {
    const count = view.beside.length, cellWidth = Math.max(1, Math.min(58, (room - 30) / count)),
          width = 26 + cellWidth * count + 4;
    const block = {
        left: 26,
        top: 2,
        cellWidth,
        cellHeight: 32,
        rows: 1,
        columns: count,
        number: (r, c) => view.beside[c],
        colour: (r, c) => signedColour(view.beside[c], most),
        text: (r, c) => `c[${c + 1}] = ${show(view.beside[c])} (head ${Math.floor(c / data.valueWidth) + 1})`
    };
    return canvasOf(
        width, 46, `${count} numbers of all heads. Arrow keys read the numbers.`, [block], (context) => {
            context.fillStyle = isDark() ? '#e6e9ed' : '#1b222b';
            context.font = 'italic 16px Georgia, "DejaVu Serif", serif';
            context.textAlign = 'right';
            context.textBaseline = 'middle';
            context.fillText('c', 18, 17);
            for (let h = 0; h < data.allHeads; h++) {
                context.fillStyle = headColour(h);
                context.fillRect(26 + h * data.valueWidth * cellWidth, 37, data.valueWidth * cellWidth - 2,
                                 h === data.firstHead + view.head ? 7 : 4);
            }
        });
}

function stepOutput(view, state, room) {
    const failed = [...view.checks.failed];
    const check =
        failed.length
            ? make('p', {class: 'check bad'}, make('b', null, 'These numbers do not belong together. '),
                   failed.map(([what, n]) => `DIFFERS: ${what} computed here and ${what} of the network are ${
                                  n.toPrecision(3)} apart. `))
            : make(
                  'p', {class: 'check good'},
                  `Checked: this page computes everything again in double precision; the network’s own numbers differ by at most ${
                      view.checks.largest.toExponential(1).replace('-', '−')}, which is rounding.`);
    const pictures = [];
    if (data.wo) {
        pictures.push(figure(null, product({
                                 title: 'every row of the matrix times c',
                                 x: view.beside,
                                 weight: data.wo,
                                 first: 0,
                                 rows: data.resultColumns,
                                 bias: data.bo,
                                 result: view.result,
                                 mostHeight: 250,
                                 names: {x: 'c', weight: 'W_o', index: 'o', result: 'result'}
                             },
                                           Math.min(room, 1100))));
    }
    if (view.result)
        pictures.push(figure(['The result for ', quote(view.name)],
                             stack([{name: 'result', numbers: view.result, what: 'result', strong: true}],
                                   room, {label: 'the result', labelWidth: 70})));
    return {
        title: view.result ? ['Mixed by W', sub('o')] : 'The result',
        formula: view.result ? ['result = ', math('c'), ' ', transposed('W', 'o'), data.bo ? [' + ', math('b')] : ''] : ['result = ', math('c')],
        say: view.result ? ['One more learned matrix mixes what the heads found. The result is what this layer hands on for ', quote(view.name), '. All rows do this at the same time.',
            data.wo ? '' : ` W_o has ${data.resultColumns} × ${view.beside.length} numbers: too many for this page.`] : ['This layer has no matrix after its heads: what stands side by side is its result.'],
        picture: [pictures, check],
    };
}

function stepsOf(view, state, room) {
    const steps = [stepSentence, stepProjections];
    if (data.dotted)
        steps.push(stepDots, stepScale);
    steps.push(stepBias, stepWeights, stepSum, stepHeads, stepOutput);
    return steps.map((step) => () => step(view, state, room));
}
