/* draw.js: elements, colours, and matrices on canvases that tell their numbers. */

/* An element; text only ever becomes text. */
function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name.startsWith('on'))
            element.addEventListener(name.slice(2), value);
        else if (value !== null && value !== undefined && value !== false)
            element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined &&
                                                                child !== false));
    return element;
}
const sub = (text) => make('sub', null, text);
const sup = (text) => make('sup', null, text);
const math = (text) => make('i', null, text);
/* A name from the data, apart from the direction of what stands around it. */
const nameOf = (text) => make('bdi', {class: 'name'}, text);

/* Three decimals, fewer of large numbers. */
function show(number) {
    const size = Math.abs(number);
    if (Number.isNaN(number))
        return 'NaN';
    if (!Number.isFinite(number))
        return number < 0 ? '−∞' : '∞';
    const text = size >= 1e6 || (size < 5e-4 && size > 0) ? number.toExponential(1)
                                                          : number.toFixed(size >= 1e4   ? 0
                                                                           : size >= 1e3 ? 1
                                                                           : size >= 100 ? 2
                                                                                         : 3);
    return text.replace('-', '−');
}
/* For cells: as short as can be read. */
function showShort(number) {
    const size = Math.abs(number);
    if (size < 0.005)
        return '0';
    const text = number.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
    return text.replace('-', '−');
}

/* ---- colours ---- */

const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
let printing = false;
const isDark = () => darkQuery.matches && !printing;
const headColours = ['#0072b2', '#d55e00', '#00896b', '#7a5195', '#b8860b', '#c2185b', '#5d8aa8', '#444444'];
const headColour = (head) => {
    const colour = headColours[head % headColours.length];
    return isDark() && colour === '#444444' ? '#bbbbbb' : colour;
};

function mix(from, to, share) { return from.map((n, i) => Math.round(n + (to[i] - n) * share)); }
/* Blue below 0, the background at 0, red-brown above. */
function signedColour(number, most) {
    const share = most > 0 && Number.isFinite(number) ? Math.min(1, Math.abs(number) / most) : 0;
    return mix(isDark() ? [24, 28, 34] : [255, 255, 255], number < 0 ? [33, 102, 172] : [178, 24, 43],
               Math.pow(share, 0.8));
}
/* Weights from 0 to 1. */
function weightColour(number) {
    const stops = isDark() ? [[24, 28, 34], [66, 146, 198], [222, 235, 247]]
                           : [[255, 255, 255], [107, 174, 214], [8, 48, 107]];
    const share = Math.max(0, Math.min(1, number)) * 2;
    return share <= 1 ? mix(stops[0], stops[1], share) : mix(stops[1], stops[2], share - 1);
}
const css = (colour) => `rgb(${colour.join(',')})`;
function inkOn(colour) {
    const light = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
    return light > 140 ? '#111' : '#fff';
}
const largest = (numbers) =>
    numbers.reduce((most, n) => Number.isFinite(n) ? Math.max(most, Math.abs(n)) : most, 0);

/* ---- what a number is: beside the pointer, and said aloud ---- */

const tip = make('div', {id: 'tip', 'aria-hidden': 'true'});
const live = make('div', {id: 'live', 'aria-live': 'polite', class: 'aside'});

