// login.js: what the user sees of a login at an issuer (oauth.js).

import { h, fill, line } from "./dom.js";
import { backFrom, challengeOf, passOn } from "./oauth.js";
import { dialog } from "./questions.js";

// Shows where one can log in. done() is called after a login.
export async function showOffers(login, challenge, place, done, signal) {
    fill(place, h("p.muted", { role: "status" }, "Looking for the login…"));
    let offers;
    try {
        offers = await login.offers(challenge, signal);
    } catch (error) {
        fill(place, h("p.error", { role: "alert" }, line(error.message, 300)));
        return;
    }
    const state = h("p.muted", { role: "status" });
    const links = offers.map(({ issuer, url, fault }) => fault
        ? h("p.error", {}, `${line(issuer, 200)}: ${fault}`)
        : h("a.button.primary", { href: url, target: "_blank", rel: "noopener noreferrer", onclick: () => {
            state.textContent = "Go on in the other tab. It leads back here.";
        } }, `Log in at ${line(new URL(issuer).host, 100)}`));
    fill(place, links, state);
    place.querySelector("a")?.focus();
    // The first login that ends counts. One that fails is offered again, with another code.
    for (const offer of offers) offer.done?.then(done, error => {
        if (signal?.aborted) return;
        showOffers(login, challenge, place, done, signal).then(() => place.prepend(h("p.error", { role: "alert" }, line(error.message, 300))));
    });
}

// Asks for a login while the page is used: the token is no longer accepted, or lacks scopes. Returns whether there is
// another one. Requests that fail at the same time ask once.
let asking;
export function relogin(app, login, status, challenge, signal) {
    const scopes = challengeOf(challenge)?.scope;
    if (status === 403 && (!scopes || challengeOf(challenge).error !== "insufficient_scope" || login.has(scopes))) return false;
    asking ??= ask(app, login, status, challenge, scopes).finally(() => (asking = undefined));
    return signal ? Promise.race([asking, new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))]) : asking;
}

async function ask(app, login, status, challenge, scopes) {
    const stop = new AbortController();
    const result = await dialog(`${app.serverName} wants a login`, false, undefined, done => {
        const place = h("section", { "aria-label": "Login" });
        showOffers(login, challenge, place, () => done(true), stop.signal);
        return [h("p", {}, status === 403 ? `This needs more rights: ${line(scopes, 300)}.` : "The login has expired."), place,
            h("div.bar.end", {}, h("button", { type: "button", onclick: () => done(false) }, "Cancel"))];
    });
    stop.abort(new Error("the login was cancelled"));
    return result;
}

// In the tab in which an issuer leads back to the page: tells the page that waits. Returns false if this is no such tab.
export function comeBack(message) {
    const back = backFrom(location.search);
    if (!back) return false;
    history.replaceState(null, "", "/");
    message("Logging in…");
    passOn(back).then(fault => {
        message(fault ? "The login failed" : "You are logged in", h("p", {}, fault ? line(fault, 300) : "Go on in the other tab. This one can be closed."));
        if (!fault) window.close();
    });
    return true;
}
