// grid.js: a picture: as the network sees it, and with the weights of a patch, or contributions, over it.
"use strict";

const grid = {};

grid.make = function (place) {
    const scene = data.scene, bytes = bytesOf(scene.pixels);
    this.place = place;
    this.bitmap = make("canvas");
    this.bitmap.width = scene.pixel_width;
    this.bitmap.height = scene.pixel_height;
    const context = this.bitmap.getContext("2d"), image = context.createImageData(scene.pixel_width, scene.pixel_height);
    for (let i = 0; i * 3 < bytes.length; i++)
        image.data.set([bytes[i * 3], bytes[i * 3 + 1], bytes[i * 3 + 2], 255], i * 4);
    context.putImageData(image, 0, 0);
    const pair = make("div", "pictures"), left = make("figure"), right = make("figure");
    this.plain = make("canvas");
    this.plain.setAttribute("role", "img");
    this.plain.setAttribute("aria-label", "The picture as the network sees it");
    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "The picture with its patches; the arrow keys choose a patch");
    left.append(this.plain, make("figcaption", "", "What the network sees"));
    this.caption = make("figcaption");
    right.append(this.canvas, this.caption);
    pair.append(left, right);
    place.append(pair);
    const at = event => {
        const box = this.canvas.getBoundingClientRect(), scale = scene.pixel_width / box.width;
        const column = Math.floor(((event.clientX - box.left) * scale - scene.left - this.inset()) / scene.stride);
        const row = Math.floor(((event.clientY - box.top) * scale - scene.top - this.inset()) / scene.stride);
        const within = (place, count) => Math.max(0, Math.min(place, count - 1));
        return within(row, scene.grid_height) * scene.grid_width + within(column, scene.grid_width);
    };
    this.canvas.addEventListener("pointermove", event => event.pointerType === "mouse" && overInput(at(event)));
    this.canvas.addEventListener("pointerleave", leave);
    this.canvas.addEventListener("click", event => chooseInput(at(event)));
    this.canvas.addEventListener("keydown", event => rowKeys(event, scene.rows, scene.grid_width));
};

grid.update = function () {
    const scene = data.scene, wide = this.plain.parentElement.clientWidth;
    const size = Math.min(wide, 380), height = size * scene.pixel_height / scene.pixel_width, s = size / scene.pixel_width;
    const numbers = colourNumbers(), at = inputRow();
    for (const canvas of [this.plain, this.canvas]) {
        canvas.style.width = size + "px";
        const context = sized(canvas, size, height);
        context.imageSmoothingEnabled = scene.pixel_width > size;
        context.drawImage(this.bitmap, 0, 0, size, height);
        if (canvas === this.plain) continue;
        const paper = dark ? [23, 27, 33] : [255, 255, 255];
        if (numbers) {
            context.fillStyle = css(paper, 0.4);
            context.fillRect(0, 0, size, height);
        }
        for (let r = 0; numbers && r < Math.min(scene.rows, scene.grid_width * scene.grid_height); r++) {
            const t = numbers.of[r] / numbers.most, [x, y] = this.corner(r);
            context.fillStyle = css(colourOf(t, numbers.signed), 0.7 * Math.abs(t));
            context.fillRect((x + this.inset()) * s, (y + this.inset()) * s, scene.stride * s, scene.stride * s);
        }
        if (at >= 0) {
            const [x, y] = this.corner(at);
            context.strokeStyle = variable("--accent");
            context.lineWidth = 3;
            context.strokeRect(x * s + 1, y * s + 1, scene.patch * s - 2, scene.patch * s - 2);
        }
    }
    const named = at >= 0 && data.rows[at] !== undefined ? data.rows[at] : "";
    this.caption.replaceChildren();
    if (state.colour === "contributions" && data.contributions) this.caption.textContent = "Contributions to the answer";
    else if (at >= 0) this.caption.append("What ", make("bdi", "", named), queriesAreRows() ? " looks at" : " gives");
    else this.caption.textContent = "What all patches look at, on average";
};

grid.corner = function (r) {
    const scene = data.scene;
    return [scene.left + (r % scene.grid_width) * scene.stride, scene.top + Math.floor(r / scene.grid_width) * scene.stride];
};

// Patches may overlap: what is coloured of each is the middle, as wide as the step to the next.
grid.inset = function () { return Math.floor((data.scene.patch - data.scene.stride) / 2); };
