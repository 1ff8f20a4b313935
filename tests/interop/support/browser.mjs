// A browser for programs that start one: browser.mjs URL logs the user in, and goes to the address at the end. That
// address is appended to the file $BROWSER_LOG. A form gets $BROWSER_USER and $BROWSER_PASSWORD, if they are set.

import { appendFileSync } from 'node:fs';
import { browse } from './oauth.mjs';

const [, , url] = process.argv;
const { BROWSER_LOG: log, BROWSER_USER: user, BROWSER_PASSWORD: password } = process.env;
const end = await browse(url, { redirect: new URL(url).searchParams.get('redirect_uri'), user, password });
if (log) appendFileSync(log, `${end.href}\n`);
await (await fetch(end)).text();
