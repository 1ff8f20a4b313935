// trace.js: messages as a file for a bug report, with secrets cut out.

const NAMES = /pass(word|wd|phrase)?$|secret|token$|^auth(orization)?$|api[-_]?key|access[-_]?key|private[-_]?key|credential|cookie|session[-_]?id$|^jwt$|bearer/i;
const KEPT_NAMES = /^(progress|continuation|next)token$/i;
const VALUES = [
    [/\b(Bearer|Basic|DPoP)\s+[A-Za-z0-9._~+/=-]{8,}/g, "$1 (cut out)"],
    [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)?/g, "(a token, cut out)"],
    [/\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|sk-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|glpat-[\w-]{16,})/g, "(a key, cut out)"],
    [/([a-z][a-z0-9+.-]*:\/\/)[^\s/@:"]*:[^\s/@"]*@/gi, "$1(cut out)@"],
    [/([?&](?:[\w-]*(?:token|secret|password|key|code|signature|sig))=)[^&\s"#]+/gi, "$1(cut out)"],
    [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g, "(a private key, cut out)"],
];

export function cleanText(text, secrets = []) {
    for (const [pattern, instead] of VALUES) text = text.replace(pattern, instead);
    for (const secret of secrets) if (secret) text = text.split(secret).join("(cut out)");
    return text;
}

export function clean(value, secrets = [], depth = 0) {
    if (typeof value === "string") return cleanText(value, secrets);
    if (value === null || typeof value !== "object") return value;
    if (depth > 100) return "(too deep)";
    if (Array.isArray(value)) return value.map(v => clean(v, secrets, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([key, v]) => [cleanText(key, secrets),
        NAMES.test(key) && !KEPT_NAMES.test(key) && ["string", "number"].includes(typeof v) ? "(cut out)" : clean(v, secrets, depth + 1)]));
}

// The text of a file: one JSON object, with the messages in order.
export function exportTrace(entries, about, secrets) {
    const messages = entries.map(e => {
        let message;
        try {
            message = clean(JSON.parse(e.text), secrets);
        } catch {
            message = cleanText(e.text, secrets);
        }
        return { n: e.n, at: new Date(e.at).toISOString(), from: e.from, ...(e.peer && { server: e.peer }), bytes: e.size, ...(e.ms !== undefined && { ms: Math.round(e.ms * 10) / 10 }),
                 ...(e.cut && { cut: true }), message };
    });
    return JSON.stringify({ format: "mcp-trace", version: 1, ...clean(about, secrets), messages }, null, 1);
}
