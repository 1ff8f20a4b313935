// Waiting for notifications without guessing how long they take.

export const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

export const updatedFor = uri => n => n.method === 'notifications/resources/updated' && n.params.uri === uri;
export const listChanged = n => n.method === 'notifications/resources/list_changed';

// Resolves when a notification matches, fails after `timeout`.
export async function waitFor(events, match, what, timeout = 5000) {
    for (const end = Date.now() + timeout; Date.now() < end; await sleep(10)) {
        if (events.some(match)) return;
    }
    throw new Error(`no notification: ${what}; seen: ${JSON.stringify(events)}`);
}

// Waits until nothing has come for `quiet` ms and forgets what has: a late notice of one step must
// not pass for the notice of the next.
export async function settle(events, quiet = 400) {
    let seen;
    do {
        seen = events.length;
        await sleep(quiet);
    } while (events.length !== seen);
    events.length = 0;
}
