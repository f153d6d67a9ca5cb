/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/page/page.js - the status page: asks the JSON pages beside it, and shows what they say.
 *
 * Names, paths and sources come from clients: they are set as text, never as markup.  Rows of tables
 * are kept and changed in place, so that focus and selection stay where the reader has them. */
"use strict";

const EVERY_MS = 2000;
const FIRST_ROWS = 25;
const $ = id => document.getElementById(id);
const page = {
	status: null, clients: [], published: [], kernels: [], events: [], fields: [], samples: [],
	before: new Map(), asked: 0, turns: 0, paused: false, lost: 0, find: "", truncated: false,
};

/* ---- Words for numbers ---- */

const NB = "\u00a0"; /* a number and its unit stay together */
const whole = v => Math.round(v).toLocaleString();
const percent = v => (v >= 0.1 || v <= 0 ? Math.round(v * 100) : (v * 100).toFixed(1)) + NB + "%";
function bytes(v) {
	let unit = 0;
	for (; v >= 1024 && unit < 4; unit++)
		v /= 1024;
	return (unit && v < 100 ? v.toFixed(1) : Math.round(v)) + NB + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
}
function seconds(v) {
	if (v <= 0)
		return "0" + NB + "s";
	if (v < 1e-3)
		return (v * 1e6).toFixed(0) + NB + "µs";
	if (v < 1)
		return (v * 1e3).toFixed(v < 1e-2 ? 1 : 0) + NB + "ms";
	return v < 100 ? v.toFixed(1) + NB + "s" : age(v);
}
function age(v) {
	const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
	const at = Math.max(0, units.findIndex(u => v >= u[0]));
	const [size, name] = v >= 1 ? units[at] : units[3];
	const left = Math.floor(v % size / (units[at + 1] || [1])[0]);
	return Math.floor(v / size) + NB + name + (left && units[at + 1] && v >= 60 ? " " + left + NB + units[at + 1][1] : "");
}
function few(v) {
	for (const [size, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]])
		if (v >= size)
			return (v / (name === "k" ? 1e3 : size)).toFixed(1) + NB + name;
	return whole(v);
}
const rate = v => (v < 10 ? v.toFixed(v ? 1 : 0) : few(v)) + "/s";
const clock = t => new Date(t * 1000).toLocaleTimeString();
const many = (n, one, more) => whole(n) + " " + (n === 1 ? one : more || one + "s");
const tail = path => path.split("/").pop();

/* A field of JSON by its name. */
function show(name, v) {
	if (typeof v === "boolean")
		return v ? "yes" : "no";
	if (typeof v !== "number")
		return String(v);
	if (/bytes$/.test(name))
		return bytes(v);
	if (/_rate$/.test(name))
		return v ? bytes(v) + "/s" : "not known";
	if (/seconds$/.test(name))
		return seconds(v);
	return v.toLocaleString();
}

/* ---- Elements ---- */

function make(tag, text, kind) {
	const e = document.createElement(tag);
	if (text !== undefined)
		e.textContent = text;
	if (kind)
		e.className = kind;
	return e;
}
function say(e, text) {
	if (e.textContent !== text)
		e.textContent = text;
}
function pairs(list, rows) {
	list.replaceChildren(...rows.map(([name, text]) => {
		const row = make("div");
		row.append(make("dt", name), make("dd", text));
		return row;
	}));
	return list;
}

/* ---- Tables ----
 *
 * A table: key(row), columns of {title, text(row), by(row) to sort, number, minor: not on phones,
 * short: on one line, wide: with room, open(row): a button, bad(row)}; the first column heads its row. */

