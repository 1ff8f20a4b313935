// run.js: a request that takes a while: its progress, the messages that the server logs meanwhile, and a way to stop it.

import { h, fill, line, button, ms } from "./dom.js";
import { LoginError } from "./mcp.js";

// Runs `work(options)` and shows its course in `place`. Returns the result, or undefined if it failed or was cancelled.
export async function run(app, place, work) {
    const stop = new AbortController();
    const bar = h("progress", { "aria-label": "Progress" });
    const text = h("span.muted");
    const logs = h("ul.muted");
    const elapsed = h("span.muted");
    const began = performance.now();
    const tick = setInterval(() => { elapsed.textContent = ms(performance.now() - began); }, 200);
    const onLog = e => {
        if (logs.children.length < 200)
            logs.append(h("li", {}, `${line(e.detail.level, 20)}: ${line(typeof e.detail.data === "string" ? e.detail.data : JSON.stringify(e.detail.data), 500)}`));
    };
    app.client.addEventListener("log", onLog);
    fill(place, h("div.bar.wrap", {}, bar, text, elapsed, button("Cancel", () => stop.abort(new Error("cancelled")))), logs);
    try {
        const result = await work({
            signal: stop.signal,
            progress: p => {
                if (typeof p.total === "number" && p.total > 0) {
                    bar.max = p.total;
                    bar.value = Math.min(p.progress, p.total);
                }
                text.textContent = line(p.message ?? `${p.progress}${p.total ? ` of ${p.total}` : ""}`, 300);
            },
        });
        fill(place, h("p.muted", { "data-done": true }, `Answered in ${ms(performance.now() - began)}.`), logs.children.length ? logs : undefined);
        return result;
    } catch (error) {
        const cancelled = stop.signal.aborted;
        fill(place, cancelled ? h("p.muted", {}, "Cancelled.") : h("p.error", { role: "alert" }, line(error.message, 2000),
            error.code !== undefined && ` (${error.code})`), !cancelled && error.data !== undefined && h("p.muted", {}, line(JSON.stringify(error.data), 2000)), logs);
        if (error instanceof LoginError) app.lost?.(error);
        return undefined;
    } finally {
        clearInterval(tick);
        app.client.removeEventListener("log", onLog);
    }
}
