// Waiting for notifications without guessing how long they take.

export const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

export const updatedFor = uri => n => n.method === 'notifications/resources/updated' && n.params.uri === uri;
export const listChanged = n => n.method === 'notifications/resources/list_changed';

// Resolves when it is so, fails after `timeout`.
export async function until(so, what, timeout = 30_000) {
    for (const end = Date.now() + timeout; Date.now() < end; await sleep(10)) {
        if (await so()) return;
    }
    throw new Error(`waited in vain: ${typeof what === 'function' ? what() : what}`);
}

// Resolves when a notification matches.
export const waitFor = (events, match, what, timeout) =>
    until(() => events.some(match), () => `${what}; seen: ${JSON.stringify(events)}`, timeout);

// Waits until nothing more has come for `quiet` ms.
export async function quieten(events, quiet = 400) {
    for (let seen = -1; events.length !== seen; ) {
        seen = events.length;
        await sleep(quiet);
    }
}

// Waits until nothing has come for `quiet` ms, then discards the events: a late notification of one
// step must not pass for that of the next.
export async function settle(events, quiet = 400) {
    await quieten(events, quiet);
    events.length = 0;
}

// Repeats the action until it was noticed, because the subscriber may not listen yet.
export async function provoke(change, noticed, what) {
    for (let n = 0; ; n++) {
        change(n);
        try {
            return await until(noticed, what, 1000);
        } catch (error) {
            if (n === 20) throw error;
        }
    }
}
