// load.js: the panel of how busy the server is: plots of /metrics, for callers who may see it.

import { h, fill, line, bytes, ms } from "./dom.js";
import { Plot, MOST_LINES } from "./plot.js";
import { limitedText } from "./mcp.js";
import { parse, quantiles, rates, sums } from "./metrics.js";

const EVERY = 2000; // milliseconds between two samples
const SPAN = 600_000; // of a plot
const MOST_TEXT = 4 << 20;

const count = n => n < 10 && n % 1 ? n.toFixed(n < 1 ? 2 : 1) : Math.round(n).toLocaleString("en");
const perSecond = n => `${count(n)}/s`;
const byteRate = n => `${bytes(n)}/s`;
const seconds = n => ms(n * 1000);
const total = (sample, name) => sums(sample, name).get("");

// What is plotted: [heading, [[title, format, values(before, after, seconds) => Map or [[name, value]]]]].
/** @type {[string, [string, (n: number) => string, Function][]][]} */
const PLOTS = [
    ["Requests", [
        ["Requests", perSecond, (b, a, s) => rates(b, a, s, "mcp_requests_total", "result")],
        ["Duration of a request", seconds, (b, a) => [0.5, 0.95, 0.99].map(q => [`${q * 100} %`, quantiles(b, a, "mcp_request_duration_seconds", q).get("")])],
        ["Sent and received", byteRate, (b, a, s) => [["sent", rates(b, a, s, "mcp_sent_bytes_total").get("")], ["received", rates(b, a, s, "mcp_received_bytes_total").get("")]]],
        ["Streams, sessions, connections", count, (b, a) => [["streams", total(a, "mcp_streams")], ["sessions", total(a, "mcp_sessions")], ["connections", total(a, "mcp_connections")]]],
    ]],
    ["Process", [
        ["Memory", bytes, (b, a) => [["resident", total(a, "process_resident_memory_bytes")], ["for clients", total(a, "mcp_memory_bytes")], ["for reads", total(a, "mcp_work_memory_bytes")]]],
        ["Processor", n => `${count(n * 100)} %`, (b, a, s) => [["of one core", rates(b, a, s, "process_cpu_seconds_total").get("")]]],
    ]],
    ["Sources", [
        ["Reads", perSecond, (b, a, s) => rates(b, a, s, "mcp_source_reads_total", "source")],
        ["Duration of a read, 95 %", seconds, (b, a) => quantiles(b, a, "mcp_source_read_duration_seconds", 0.95, "source")],
        ["Contents", byteRate, (b, a, s) => rates(b, a, s, "mcp_source_read_bytes_total", "source")],
        ["Memory of processes", bytes, (b, a) => sums(a, "mcp_source_process_memory_bytes", "source")],
    ]],
    ["Tools", [
        ["Calls", perSecond, (b, a, s) => rates(b, a, s, "mcp_tool_calls_total", "tool")],
        ["Duration of a call, 95 %", seconds, (b, a) => quantiles(b, a, "mcp_tool_call_duration_seconds", 0.95, "tool")],
    ]],
    ["Other servers", [
        ["Requests", perSecond, (b, a, s) => rates(b, a, s, "mcp_upstream_requests_total", "source")],
        ["In flight", count, (b, a) => sums(a, "mcp_upstream_requests_in_flight", "source")],
        ["Sessions", count, (b, a) => sums(a, "mcp_upstream_sessions", "source")],
        ["Memory of processes", bytes, (b, a) => sums(a, "mcp_upstream_process_memory_bytes", "source")],
    ]],
];

// A plot and its values over time. The lines are those with the largest values; a name keeps its colour.
class Figure {
    #of;
    #plot;
    #lines = new Map();
    constructor([title, format, of]) {
        this.#of = of;
        this.#plot = new Plot({ title, format, span: SPAN });
        this.element = this.#plot.element;
        this.element.hidden = true;
    }
    add(before, after, passed, times) {
        for (const [name, value] of this.#of(before, after, passed)) {
            if (!this.#lines.has(name) && this.#lines.size < MOST_LINES)
                this.#lines.set(name, new Array(times.length - 1).fill(undefined));
            this.#lines.get(name)?.push(value);
        }
        for (const values of this.#lines.values()) {
            if (values.length < times.length) values.push(undefined);
            if (values.length > times.length) values.splice(0, values.length - times.length);
        }
    }
    draw(times) {
        this.element.hidden = !this.#lines.size;
        if (this.#lines.size) this.#plot.draw(times, [...this.#lines].map(([name, values]) => ({ name: line(name || "all", 60), values })));
    }
}

// Returns the text of /metrics, or undefined if this caller may not see it.
async function fetchMetrics(app) {
    const authorization = app.authorization();
    const answer = await fetch("/metrics", { headers: authorization ? { Authorization: authorization } : {}, cache: "no-store", credentials: "omit", redirect: "error" });
    if (!answer.ok) {
        await answer.body?.cancel();
        return undefined;
    }
    return limitedText(answer, MOST_TEXT);
}

export function panel(app) {
    const state = h("p.muted", { role: "status" }, "The plots begin now.");
    const sections = PLOTS.map(([heading, plots]) => {
        const figures = plots.map(p => new Figure(p));
        return { figures, element: h("section", { hidden: true }, h("h3", {}, heading), h("div.plots", {}, figures.map(f => f.element))) };
    });
    const element = h("section.panel", { "data-panel": "load", "aria-label": "Load", tabIndex: 0 }, h("h2", {}, "Load"), state, sections.map(s => s.element));
    const times = [];
    let before, running = false, closed = false;

    async function sample() {
        const text = await fetchMetrics(app);
        if (text === undefined) throw new Error("The server no longer shows its figures.");
        const after = parse(text), now = performance.now();
        const passed = times.length ? (now - times.at(-1)) / 1000 : undefined;
        times.push(now);
        while (now - times[0] > SPAN) times.shift();
        for (const { figures } of sections) for (const f of figures) f.add(before, after, passed, times);
        before = after;
    }
    function draw() {
        for (const section of sections) {
            for (const f of section.figures) f.draw(times);
            section.element.hidden = section.figures.every(f => f.element.hidden);
        }
        element.dataset.samples = times.length;
    }
    // One sample after another, from the first look at this panel on: the plots have no gap when one looks at them again.
    async function run() {
        if (running) return;
        running = true;
        for (let failures = 0; failures < 5 && !closed;) {
            try {
                if (!document.hidden) await sample();
                failures = 0;
                setState("");
                if (element.isConnected) draw();
            } catch (error) {
                failures++;
                setState(error.message);
            }
            await new Promise(done => setTimeout(done, EVERY));
        }
        running = false;
    }
    const setState = text => {
        state.hidden = !text;
        if (state.textContent !== text) fill(state, line(text, 300));
    };
    return { element, close: () => (closed = true), show: () => {
        draw();
        run();
    } };
}
