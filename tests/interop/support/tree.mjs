// A temporary tree that needs three pages of 1,000, with the file names that break URI code.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const TEXT = '# Title\n\nGrüße, 世界.\n';
export const BINARY = Buffer.from(Array.from({ length: 1024 }, (_, i) => (i * 7) & 255));
export const LINE_COUNT = 1000;

// Line n of data/lines.txt, counted from 1, without its newline.
export const line = n => `line ${n} of ${LINE_COUNT}`;

const special = {
    'README.md': TEXT,
    'empty.txt': '',
    'data/blob.bin': BINARY,
    'data/lines.txt': Array.from({ length: LINE_COUNT }, (_, i) => line(i + 1) + '\n').join(''),
    'names/with space.txt': 'space',
    'names/größe.txt': 'umlaut',
    'names/100%.txt': 'percent',
    'names/%41.txt': 'looks encoded',
    'names/a#b.txt': 'hash',
    'names/a?b=c.txt': 'question',
    'names/{x}.txt': 'braces',
    'names/a+b&c.txt': 'plus',
    'live/watched.txt': 'first\n',
    'live/other.txt': 'nobody asked\n',
};
const left_out = {
    '.hidden': 'hidden',
    '.gitignore': '*.secret\n',
    'data/key.secret': 'ignored',
};

export const CROWD = 150; // entries of many/d00: more than one completion answer carries
const FOLDERS = 24;

function crowd() {
    const files = {};
    for (let d = 0; d < FOLDERS; d++) {
        for (let f = 0; f < (d === 0 ? CROWD : 102); f++) {
            files[`many/d${String(d).padStart(2, '0')}/f${String(f).padStart(3, '0')}.txt`] = `${d} ${f}\n`;
        }
    }
    return files;
}

// Returns the root, the paths that must be listed (files and directories, relative), and a remover.
export function makeTree() {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-interop-')));
    const files = { ...special, ...crowd() };
    const folders = new Set();
    for (const [path, content] of Object.entries({ ...files, ...left_out })) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), content);
        if (path in files && dirname(path) !== '.') {
            for (let d = dirname(path); d !== '.'; d = dirname(d)) folders.add(d);
        }
    }
    return {
        root,
        files,
        folders,
        left_out: Object.keys(left_out),
        path: name => join(root, name),
        uri: name => pathToFileURL(join(root, name)).href,
        remove: () => rmSync(root, { recursive: true, force: true }),
    };
}
