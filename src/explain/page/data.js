// data.js: what the page was given.
