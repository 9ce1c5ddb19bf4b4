
/* The findings: one filter for the groups and for the table of each. */
class Findings {
	constructor(table) {
		this.table = table;
		this.cards = [...document.querySelectorAll("article.finding")].map((element) => ({
			element,
			group: Number(element.dataset.group),
			severity: element.dataset.severity,
		}));
		this.hidden = new Set(); // severities
		this.group = 0; // the one whose places alone are shown; 0: of all
		this.addControls();
		for (const link of document.querySelectorAll("a.members"))
			link.addEventListener("click", () => this.choose(Number(link.dataset.group)));
	}

	addControls() {
		const alike = document.getElementById("alike"), each = document.getElementById("each");
		const counts = document.getElementById("counts");
		const boxes = make("fieldset", {}, make("legend", {}, "Severity"));
		const act = () => {
			this.table.needles = words(this.input.value);
			this.update();
		};

		this.input = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
		this.input.addEventListener("input", settled(act, this.table.total > PAGE ? 150 : 0));
		for (const severity of SEVERITIES) {
			const text = counts.dataset[severity];
			if (!text)
				continue;
			const box = make("input", { type: "checkbox", checked: "", value: severity });
			box.addEventListener("change", () => {
				if (box.checked)
					this.hidden.delete(severity);
				else
					this.hidden.add(severity);
				this.update();
			});
			boxes.append(make("label", { class: severity }, box, ` ${severity} (${count(Number(text))})`));
		}
		this.status = make("p", { class: "status", role: "status" });
		const copy = button("Copy as text", () => this.copy());
		const filters = this.table.total > 1 ? [make("label", {}, "Filter findings ", this.input), boxes] : [];
		alike.before(make("div", { class: "controls", id: "findings-controls" }, ...filters, copy, this.status));
		this.chosen = make("span", {});
		this.only = make("p", { class: "only", hidden: "" }, this.chosen, " ", button("Show all groups", () => this.choose(0)));
		each.after(this.only);
		this.tell();
	}

	/* The number of a row's group, and its severity, are its first two cells. */
	cells(index) {
		const line = this.table.lines[index], tab = line.indexOf("\t");

		return { group: Number(line.slice(0, tab)), severity: line.slice(tab + 1, line.indexOf("\t", tab + 1)) };
	}

	choose(group) {
		this.group = group;
		this.chosen.textContent = `Only the places of group ${group}.`;
		this.only.hidden = group === 0;
		this.update();
	}

	update() {
		const { table } = this, needles = table.needles;
		const of = (index) => {
			const cells = this.cells(index);
			return (this.group === 0 || cells.group === this.group) && !this.hidden.has(cells.severity);
		};
		const groups = new Set();

		table.accept = this.group === 0 && this.hidden.size === 0 ? null : of;
		table.update();
		if (needles.length > 0) /* a group names some of its places, the table all */
			for (let i = 0; i < table.lines.length; i++)
				if (hasAll(table.lowered[i], needles))
					groups.add(this.cells(i).group);
		for (const card of this.cards) {
			card.text = card.text || card.element.textContent.toLowerCase();
			card.element.hidden = this.hidden.has(card.severity) ||
				!(needles.length === 0 || groups.has(card.group) || hasAll(card.text, needles));
		}
		this.tell();
	}

	/* Verdict and groups that are shown, for a ticket. */
	copy() {
		const lines = [document.querySelector("h1").textContent, document.querySelector(".verdict").textContent];
		const fabric = document.querySelector(".fabric");

		if (fabric)
			lines.splice(1, 0, fabric.textContent);
		for (const { element } of this.cards) {
			if (element.hidden)
				continue;
			lines.push("");
			[...element.children].forEach((part, i) => {
				if (part.className !== "number")
					lines.push((i === 0 ? "" : "    ") + part.textContent);
			});
		}
		navigator.clipboard.writeText(lines.join("\n") + "\n").then(
			() => (this.status.textContent = "Copied."),
			() => (this.status.textContent = "The browser does not let it be copied: select the text instead."));
	}

	tell() {
		const shown = this.cards.filter((card) => !card.element.hidden).length;

		this.status.textContent = `${count(this.table.length)} of ${count(this.table.total)} findings, ` +
			`${count(shown)} of ${count(this.cards.length)} groups`;
	}
}
