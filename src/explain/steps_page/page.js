/* page.js: one step at a time, or all of them; the row, the head, keys and printing. */

const state = {
    row: Math.max(0, data.rows.indexOf(data.row)),
    head: data.head - data.firstHead,
    key: -1,
    step: 0,
    all: false,
    choose(row, head) {
        Object.assign(state, {row, head, key: -1});
        render();
    },
    pick(key) {
        state.key = key;
        render();
    },
};

const partTitles = {
    encoder: 'self-attention of the encoder',
    decoder: 'self-attention of the decoder',
    source: 'cross-attention',
    pool: 'attention pooling'
};

const stage = make('main', {id: 'stage', tabindex: -1});
const tabs = make('ol', {id: 'tabs'});
const rowSelect =
    make('select', {id: 'row-select', onchange: () => state.choose(Number(rowSelect.value), state.head)},
         data.rowNames.map((name, i) => make('option', {value: i}, `${data.rows[i] + 1}: ${name}`)));
const headSelect =
    make('select', {id: 'head-select', onchange: () => state.choose(state.row, Number(headSelect.value))},
         Array.from({length: data.heads},
                    (unused, h) => make('option', {value: h}, String(data.firstHead + h + 1))));
rowSelect.disabled = data.rows.length < 2;
headSelect.disabled = data.heads < 2;
const back = make('button', {type: 'button', class: 'go', onclick: () => go(state.step - 1)}, '◂ Back');
const next = make('button', {type: 'button', class: 'go main', onclick: () => go(state.step + 1)}, 'Next ▸');
const everything = make('button', {
    type: 'button',
    class: 'go',
    'aria-pressed': 'false',
    onclick: () => {
        state.all = !state.all;
        render();
    }
},
                        'All steps');
const place = make('span', {id: 'place'});

const headline = make('h1');

/* What the whole page is about: the title, or the answer, of this row where every row has one. */
function renderHeadline() {
    const answer = data.answers.length === 1 ? data.answers[0] : data.answers[state.row];
    headline.replaceChildren('Attention, step by step');
    if (data.title)
        headline.append(': ', nameOf(data.title));
    else if (data.answers.length > 1)
        headline.append(': ', nameOf(data.rowNames[state.row]), ' → ', nameOf(answer));
    else if (answer)
        headline.append(': ', nameOf(answer));
}

function header() {
    const member = data.members > 1 ? `, network ${data.member + 1} of ${data.members}` : '';
    return make(
        'header', {id: 'top'},
        make('div', {id: 'headline'}, headline,
             make('p', null, `${partTitles[data.part] || data.part}, layer ${data.layer + 1}${member}`)),
        make('div', {id: 'choices'}, make('label', null, 'row ', rowSelect),
             make('label', null, 'head ', headSelect, ` of ${data.allHeads}`)),
        make('nav', {'aria-label': 'steps'}, tabs));
}

function sectionOf(step, number) {
    const id = `step-${number + 1}`;
    return make(
        'section', {class: 'step', id, 'aria-labelledby': `${id}-title`},
        make('h2', {id: `${id}-title`}, make('span', {class: 'count'}, String(number + 1)), step.title),
        make('p', {class: 'formula'}, step.formula), make('p', {class: 'say'}, step.say),
        make('div', {class: 'picture'}, step.picture));
}

function render() {
    const view = compute(state.row, state.head);
    const room = printing ? 700 : Math.max(280, stage.clientWidth - (window.innerWidth > 700 ? 124 : 30));
    const steps = stepsOf(view, state, room);
    state.step = Math.max(0, Math.min(steps.length - 1, state.step));
    hideTip();
    renderHeadline();
    rowSelect.value = String(state.row);
    headSelect.value = String(state.head);
    const all = state.all || printing;
    const made = view.seen.length ? steps.map((step, i) => all || i === state.step ? step() : null)
                                  : [stepSentence(view, state, room)];
    stage.replaceChildren(...made.map((step, i) => step && sectionOf(step, i)).filter(Boolean));
    if (!view.seen.length)
        stage.append(make('p', {class: 'say'}, 'This row sees no row at all: its output is 0.'));
    if (view.checks.failed.size && !(all || state.step === steps.length - 1))
        stage.append(
            make('p', {class: 'check bad'}, 'These numbers do not belong together: see the last step. '));
    document.body.classList.toggle('all', all);
    everything.setAttribute('aria-pressed', String(state.all));
    everything.textContent = state.all ? 'One step' : 'All steps';
    back.disabled = state.all || state.step === 0;
    next.disabled = state.all || state.step === steps.length - 1;
    place.textContent = state.all ? `${steps.length} steps` : `${state.step + 1} of ${steps.length}`;
    tabs.replaceChildren(
        ...steps.map((step, i) => make('li', null,
                                       make('button', {
                                           type: 'button',
                                           'aria-current': !state.all && i === state.step ? 'step' : null,
                                           onclick: () => go(i)
                                       },
                                            make('span', {class: 'count'}, String(i + 1)),
                                            make('span', {class: 'word'}, shortNames()[i])))));
}

function shortNames() {
    const names = ['row', 'q, k, v'];
    if (data.dotted)
        names.push('q·k', data.scale === 1 ? 'scale' : '÷ √d');
    return [
        ...names, data.dotted ? 'mask' : 'score', data.softmax ? 'softmax' : 'weights', 'Σ w·v', 'heads',
        'result'
    ];
}

function go(step) {
    if (state.all) {
        const section = document.getElementById(`step-${step + 1}`);
        if (section)
            section.scrollIntoView();
        return;
    }
    state.step = step;
    render();
    remember();
    const heading = stage.querySelector('h2');
    live.textContent = heading ? heading.textContent : '';
    window.scrollTo(0, 0);
}

/* The address keeps the step, so that a page can be opened at one. */
function remember() {
    try {
        history.replaceState(null, '', `#${state.step + 1}`);
    } catch (error) { /* an address that may not change */
    }
}

function onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(SELECT|INPUT)$/.test(event.target.tagName))
        return;
    if (event.key === 'ArrowRight' || event.key === 'PageDown')
        go(state.step + 1);
    else if (event.key === 'ArrowLeft' || event.key === 'PageUp')
        go(state.step - 1);
    else if (event.key === 'Home')
        go(0);
    else if (event.key === 'End')
        go(99);
    else
        return;
    event.preventDefault();
}

function start() {
    const asked = location.hash.slice(1);
    if (asked === 'all')
        state.all = true;
    else if (Number(asked) > 0)
        state.step = Number(asked) - 1;
    document.getElementById('plain').remove();
    document.body.prepend(header(), stage, make('footer', {id: 'bottom'}, back, place, next, everything), tip,
                          live);
    document.addEventListener('keydown', onKey);
    darkQuery.addEventListener('change', render);
    let width = window.innerWidth;
    window.addEventListener('resize', () => {
        if (window.innerWidth !== width) {
            width = window.innerWidth;
            render();
        }
    });
    window.addEventListener('beforeprint', () => {
        printing = true;
        render();
    });
    window.addEventListener('afterprint', () => {
        printing = false;
        render();
    });
    render();
}
start();
