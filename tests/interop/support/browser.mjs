// A browser for programs that start one: browser.mjs URL logs the user in, and goes to the address at the end. That
// address is appended to the file $BROWSER_LOG.

import { appendFileSync } from 'node:fs';
import { browse } from './oauth.mjs';

const [, , url] = process.argv;
const end = await browse(url, { redirect: new URL(url).searchParams.get('redirect_uri') });
if (process.env.BROWSER_LOG) appendFileSync(process.env.BROWSER_LOG, `${end.href}\n`);
await (await fetch(end)).text();
