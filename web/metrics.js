// metrics.js: the figures of /metrics, in the text format of Prometheus, as series over time.

const MOST_SERIES = 5000;

// Returns a Map from each name to [{labels, value}]. Lines that are not of the format are left out.
export function parse(text) {
    const all = new Map();
    let count = 0;
    for (const line of text.split("\n")) {
        const match = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? +(\S+)/.exec(line);
        if (!match || ++count > MOST_SERIES) continue;
        const labels = {};
        for (const [, name, value] of (match[2] ?? "").matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g))
            Object.defineProperty(labels, name, { value: value.replace(/\\(.)/g, (_, c) => c === "n" ? "\n" : c), enumerable: true });
        if (!all.has(match[1])) all.set(match[1], []);
        all.get(match[1]).push({ labels, value: match[3] === "+Inf" ? Infinity : Number(match[3]) });
    }
    return all;
}

// The sums of a metric by a label, as a Map; without a label, all are one: "".
export function sums(sample, name, label) {
    const found = new Map();
    for (const { labels, value } of sample?.get(name) ?? []) {
        const key = label ? labels[label] ?? "" : "";
        found.set(key, (found.get(key) ?? 0) + value);
    }
    return found;
}

// How much a counter grew from one sample to the next; one that is less than before began again.
const growth = (before, after) => after === undefined ? undefined : before === undefined ? undefined : after >= before ? after - before : after;

// Growth of a counter in each second, by a label.
export function rates(before, after, seconds, name, label) {
    const old = sums(before, name, label);
    return new Map([...sums(after, name, label)].map(([key, value]) => [key, before ? growth(old.get(key) ?? 0, value) / seconds : undefined]));
}

// A quantile of what a histogram got between two samples, in seconds, by a label: between the limits of its bucket.
export function quantiles(before, after, name, q, label) {
    const buckets = new Map();
    const collect = (sample, sign) => {
        for (const { labels, value } of sample?.get(`${name}_bucket`) ?? []) {
            const key = label ? labels[label] ?? "" : "", le = labels.le === "+Inf" ? Infinity : Number(labels.le);
            if (!buckets.has(key)) buckets.set(key, new Map());
            const of = buckets.get(key);
            of.set(le, (of.get(le) ?? 0) + sign * value);
        }
    };
    collect(after, 1);
    if (before) collect(before, -1);
    return new Map([...buckets].map(([key, of]) => [key, quantileOf([...of].sort((a, b) => a[0] - b[0]), q)]));
}

function quantileOf(buckets, q) {
    const total = buckets.at(-1)?.[1];
    if (!(total > 0)) return undefined;
    const rank = q * total;
    let [lower, below] = [0, 0];
    for (const [le, count] of buckets) {
        if (count >= rank) return le === Infinity ? lower : lower + (le - lower) * (count > below ? (rank - below) / (count - below) : 1);
        [lower, below] = [le, count];
    }
    return undefined;
}