class Table {
	constructor(place, what) {
		Object.assign(this, {at: 0, down: true, all: false, rows: new Map()}, what);
		this.scroll = make("div", undefined, "scroll");
		this.table = make("table");
		this.caption = this.table.createCaption();
		this.body = make("tbody");
		this.more = make("button", "", "more-rows");
		this.more.type = "button";
		this.more.hidden = true;
		this.more.onclick = () => { this.all = !this.all; this.draw(this.last); };
		this.table.append(this.head(), this.body);
		this.scroll.append(this.table);
		$(place).append(this.scroll, this.more);
	}
	head() {
		const head = make("thead"), row = head.insertRow();
		this.titles = this.columns.map((c, k) => {
			const th = make("th", undefined, (c.number ? "number" : "") + (c.minor ? " minor" : ""));
			const button = make("button", c.title);
			th.scope = "col";
			button.type = "button";
			button.onclick = () => {
				this.down = this.at === k ? !this.down : Boolean(c.number);
				this.at = k;
				this.draw(this.last);
			};
			th.append(button);
			row.append(th);
			return th;
		});
		return head;
	}
	sorted(rows) {
		const by = this.columns[this.at].by || this.columns[this.at].text, sign = this.down ? -1 : 1;
		return rows.map(r => [by(r), r]).sort((a, b) => sign *
			(typeof a[0] === "number" ? a[0] - b[0] : String(a[0]).localeCompare(String(b[0])))).map(p => p[1]);
	}
	cells(row) {
		const tr = make("tr");
		for (const [k, c] of this.columns.entries()) {
			const cell = make(k ? "td" : "th", undefined,
				(c.number ? "number" : c.short ? "short" : c.wide ? "words wide" : "words") + (c.minor ? " minor" : ""));
			if (!k)
				cell.scope = "row";
			if (c.open) {
				const button = make("button");
				button.type = "button";
				button.onclick = () => c.open(tr.row);
				cell.append(button);
			}
			tr.append(cell);
		}
		return tr;
	}
	fill(tr, row) {
		tr.row = row;
		for (const [k, c] of this.columns.entries()) {
			const cell = tr.cells[k];
			say(c.open ? cell.firstChild : cell, c.text(row));
			if (c.bad)
				cell.classList.toggle("bad", c.bad(row));
		}
	}
	draw(given) {
		this.last = given;
		const found = given.filter(r => matches(this.words(r))), rows = this.sorted(found);
		const shown = this.all ? rows : rows.slice(0, FIRST_ROWS), had = document.activeElement;
		const keys = new Set(shown.map(r => this.key(r)));
		for (const [key, tr] of this.rows)
			if (!keys.has(key)) {
				tr.remove();
				this.rows.delete(key);
			}
		shown.forEach((row, k) => {
			let tr = this.rows.get(this.key(row));
			if (!tr)
				this.rows.set(this.key(row), tr = this.cells(row));
			this.fill(tr, row);
			if (this.body.rows[k] !== tr)
				this.body.insertBefore(tr, this.body.rows[k] || null);
		});
		if (had !== document.activeElement && had && had.isConnected)
			had.focus({preventScroll: true});
		this.titles.forEach((th, k) => k === this.at
			? th.setAttribute("aria-sort", this.down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
		this.tell(given.length, found.length, shown.length);
	}
	tell(given, found, shown) {
		const all = given === 0 ? this.none : many(given, this.one);
		say(this.caption, page.find && given ? `${whole(found)} of ${all} match “${page.find}”` : all);
		this.table.tHead.hidden = !found;
		this.more.hidden = found <= FIRST_ROWS;
		say(this.more, this.all ? `Show the first ${FIRST_ROWS}` : `Show all ${whole(found)}`);
	}
}

function matches(words) {
	const all = words.join("\n").toLowerCase();
	return page.find.toLowerCase().split(/\s+/).every(w => all.includes(w));
}

/* ---- What the tables are of ---- */

const hits = r => r.plan_hits + r.plan_misses ? r.plan_hits / (r.plan_hits + r.plan_misses) : -1;
const doing = r => r.doing || (r.pending ? many(r.pending, "operation") + " recorded" : "idle");

const sessions = new Table("sessions", {
	one: "session", none: "Nobody is connected: a session begins with the first operation of a program that uses braze.",
	key: r => r.session, at: 3,
	words: r => [r.name, r.user, r.file, r.program, r.job, r.environment, r.doing, "session " + r.session, "pid " + r.pid],
	columns: [
		{title: "Session", text: r => r.name || "?", open: openSession},
		{title: "User", text: r => r.user || String(r.uid), minor: true},
		{title: "Doing", wide: true, text: doing},
		{title: "Memory", number: true, by: r => r.bytes, text: r => bytes(r.bytes)},
		{title: "Busy", number: true, by: r => r.busy, text: r => percent(r.busy)},
		{title: "Waited", number: true, minor: true, by: r => r.queue_wait_seconds, text: r => seconds(r.queue_wait_seconds)},
		{title: "Operations", number: true, minor: true, by: r => r.ops + r.near, text: r => few(r.ops + r.near)},
		{title: "Plan hits", number: true, minor: true, by: hits, text: r => hits(r) < 0 ? "–" : percent(hits(r))},
		{title: "Since", number: true, minor: true, by: r => r.age_seconds, text: r => age(r.age_seconds)},
		{title: "No.", number: true, minor: true, by: r => r.session, text: r => String(r.session)},
	],
});

const users = new Table("users", {
	one: "user", none: "No user has a session.", key: r => r.uid, words: r => [r.user], at: 2,
	columns: [
		{title: "User", text: r => r.user},
		{title: "Sessions", number: true, by: r => r.n, text: r => whole(r.n)},
		{title: "Memory", number: true, by: r => r.bytes, text: r => bytes(r.bytes)},
		{title: "Busy", number: true, by: r => r.busy, text: r => percent(r.busy)},
		{title: "Device time", number: true, minor: true, by: r => r.device_seconds, text: r => seconds(r.device_seconds)},
	],
});

const devices = new Table("device-list", {
	one: "device", none: "No device is known yet.", key: r => r.name, words: () => [page.find], down: false,
	columns: [
		{title: "Device", text: r => r.name},
		{title: "State", text: r => r.text && r.state !== "usable" ? `${r.state}: ${r.text}` : r.state, bad: r => r.state === "unusable"},
		{title: "Model", text: r => r.model || "this machine’s processors", minor: true},
		{title: "Busy", number: true, by: r => r.busy, text: r => percent(r.busy)},
		{title: "Memory", number: true, by: r => r.used_bytes,
			text: r => r.memory_bytes ? `${bytes(r.used_bytes)} of ${bytes(r.memory_bytes)}` : "shared"},
		{title: "Plans run", number: true, minor: true, by: r => r.runs, text: r => few(r.runs)},
		{title: "Worker deaths", number: true, minor: true, by: r => r.worker_deaths, text: r => whole(r.worker_deaths), bad: r => r.worker_deaths > 0},
	],
});

const kernels = new Table("kernel-list", {
	one: "kernel", none: "No kernel was made yet.", key: r => r.id, at: 3,
	words: r => [r.operations, r.origin, r.state, "kernel " + r.id, r.arch ? "gpu" : "cpu"],
	columns: [
		{title: "Computes", text: r => r.operations || "?", open: openKernel},
		{title: "Asked for first by", text: r => place(r.origin), minor: true},
		{title: "State", text: r => r.state, bad: r => /failed|quarantined/.test(r.state), minor: true},
		{title: "Busy", number: true, by: r => r.busy_seconds, text: r => seconds(r.busy_seconds)},
		{title: "Runs", number: true, by: r => r.runs, text: r => few(r.runs)},
		{title: "Elements", number: true, minor: true, by: r => r.elements, text: r => few(r.elements)},
		{title: "Compiled in", number: true, minor: true, by: r => r.compile_seconds,
			text: r => r.from_disk ? "from disk" : r.compile_seconds ? seconds(r.compile_seconds) : "–"},
		{title: "No.", number: true, minor: true, by: r => r.id, text: r => String(r.id)},
	],
});

const opens = r => ({user: "user " + r.number, group: "group " + r.number, key: "who has the key"})[r.access] || "its user";

const published = new Table("published", {
	one: "published array", none: "No array is published.", key: r => r.uid + "/" + r.name, at: 2,
	words: r => [r.name, r.user, r.dtype, "session " + r.session],
	columns: [
		{title: "Name", text: r => r.name},
		{title: "Owner", short: true, text: r => r.user || String(r.uid)},
		{title: "Bytes", number: true, by: r => r.bytes, text: r => bytes(r.bytes)},
		{title: "Holders", number: true, by: r => r.holders, text: r => whole(r.holders)},
		{title: "Version", number: true, minor: true, by: r => r.version, text: r => whole(r.version)},
		{title: "For", text: opens, minor: true},
		{title: "Is", text: r => `${r.dtype}, ${r.shape.join(" × ") || "one number"}`, minor: true},
		{title: "Opened", number: true, minor: true, by: r => r.opened, text: r => whole(r.opened)},
		{title: "Session", number: true, minor: true, by: r => r.session, text: r => r.session ? String(r.session) : "ended"},
	],
});

const events = new Table("event-list", {
	one: "event", none: "Nothing has happened that is worth a line.", key: r => r.number, words: r => [r.topic, r.text],
	columns: [
		{title: "Time", short: true, by: r => r.number, text: r => clock(r.time)},
		{title: "Part", text: r => r.topic, minor: true},
		{title: "What", text: r => r.text},
	],
});

/* "heat.py /home/ada/heat.py:12" without the folder. */
function place(origin) {
	const at = origin.lastIndexOf(" /");
	return at < 0 ? origin : origin.slice(0, at) + " " + tail(origin.slice(at));
}

/* ---- Details, when asked for ---- */

function openDialog(title, ...parts) {
	say($("dialog-title"), title);
	$("dialog-body").replaceChildren(...parts);
	if (!$("dialog").open)
		$("dialog").showModal();
}

function fieldsOf(row, but) {
	const plain = Object.entries(row).filter(([k, v]) => typeof v !== "object" && v !== "" && !but.includes(k));
	return pairs(make("dl", undefined, "numbers"), plain.map(([k, v]) => [k.replaceAll("_", " "), show(k, v)]));
}

function openSession(row) {
	openDialog(`Session ${row.session}: ${row.name}`, fieldsOf(row, ["busy", "session", "name"]));
}

function folded(title, text) {
	const e = make("details");
	e.append(make("summary", title), make("pre", text));
	e.lastChild.tabIndex = 0;
	return e;
}

async function openKernel(row) {
	const title = `Kernel ${row.id}: ${row.operations}`;
	openDialog(title, make("p", "Asking the daemon."));
	try {
		const k = await get("kernels/" + row.id), parts = [fieldsOf(k, ["id", "key", "source", "error", "operations"])];
		if (k.error)
			parts.push(make("h3", "The compiler said"), make("pre", k.error));
		if (k.reasons.length) {
			const list = make("ul");
			list.append(...k.reasons.map(r => make("li", r)));
			parts.push(make("h3", "Why it stands alone"), list);
		}
		parts.push(folded("Its loop nest", k.key));
		if (k.source)
			parts.push(folded("Its source", k.source));
		openDialog(title, ...parts);
	} catch (e) {
		openDialog(title, make("p", "It is not there any more, or the daemon does not answer: " + e.message));
	}
}

/* ---- Worth a look ---- */

function judged(k, whole_busy) {
	if (k.state === "quarantined")
		return [5, "is not run any more: it killed its worker twice. " + k.blame];
	if (k.strikes)
		return [4, "killed a worker once. " + k.blame];
	if (k.state === "failed")
		return [3, "could not be compiled" + (k.arch ? "" : ", so it is interpreted")];
	if (k.spill_bytes)
		return [2, `keeps ${bytes(k.spill_bytes)} of each thread in memory that registers had no room for`];
	if (k.state === "absent" && k.busy_seconds > 1)
		return [2, `was interpreted for ${seconds(k.busy_seconds)}`];
	if (k.busy_seconds > 0.5 && k.busy_seconds > 0.2 * whole_busy)
		return [1, `takes ${percent(k.busy_seconds / whole_busy)} of all kernels’ time`];
	if (k.compile_seconds > 1 && !k.from_disk && k.compile_seconds > 10 * k.busy_seconds)
		return [1, `took ${seconds(k.compile_seconds)} to compile, and has run for ${seconds(k.busy_seconds)}`];
	return null;
}

function drawWorth() {
	const sum = page.kernels.reduce((s, k) => s + k.busy_seconds, 0);
	const found = page.kernels.map(k => [judged(k, sum), k]).filter(p => p[0])
		.sort((a, b) => b[0][0] - a[0][0] || b[1].busy_seconds - a[1].busy_seconds).slice(0, 6);
	const key = JSON.stringify(found.map(p => [p[1].id, p[0]]));
	if ($("worth").dataset.key === key)
		return;
	$("worth").dataset.key = key;
	if (!found.length) {
		$("worth").replaceChildren(make("li", "No kernel stands out.", "why"));
		return;
	}
	$("worth").replaceChildren(...found.map(([[, why], k]) => {
		const li = make("li"), button = make("button", k.operations);
		button.type = "button";
		button.onclick = () => openKernel(k);
		li.append(button, make("span", " " + why, "why"));
		return li;
	}));
}

/* ---- At a glance ---- */

function tile(what, much, more) {
	const li = make("li");
	li.append(make("span", what, "what"), make("span", much, "much"), make("span", more, "more"));
	return li;
}

function drawTiles() {
	const s = page.status, waiting = page.clients.filter(r => /^waits/.test(r.doing)).length;
	const working = page.clients.filter(r => /^runs/.test(r.doing)).length;
	const compiling = page.kernels.filter(k => k.state === "compiling").length;
	const used = s.device_memory_bytes ? `, ${bytes(s.device_used_bytes)} of ${bytes(s.device_memory_bytes)} on devices` : "";
	const asked = s.plans.hits + s.plans.misses;
	$("tiles").replaceChildren(
		tile("Sessions", whole(s.clients_count), `${many(userRows().length, "user")}, ${working} at work, ${waiting} waiting`),
		tile("Devices", s.devices.map(d => percent(d.busy)).join(" · "), s.devices.map(d => d.name).join(" · ")),
		tile("Memory of arrays", bytes(s.client_bytes), many(s.arrays_count, "array") + used),
		tile("Plans", few(s.runs), asked ? percent(s.plans.hits / asked) + " from the cache" : "none was asked for"),
		tile("Kernels", whole(s.kernels.count), compiling ? `${compiling} being compiled` : `${whole(s.kernels.compiles)} compiled, ${whole(s.kernels.disk_hits)} from disk`),
		tile("Waiting", whole(s.jobs_in_flight_count), "plans at devices, " + many(s.pending_ops_count, "operation") + " recorded"));
}

function drawWarnings() {
	const s = page.status, say_all = [
		[s.kernels.quarantined, n => many(n, "kernel") + " killed a worker twice and will not be run again"],
		[s.worker_deaths_count, n => many(n, "worker") + " ended unasked: the events tell which"],
		[s.kernels.compile_failures, n => many(n, "compilation") + " failed: results stay right, those kernels are interpreted"],
		[s.kernels.disk_errors, n => many(n, "file") + " of the kernel cache could not be read or written"],
		[s.kernels.helper_deaths, n => many(n, "compile helper") + " ended unasked"],
		[s.compiler === "none", () => "No compiler: every kernel is interpreted"],
		[page.truncated, () => "The lists are longer than an answer may be: their ends are missing"],
	];
	const texts = say_all.filter(([n]) => n).map(([n, text]) => text(Number(n)));
	if ($("warnings").dataset.key !== texts.join())
		$("warnings").replaceChildren(...texts.map(t => make("li", t)));
	$("warnings").dataset.key = texts.join();
}

function userRows() {
	const found = new Map();
	for (const r of page.clients) {
		const u = found.get(r.uid) || {uid: r.uid, user: r.user || "user " + r.uid, n: 0, bytes: 0, busy: 0, device_seconds: 0};
		u.n++;
		for (const k of ["bytes", "busy", "device_seconds"])
			u[k] += r[k];
		found.set(r.uid, u);
	}
	return [...found.values()];
}

function drawOwners() {
	const rows = page.clients.filter(r => r.bytes > 0).sort((a, b) => b.bytes - a.bytes), most = 8;
	const shown = rows.slice(0, most).map(r => [`${r.name} (${r.user || r.uid}, session ${r.session})`, r.bytes]);
	const rest = rows.slice(most).reduce((s, r) => s + r.bytes, 0);
	if (rest)
		shown.push([`${many(rows.length - most, "other session")}`, rest]);
	if (!shown.length) {
		$("owners").replaceChildren(make("p", "Nobody holds an array.", "none"));
		return;
	}
	const list = make("ul", undefined, "owners"), sum = shown.reduce((s, r) => s + r[1], 0);
	for (const [who, n] of shown) {
		const li = make("li"), track = make("div", undefined, "track"), bar = make("div");
		bar.style.width = 100 * n / sum + "%";
		track.append(bar);
		li.append(make("span", who, "who"), track, make("span", `${bytes(n)}, ${percent(n / sum)}`, "number"));
		list.append(li);
	}
	$("owners").replaceChildren(list);
}

function drawNumbers() {
	const rows = [];
	const walk = (o, path) => {
		for (const [k, v] of Object.entries(o))
			if (Array.isArray(v))
				continue;
			else if (typeof v === "object")
				walk(v, path + k + ".");
			else
				rows.push([path + k, show(k, v)]);
	};
	walk(page.status, "");
	pairs($("numbers"), rows);
}

/* ---- Charts of the last hour ----
 *
 * A series' of(a, b) is its value between two samples, which are objects by the fields' names; some are
 * of GPUs, and shown where there are any. */

const per = name => (a, b) => Math.max(0, b[name] - a[name]) / (b.time - a.time);
const now = name => (a, b) => b[name];
const CHARTS = [
	{title: "Devices at work", text: percent, least: 0.1, series: [["CPU", per("cpu_busy_seconds")], ["GPUs", per("device_busy_seconds"), true]]},
	{title: "Memory of arrays", text: bytes, least: 1 << 20, series: [["clients", now("client_bytes")], ["on GPUs", now("device_used_bytes"), true]]},
	{title: "Sessions and plans", text: few, least: 4, series: [["sessions", now("clients")], ["plans under way", now("queue")]]},
	{title: "Plans run", text: rate, least: 1, series: [["plans a second", per("runs")]]},
	{title: "Requests", text: rate, least: 1, series: [["cached plan", per("plan_hits")], ["planned anew", per("plan_misses")]]},
	{title: "The daemon itself", text: percent, least: 0.02, series: [["loop", per("loop_seconds")], ["compilers", per("compile_seconds")]]},
];

class Chart {
	constructor(what) {
		Object.assign(this, what, {at: -1, points: []});
		const caption = make("figcaption"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
		this.figure = make("figure");
		this.plot = make("div", undefined, "plot");
		this.most = make("span", "", "most");
		this.hand = make("span", undefined, "hand");
		this.from = make("span");
		this.said = make("span", "", "said");
		this.until = make("span", "now");
		caption.append(make("strong", this.title));
		this.keys = this.series.map(([name], k) => make("span", name, "key " + ["one", "two"][k]));
		caption.append(...this.keys);
		svg.setAttribute("viewBox", "0 0 1000 100");
		svg.setAttribute("preserveAspectRatio", "none");
		svg.setAttribute("aria-hidden", "true");
		this.paths = ["area", ...this.series.map((_, k) => ["one", "two"][k])].map(kind => {
			const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
			path.setAttribute("class", kind);
			svg.append(path);
			return path;
		});
		this.hand.hidden = true;
		this.plot.append(svg, this.most, this.hand);
		this.plot.tabIndex = 0;
		this.plot.setAttribute("role", "img");
		this.plot.setAttribute("aria-describedby", "hour-note");
		this.said.setAttribute("aria-live", "polite");
		const axis = make("div", undefined, "axis");
		axis.append(this.from, this.said, this.until);
		this.figure.append(caption, this.plot, axis);
		this.plot.onpointermove = e => this.point(this.near(e.offsetX / this.plot.clientWidth));
		this.plot.onpointerleave = this.plot.onblur = () => this.point(-1);
		this.plot.onkeydown = e => this.key(e);
		$("charts").append(this.figure);
	}
	key(e) {
		const last = this.points.length - 1, at = this.at < 0 ? last : this.at;
		const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last, PageUp: at - 60, PageDown: at + 60}[e.key];
		if (to === undefined || last < 0)
			return;
		e.preventDefault();
		this.point(Math.min(last, Math.max(0, to)));
	}
	near(x) {
		let best = -1;
		this.points.forEach((p, k) => {
			if (best < 0 || Math.abs(p.x - x * 1000) < Math.abs(this.points[best].x - x * 1000))
				best = k;
		});
		return best;
	}
	point(at) {
		const p = this.points[at];
		this.at = p ? at : -1;
		this.hand.hidden = !p;
		say(this.said, p ? clock(p.time) + ": " + this.values(p) : "");
		if (p)
			this.hand.style.left = p.x / 10 + "%";
	}
	shown() {
		const gpus = page.status.devices.length > 1;
		return [...this.series.keys()].filter(k => gpus || !this.series[k][2]);
	}
	values(p) {
		return this.shown().map(k => `${this.series[k][0]} ${this.text(p.v[k])}`).join(", ");
	}
	draw(samples, every) {
		const end = samples.length ? samples[samples.length - 1].time : 0;
		const begin = samples.length ? Math.max(end - 3600, Math.min(samples[0].time, end - 120)) : 0;
		let before = null;
		this.points = [];
		for (let k = 1; k < samples.length; k++) {
			const a = samples[k - 1], b = samples[k];
			if (b.time > a.time && b.time - a.time < 4 * every)
				this.points.push({time: b.time, x: 1000 * (b.time - begin) / (end - begin),
					v: this.series.map(([, of]) => of(a, b)), first: before !== a});
			else
				continue;
			before = b;
		}
		const most = Math.max(this.least, ...this.points.map(p => Math.max(...p.v)));
		const y = v => (100 - 92 * v / most).toFixed(1);
		const line = n => this.points.map((p, k) => (p.first || !k ? "M" : "L") + p.x.toFixed(1) + " " + y(p.v[n])).join("");
		this.series.forEach((_, n) => {
			this.keys[n].hidden = !this.shown().includes(n);
			this.paths[n + 1].setAttribute("d", this.keys[n].hidden ? "" : line(n));
		});
		const ends = this.points.length > 1 ? `L1000 100L${this.points[0].x.toFixed(1)} 100Z` : "";
		this.paths[0].setAttribute("d", this.points.some((p, k) => k && p.first) ? "" : line(0) + ends);
		say(this.most, this.text(most));
		say(this.from, age(Math.round((end - begin) / 60) * 60) + " ago");
		this.tell();
	}
	tell() {
		const last = this.points[this.points.length - 1];
		const most = this.series.map((_, k) => Math.max(0, ...this.points.map(p => p.v[k])));
		this.plot.setAttribute("aria-label", last
			? `${this.title}: now ${this.values(last)}; at most ${this.values({v: most})}` : `${this.title}: nothing yet`);
	}
}
const charts = CHARTS.map(c => new Chart(c));

/* ---- Asking ---- */

async function get(path) {
	const answer = await fetch(path, {cache: "no-store"});
	const o = await answer.json();
	if (!answer.ok)
		throw new Error(o.error || "HTTP " + answer.status);
	return o;
}

/* The share of the time since the last answer in which devices worked for each row. */
function busy(rows, key, field) {
	const t = performance.now() / 1000;
	for (const r of rows) {
		const id = key(r), old = page.before.get(id);
		r.busy = old && t > old.t ? Math.max(0, Math.min(1, (r[field] - old.v) / (t - old.t))) : 0;
		page.before.set(id, {t, v: r[field]});
	}
}

async function ask() {
	const often = page.turns++ % 2 === 0 || !page.status;
	const status = await get("status");
	if (page.status && page.status.pid !== status.pid)
		Object.assign(page, {samples: [], asked: 0, before: new Map()});
	const clients = await get("clients");
	page.status = status;
	busy(status.devices, d => "device " + d.name, "busy_seconds");
	busy(clients.clients, r => r.session, "device_seconds");
	for (const k of page.before.keys())
		if (typeof k === "number" && !clients.clients.some(r => r.session === k))
			page.before.delete(k);
	if (often) {
		const list = await get("kernels?brief=1"), past = await get("history?after=" + page.asked);
		page.kernels = list.kernels;
		const shared = await get("published");
		page.published = shared.published;
		page.events = (await get("events")).events;
		page.truncated = Boolean(clients.truncated || list.truncated || shared.truncated);
		remember(past);
	}
	page.clients = clients.clients;
	return often;
}

function remember(past) {
	for (const row of past.samples)
		page.samples.push(Object.fromEntries(past.fields.map((name, k) => [name, row[k]])));
	page.samples.splice(0, Math.max(0, page.samples.length - past.kept));
	if (page.samples.length)
		page.asked = Math.ceil(page.samples[page.samples.length - 1].time);
	for (const c of charts)
		c.draw(page.samples, past.every_seconds);
}

function drawLists() {
	sessions.draw(page.clients);
	users.draw(userRows());
	devices.draw(page.status.devices);
	published.draw(page.published);
	kernels.draw(page.kernels);
	events.draw(page.events);
}

function drawState() {
	const s = page.status, state = page.paused ? "paused" : "live";
	say($("state"), `Version ${s.version}, up ${age(s.uptime_seconds)}, process ${s.pid}; ${state}`);
	document.title = `braze: ${many(s.clients_count, "session")}`;
}

function alarm(text) {
	$("alarm").hidden = !text;
	say($("alarm"), text);
}

async function turn() {
	if (!page.paused && !document.hidden) {
		try {
			const often = await ask();
			page.lost = 0;
			alarm("");
			drawState();
			drawTiles();
			drawWarnings();
			drawLists();
			drawOwners();
			if (often) {
				drawWorth();
				drawNumbers();
			}
		} catch (e) {
			page.lost = page.lost || Date.now() / 1000;
			alarm(`No answer from the daemon since ${clock(page.lost)} (${e.message}). What stands here is older; it is asked again.`);
		}
	}
	setTimeout(turn, EVERY_MS);
}

$("find").onsubmit = e => e.preventDefault();
$("search").oninput = () => {
	page.find = $("search").value.trim();
	if (page.status)
		drawLists();
};
$("pause").onclick = () => {
	page.paused = !page.paused;
	$("pause").setAttribute("aria-pressed", page.paused);
	if (page.status)
		drawState();
};
$("dialog-close").onclick = () => $("dialog").close();
turn();