function showTip(text, x, y, aloud) {
    tip.textContent = text;
    tip.style.display = 'block';
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(6, Math.min(window.innerWidth - box.width - 6, x + 14))}px`;
    tip.style.top =
        `${y + 18 + box.height > window.innerHeight ? Math.max(6, y - box.height - 12) : y + 18}px`;
    if (aloud)
        live.textContent = text;
}
function hideTip() { tip.style.display = 'none'; }

/* ---- canvases ---- */

const fontFamily = 'system-ui, "DejaVu Sans", sans-serif';

function fitText(context, text, width) {
    if (context.measureText(text).width <= width)
        return text;
    const letters = Array.from(text);
    while (letters.length > 1 && context.measureText(`${letters.join('')}…`).width > width)
        letters.pop();
    return `${letters.join('')}…`;
}

/* A canvas of so many CSS pixels with blocks of cells. A block is {left, top, cellWidth, cellHeight, rows,
 * columns, number(r, c), colour(r, c), text(r, c): what the cell is}. */
function canvasOf(width, height, label, blocks, paint) {
    const ratio = Math.max(2, window.devicePixelRatio || 1);
    const canvas = make('canvas', {
        tabindex: 0,
        role: 'img',
        'aria-label': label,
        width: Math.ceil(width * ratio),
        height: Math.ceil(height * ratio)
    });
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d');
    const cursor = {block: 0, row: 0, column: 0, on: false};
    function draw() {
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.clearRect(0, 0, width, height);
        for (const block of blocks)
            drawBlock(context, block);
        if (paint)
            paint(context);
        if (cursor.on)
            drawCursor(context, blocks, cursor);
    }
    function say(x, y, aloud) {
        const block = blocks[cursor.block];
        showTip(block.text(cursor.row, cursor.column), x, y, aloud);
    }
    function point(event) {
        const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
        const at =
            blocks.findIndex((b) => x >= b.left && y >= b.top && x < b.left + b.cellWidth * b.columns &&
                                    y < b.top + b.cellHeight * b.rows);
        cursor.on = at >= 0;
        if (at < 0) {
            hideTip();
            draw();
            return;
        }
        const block = blocks[at];
        Object.assign(cursor, {
            block: at,
            row: Math.floor((y - block.top) / block.cellHeight),
            column: Math.floor((x - block.left) / block.cellWidth)
        });
        draw();
        say(event.clientX, event.clientY, event.type === 'pointerdown');
    }
    canvas.addEventListener('pointermove', point);
    canvas.addEventListener('pointerdown', point);
    canvas.addEventListener('pointerleave', () => {
        cursor.on = false;
        hideTip();
        draw();
    });
    canvas.addEventListener('blur', () => {
        cursor.on = false;
        hideTip();
        draw();
    });
    canvas.addEventListener('keydown', (event) => {
        const block = blocks[cursor.block];
        const move = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]}[event.key];
        if (event.key === 'Escape') {
            canvas.blur();
            return;
        }
        if (!move || event.ctrlKey || event.altKey || event.metaKey)
            return;
        if (cursor.on)
            moveCursor(blocks, cursor, block, move);
        cursor.on = true;
        event.preventDefault();
        event.stopPropagation();
        draw();
        const now = blocks[cursor.block], box = canvas.getBoundingClientRect();
        say(box.left + now.left + (cursor.column + 0.5) * now.cellWidth,
            box.top + now.top + (cursor.row + 0.5) * now.cellHeight, true);
    });
    draw();
    return canvas;
}

/* Down and up go on into the next block. */
function moveCursor(blocks, cursor, block, move) {
    const row = cursor.row + move[0];
    if (row < 0 || row >= block.rows) {
        const next = cursor.block + (row < 0 ? -1 : 1);
        if (next < 0 || next >= blocks.length)
            return;
        cursor.block = next;
        cursor.row = row < 0 ? blocks[next].rows - 1 : 0;
    } else {
        cursor.row = row;
    }
    cursor.column = Math.max(0, Math.min(blocks[cursor.block].columns - 1, cursor.column + move[1]));
}

function drawBlock(context, block) {
    const {left, top, cellWidth, cellHeight} = block;
    const gap = cellWidth >= 8 && cellHeight >= 8 ? 1 : 0;
    const numbers = cellWidth >= 33 && cellHeight >= 15;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.font = `${Math.min(15, Math.floor(cellWidth / 3.2), cellHeight - 3)}px ${fontFamily}`;
    for (let r = 0; r < block.rows; r++) {
        for (let c = 0; c < block.columns; c++) {
            const colour = block.colour(r, c), x = left + c * cellWidth, y = top + r * cellHeight;
            context.fillStyle = css(colour);
            context.fillRect(x, y, cellWidth - gap + (gap ? 0 : 0.4), cellHeight - gap + (gap ? 0 : 0.4));
            if (!numbers)
                continue;
            context.fillStyle = inkOn(colour);
            context.fillText(showShort(block.number(r, c)), x + (cellWidth - gap) / 2, y + cellHeight / 2);
        }
    }
    context.strokeStyle = isDark() ? '#4a5460' : '#b8c0ca';
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, top - 0.5, cellWidth * block.columns - gap + 1,
                       cellHeight * block.rows - gap + 1);
}

function drawCursor(context, blocks, cursor) {
    const block = blocks[cursor.block];
    context.strokeStyle = isDark() ? '#ffd24d' : '#111';
    context.lineWidth = 2;
    context.strokeRect(block.left + cursor.column * block.cellWidth - 0.5,
                       block.top + cursor.row * block.cellHeight - 0.5, block.cellWidth, block.cellHeight);
}

/* Vectors one above the other: rows = [{name, numbers, most, note, sum, what}]. `rule`: a line above this
 * row. */
function stack(rows, room, options) {
    const o = options || {};
    const columns = Math.max(...rows.map((row) => row.numbers.length));
    const labelWidth = Math.min(o.labelWidth || 150, room * 0.34), noteWidth = o.noteWidth || 0;
    const space = Math.max(60, room - labelWidth - noteWidth - 4);
    const cellWidth = Math.max(1, Math.min(o.mostCell || 58, space / columns));
    const cellHeight =
        Math.max(o.leastHeight || 12, Math.min(o.mostHeight || 34, (o.mostTotal || 900) / rows.length));
    const width = labelWidth + cellWidth * columns + noteWidth + 4;
    const shared = o.most || largest(rows.flatMap((row) => row.most ? [] : row.numbers));
    let top = 2;
    const blocks = rows.map((row) => {
        if (row.rule)
            top += 12;
        const block = {
            left: labelWidth,
            top,
            cellWidth,
            cellHeight,
            rows: 1,
            columns: row.numbers.length,
            number: (r, c) => row.numbers[c],
            colour: (r, c) => signedColour(row.numbers[c], row.most || shared),
            text: (r, c) => `${row.what || row.name}[${(row.offset || 0) + c + 1}] = ${show(row.numbers[c])}${
                row.more ? row.more(c) : ''}`
        };
        top += cellHeight + (row.after || (cellHeight > 20 ? 3 : 0));
        return block;
    });
    const label = o.label || `${rows.length} vectors of ${columns} numbers`;
    return canvasOf(width, top + 2, `${label}. Arrow keys read the numbers.`, blocks, (context) => {
        context.textBaseline = 'middle';
        rows.forEach((row, i) => {
            const y = blocks[i].top + cellHeight / 2;
            context.font =
                `${row.strong ? '600 ' : ''}${Math.max(10, Math.min(15, cellHeight))}px ${fontFamily}`;
            context.fillStyle = row.ink || (isDark() ? '#e6e9ed' : '#1b222b');
            context.textAlign = 'right';
            context.fillText(fitText(context, row.name, labelWidth - 10), labelWidth - 8, y);
            if (row.rule) {
                context.fillStyle = isDark() ? '#8a94a0' : '#5b6672';
                context.fillRect(labelWidth, blocks[i].top - 7, cellWidth * row.numbers.length, 1.5);
            }
            if (row.note) {
                context.fillStyle = isDark() ? '#e6e9ed' : '#1b222b';
                context.textAlign = 'left';
                context.fillText(row.note, labelWidth + cellWidth * row.numbers.length + 10, y);
            }
        });
    });
}

/* A matrix times a vector: x along the top, W below it, and the result at the side, number r beside row r. */
function product(options, room) {
    const {x, weight, first, rows, bias, result, names} = options, columns = x.length;
    const gutter = 14, label = 34;
    const sideWidth = 52;
    const cellWidth = Math.max(1.2, Math.min(54, (room - label - gutter - sideWidth - 4) / columns));
    const cellHeight = Math.max(1.25, Math.min(30, (options.mostHeight || 260) / rows));
    const top = 30, left = label, under = top + 22;
    const width = left + cellWidth * columns + gutter + sideWidth + 4,
          height = under + gutter + cellHeight * rows + 6;
    const w = (r, c) => weight[(first + r) * columns + c];
    let mostWeight = 0;
    for (let i = first * columns; i < (first + rows) * columns; i++)
        mostWeight = Math.max(mostWeight, Math.abs(weight[i]));
    const mostX = largest(x), mostResult = largest(result), beneath = under + gutter;
    const blocks = [
        {
            left,
            top,
            cellWidth,
            cellHeight: 22,
            rows: 1,
            columns,
            number: (r, c) => x[c],
            colour: (r, c) => signedColour(x[c], mostX),
            text: (r, c) => `${names.x}[${c + 1}] = ${show(x[c])}`
        },
        {
            left,
            top: beneath,
            cellWidth,
            cellHeight,
            rows,
            columns,
            number: w,
            colour: (r, c) => signedColour(w(r, c), mostWeight),
            text: (r, c) => `${names.weight}[${r + 1}, ${c + 1}] = ${show(w(r, c))}; times ${names.x}[${
                c + 1}] = ${show(w(r, c) * x[c])}`
        },
        {
            left: left + cellWidth * columns + gutter,
            top: beneath,
            cellWidth: sideWidth,
            cellHeight,
            rows,
            columns: 1,
            number: (r) => result[r],
            colour: (r) => signedColour(result[r], mostResult),
            text: (r) => `${names.result}[${r + 1}] = row ${r + 1} of ${names.weight} · ${names.x}${
                bias ? ` + ${show(bias[first + r])}` : ''} = ${show(result[r])}`
        },
    ];
    const text = `${names.result} = ${names.weight} ${names.x}: ${rows} by ${
        columns} weights. Arrow keys read the numbers.`;
    return canvasOf(width, height, text, blocks, (context) => {
        context.fillStyle = isDark() ? '#e6e9ed' : '#1b222b';
        context.font = `600 14px ${fontFamily}`;
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        context.fillText(fitText(context, options.title, width - 4), 0, 10);
        context.textAlign = 'right';
        context.font = `italic 15px Georgia, "DejaVu Serif", serif`;
        context.fillText(names.x, left - 8, top + 11);
        const middle = beneath + Math.min(cellHeight * rows / 2, 100);
        context.fillText('W', left - 15, middle);
        context.font = 'italic 11px Georgia, "DejaVu Serif", serif';
        context.fillText(names.index, left - 8, middle + 5);
        context.font = 'italic 15px Georgia, "DejaVu Serif", serif';
        context.textAlign = 'center';
        context.fillText(names.result, blocks[2].left + sideWidth / 2, beneath - 10);
    });
}
