
/* The picture of ports (figure_ports.c): tells of the cell that is pointed at, or walked to with the arrow keys. */
function addTelling(figure) {
	const HEAD = 16, ROW = 12, PITCH = 11, PORT_X = 166; /* as figure_ports.c has them */
	const VIEWS = ["findings", "speed", "errors", "waiting"];
	const told = figure.querySelector(".fm-told");
	let lines = null, names = null, meanings = null;

	function lineOf(at) {
		if (!lines) {
			lines = figure.querySelector(".fm-data").textContent.trim().split("\n");
			names = figure.querySelector(".fm-names").textContent.slice(1).split("\n");
			meanings = VIEWS.map((view) => {
				const of = new Map();
				for (const li of figure.querySelectorAll("ul.v-" + view + " li"))
					of.set(li.dataset.c, li.textContent.trim().replace(/: [\d,]+$/, ""));
				return of;
			});
		}
		return lines[at].split("\t");
	}

	function rowsOf(svg) {
		const rows = [];
		lineOf(0);
		for (const part of svg.dataset.rows.split(" ")) {
			const ends = part.split("-").map(Number);
			for (let row = ends[0]; row <= Math.min(ends[ends.length - 1], lines.length - 1); row++)
				rows.push(row);
		}
		return rows;
	}

	function tell(svg, row, port) {
		const rows = rowsOf(svg);
		if (row < 0 || row >= rows.length)
			return false;
		const [node, whole, ...rest] = lineOf(rows[row]), states = rest.slice(0, VIEWS.length), [peers, measured] = rest.slice(VIEWS.length);
		const peer = peers.split(" ");
		if (port < 0 || port > peer.length)
			return false;
		let text = names[node];
		if (port === 0) {
			text += " as a whole: " + whole;
		} else {
			text += "[" + port + "]";
			if (peer[port - 1] !== "-") {
				const [other, number] = peer[port - 1].split(".");
				text += " to " + names[other] + "[" + number + "]";
			}
			const says = [];
			states.forEach((state, view) => {
				if (state)
					says.push(meanings[view].get(state[port - 1]));
			});
			const more = measured.split(";").find((part) => part.startsWith(port + ":"));
			text += ": " + [...new Set(says)].join("; ") + (more ? "; " + more.slice(more.indexOf(":") + 1) : "");
		}
		told.textContent = text;
		mark(svg, row, port);
		return true;
	}

	function mark(svg, row, port) {
		for (const old of figure.querySelectorAll(".fm-at"))
			old.remove();
		const at = document.createElementNS("http://www.w3.org/2000/svg", "rect");
		at.setAttribute("class", "fm-at");
		at.setAttribute("x", port === 0 ? PORT_X - 17 : PORT_X + (port - 1) * PITCH - 1);
		at.setAttribute("y", HEAD + row * ROW);
		at.setAttribute("width", 12);
		at.setAttribute("height", 12);
		svg.append(at);
		svg.dataset.row = row;
		svg.dataset.port = port;
	}

	function pointed(event) {
		const svg = event.target.closest("svg.fm-s");
		if (!svg)
			return;
		const box = svg.getBoundingClientRect(), scale = svg.width.baseVal.value / box.width;
		const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
		tell(svg, Math.floor((y - HEAD) / ROW), x < PORT_X ? 0 : Math.floor((x - PORT_X) / PITCH) + 1);
	}

	const STEPS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
	function walked(event) {
		const svg = event.target, step = STEPS[event.key];
		if (!step || !svg.matches("svg.fm-s"))
			return;
		const row = Number(svg.dataset.row ?? 0), port = Number(svg.dataset.port ?? 1);
		if (svg.dataset.row === undefined ? tell(svg, 0, 1) : tell(svg, row + step[0], port + step[1]))
			event.preventDefault();
	}

	told.textContent = "Point at a cell, or press an arrow key in a picture: here stands what is known of it.";
	for (const svg of figure.querySelectorAll("svg.fm-s"))
		svg.setAttribute("tabindex", "0");
	figure.addEventListener("mousemove", pointed);
	figure.addEventListener("click", pointed);
	figure.addEventListener("keydown", walked);
}

document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("div.fm").forEach(addTelling));
