"use strict";
/*
 * The script of --format html: theme and printing; tables are in html_table.js, findings in html_findings.js. All is there to
 * read without it, so all controls are made here. Text is set as text, never as HTML.
 */
const root = document.documentElement;
root.classList.add("js"); // before the body is laid out

function make(name, attributes, ...children) {
	const element = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {}))
		element.setAttribute(key, value);
	element.append(...children);
	return element;
}

function button(text, act, attributes) {
	const made = make("button", { type: "button", ...attributes }, text);
	made.addEventListener("click", act);
	return made;
}

/* Runs `act` once typing has stopped for a moment. */
function settled(act, wait) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(act, wait);
	};
}

function count(number) {
	return number.toLocaleString("en");
}

/* Whether a text has all these words; cases alike. */
function words(text) {
	return text.toLowerCase().split(/\s+/).filter((word) => word !== "");
}

function hasAll(text, needles) {
	return needles.every((needle) => text.includes(needle));
}

function addTheme() {
	const system = matchMedia("(prefers-color-scheme: dark)");
	const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
	const toggle = button("Dark theme", () => {
		root.dataset.theme = isDark() ? "light" : "dark";
		show();
	}, { class: "theme" });
	const show = () => toggle.setAttribute("aria-pressed", String(isDark()));

	system.addEventListener("change", show);
	show();
	document.querySelector("header").append(toggle);
}

/* Paper gets what the tables hold, not the page of them that is on the screen. */
function followPrinting(tables) {
	const paper = matchMedia("print");
	let printing = false;
	const turn = (now) => {
		if (now === printing)
			return;
		printing = now;
		for (const table of tables)
			table.print(now);
	};

	addEventListener("beforeprint", () => turn(true));
	addEventListener("afterprint", () => turn(false));
	paper.addEventListener("change", () => turn(paper.matches));
	if (paper.matches)
		turn(true);
}

document.addEventListener("DOMContentLoaded", () => {
	const tables = [];

	addTheme();
	for (const element of document.querySelectorAll("table.data")) {
		const table = new Table(element);
		tables.push(table);
		if (element.id === "t-findings")
			new Findings(table);
		else
			table.addFilter();
	}
	followPrinting(tables);
});
