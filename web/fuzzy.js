// fuzzy.js: the search in a list. The characters of each word must occur in order; matches at the starts of words and
// next to each other count more.

const START = /[\s/\\._:#?&=-]/;

// Returns a score, or -1. `text` and `word` are in lower case.
function scoreOf(text, word) {
    const exact = text.lastIndexOf(word);
    if (exact >= 0) return 1000 + (exact === 0 || START.test(text[exact - 1]) ? 500 : 0) - Math.min(text.length, 400);
    let sum = 0, at = -1, run = 0;
    for (const c of word) {
        const next = text.indexOf(c, at + 1);
        if (next < 0) return -1;
        run = next === at + 1 ? run + 1 : 0;
        sum += run * 5 + (next === 0 || START.test(text[next - 1]) ? 10 : 0) - Math.min(next - at - 1, 20);
        at = next;
    }
    return Math.max(0, 400 + sum - Math.min(text.length, 300));
}

export const wordsOf = query => query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);

export function score(text, words) {
    let sum = 0;
    for (const word of words) {
        const s = scoreOf(text, word);
        if (s < 0) return -1;
        sum += s;
    }
    return sum;
}

// Searches `length` texts in parts of a few milliseconds. Returns the indexes of the best `most` matches, best first,
// and the number of all; undefined if `stop()` said so.
export async function search(length, textAt, query, stop, pause, most = 5000) {
    const words = wordsOf(query);
    const found = [];
    let slice = performance.now();
    for (let i = 0; i < length; i++) {
        const s = score(textAt(i), words);
        if (s >= 0) found.push([s, i]);
        if ((i & 255) === 255 && performance.now() - slice > 8) {
            await pause();
            if (stop()) return undefined;
            slice = performance.now();
        }
    }
    if (found.length <= 50_000) found.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    return { indexes: found.slice(0, most).map(f => f[1]), total: found.length };
}
