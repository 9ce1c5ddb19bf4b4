
/*
 * A table of the page: sorted by its headings, filtered, and shown a page at a time. A row is a line of text, its cells parted
 * by tabs, as those are that stand behind the table (.rest); they are split only where they are needed.
 */
const PAGE = 500; // rows; html.h has as many in the table
const FEW = 10; // fewer rows need no filter
const SEVERITIES = ["critical", "unknown", "warning", "note"];

/* What a cell is sorted by, as a string that sorts like it: host-2 before host-10. */
function naturalKey(text) {
	return text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(20, "0"));
}

class Table {
	constructor(element) {
		this.element = element;
		this.body = element.tBodies[0];
		this.frame = element.closest(".wide");
		this.title = this.frame.getAttribute("aria-label");
		this.rest = this.frame.nextElementSibling;
		if (this.rest && !this.rest.classList.contains("rest"))
			this.rest = null;
		this.total = this.rest ? Number(this.rest.querySelector(".rows").dataset.rows) : this.body.rows.length;
		this.types = [...element.tHead.rows[0].cells].map((cell) => cell.dataset.type);
		this.at = 0; // the first row that is shown
		this.sorted = -1; // column
		this.down = false;
		this.needles = [];
		this.accept = null; // a further filter: (index) => boolean
		this.status = make("p", { class: "status", role: "status" });
		this.order = null; // of the lines that are shown; null: all, as they came
		this.printing = false;
		if (this.total > 1)
			this.addSorting();
		this.addPager();
	}

	/* All rows as lines. The page is usable before they are read. */
	get lines() {
		if (!this.allLines) {
			this.allLines = [...this.body.rows].map((row) => [...row.cells].map((cell) => cell.textContent).join("\t"));
			for (const part of this.rest ? this.rest.querySelectorAll("pre") : []) {
				const lines = part.textContent.split("\n");
				if (lines[lines.length - 1] === "")
					lines.pop();
				for (const line of lines)
					this.allLines.push(line);
			}
		}
		return this.allLines;
	}

	get lowered() {
		if (!this.allLowered)
			this.allLowered = this.lines.map((line) => line.toLowerCase());
		return this.allLowered;
	}

	get length() {
		return this.order ? this.order.length : this.total;
	}

	get isWhole() {
		return this.needles.length === 0 && !this.accept && this.sorted < 0;
	}

	addSorting() {
		[...this.element.tHead.rows[0].cells].forEach((cell, column) => {
			cell.setAttribute("aria-sort", "none");
			cell.replaceChildren(button(cell.textContent, () => this.sortBy(column)));
		});
	}

	addFilter() {
		if (this.total < FEW)
			return;
		const input = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
		const act = () => {
			this.needles = words(input.value);
			this.update();
		};
		input.addEventListener("input", this.total > PAGE ? settled(act, 150) : act);
		this.frame.before(make("div", { class: "controls" }, make("label", {}, `Filter ${this.title} `, input), this.status));
	}

	addPager() {
		const step = (text, label, to) =>
			button(text, () => {
				this.at = to();
				this.show();
				this.frame.scrollTop = 0;
			}, { "aria-label": label });
		const last = () => Math.floor(Math.max(this.length - 1, 0) / PAGE) * PAGE;

		this.first = step("« First", `First rows of ${this.title}`, () => 0);
		this.previous = step("‹ Previous", `Previous rows of ${this.title}`, () => Math.max(this.at - PAGE, 0));
		this.next = step("Next ›", `Next rows of ${this.title}`, () => Math.min(this.at + PAGE, last()));
		this.last = step("Last »", `Last rows of ${this.title}`, last);
		this.range = make("span", { role: "status" });
		this.pager = make("div", { class: "pager", role: "group", "aria-label": `Pages of ${this.title}` },
			this.first, this.previous, this.range, this.next, this.last);
		this.frame.after(this.pager);
		this.tell();
	}

	/* By a column upwards, then downwards, then as it came. */
	sortBy(column) {
		if (this.sorted !== column) {
			this.sorted = column;
			this.down = false;
		} else if (!this.down) {
			this.down = true;
		} else {
			this.sorted = -1;
		}
		[...this.element.tHead.rows[0].cells].forEach((cell, i) => {
			cell.setAttribute("aria-sort", i !== this.sorted ? "none" : this.down ? "descending" : "ascending");
		});
		this.update();
	}

	/* Keys of the column that is sorted by; null for cells without a value, which stand last either way. */
	keys() {
		const type = this.types[this.sorted], keys = new Array(this.lines.length);

		this.lines.forEach((line, i) => {
			const text = line.split("\t", this.sorted + 1)[this.sorted] || "";
			if (type === "severity")
				keys[i] = SEVERITIES.indexOf(text);
			else if (type === "number")
				keys[i] = Number.isNaN(parseFloat(text)) ? null : parseFloat(text);
			else
				keys[i] = text === "" ? null : naturalKey(text);
		});
		return keys;
	}

	/* What is shown, and in which order, after a filter or the order has changed. */
	update() {
		this.at = 0;
		if (this.isWhole) {
			this.order = null;
		} else {
			this.order = [];
			for (let i = 0; i < this.lines.length; i++)
				if ((!this.accept || this.accept(i)) && (this.needles.length === 0 || hasAll(this.lowered[i], this.needles)))
					this.order.push(i);
			if (this.sorted >= 0)
				this.sort(this.keys());
		}
		this.show();
	}

	sort(keys) {
		const sign = this.down ? -1 : 1;

		this.order.sort((a, b) => {
			const x = keys[a], y = keys[b];
			if (x === y)
				return a - b;
			if (x === null || y === null)
				return x === null ? 1 : -1;
			return x < y ? -sign : sign;
		});
	}

	show() {
		const from = this.printing ? 0 : this.at, rows = [];
		const to = this.printing && !this.isWhole ? this.length : Math.min(from + PAGE, this.length);

		for (let i = from; i < to; i++) {
			const row = document.createElement("tr");
			this.lines[this.order ? this.order[i] : i].split("\t").forEach((text, column) => {
				const cell = row.insertCell();
				cell.textContent = text;
				if (this.types[column] === "number")
					cell.className = "n";
			});
			rows.push(row);
		}
		this.body.replaceChildren(...rows);
		if (this.rest) // whether paper gets it, before anybody thinks of printing
			this.rest.dataset.print = this.isWhole ? "yes" : "no";
		this.tell();
	}

	/* What there is to see, in words. */
	tell() {
		const end = Math.min(this.at + PAGE, this.length);

		this.status.textContent = `${count(this.length)} of ${count(this.total)} rows`;
		this.range.textContent = `rows ${count(this.length ? this.at + 1 : 0)} to ${count(end)} of ${count(this.length)}`;
		this.pager.hidden = this.length <= PAGE;
		this.first.disabled = this.previous.disabled = this.at === 0;
		this.next.disabled = this.last.disabled = end === this.length;
	}

	/* On paper: all rows as they came, as without this script; or all that a filter leaves, in the order chosen. */
	print(begins) {
		this.printing = begins;
		if (!this.isWhole || this.at > 0)
			this.show();
	}
}
